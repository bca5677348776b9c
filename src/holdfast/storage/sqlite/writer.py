"""One thread that writes. It commits all waiting jobs together, so that many callers share one fsync. A job that is
refused takes nothing from the others: if it had written, the batch is undone and run again without it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import apsw

from holdfast.contracts.storage import Job
from holdfast.domain.errors import Unavailable
from holdfast.storage.sqlite.access import GrantWrites, MemberWrites, RuleWrites
from holdfast.storage.sqlite.audit import AuditWrites
from holdfast.storage.sqlite.connections import Connections, OnConnection
from holdfast.storage.sqlite.derived import DerivedWrites
from holdfast.storage.sqlite.entries import EntryWrites
from holdfast.storage.sqlite.erasing import merge_slice
from holdfast.storage.sqlite.errors import translated
from holdfast.storage.sqlite.keys import KeyWrites, NameWrites
from holdfast.storage.sqlite.models import ModelWrites
from holdfast.storage.sqlite.receipts import ReceiptWrites
from holdfast.storage.sqlite.spaces import SpaceNumbers, SpaceWrites
from holdfast.storage.sqlite.terms import TermWrites

BATCH = 256
GATHER_SECONDS = 0.001
SHARED_SLICES = 64
"""Merging steps that let other writes in between; after so many the rest is done at one go."""
PATIENCE_SECONDS = 5.0
"""How long a purge waits for readers of other processes before it is answered and erased later."""
ERASE_SECONDS = 1.0
"""How soon what is left to erase is tried again."""
OVERDUE_SECONDS = 10.0

T = TypeVar("T")
log = logging.getLogger("holdfast")


class SqliteTransaction:
    """One batch's view of the store; `entries`, `terms` … are the contracts' writes on the writer's connection."""

    def __init__(self, db: apsw.Connection) -> None:
        tx = OnConnection(db)
        number_of = SpaceNumbers(tx)
        self.db = db
        self.entries = EntryWrites(tx, number_of)
        self.terms = TermWrites(tx, number_of)
        self.derived = DerivedWrites(tx, number_of)
        self.models = ModelWrites(tx)
        self.spaces = SpaceWrites(tx, number_of)
        self.names = NameWrites(tx)
        self.keys = KeyWrites(tx)
        self.grants = GrantWrites(tx)
        self.members = MemberWrites(tx)
        self.rules = RuleWrites(tx)
        self.receipts = ReceiptWrites(tx)
        self.audit = AuditWrites(tx)
        self.erases = False
        self.erases_later = False

    def erase(self, *, wait: bool = True) -> None:
        self.erases |= wait
        self.erases_later |= not wait


