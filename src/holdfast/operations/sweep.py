"""Sweep: removes what has expired, trash older than its time, and lapsed grants, receipts and proposals, in bounded
batches; then tidies the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.contracts.rows import EntryAddress, EntryRow
from holdfast.contracts.storage import EntryReads, Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.ids import entry_id
from holdfast.domain.retention import IDEMPOTENCY_US, PROPOSAL_REMEMBERED_US, TRASH_US
from holdfast.operations.engine import Engine
from holdfast.operations.read_log import A_LINE
from holdfast.operations.results import Swept
from holdfast.storage.audit_chain import add_line
from holdfast.storage.sealed_transaction import SealedTransaction

WORK = "sweep"
BATCH = 500
BATCHES = 200
"""The most batches in one sweep; the next sweep continues."""


def sweep(engine: Engine, batch: int = BATCH, batches: int = BATCHES) -> Swept:
    now = engine.clock()
    expired = _remove_all(engine, _Expired(now), now, batch, batches)
    trash = _remove_all(engine, _OldTrash(now - TRASH_US), now, batch, batches)
    if expired or trash or engine.sealed.store.unclean:
        engine.run_job(lambda tx: tx.erase())
    grants = engine.run_job(lambda tx: tx.grants.delete_expired(now, batch))
    receipts = engine.run_job(lambda tx: tx.receipts.delete_before(now - IDEMPOTENCY_US, batch))
    proposals = engine.run_job(lambda tx: tx.proposals.delete_before(now - PROPOSAL_REMEMBERED_US, batch))
    for _ in range(batches):  # after other processes that wrote and closed soon
        if not engine.sealed.store.tidy():
            break
    return Swept(expired, trash, grants, receipts, proposals)


class _Due(Protocol):
    """Rows to remove. `holds` checks a row again inside the transaction."""

    def find(self, entries: EntryReads, limit: int, without: Sequence[UUID]) -> list[EntryAddress]: ...
    def holds(self, row: EntryRow) -> bool: ...


class _Expired(NamedTuple):
    now: int

    def find(self, entries: EntryReads, limit: int, without: Sequence[UUID]) -> list[EntryAddress]:
        return entries.expired(self.now, limit, without)

    def holds(self, row: EntryRow) -> bool:
        return row.expires_us is not None and row.expires_us <= self.now


class _OldTrash(NamedTuple):
    moment: int

    def find(self, entries: EntryReads, limit: int, without: Sequence[UUID]) -> list[EntryAddress]:
        return entries.trashed_before(self.moment, limit, without)

    def holds(self, row: EntryRow) -> bool:
        return row.trashed_us is not None and row.trashed_us < self.moment


def _remove_all(engine: Engine, due: _Due, now: int, batch: int, batches: int) -> int:
    """Batch after batch until nothing is due but in spaces where another worker removes it; writers get their turn in
    between."""
    total = 0
    elsewhere: list[UUID] = []
    for _ in range(batches):
        found = due.find(engine.sealed.store.entries, batch, elsewhere)
        if not found:
            break
        by_space: dict[UUID, list[int]] = defaultdict(list)
        for found_entry in found:
            by_space[found_entry.space].append(found_entry.number)
        with ExitStack() as leases:
            ours = {
                space: numbers
                for space, numbers in by_space.items()
                if leases.enter_context(engine.index.leases.hold(WORK, space)) is not None
            }
            elsewhere += by_space.keys() - ours.keys()
            total += engine.run_job(partial(_remove, engine=engine, due=due, now=now, by_space=ours))
    return total


def _remove(
    tx: Transaction, engine: Engine, due: _Due, now: int, by_space: Mapping[UUID, Sequence[int]]
) -> int:
    """Removes the rows that are still due: one may have been renewed or restored since it was found."""
    sealed = SealedTransaction(engine.sealed, tx, now)
    removed = 0
    for space, numbers in by_space.items():
        rows = [row for row in tx.entries.by_numbers(space, numbers) if due.holds(row)]
        if rows:
            removed += sealed.purge(space, rows, erase=False)
            _log(engine, tx, now, space, [row.number for row in rows])
    return removed


def _log(engine: Engine, tx: Transaction, now: int, space: UUID, numbers: Sequence[int]) -> None:
    """Logs removals that no caller requested."""
    sealed = engine.sealed
    codes = [fingerprint(sealed.store_key, entry_id(space, number).bytes) for number in numbers]
    for first in range(0, len(codes), A_LINE):
        some = b"".join(codes[first : first + A_LINE])
        add_line(sealed, tx.audit, now, "sweep", b"", sealed.space_code(space), some, 0)
