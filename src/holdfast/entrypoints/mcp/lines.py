"""The lines of standard input. The SDK drops one that it cannot read, and whoever waits for an answer would wait for
ever: here every line is read by the rules of all doors, and what is no message is answered as such."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import AsyncResource
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from holdfast.domain.errors import InvalidField
from holdfast.entrypoints.mcp.messages import INVALID_PARAMS, Unreadable, id_of, read_message
from holdfast.entrypoints.mcp.unanswered import Unanswered

if TYPE_CHECKING:
    from anyio import AsyncFile

STDIN = 0


class Lines(AsyncResource):
    """The messages of a client, in place of the stream that the SDK reads them from."""

    def __init__(self, lines: AsyncFile[str], writing: Any, unanswered: Unanswered) -> None:
        self._lines = lines
        self._writing = writing
        self._unanswered = unanswered

    async def receive(self) -> SessionMessage:
        while line := await self._lines.readline():
            if not line.strip():
                continue
            try:
                message = _message(read_message(line))
            except Unreadable as unreadable:
                await self._answer(unreadable.answer)
            else:
                self._unanswered.heard(message.message)
                return message
        await self._unanswered.settled()
        raise anyio.EndOfStream

    async def _answer(self, refused: dict[str, Any]) -> None:
        await self._writing.send(SessionMessage(JSONRPCError.model_validate(refused)))

    async def aclose(self) -> None:
        """What is read belongs to the process."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _message(said: Any) -> SessionMessage:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(said, by_name=False))
    except ValidationError:
        raise Unreadable(INVALID_PARAMS, InvalidField("This is no message."), id_of(said)) from None


class Silence:
    """What the SDK is given to read, as these lines are read here."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration


def own_input() -> AsyncFile[str]:
    """Standard input, kept clear: whoever else in the process reads it finds nothing there. It stays open, for a thread
    may wait for the next line as long as the process lives. A line that is not UTF-8 can be told from one that is."""
    own = os.dup(STDIN)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, STDIN)
    os.close(null)
    return anyio.wrap_file(open(own, encoding="utf-8", errors="surrogateescape", closefd=False))
