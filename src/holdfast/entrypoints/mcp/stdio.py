"""`holdfast mcp` on the local store: one person's agent, over standard input and output. A client waits for the
handshake, so that is answered first; the tools are imported and the store is opened behind it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

from holdfast.domain.errors import HoldfastError, InvalidField, Unavailable
from holdfast.entrypoints.mcp.lines import Lines, Silence, own_input
from holdfast.entrypoints.mcp.protocol import Context, announced
from holdfast.entrypoints.mcp.unanswered import Saying, Unanswered

if TYPE_CHECKING:
    from anyio import AsyncFile

    from holdfast.domain.principal import Caller
    from holdfast.entrypoints.mcp.server import AgentServer
    from holdfast.entrypoints.mcp.tools import Surface
    from holdfast.entrypoints.mcp.watching import Watching
    from holdfast.entrypoints.opening import Running
    from holdfast.settings import Settings
    from holdfast.surfaces.seat import Seat

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
    from holdfast.entrypoints.opening import open_settings

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
    from holdfast.entrypoints.mcp.watching import Watching

    def seat(_: Context) -> Seat:
        if running.opened.failed is not None:
            raise Unavailable(running.reason)
        return running.seat(caller)

    watching = Watching()
    return AgentServer(surface, seat, watching), watching
