"""How a door waits for work: blocking, or awaiting. Logic stands once, in the surfaces; here it is only carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.domain.errors import Unavailable
from holdfast.operations.engine import TRIES, Engine
from holdfast.operations.work import Read, Steps, Work, Write
from holdfast.storage.keyring import StaleKeys
from holdfast.surfaces.core import Seat

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


class Door:
    """A surface's calls, and the seat they are spoken from."""

    def __init__(self, calls: Any, seat: Seat) -> None:
        self._calls = calls
        self._seat = seat


def blocking(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], T]:
    """The call as a method that returns when its work is done."""

    @wraps(call)
    def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = call(door._calls, *args, **kwargs)
        if type(work) is Read and door._seat.engine_or_none is not None:
            return work.run()
        return carry_out(door._seat, work)

    return method


def awaiting(call: Callable[Concatenate[C, P], Work[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The call as a method to be awaited: short reads run at once, writes wait for the writer without a thread."""

    @wraps(call)
    async def method(door: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await carry_out_async(door._seat, call(door._calls, *args, **kwargs))

    return method


def carry_out(seat: Seat, work: Work[T]) -> T:
    if seat.engine_or_none is None:
        return _off(seat, work)
    if isinstance(work, Write):
        return seat.engine.write(work)
    return work.run()


async def carry_out_async(seat: Seat, work: Work[T]) -> T:
    if seat.engine_or_none is None:
        return _off(seat, work)
    match work:
        case Read():
            return work.run()
        case Steps():
            return await asyncio.to_thread(work.run)
        case Write():
            return await _write(seat.engine, work)


async def _write(engine: Engine, work: Write[T]) -> T:
    for _ in range(TRIES):
        try:
            return await asyncio.wrap_future(engine.submit(work))
        except StaleKeys as stale:
            engine.refresh(stale)
    return await asyncio.wrap_future(engine.submit(work))


def _off(seat: Seat, work: Work[T]) -> T:
    if work.off is None:
        raise Unavailable(seat.reason)
    return work.off()
