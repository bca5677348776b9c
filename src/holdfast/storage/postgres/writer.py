"""Jobs in transactions. A waiting caller runs its own job; submitted jobs run on a few threads, those of one caller
in order. A job that conflicts with another is run again. A commit that was cut off is reported as uncertain, never
guessed."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Event, Lock, Thread, get_ident
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Unavailable
from holdfast.storage.fork_guard import FORKED, abandon_in_children
from holdfast.storage.postgres.access import AgentWrites, GrantWrites, MemberWrites, RuleWrites
from holdfast.storage.postgres.audit import AuditWrites
from holdfast.storage.postgres.connections import (
    AGAIN,
    CLOSED,
    UNCERTAIN,
    Connections,
    Db,
    OnConnection,
    connecting,
    lost,
    translated,
)
from holdfast.storage.postgres.copies import CopyWrites
from holdfast.storage.postgres.entry_writes import EntryWrites
from holdfast.storage.postgres.keys import KeyWrites, NameWrites
from holdfast.storage.postgres.proposals import ProposalWrites
from holdfast.storage.postgres.ranking_rows import DerivedWrites, ModelWrites
from holdfast.storage.postgres.receipts import ReceiptWrites
from holdfast.storage.postgres.spaces import SpaceWrites
from holdfast.storage.postgres.word_index import TermWrites

TRIES = 20
FIRST_PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.5
THREADS = 8
"""Threads for submitted jobs; a waiting caller needs none."""
VACUUM_SECONDS = 5.0
"""The delay of a vacuum after a purge, so that it covers later purges too."""
PURGED = ("entries", "revisions", "labels", "terms", "derived", "data_keys", "receipts", "proposals")

T = TypeVar("T")
log = logging.getLogger("holdfast")


class PostgresTransaction:
    """One job's view of the store; `entries`, `terms` … are the contracts' writes on its connection."""

    def __init__(self, tx: OnConnection, *, collects: bool) -> None:
        self.on = tx
        self.entries = EntryWrites(tx, collects=collects)
        self.terms = TermWrites(tx)
        self.derived = DerivedWrites(tx)
        self.models = ModelWrites(tx)
        self.copies = CopyWrites(tx, self.entries)
        self.spaces = SpaceWrites(tx)
        self.names = NameWrites(tx)
        self.keys = KeyWrites(tx)
        self.grants = GrantWrites(tx)
        self.members = MemberWrites(tx)
        self.rules = RuleWrites(tx)
        self.agents = AgentWrites(tx)
        self.receipts = ReceiptWrites(tx)
        self.proposals = ProposalWrites(tx)
        self.audit = AuditWrites(tx)
        self.erases = False

    def erase(self, *, wait: bool = True) -> None:  # noqa: ARG002
        """Does nothing but ask for a vacuum: rows are gone with the commit, their bytes when PostgreSQL reuses the
        space (docs/scaling.md)."""
        self.erases = True


class Writer:
    def __init__(self, connections: Connections, *, at_once: int) -> None:
        self._connections = connections
        self._turns = BoundedSemaphore(at_once)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-writer")
        self._queues: dict[int, deque[tuple[Callable[[Transaction], Any], Future[Any]]]] = {}
        self._lock = Lock()
        self._refusal = ""
        self._vacuum = Vacuum(connections.dsn)
        abandon_in_children(self)

    @property
    def unclean(self) -> bool:
        return self._vacuum.due

    def submit(self, run: Callable[[Transaction], T]) -> Future[T]:
        caller, future = get_ident(), Future[T]()
        with self._lock:
            if self._refusal:
                raise Unavailable(self._refusal)
            queue = self._queues.get(caller)
            if queue is None:
                self._queues[caller] = deque([(run, future)])
                self._threads.submit(self._serve, caller)
            else:
                queue.append((run, future))
        return future

    def write(self, run: Callable[[Transaction], T]) -> T:
        if get_ident() in self._queues:
            return self.submit(run).result()
        if self._refusal:
            raise Unavailable(self._refusal)
        return self._run(run)

    def close(self) -> None:
        with self._lock:
            self._refusal = self._refusal or CLOSED
        self._threads.shutdown(wait=True)
        self._vacuum.close()

    def abandon(self) -> None:
        self._lock, self._refusal = Lock(), FORKED

    def _serve(self, caller: int) -> None:
        """Runs the submitted jobs of one caller until none is left."""
        while True:
            with self._lock:
                queue = self._queues[caller]
                if not queue:
                    del self._queues[caller]
                    return
                run, future = queue.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._run(run))
            except BaseException as error:
                future.set_exception(error)

    def _run(self, run: Callable[[Transaction], T]) -> T:
        """Leaves some connections to readers, however many jobs wait."""
        if not self._turns.acquire(timeout=self._connections.patience.pool_seconds):
            raise Unavailable("Too many writes wait for the database; try again.")
        try:
            return self._repeat(run)
        finally:
            self._turns.release()

    def _repeat(self, run: Callable[[Transaction], T]) -> T:
        collects = True
        for turn in range(TRIES):
            try:
                return self._once(run, collects=collects)
            except psycopg.Error as error:
                met_another = isinstance(error, AGAIN)
                met_itself = collects and isinstance(error, psycopg.errors.UniqueViolation)
                if not (met_another or met_itself or lost(error)) or turn == TRIES - 1:
                    raise translated(error) from error
                if met_itself:
                    collects = False
                if met_another:
                    _pause(turn)
        raise AssertionError("the last turn returns or raises")

    def _once(self, run: Callable[[Transaction], T], *, collects: bool) -> T:
        with self._connections.lent() as db:
            tx = PostgresTransaction(OnConnection(db, self._connections), collects=collects)
            try:
                result = run(tx)
                if tx.on.failure is not None:
                    raise tx.on.failure  # it went on although its transaction had failed
                _commit(db, tx)
            except BaseException:
                _undo(db)
                raise
        if tx.erases:
            self._vacuum.ask()
        return result


def _commit(db: Db, tx: PostgresTransaction) -> None:
    left = [*tx.entries.left(), *tx.spaces.left(), *tx.terms.left(), *tx.audit.left()]
    if not left and not tx.on.begun:
        return
    try:
        tx.on.run_last(left)
    except psycopg.Error as error:
        if db.closed or lost(error):
            raise Unavailable(UNCERTAIN) from error
        raise


def _undo(db: Db) -> None:
    if not db.closed and db.info.transaction_status != TransactionStatus.IDLE:
        with contextlib.suppress(psycopg.Error):
            db.execute("ROLLBACK")


def _pause(turn: int) -> None:
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**turn)
    time.sleep(random.uniform(longest / 2, longest))


class Vacuum:
    """Vacuums purged tables in the background, as far as possible: autovacuum would come later."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._stop = Event()
        self._lock = Lock()
        self._thread: Thread | None = None

    @property
    def due(self) -> bool:
        return self._thread is not None

    def ask(self) -> None:
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._serve, name="holdfast-vacuum", daemon=True)
                self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if (thread := self._thread) is not None:
            thread.join()

    def _serve(self) -> None:
        if not self._stop.wait(VACUUM_SECONDS):
            try:
                self._run()
            except psycopg.Error as error:
                log.warning("what was purged could not be vacuumed yet: %s", translated(error).message)
        with self._lock:
            self._thread = None

    def _run(self) -> None:
        with psycopg.connect(self._dsn, **connecting(self._dsn)) as db:
            for table in PURGED:
                if self._stop.is_set():
                    return
                db.execute(
                    sql.SQL("VACUUM (SKIP_LOCKED) holdfast.{table}").format(table=sql.Identifier(table))
                )
