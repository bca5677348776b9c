"""Makes a call of the table for an interface that awaits: HTTP and MCP."""

from __future__ import annotations

from functools import partial
from typing import Any

from holdfast.entrypoints.python.local import run_async
from holdfast.operations.idempotency import once
from holdfast.operations.session import Session
from holdfast.vocabularies.call import Call


async def dispatch(
    session: Session, call: Call, arguments: dict[str, Any], idempotency_key: str | None = None
) -> Any:
    """Returns the answer of a call. A write that is sent again with its idempotency key is answered again, not done."""
    if idempotency_key is not None and call.repeat is not None:
        call.repeat(arguments, idempotency_key)
    prepare = partial(call.on, session, **arguments)
    if idempotency_key is not None and call.writes and not session.is_off:
        prepare = partial(once, session, idempotency_key, call, arguments, prepare)
    return await run_async(session, prepare, slow=call.aside)
