"""How an awaiting door answers a row of the table of calls, whatever door it is: reads where they stand or in a thread,
writes through the writer, each once where it has a key."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from holdfast.entrypoints.python.local import aside, carry_out_async
from holdfast.operations.idempotency import once
from holdfast.operations.work import Read, Steps, Write
from holdfast.vocabularies.approvals import waits_for_a_person
from holdfast.vocabularies.session import Session
from holdfast.vocabularies.wire.call import Call


async def read(session: Session, call: Call, given: dict[str, Any]) -> Any:
    spoken = call.surface(session)
    if call.aside:
        return await aside(session, call.name, partial(call.run, spoken, **given))
    if session.is_remote:
        return await asyncio.to_thread(call.run, spoken, **given)
    return call.run(spoken, **given)


async def write(session: Session, call: Call, given: dict[str, Any], repeat: str | None = None) -> Any:
    """`repeat` is the key under which a write that is sent again is answered again and done once."""
    if repeat is not None and call.repeat is not None:
        call.repeat(given, repeat)
    work = call.run(call.surface(session), **given)
    if isinstance(work, Read):
        return await carry_out_async(session, work)
    if repeat is None or session.is_off:
        return await carry_out_async(session, work)
    asked = call.run.__qualname__, given
    if isinstance(work, Steps) and work.proposes is not None:
        asking = once(session.engine, session.caller, repeat, asked, work.proposes, str, str)
        raise waits_for_a_person(await carry_out_async(session, asking))
    if call.repeat is None:
        work = once(session.engine, session.caller, repeat, asked, work, call.answer.show, call.answer.read)
    elif isinstance(work, Steps):
        await carry_out_async(session, _claim(session, repeat, asked))
    return await carry_out_async(session, work)


def _claim(session: Session, key: str, asked: tuple[str, dict[str, Any]]) -> Write[None]:
    """Binds a key to this request, where its parts are done one by one, each once."""
    nothing: Write[None] = Write(lambda: lambda _: None)
    return once(session.engine, session.caller, key, asked, nothing, lambda _: None, lambda _: None)
