"""The writer. Many callers share one fsync: a thread commits all waiting jobs together, and a caller who is alone
commits in its own thread. A refused job takes nothing from the others: if it had written, the batch is undone and
runs again without it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TypeVar

import apsw

from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Unavailable
from holdfast.storage.fork_guard import FORKED, abandon_in_children
from holdfast.storage.sqlite.access import AgentWrites, GrantWrites, MemberWrites, RuleWrites
from holdfast.storage.sqlite.audit import AuditWrites
from holdfast.storage.sqlite.connections import Connections, OnConnection, translated
from holdfast.storage.sqlite.copies import CopyWrites
from holdfast.storage.sqlite.entry_writes import EntryWrites
from holdfast.storage.sqlite.keys import KeyWrites, NameWrites
from holdfast.storage.sqlite.proposals import ProposalWrites
from holdfast.storage.sqlite.ranking_rows import DerivedWrites, ModelWrites
from holdfast.storage.sqlite.receipts import ReceiptWrites
from holdfast.storage.sqlite.secure_erase import merge_slice
from holdfast.storage.sqlite.spaces import SpaceWrites
from holdfast.storage.sqlite.word_index import TermWrites
from holdfast.storage.sqlite.write_queue import HEAL_SECONDS, Answers, Line, Task

SHARED_SLICES = 64
"""Merging steps between which other writes run; after so many, the rest is merged at once."""
PATIENCE_SECONDS = 5.0
"""The time a purge waits for readers of other processes, before it is answered and erased later."""
ERASE_SECONDS = 1.0
"""The pause before erasing is tried again."""
OVERDUE_SECONDS = 10.0

T = TypeVar("T")
log = logging.getLogger("holdfast")


class SqliteTransaction:
    """One batch's view of the store; `entries`, `terms` … are the contracts' writes on the writer's connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self.on = tx = OnConnection(db)
        self.entries = EntryWrites(tx)
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
        self.erases_later = False
        self.keep_job = self.terms.keep_job
        self.forget_job = self.terms.forget_job

    def erase(self, *, wait: bool = True) -> None:
        self.erases |= wait
        self.erases_later |= not wait

    def flush(self) -> None:
        """Writes everything deferred."""
        self.audit.flush()
        self.on.catch_up()
        self.terms.flush()


