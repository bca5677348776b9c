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
from holdfast.entrypoints.mcp.json_rpc import (
    HANG_UP_SECONDS,
    INVALID_PARAMS,
    Unreadable,
    id_of,
    of,
    read_message,
)
from holdfast.entrypoints.mcp.protocol import Context, announced

if TYPE_CHECKING:
    from anyio import AsyncFile

    from holdfast.domain.principal import Caller
    from holdfast.entrypoints.mcp.server import AgentServer
    from holdfast.entrypoints.mcp.subscriptions import Watching
    from holdfast.entrypoints.mcp.tools import Surface
    from holdfast.entrypoints.python.running import Running
    from holdfast.settings import Settings
    from holdfast.vocabularies.session import Session

Opened = tuple["AgentServer", "Watching", Callable[[], None]]
"""What answers, what watches for changes, and how to let go of the store."""


def speak(settings: Settings, surface: str) -> None:
    """Until the client hangs up."""
    asyncio.run(spoken(lambda: _open(settings, surface), surface))


async def spoken(
    open_all: Callable[[], Opened],
    surface: str,
    reading: AsyncFile[str] | None = None,
    writing: AsyncFile[str] | None = None,
) -> None:
    """On the streams of the process, kept clear of everything else, unless others are given."""
    opening = asyncio.get_running_loop().run_in_executor(None, open_all)
    opening.add_done_callback(_leave_if_failed)
    server = announced(_Later(opening), surface)
    lines = own_input() if reading is None else reading
    async with stdio_server(cast(Any, Silence()), writing) as (unread, sending), unread:
        unanswered = Unanswered()
        await server.run(
            Lines(lines, sending, unanswered),
            Saying(sending, unanswered),
            server.create_initialization_options(),
        )
    _, watching, let_go = await opening
    await watching.close()
    await asyncio.to_thread(let_go)


def _leave_if_failed(opening: asyncio.Future[Opened]) -> None:
    """At once: a thread waits for the client's next line, and nothing else would end that wait."""
    error = opening.exception()
    if error is not None:
        code = error.code if isinstance(error, HoldfastError) else type(error).__name__
        print(f"{code}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


class _Later:
    """The handlers of a server that is still being opened: whoever calls one waits for it."""

    def __init__(self, opening: asyncio.Future[Opened]) -> None:
        self._opening = opening

    def schema_of(self, _: str) -> None:
        """Asked over HTTP alone."""

    def __getattr__(self, name: str) -> Any:
        async def handle(context: Context, params: Any) -> Any:
            agents, *_ = await asyncio.shield(self._opening)
            return await getattr(agents, name)(context, params)

        return handle


def _open(settings: Settings, names: str) -> Opened:
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
    return *seated(surface, running, caller), running.stop


def seated(surface: Surface, running: Running, caller: Caller) -> tuple[AgentServer, Watching]:
    """A server for one caller alone."""
    from holdfast.entrypoints.mcp.server import AgentServer
    from holdfast.entrypoints.mcp.subscriptions import Watching

    def session(_: Context) -> Session:
        if running.opened.failed is not None:
            raise Unavailable(running.reason)
        return running.session(caller)

    watching = Watching()
    return AgentServer(surface, session, watching), watching


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


class Unanswered:
    def __init__(self) -> None:
        self._asked: set[Any] = set()
        self._asking: set[Any] = set()
        """Our own questions, which a person answers: each holds up the request that led to it."""
        self._changed = asyncio.Event()

    def heard(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # it ends when somebody hangs up, not before
            case JSONRPCRequest(id=asked):
                self._asked.add(asked)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._asked.discard(id_of({"id": of(params, "requestId")}))
            case JSONRPCResponse(id=answered) | JSONRPCError(id=answered):
                self._asking.discard(answered)
            case _:
                pass

    def said(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(id=asking):
                self._asking.add(asking)
            case JSONRPCResponse(id=answered) | JSONRPCError(id=answered):
                self._asked.discard(answered)
            case _:
                return
        self._changed.set()

    async def settled(self) -> None:
        """When everything is answered but what waits for a person, who is there no more; or when it takes too long."""
        with anyio.move_on_after(HANG_UP_SECONDS):
            while len(self._asked) > len(self._asking):
                self._changed.clear()
                await self._changed.wait()


class Saying(AsyncResource):
    """The stream that the SDK writes messages to, with an eye on what they answer."""

    def __init__(self, sending: Any, unanswered: Unanswered) -> None:
        self._sending = sending
        self._unanswered = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        await self._sending.send(item)
        self._unanswered.said(item.message)

    async def aclose(self) -> None:
        await self._sending.aclose()
