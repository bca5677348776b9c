"""How an awaiting door answers a row of the table of calls, whatever door it is: reads where they stand or in a thread,
writes through the writer, each once where it has a key."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from holdfast.entrypoints.waiting import aside, carry_out_async
from holdfast.operations.once import once
from holdfast.operations.work import Read, Steps, Write
from holdfast.surfaces.asking import waits_for_a_person
from holdfast.surfaces.seat import Seat
from holdfast.surfaces.wire.call import Call


async def read(seat: Seat, call: Call, given: dict[str, Any]) -> Any:
    spoken = call.surface(seat)
    if call.aside:
        return await aside(seat, call.name, partial(call.run, spoken, **given))
    if seat.is_remote:
        return await asyncio.to_thread(call.run, spoken, **given)
    return call.run(spoken, **given)


async def write(seat: Seat, call: Call, given: dict[str, Any], repeat: str | None = None) -> Any:
    """`repeat` is the key under which a write that is sent again is answered again and done once."""
    if repeat is not None and call.repeat is not None:
        call.repeat(given, repeat)
    work = call.run(call.surface(seat), **given)
    if isinstance(work, Read):
        return await carry_out_async(seat, work)
    if repeat is None or seat.is_off:
        return await carry_out_async(seat, work)
    asked = call.run.__qualname__, given
    if isinstance(work, Steps) and work.proposes is not None:
        asking = once(seat.engine, seat.caller, repeat, asked, work.proposes, str, str)
        raise waits_for_a_person(await carry_out_async(seat, asking))
    if call.repeat is None:
        work = once(seat.engine, seat.caller, repeat, asked, work, call.answer.show, call.answer.read)
    elif isinstance(work, Steps):
        await carry_out_async(seat, _claim(seat, repeat, asked))
    return await carry_out_async(seat, work)


def _claim(seat: Seat, key: str, asked: tuple[str, dict[str, Any]]) -> Write[None]:
    """Binds a key to this request, where its parts are done one by one, each once."""
    nothing: Write[None] = Write(lambda: lambda _: None)
    return once(seat.engine, seat.caller, key, asked, nothing, lambda _: None, lambda _: None)
