"""Sweep: removes what has expired, trash older than its time, and lapsed grants, receipts and proposals, in bounded
batches; then tidies the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from threading import Event, Thread
from uuid import UUID

from holdfast.contracts.rows import EntryRow, PlacedRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.retention import IDEMPOTENCY_US, PROPOSAL_REMEMBERED_US, TRASH_US
from holdfast.operations.answers import Swept
from holdfast.operations.engine import Engine
from holdfast.storage.sealed_transaction import SealedTransaction

BATCH = 500
BATCHES = 200
"""At most so many batches in one sweep; the next one goes on."""


def sweep(engine: Engine, batch: int = BATCH, batches: int = BATCHES) -> Swept:
    now = engine.clock()
    expired = _repeat(engine, now, batch, batches, lambda tx: tx.entries.expired(now, batch))
    trash = _repeat(engine, now, batch, batches, lambda tx: tx.entries.trashed_before(now - TRASH_US, batch))
    if expired or trash or engine.sealed.store.unclean:
        engine.run_job(lambda tx: tx.erase())
    grants = engine.run_job(lambda tx: tx.grants.delete_expired(now, batch))
    receipts = engine.run_job(lambda tx: tx.receipts.delete_before(now - IDEMPOTENCY_US, batch))
    proposals = engine.run_job(lambda tx: tx.proposals.delete_before(now - PROPOSAL_REMEMBERED_US, batch))
    _tidy(engine, batches)
    return Swept(expired, trash, grants, receipts, proposals)


def _tidy(engine: Engine, steps: int) -> None:
    """For what other processes wrote that closed soon after."""
    for _ in range(steps):
        if not engine.sealed.store.tidy():
            break


def _repeat(
    engine: Engine, now: int, batch: int, batches: int, due: Callable[[Transaction], list[PlacedRow]]
) -> int:
    """Batch after batch until nothing is due; writers get their turn in between."""
    total = 0
    for _ in range(batches):
        removed = engine.run_job(lambda tx: _remove(engine, tx, now, due(tx)))
        total += removed
        if removed < batch:
            break
    return total


def _remove(engine: Engine, tx: Transaction, now: int, due: list[PlacedRow]) -> int:
    by_space: dict[UUID, list[int]] = defaultdict(list)
    for placed in due:
        by_space[placed.space].append(placed.number)
    sealed = SealedTransaction(engine.sealed, tx, now)
    removed = 0
    for space, numbers in by_space.items():
        rows: list[EntryRow] = tx.entries.by_numbers(space, numbers)
        removed += sealed.purge(space, rows, erase=False)
    return removed


class Sweeper:
    """Sweeps in the background until told to stop."""

    def __init__(self, run: Callable[[], object], seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._stop = Event()
        self._thread = Thread(target=self._serve, name="holdfast-sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        while not self._stop.wait(self._seconds):
            self._run()
