"""MCP over streamable HTTP, as one ASGI application for all surfaces. The server around it has made out the caller and
put them into the scope; host names, origins and rates were its business too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from holdfast.domain.errors import Unavailable
from holdfast.domain.principal import Caller
from holdfast.entrypoints.mcp.protocol import Context
from holdfast.entrypoints.mcp.server import SeatOf, build_server
from holdfast.entrypoints.mcp.tools import DOOR, SURFACES, Surface
from holdfast.entrypoints.mcp.watching import Watching
from holdfast.entrypoints.opening import Running
from holdfast.settings import Settings
from holdfast.surfaces.seat import Seat
from holdfast.wiring import is_postgres

CALLER = "holdfast.caller"
"""Where in a scope the caller stands."""
DEFAULT = "core"
Build = Callable[[Surface, SeatOf, Watching, bytes | None], Server[Any]]
_SESSION = b"mcp-session-id"


class AgentDoor:
    """`/mcp` is the core surface, `/mcp/{surface}` each by its name. With `sessions` the handshake era keeps its state
    in this process, so that a call can wait for a person; where other nodes serve too, every request stands alone."""

    def __init__(
        self,
        memory: Running,
        state_key: bytes,
        *,
        sessions: bool = True,
        request_bytes: int = 4 << 20,
        surfaces: Mapping[str, Surface] = SURFACES,
        build: Build = build_server,
        watching: Watching | None = None,
    ) -> None:
        self._memory = memory
        self._watching = watching or Watching()
        self._managers = {
            name: StreamableHTTPSessionManager(
                build(surface, self._seat, self._watching, state_key),
                stateless=not sessions,
                max_request_body_size=request_bytes,
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
            for name, surface in surfaces.items()
        }

    def _seat(self, context: Context) -> Seat:
        if self._memory.opened.failed is not None:
            raise Unavailable(self._memory.reason)
        assert context.request is not None
        return self._memory.seat(context.request.scope[CALLER])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            stack.push_async_callback(self._watching.close)
            yield

    def end_streams(self) -> None:
        self._watching.end_streams()

    def serves(self, surface: str) -> bool:
        return (surface or DEFAULT) in self._managers

    async def __call__(self, surface: str, caller: Caller, scope: Any, receive: Any, send: Any) -> None:
        user = AuthenticatedUser(_access(caller))
        scope |= {CALLER: _in_session(caller, scope["headers"]), "user": user}
        token = auth_context_var.set(user)
        try:
            await self._managers[surface or DEFAULT].handle_request(scope, receive, send)
        finally:
            auth_context_var.reset(token)


def open_door(memory: Running, settings: Settings, state_key: bytes) -> AgentDoor:
    """For a server: sessions only where no other node could be asked next."""
    return AgentDoor(
        memory, state_key, sessions=not is_postgres(settings), request_bytes=settings.request_bytes
    )


def _access(caller: Caller) -> AccessToken:
    """Whose session it is: the SDK lets nobody else into it."""
    return AccessToken(token="", client_id=str(caller.principal), scopes=[], subject=str(caller.principal))


def _in_session(caller: Caller, headers: list[tuple[bytes, bytes]]) -> Caller:
    """A client that names no conversation has the one of its session."""
    named = next((value for name, value in headers if name == _SESSION), b"").decode("ascii", "replace")
    conversation = caller.conversation or (named if named.isalnum() and len(named) <= 64 else None)
    return replace(caller, door=DOOR, conversation=conversation)
