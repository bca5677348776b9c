"""Jobs on their way to the writer, and callers on their way back.

The driver lets go of the interpreter at every statement. A crowd of callers awake at the same time would take it away
each time, which costs more than the writing; so the writer starts once they all wait, and they wake one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Condition, Lock, get_ident, main_thread
from typing import Any

from holdfast.contracts.storage import Answer, Job
from holdfast.domain.errors import Unavailable
from holdfast.storage.sqlite.errors import CLOSED

BATCH = 256
GATHER_SECONDS = 0.001
HEAL_SECONDS = 1.0
"""How soon it is looked whether somebody failed to wake the next one."""


class Task:
    """A job and who waits for it: an answer to be given, a thread at a lock (which costs a fraction of a future), or
    nobody."""

    __slots__ = (
        "answer",
        "committed",
        "erases",
        "erases_later",
        "error",
        "job",
        "lock",
        "result",
        "wakes_next",
    )

    def __init__(self, job: Job[Any], answer: Answer[Any] | None = None) -> None:
        self.job = job
        self.answer = answer
        self.lock: Lock | None = None
        self.wakes_next = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.committed = False
        self.erases = False
        self.erases_later = False

    def make_wait(self) -> None:
        """The calling thread is going to wait. The main one may be interrupted, so nobody's waking hangs on it."""
        self.lock = Lock()
        self.lock.acquire()
        self.wakes_next = get_ident() != main_thread().ident

    def resolve(self) -> None:
        if self.lock is not None:
            self.lock.release()
        elif self.answer is None or not self.answer.set_running_or_notify_cancel():
            return  # who waited has gone; what was written stays
        elif self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class Line:
    """Tasks that wait to be written, first come first."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._wanted = 1
        self._lock = Lock()
        self._enough = Condition(self._lock)
        self._refusal = ""

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_closed(self) -> bool:
        return bool(self._refusal)

    def require_open(self) -> None:
        if self._refusal:
            raise Unavailable(self._refusal)

    def join(self, task: Task) -> None:
        with self._lock:
            self.require_open()
            self._tasks.append(task)
            if len(self._tasks) >= self._wanted:
                self._enough.notify()

    def gather(self, crowd: int, patience: float | None) -> bool:
        """Waits for a task, and then for as many as came lately while they keep coming: callers just answered are about
        to write again, and each that still comes saves an fsync. False when there is none."""
        with self._lock:
            self._wait_for(1, patience)
            seen = 0
            while seen < len(self._tasks) < crowd:
                seen = len(self._tasks)
                self._wait_for(crowd, GATHER_SECONDS)
            return bool(self._tasks)

    def _wait_for(self, many: int, seconds: float | None) -> None:
        self._wanted = many
        self._enough.wait_for(lambda: len(self._tasks) >= many or self._refusal, seconds)

    def take(self) -> list[Task]:
        with self._lock:
            taken = self._tasks[:BATCH]
            del self._tasks[:BATCH]
            return taken

    def close(self, refusal: str = CLOSED) -> None:
        """From now on whoever comes is told this."""
        with self._lock:
            self._refusal = self._refusal or refusal
            self._enough.notify()


class Answers:
    """Callers to be woken. Each wakes the next as soon as it runs, so that no two contend for the interpreter. One that
    ends before it does leaves that to the writer, which looks when the next batch is done and while it has nothing to
    do: to wait with a timeout would cost every caller more."""

    def __init__(self) -> None:
        self._due: deque[Task] = deque()

    def __bool__(self) -> bool:
        return bool(self._due)

    def give(self, tasks: Sequence[Task]) -> None:
        while self._due:
            self.wake_next()
        for task in tasks:
            if task.wakes_next:
                self._due.append(task)
            else:
                task.resolve()
        self.wake_next()
        for task in tasks:
            if task.answer is not None:
                task.answer.tell()

    def wait_for(self, task: Task) -> None:
        """The main thread looks up now and then: not everywhere is it interrupted while it waits."""
        assert task.lock is not None
        if task.wakes_next:
            task.lock.acquire()
        else:
            while not task.lock.acquire(timeout=HEAL_SECONDS):
                pass
        self.wake_next()

    def wake_next(self) -> None:
        try:
            task = self._due.popleft()
        except IndexError:
            return
        task.resolve()