@dataclass(slots=True)
class _Task:
    """A job and who waits for it: a future, or a thread at a lock, which costs a fraction of a future."""

    job: Job[Any]
    future: Future[Any] | None = None
    lock: Lock = field(default_factory=Lock)
    result: Any = None
    error: BaseException | None = None
    erases: bool = False
    erases_later: bool = False

    def resolve(self) -> None:
        if self.future is None:
            self.lock.release()
        elif not self.future.set_running_or_notify_cancel():
            return  # who waited has gone; what was written stays
        elif self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._owed: list[_Task] = []
        self._slices = 0
        self._crowd = 1
        self.unclean = False
        self._clean_at = time.monotonic()
        self._lock = Lock()
        self._closed = False
        self._thread = Thread(target=self._serve, name="holdfast-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> Future[T]:
        future: Future[T] = Future()
        self._enqueue(_Task(job, future))
        return future

    def write(self, job: Job[T]) -> T:
        task = _Task(job)
        task.lock.acquire()
        self._enqueue(task)
        task.lock.acquire()
        if task.error is not None:
            raise task.error
        result: T = task.result
        return result

    def _enqueue(self, task: _Task) -> None:
        with self._lock:
            if self._closed:
                raise Unavailable("This memory is closed; open it again.")
            self._queue.put(task)

    def close(self) -> None:
        with self._lock:
            already, self._closed = self._closed, True
        if not already:
            self._queue.put(None)
            self._thread.join()

    def _serve(self) -> None:
        """Ends at the None that `close` puts last, after everything submitted before it."""
        stopping = False
        while not stopping or self._owed:
            try:
                task = self._queue.get(block=not self._owed, timeout=ERASE_SECONDS if self.unclean else None)
            except Empty:
                self._erase_some()
                continue
            if task is None:
                stopping = True
            else:
                stopping = not self._commit(task) or stopping
            if self._owed or self._is_overdue():
                self._erase_some()
        if self.unclean:
            self._erase_some()

    def _is_overdue(self) -> bool:
        """Whether erasing has waited so long for a quiet moment that it goes on between writes."""
        if not self.unclean:
            self._clean_at = time.monotonic()
        return time.monotonic() - self._clean_at > OVERDUE_SECONDS

    def _commit(self, first: _Task) -> bool:
        """Runs and commits everything that waits. False when the end of the queue was met on the way."""
        tasks = [first]
        going_on = True
        with self._connections.writing() as db:
            try:
                with _transaction(db) as tx:
                    _run(tx, first)
                    for task in self._waiting(tasks):
                        if task is None:
                            going_on = False
                            break
                        tasks.append(task)
                        _run(tx, task)
            except _HalfDone:
                _commit_without_the_refused(db, tasks)
            except apsw.Error as error:
                _fail(tasks, error)
        self._crowd = max(len(tasks), self._crowd // 2)
        self.unclean |= any(task.erases_later for task in tasks if task.error is None)
        self._owed += [task for task in tasks if task.erases and task.error is None]
        for task in tasks:
            if not (task.erases and task.error is None):
                task.resolve()
        return going_on

    def _waiting(self, taken: list[_Task]) -> Iterator[_Task | None]:
        """Tasks to be committed with those already taken. While fewer have come than lately, it waits a moment for the
        next: callers just answered are about to write again, and every one that still comes saves an fsync."""
        while len(taken) < BATCH:
            if len(taken) >= self._crowd and self._queue.empty():
                return
            try:
                yield self._queue.get(timeout=GATHER_SECONDS)
            except Empty:
                return

    def _erase_some(self) -> None:
        """Merges the word index a little; once no deleted term is left, clears the file and answers who waits. What
        cannot be erased now (a full disk, a reader in the way) is tried again; the rows themselves are gone."""
        patience = PATIENCE_SECONDS if self._owed else 0.0
        try:
            with self._connections.writing() as db:
                self._slices += 1
                clean = merge_slice(db)
                while not clean and self._slices > SHARED_SLICES:
                    clean = merge_slice(db)
                if not clean:
                    return
                self.unclean = not self._connections.clear(patience)
        except apsw.Error as error:
            log.warning("what was purged could not be erased yet: %s", translated(error).message)
            self.unclean = True
        owed, self._owed, self._slices = self._owed, [], 0
        for task in owed:
            task.resolve()


class _HalfDone(Exception):
    """A job was refused after it had written: the batch has to be undone."""


@contextlib.contextmanager
def _transaction(db: apsw.Connection) -> Iterator[SqliteTransaction]:
    db.execute("BEGIN IMMEDIATE").fetchall()
    try:
        tx = SqliteTransaction(db)
        yield tx
        tx.terms.flush()
        db.execute("COMMIT").fetchall()
    except BaseException:
        if db.in_transaction:
            with contextlib.suppress(apsw.Error):
                db.execute("ROLLBACK").fetchall()
        raise


def _run(tx: SqliteTransaction, task: _Task) -> None:
    """A job that is refused before it wrote anything leaves no trace: most are. It needs no savepoint, which would be
    two statements more for every write."""
    before = tx.db.total_changes()
    tx.erases = tx.erases_later = False
    try:
        task.result = task.job(tx)
        task.erases, task.erases_later = tx.erases, tx.erases_later
        tx.terms.keep_job()
    except apsw.Error:
        raise
    except BaseException as refusal:
        task.error = refusal
        tx.terms.forget_job()
        if tx.db.total_changes() != before:
            raise _HalfDone from None


def _commit_without_the_refused(db: apsw.Connection, tasks: list[_Task]) -> None:
    """After a batch was undone: runs the others again. A job depends on nothing but the transaction it is given."""
    while True:
        try:
            with _transaction(db) as tx:
                for task in tasks:
                    if task.error is None:
                        _run(tx, task)
            return
        except _HalfDone:
            continue
        except apsw.Error as error:
            _fail(tasks, error)
            return


def _fail(tasks: list[_Task], error: apsw.Error) -> None:
    """The database itself failed: nothing of the batch was kept."""
    for task in tasks:
        if task.error is None:
            task.error = translated(error)
            task.error.__cause__ = error
