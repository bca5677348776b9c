"""The queue of jobs to the writer, and the wake-up of their callers.

The driver releases the interpreter at every statement. Many awake callers would take it each time, which costs more
than the writing. So the writer starts once they all wait, and they wake one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition, Lock, get_ident, main_thread
from typing import Any

from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Unavailable
from holdfast.storage.sqlite.connections import CLOSED

BATCH = 256
GATHER_SECONDS = 0.001
HEAL_SECONDS = 1.0
"""The pause between checks for a caller that failed to wake the next one."""


@dataclass(slots=True, eq=False)
class Task:
    """A job, and the future or the thread that waits for it. Waiting at a lock costs a fraction of a future."""

    run: Callable[[Transaction], Any]
    future: Future[Any] | None = None
    lock: Lock | None = None
    wakes_next: bool = False
    result: Any = None
    error: BaseException | None = None
    committed: bool = False
    erases: bool = False
    erases_later: bool = False

    def make_wait(self) -> None:
        """Makes the calling thread wait at a lock. The main thread may be interrupted, so it wakes no other
        caller."""
        self.lock = Lock()
        self.lock.acquire()
        self.wakes_next = get_ident() != main_thread().ident

    def resolve(self) -> None:
        if self.lock is not None:
            self.lock.release()
        elif self.future is None or not self.future.set_running_or_notify_cancel():
            return  # cancelled; what was written stays
        elif self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Line:
    """The tasks that wait to be written, first come first."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.refusal = ""
        """The reason why no task is taken any more; empty while the queue is open."""
        self._wanted = 1
        self._lock = Lock()
        self._enough = Condition(self._lock)

    def join(self, task: Task) -> None:
        with self._lock:
            if self.refusal:
                raise Unavailable(self.refusal)
            self.tasks.append(task)
            if len(self.tasks) >= self._wanted:
                self._enough.notify()

    def gather(self, crowd: int, patience: float | None) -> bool:
        """Waits for a task, then for about as many as came lately: callers just answered are about to write again,
        and each that joins saves an fsync. False when there is no task."""
        with self._lock:
            self._wait_for(1, patience)
            seen = 0
            while seen < len(self.tasks) < crowd:
                seen = len(self.tasks)
                self._wait_for(crowd, GATHER_SECONDS)
            return bool(self.tasks)

    def _wait_for(self, many: int, seconds: float | None) -> None:
        self._wanted = many
        self._enough.wait_for(lambda: len(self.tasks) >= many or self.refusal, seconds)

    def take(self, batch: list[Task]) -> list[Task]:
        """Moves waiting tasks to the batch, and returns it."""
        with self._lock:
            batch += self.tasks[:BATCH]
            del self.tasks[:BATCH]
        return batch

    def close(self, refusal: str = CLOSED) -> None:
        """Refuses every later task with this message."""
        with self._lock:
            self.refusal = self.refusal or refusal
            self._enough.notify()


class Answers:
    """Callers to be woken. Each wakes the next as soon as it runs, so that no two contend for the interpreter. A
    caller that ends before doing so leaves that to the writer, which checks after each batch and when idle: waiting
    with a timeout would cost every caller more."""

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

    def wait_for(self, task: Task) -> None:
        """Waits for the outcome. The main thread checks now and then, because it is not interrupted while waiting on
        every platform."""
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