class Writer:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._line = Line()
        self._answers = Answers()
        self._turn = Lock()
        """The lock of the committing thread."""
        self._tx: SqliteTransaction | None = None
        self.crowd = 1
        """The number of callers that wrote together lately."""
        self._owed: list[Task] = []
        self._slices = 0
        self.unclean = False
        self._complaint = ""
        self._clean_at = time.monotonic()
        self._thread = Thread(target=self._serve, name="holdfast-writer", daemon=True)
        self._thread.start()
        abandon_in_children(self)

    def submit(self, run: Callable[[Transaction], T]) -> Future[T]:
        future: Future[T] = Future()
        self._line.join(Task(run, future))
        return future

    def write(self, run: Callable[[Transaction], T]) -> T:
        """Commits the job in the caller's thread if nobody else writes: if that caller is interrupted, no other job is
        in the commit. Erasing is left to the writer's thread, also when the caller was interrupted after its commit."""
        task = Task(run)
        if self.crowd > 1 or self._line.tasks or self._turn.locked():
            task.make_wait()
            self._line.join(task)
        else:
            with self._turn:
                if self._line.refusal:
                    raise Unavailable(self._line.refusal)
                try:
                    self._commit([task])
                finally:
                    if task.error is None and (task.erases or task.erases_later):
                        self._leave_erasing(task)
        if task.lock is not None:
            self._answers.wait_for(task)
        if task.error is not None:
            raise task.error
        result: T = task.result
        return result

    def close(self) -> None:
        with self._turn:
            self._line.close()
        self._thread.join()

    def abandon(self) -> None:
        self._turn, self._line = Lock(), Line()
        self._line.close(FORKED)

    def _leave_erasing(self, task: Task) -> None:
        task.committed = True
        self.unclean |= task.erases_later
        if task.erases:
            task.make_wait()
        self._line.join(task)

    def _serve(self) -> None:
        """Runs until the queue is closed and every task in it is answered."""
        while not self._line.refusal or self._line.tasks or self._owed:
            came = self._line.gather(self.crowd, self._patience())
            if came:
                self._commit_together()
            else:
                self._answers.wake_next()
            if self._is_overdue() or self._owed or (self.unclean and not came):
                self._erase_some()
        if self.unclean:
            self._erase_some()

    def _patience(self) -> float | None:
        """The longest wait for a new job; None: no limit."""
        if self._owed:
            return 0
        return ERASE_SECONDS if self.unclean else HEAL_SECONDS if self._answers else None

    def _is_overdue(self) -> bool:
        """Returns True when erasing has waited too long for a quiet moment, and goes on between writes."""
        if not self.unclean:
            self._clean_at = time.monotonic()
        return time.monotonic() - self._clean_at > OVERDUE_SECONDS

    def _commit_together(self) -> None:
        """Commits all waiting tasks. The expected number of callers halves with each smaller batch."""
        tasks: list[Task] = []
        with self._turn:
            self._commit(tasks)
        self.crowd = max(len(tasks), self.crowd // 2, 1)
        done = [task for task in tasks if task.error is None]
        self.unclean |= any(task.erases_later for task in done)
        owed = [task for task in done if task.erases]
        self._owed += owed
        self._answers.give([task for task in tasks if task not in owed] if owed else tasks)

    def _commit(self, tasks: list[Task]) -> None:
        """Runs and commits these tasks; given none, all that wait by the time the file is free. When a task is
        refused after it wrote, the batch is undone and the others run again, which is safe because jobs depend on
        their transaction alone."""
        with self._connections.writing() as db:
            try:
                at_once = len(tasks) == 1  # there is nothing to write together
                while not self._try_to_commit(db, tasks, at_once=at_once):
                    at_once = True
            except Exception as error:  # whatever it is, nobody is left without an answer
                _fail(tasks or self._line.take(tasks), error)

    def _try_to_commit(self, db: apsw.Connection, tasks: list[Task], *, at_once: bool) -> bool:
        """Tries to commit; False when the batch must run again with every row written at once, so that the refused
        task is known."""
        try:
            if db.in_transaction:  # left by a caller who was interrupted while undoing
                db.execute("ROLLBACK").fetchall()
            db.execute("BEGIN IMMEDIATE").fetchall()
            # What the last one learned stays true only if it was committed.
            tx, self._tx = self._tx or SqliteTransaction(db), None
            tx.on.at_once = at_once
            for task in tasks or self._line.take(tasks):
                if task.error is None and not task.committed:
                    _run(tx, task)
            tx.flush()
            db.execute("COMMIT").fetchall()
        except _HalfDone:
            _undo(db)
            return False
        except apsw.ConstraintError:
            _undo(db)
            if at_once:
                raise
            return False
        except BaseException:
            _undo(db)
            raise
        self._tx = tx
        return True

    def _erase_some(self) -> None:
        """Merges the word index a little. Once no deleted term is left, clears the file and answers the waiting
        purges. After a failure (a full disk, a reader in the way) the bytes are erased later; the rows themselves are
        gone."""
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
        except Exception as error:  # whatever it is, nobody is left without an answer
            self._complain(error)
            self.unclean = True
        if not self.unclean:
            self._complaint = ""
        owed, self._owed, self._slices = self._owed, [], 0
        self._answers.give(owed)

    def _complain(self, error: Exception) -> None:
        """Logs each cause once, however often it is met again."""
        message = translated(error).message if isinstance(error, apsw.Error) else str(error)
        if message != self._complaint:
            self._complaint = message
            log.warning("what was purged could not be erased yet: %s", message)


class _HalfDone(Exception):
    """A job was refused after it wrote, so the batch has to be undone."""


def _undo(db: apsw.Connection) -> None:
    if db.in_transaction:
        with contextlib.suppress(apsw.Error):
            db.execute("ROLLBACK").fetchall()


def _run(tx: SqliteTransaction, task: Task) -> None:
    """Runs a job. Most refusals come before any write and leave no trace, so there is no savepoint, which would be
    two more statements for every write."""
    before = tx.on.changes()
    tx.erases = tx.erases_later = False
    try:
        task.result = task.run(tx)
        task.erases, task.erases_later = tx.erases, tx.erases_later
        tx.keep_job()
    except apsw.Error:
        raise
    except BaseException as refusal:
        wrote = tx.on.changes() != before
        # Deferred rows may have misled it, so its refusal counts once they are written at once.
        if not wrote or tx.on.at_once or isinstance(refusal, KeyboardInterrupt):
            task.error = refusal
            tx.forget_job()
        if wrote:
            raise _HalfDone from None


def _fail(tasks: list[Task], error: Exception) -> None:
    """Fails every task, because the database itself failed and nothing of the batch was kept."""
    for task in tasks:
        if task.error is None and not task.committed:
            task.error = error
            if isinstance(error, apsw.Error):
                task.error = translated(error)
                task.error.__cause__ = error
