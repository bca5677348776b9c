"""Lines of standard input that the SDK cannot read. It drops them, and whoever waits for an answer would wait for ever:
what is JSON all the same is read here, what is not is answered as such."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

from anyio import EndOfStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError


class Lines:
    """The messages of a client, in place of the stream that the SDK reads them from."""

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading = reading
        self._writing = writing

    @property
    def last_context(self) -> Any:
        return self._reading.last_context

    async def receive(self) -> SessionMessage:
        while True:
            read: SessionMessage | Exception = await self._reading.receive()
            if not isinstance(read, Exception):
                return read
            understood = _understood(read)
            if isinstance(understood, SessionMessage):
                return understood
            if understood is not None:
                await self._writing.send(SessionMessage(understood))

    async def aclose(self) -> None:
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _understood(failed: Exception) -> SessionMessage | JSONRPCError | None:
    """The message after all, or what is said instead: nothing to an empty line."""
    line = failed.errors()[0]["input"] if isinstance(failed, ValidationError) else None
    if not isinstance(line, str):
        return _refusal(INVALID_PARAMS, "This is no message.")
    if not line.strip():
        return None
    try:
        message = json.loads(line)
        read = jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return _refusal(INVALID_PARAMS, "This is no message.")
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, "This is no JSON.")
    if not _can_be_sent(_without_arguments(message)):
        known = message.get("id")
        return _refusal(
            INVALID_PARAMS, "This holds half a character.", known if _can_be_sent(known) else None
        )
    return SessionMessage(read)


def _without_arguments(message: dict[str, Any]) -> dict[str, Any]:
    """Half a character in what a tool is told is refused as that tool refuses it; the rest may be said again."""
    params = message.get("params")
    return message | {"params": {**params, "arguments": None} if isinstance(params, dict) else params}


def _can_be_sent(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(code: int, said: str, id: Any = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=said))
