"""MCP over standard input and output: one JSON-RPC message per line."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
from anyio.abc import AsyncResource
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from holdfast.domain.errors import HoldfastError, InvalidField, Unavailable
from holdfast.entrypoints.mcp.protocol import (
    HANG_UP_SECONDS,
    INVALID_PARAMS,
    Context,
    Unreadable,
    id_of,
    mcp_server,
    member,
    read_message,
)

if TYPE_CHECKING:
    from anyio import AsyncFile

    from holdfast.domain.principal import Caller
    from holdfast.entrypoints.mcp.server import ToolServer
    from holdfast.entrypoints.mcp.subscriptions import Subscriptions
    from holdfast.entrypoints.mcp.tools import Surface
    from holdfast.entrypoints.python.running import Running
    from holdfast.operations.session import Session
    from holdfast.settings import Settings

StdioServer = tuple["ToolServer", "Subscriptions", Callable[[], None]]
"""The server, its subscriptions, and a function that closes the store."""


def serve_stdio(settings: Settings, surface: str) -> None:
    """Runs until the client disconnects."""
    asyncio.run(run_stdio(lambda: _open(settings, surface), surface))


async def run_stdio(
    open_all: Callable[[], StdioServer],
    surface: str,
    reading: AsyncFile[str] | None = None,
    writing: AsyncFile[str] | None = None,
) -> None:
    """Uses the standard streams of the process by default. Greets while `open_all` still runs in a
    thread."""
    opening = asyncio.get_running_loop().run_in_executor(None, open_all)
    opening.add_done_callback(_exit_if_failed)
    server = mcp_server(_PendingHandlers(opening), surface)
    lines = own_input() if reading is None else reading
    async with stdio_server(cast(Any, NoInput()), writing) as (unread, outgoing), unread:
        requests = OpenRequests()
        await server.run(
            IncomingMessages(lines, outgoing, requests),
            OutgoingMessages(outgoing, requests),
            server.create_initialization_options(),
        )
    _, subscriptions, close = await opening
    await subscriptions.close()
    await asyncio.to_thread(close)


def _exit_if_failed(opening: asyncio.Future[StdioServer]) -> None:
    """Exits the process, because a thread waits for the client's next line and nothing else would end that wait."""
    error = opening.exception()
    if error is not None:
        code = error.code if isinstance(error, HoldfastError) else type(error).__name__
        print(f"{code}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


class _PendingHandlers:
    """The handlers of a server that is still being opened; a call waits for it."""

    def __init__(self, opening: asyncio.Future[StdioServer]) -> None:
        self._opening = opening

    def schema_of(self, _: str) -> None:
        """Used over HTTP only."""

    def __getattr__(self, name: str) -> Any:
        async def handle(context: Context, params: Any) -> Any:
            server, *_ = await asyncio.shield(self._opening)
            return await getattr(server, name)(context, params)

        return handle


def _open(settings: Settings, names: str) -> StdioServer:
    from secrets import token_hex

    from holdfast.domain.principal import Caller, PrincipalKind, principal
    from holdfast.entrypoints.mcp.tools import DOOR, SURFACES, surface_named
    from holdfast.entrypoints.python.running import open_settings

    surface = surface_named(names)
    if surface is None:
        raise InvalidField(f"A surface is one of {', '.join(SURFACES)}; several are joined by commas.")
    conversation = f"mcp-{token_hex(8)}"
    caller = Caller(principal(PrincipalKind.USER, settings.subject), door=DOOR, conversation=conversation)
    running = open_settings(settings)
    return *tool_server(surface, running, caller), running.stop


def tool_server(surface: Surface, running: Running, caller: Caller) -> tuple[ToolServer, Subscriptions]:
    """Returns a server for one caller."""
    from holdfast.entrypoints.mcp.server import ToolServer
    from holdfast.entrypoints.mcp.subscriptions import Subscriptions

    def session(_: Context) -> Session:
        if running.opened.failed is not None:
            raise Unavailable(running.reason)
        return running.session(caller)

    subscriptions = Subscriptions()
    return ToolServer(surface, session, subscriptions), subscriptions


STDIN = 0


class IncomingMessages(AsyncResource):
    """The messages of a client, in place of the stream from which the SDK would read them."""

    def __init__(self, lines: AsyncFile[str], outgoing: Any, requests: OpenRequests) -> None:
        self._lines = lines
        self._outgoing = outgoing
        self._requests = requests

    async def receive(self) -> SessionMessage:
        while line := await self._lines.readline():
            if not line.strip():
                continue
            try:
                message = _message(read_message(line))
            except Unreadable as unreadable:
                refusal = JSONRPCError.model_validate(unreadable.response)
                await self._outgoing.send(SessionMessage(refusal))
            else:
                self._requests.received(message.message)
                return message
        await self._requests.finished()
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Leaves the input open, because it belongs to the process."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _message(content: Any) -> SessionMessage:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(content, by_name=False))
    except ValidationError:
        raise Unreadable(INVALID_PARAMS, InvalidField("This is no message."), id_of(content)) from None


class NoInput:
    """An empty input for the SDK, because IncomingMessages reads the lines."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration


def own_input() -> AsyncFile[str]:
    """Returns standard input and leaves an empty one for all other code of the process. It stays open, because a
    thread may wait for the next line until the process ends. Bytes that are not UTF-8 become surrogates."""
    own = os.dup(STDIN)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, STDIN)
    os.close(null)
    return anyio.wrap_file(open(own, encoding="utf-8", errors="surrogateescape", closefd=False))


class OpenRequests:
    """The requests that are not answered yet."""

    def __init__(self) -> None:
        self._theirs: set[Any] = set()
        self._ours: set[Any] = set()
        """Our questions to a person; each holds up the request that led to it."""
        self._changed = asyncio.Event()

    def received(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # it ends when the client disconnects, not before
            case JSONRPCRequest(id=id):
                self._theirs.add(id)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._theirs.discard(id_of({"id": member(params, "requestId")}))
            case JSONRPCResponse(id=id) | JSONRPCError(id=id):
                self._ours.discard(id)
            case _:
                pass

    def sent(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(id=id):
                self._ours.add(id)
            case JSONRPCResponse(id=id) | JSONRPCError(id=id):
                self._theirs.discard(id)
            case _:
                return
        self._changed.set()

    async def finished(self) -> None:
        """Waits a limited time for all requests but those that wait for a person, who has left."""
        with anyio.move_on_after(HANG_UP_SECONDS):
            while len(self._theirs) > len(self._ours):
                self._changed.clear()
                await self._changed.wait()


class OutgoingMessages(AsyncResource):
    """The stream to which the SDK writes messages."""

    def __init__(self, outgoing: Any, requests: OpenRequests) -> None:
        self._outgoing = outgoing
        self._requests = requests

    async def send(self, item: SessionMessage, /) -> None:
        await self._outgoing.send(item)
        self._requests.sent(item.message)

    async def aclose(self) -> None:
        await self._outgoing.aclose()
