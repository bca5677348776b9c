"""How a door waits for work: blocking, or awaiting. Logic stands once, in the surfaces; here it is only carried out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial, wraps
from threading import local
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from holdfast.domain.errors import Unavailable
from holdfast.operations.engine import KEYS_CHANGE, TRIES, Engine
from holdfast.operations.work import Read, Steps, Work, Write
from holdfast.storage.keyring import StaleKeys
from holdfast.vocabularies.session import Session

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


class Door:
    """A surface's calls, and the session they are spoken from."""

    def __init__(self, calls: Any, session: Session) -> None:
        self._calls = calls
        self._session = session


def reading(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A read of a surface that needs nothing but its session, as it stands: nothing lies between it and the caller."""
    return call


def reading_there(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A read that needs the surface's own state."""

    @wraps(call)
    def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return call(door._calls, *args, **kwargs)

    return method


def reading_later(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The read as a method to be awaited. The embedded store answers in microseconds, so it runs where it stands; a
    database is asked in a thread."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if door._session.is_remote:
            return await asyncio.to_thread(call, door._calls, *args, **kwargs)
        return call(door._calls, *args, **kwargs)

    return method


def reading_aside(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """A read that may compute for milliseconds."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await aside(door._session, call.__name__, partial(call, door._calls, *args, **kwargs))

    return method


async def aside(session: Session, name: str, run: Callable[[], T]) -> T:
    """In a thread, so that the loop goes on; but where it stands while it is short, for of many at once each thread
    would wait for the interpreter longer than the read takes. An embedder is never short."""
    engine = session.engine_or_none
    if engine is None or session.is_remote or engine.index.embeds:
        return await asyncio.to_thread(run)
    timed = partial(engine.paces.timed, session.caller.principal, name, run)
    return (
        timed() if engine.paces.is_short(session.caller.principal, name) else await asyncio.to_thread(timed)
    )


def blocking(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The call as a method that returns when its work is done."""

    @wraps(call)
    def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return carry_out(door._session, call(door._calls, *args, **kwargs))

    return method


def awaiting(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The call as a method to be awaited: it waits for the writer without a thread of its own."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await carry_out_async(door._session, call(door._calls, *args, **kwargs))

    return method


def carry_out(session: Session, work: Work[T]) -> T:
    engine = session.engine_or_none
    if engine is None:
        return _off(session, work)
    return engine.write(work) if isinstance(work, Write) else work.run()


async def carry_out_async(session: Session, work: Work[T]) -> T:
    engine = session.engine_or_none
    if engine is None:
        return _off(session, work)
    if isinstance(work, Read) and work.aside:
        return await aside(session, work.name, work.run)
    if isinstance(work, Read) and not session.is_remote:
        return work.run()
    if isinstance(work, Steps | Read):
        return await asyncio.to_thread(work.run)
    if session.is_remote:
        return await asyncio.to_thread(engine.write, work)
    for _ in range(TRIES):
        try:
            return await _landing().wait_for(engine, work)
        except StaleKeys as stale:
            engine.refresh(stale)
    raise Unavailable(KEYS_CHANGE)


class _Flight(Generic[T]):
    """A write on its way: what the writer's thread tells of it, until the loop looks."""

    __slots__ = ("_landing", "error", "result", "waiting")

    def __init__(self, landing: _Landing, waiting: asyncio.Future[T]) -> None:
        self._landing = landing
        self.waiting = waiting
        self.result: T | None = None
        self.error: BaseException | None = None

    def set_running_or_notify_cancel(self) -> bool:
        """Only the loop knows whether anybody still waits."""
        return True

    def set_result(self, result: T) -> None:
        self.result = result
        self._landing.done.append(self)

    def set_exception(self, exception: BaseException | None) -> None:
        self.error = exception
        self._landing.done.append(self)

    def tell(self) -> None:
        self._landing.wake()


class _Landing:
    """Brings what the writer's thread has done to a loop. A batch ends many writes at once, and waking the loop costs a
    system call: it is woken once for all of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.done: deque[_Flight[Any]] = deque()
        self._woken = False

    def wait_for(self, engine: Engine, work: Write[T]) -> asyncio.Future[T]:
        waiting: asyncio.Future[T] = self.loop.create_future()
        engine.submit_to(work, _Flight(self, waiting))
        return waiting

    def wake(self) -> None:
        if self.done and not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._woken = False  # before looking: what lands from now on wakes the loop again
        while self.done:
            flight = self.done.popleft()
            waiting = flight.waiting
            if waiting.cancelled():
                continue
            if flight.error is not None:
                waiting.set_exception(flight.error)
            else:
                waiting.set_result(flight.result)


class _Here(local):
    """A thread runs one loop at a time; what lands there goes with it."""

    landing: _Landing | None = None


_here = _Here()


def _landing() -> _Landing:
    loop, landing = asyncio.get_running_loop(), _here.landing
    if landing is None or landing.loop is not loop:
        landing = _here.landing = _Landing(loop)
    return landing


def _off(session: Session, work: Work[T]) -> T:
    if work.off is None:
        raise Unavailable(session.reason)
    return work.off()
