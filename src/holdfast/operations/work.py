"""Work to be done: what a surface returns and a door carries out, waiting in its own way (blocking, awaiting).
Not frozen, because one is made for every call: that costs half."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.contracts.storage import Job

T = TypeVar("T")


@dataclass(slots=True)
class Write(Generic[T]):
    """Checked and sealed by `prepare`, which gives the job for the store's writer. A job whose keys changed meanwhile
    is prepared again, so preparing must not have effects."""

    prepare: Callable[[], Job[T]]
    off: Callable[[], T] | None = None
    """What is answered when memory is off; None means that the call is refused as unavailable."""
    brief: bool = False
    """Prepared in microseconds, and from the engine alone: who writes for many may prepare it for them."""


@dataclass(slots=True)
class Steps(Generic[T]):
    """Long work in several transactions (sweep, rotation, many rows): runs to its end in the calling thread."""

    run: Callable[[], T]
    off: Callable[[], T] | None = None
    proposes: Write[str] | None = None
    """When all that `run` does is to ask a person: what keeps the proposal and gives its id."""


@dataclass(slots=True)
class Read(Generic[T]):
    """What turned out to be a read, of a call that may also write: answered where it stands, or in a thread when it
    computes for milliseconds."""

    run: Callable[[], T]
    aside: bool = False
    name: str = ""
    """What it is, where it may compute for long."""
    off: Callable[[], T] | None = None


Work = Write[T] | Steps[T] | Read[T]
