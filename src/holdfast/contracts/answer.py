"""Where the outcome of a job goes."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol, TypeVar

T = TypeVar("T", contravariant=True)
R = TypeVar("R")


class Answer(Protocol[T]):
    """Where the outcome of a job goes, told by a thread of the store: a future, or what stands for one."""

    def set_running_or_notify_cancel(self) -> bool:
        """False when nobody waits any more."""
        ...

    def set_result(self, result: T) -> None: ...

    def set_exception(self, exception: BaseException | None) -> None: ...

    def tell(self) -> None:
        """Comes after the outcome, and after those of all that were done with it: who waits is to look now. Woken in
        between, they would take the interpreter from who still has others to answer."""
        ...


class Awaited(Future[R]):
    """A future as an answer; who waits for it is told by the future itself."""

    def tell(self) -> None: ...
