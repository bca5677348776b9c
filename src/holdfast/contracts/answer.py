"""Where the outcome of a job goes."""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T", contravariant=True)


class Answer(Protocol[T]):
    """Where the outcome of a job goes, told by a thread of the store: a future, or what stands for one."""

    def set_running_or_notify_cancel(self) -> bool:
        """False when nobody waits any more."""
        ...

    def set_result(self, result: T) -> None: ...

    def set_exception(self, exception: BaseException | None) -> None: ...
