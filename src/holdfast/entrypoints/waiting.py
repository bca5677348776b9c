"""How a door waits for work: blocking, or awaiting. Logic stands once, in the surfaces; here it is only carried out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from holdfast.domain.errors import Unavailable
from holdfast.operations.engine import TRIES, Engine
from holdfast.operations.work import Read, Steps, Work, Write
from holdfast.storage.keyring import StaleKeys
from holdfast.surfaces.seat import Seat

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


class Door:
    """A surface's calls, and the seat they are spoken from."""

    def __init__(self, calls: Any, seat: Seat) -> None:
        self._calls = calls
        self._seat = seat


def reading(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A read of a surface that needs nothing but its seat, as it stands: nothing lies between it and the caller."""
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
        if door._seat.is_remote:
            return await asyncio.to_thread(call, door._calls, *args, **kwargs)
        return call(door._calls, *args, **kwargs)

    return method


def reading_aside(call: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """A read that computes for milliseconds: in a thread, so that the loop goes on."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(call, door._calls, *args, **kwargs)

    return method


def blocking(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The call as a method that returns when its work is done."""

    @wraps(call)
    def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return carry_out(door._seat, call(door._calls, *args, **kwargs))

    return method


def awaiting(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The call as a method to be awaited: it waits for the writer without a thread of its own."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await carry_out_async(door._seat, call(door._calls, *args, **kwargs))

    return method


def carry_out(seat: Seat, work: Work[T]) -> T:
    engine = seat.engine_or_none
    if engine is None:
        return _off(seat, work)
    return engine.write(work) if isinstance(work, Write) else work.run()


async def carry_out_async(seat: Seat, work: Work[T]) -> T:
    if seat.is_off:
        return _off(seat, work)
    if isinstance(work, Read) and not (work.aside or seat.is_remote):
        return work.run()
    if isinstance(work, Steps | Read):
        return await asyncio.to_thread(work.run)
    if seat.is_remote:
        return await asyncio.to_thread(seat.engine.write, work)
    return await _write(seat.engine, work)


async def _write(engine: Engine, work: Write[T]) -> T:
    for _ in range(TRIES):
        try:
            return await _landing(engine.submit(work))
        except StaleKeys as stale:
            engine.refresh(stale)
    return await _landing(engine.submit(work))


class _Landing:
    """Brings what the writer's thread has done to a loop. A batch ends many writes at once, and waking the loop costs a
    system call: it is woken once for all that are done by then."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._done: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._woken = False

    def wait_for(self, work: Future[T]) -> asyncio.Future[T]:
        waiting: asyncio.Future[T] = self._loop.create_future()
        work.add_done_callback(partial(self._land, waiting))
        return waiting

    def _land(self, waiting: asyncio.Future[Any], work: Future[Any]) -> None:
        self._done.append((waiting, work))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._woken = False  # before looking: what lands from now on wakes the loop again
        while self._done:
            waiting, work = self._done.popleft()
            if waiting.cancelled():
                continue
            if (error := work.exception()) is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(work.result())


_landings: WeakKeyDictionary[asyncio.AbstractEventLoop, _Landing] = WeakKeyDictionary()
"""One a loop; it goes with its loop."""


def _landing(work: Future[T]) -> asyncio.Future[T]:
    loop = asyncio.get_running_loop()
    place = _landings.get(loop)
    if place is None:
        place = _landings[loop] = _Landing(loop)
    return place.wait_for(work)


def _off(seat: Seat, work: Work[T]) -> T:
    if work.off is None:
        raise Unavailable(seat.reason)
    return work.off()
