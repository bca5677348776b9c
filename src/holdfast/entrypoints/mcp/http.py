"""MCP over streamable HTTP, as one ASGI application for all surfaces. The server around it has made out the caller and
read what was sent; host names, origins, rates and sizes were its business too."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from anyio import TASK_STATUS_IGNORED, create_task_group, sleep_forever
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse

from holdfast.domain.errors import Unavailable
from holdfast.domain.principal import Caller
from holdfast.entrypoints.mcp.json_rpc import Instead, Unreadable, has_half, read_message, without_arguments
from holdfast.entrypoints.mcp.protocol import ARGUMENTS, Context
from holdfast.entrypoints.mcp.server import SeatOf, build_server
from holdfast.entrypoints.mcp.subscriptions import Watching
from holdfast.entrypoints.mcp.tools import DOOR, Surface, surface_named
from holdfast.entrypoints.plain_json import LARGE
from holdfast.entrypoints.python.running import Running
from holdfast.settings import Settings
from holdfast.vocabularies.session import Session
from holdfast.wiring import is_postgres

CALLER = "holdfast.caller"
"""Where in a scope the caller stands."""
DEFAULT = "core"
Build = Callable[[Surface, SeatOf, Watching, bytes | None], Server[Any]]
_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"


class AgentDoor:
    """`/mcp` is the core surface, `/mcp/{surface}` each by its name, several joined by commas. With `sessions` the
    handshake era keeps its state in this process, so that a call can wait for a person; where other nodes serve too,
    every request stands alone."""

    def __init__(
        self,
        memory: Running,
        state_key: bytes,
        *,
        sessions: bool = True,
        build: Build = build_server,
        watching: Watching | None = None,
    ) -> None:
        self._memory = memory
        self._watching = watching or Watching()
        self._state_key = state_key
        self._sessions = sessions
        self._build = build
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._one_at_a_time = asyncio.Lock()
        self._tasks: TaskGroup | None = None

    def _session(self, context: Context) -> Session:
        if self._memory.opened.failed is not None:
            raise Unavailable(self._memory.reason)
        assert context.request is not None
        return self._memory.session(context.request.scope[CALLER])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with create_task_group() as self._tasks:
            try:
                yield
            finally:
                await self._watching.close()
                self._tasks.cancel_scope.cancel()

    async def _manager(self, surface: Surface) -> StreamableHTTPSessionManager:
        """Made when a surface is first asked for: there are as many as there are ways to join them."""
        assert self._tasks is not None
        async with self._one_at_a_time:
            if surface.name not in self._managers:
                manager = StreamableHTTPSessionManager(
                    self._build(surface, self._session, self._watching, self._state_key),
                    stateless=not self._sessions,
                    max_request_body_size=sys.maxsize,
                    security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                )
                await self._tasks.start(_run, manager)
                self._managers[surface.name] = manager
        return self._managers[surface.name]

    def end_streams(self) -> None:
        self._watching.end_streams()

    def serves(self, surface: str) -> bool:
        return surface_named(surface or DEFAULT) is not None

    async def __call__(
        self, surface: str, caller: Caller, scope: Any, body: bytes, receive: Any, send: Any
    ) -> None:
        named = surface_named(surface or DEFAULT)
        assert named is not None
        manager = self._managers.get(named.name) or await self._manager(named)
        user = AuthenticatedUser(_access(caller))
        scope |= {CALLER: _in_session(caller, scope["headers"]), "user": user}
        try:
            if scope["method"] == "POST":
                in_place = len(body) < LARGE
                body = _read(body, scope) if in_place else await asyncio.to_thread(_read, body, scope)
        except Unreadable as unreadable:
            scope["holdfast.code"] = unreadable.code
            await JSONResponse(unreadable.answer, unreadable.status)(scope, receive, send)
            return
        token = auth_context_var.set(user)
        try:
            await manager.handle_request(scope, _replayed(body, receive), send)
        finally:
            auth_context_var.reset(token)


async def _run(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await sleep_forever()


def open_door(memory: Running, settings: Settings, state_key: bytes) -> AgentDoor:
    """For a server: sessions only where no other node could be asked next."""
    return AgentDoor(memory, state_key, sessions=not is_postgres(settings))


def _read(body: bytes, scope: Any) -> bytes:
    """The body as the SDK can read it. Arguments that it could not go round it, in the scope; since 2026-07-28 it can,
    and binds what the client carries between two calls to them."""
    text = body.decode("utf-8", "surrogateescape")
    message = read_message(text, patient=False)
    if isinstance(message, Instead):
        return json.dumps(message).encode()
    if not has_half(text, message) or not _of_handshake_era(scope["headers"]):
        return body
    scope[ARGUMENTS] = message["params"]["arguments"]
    return json.dumps(without_arguments(message)).encode()


def _of_handshake_era(headers: list[tuple[bytes, bytes]]) -> bool:
    """As the SDK tells it."""
    named = next((value.decode("latin-1") for name, value in headers if name == _VERSION), None)
    return named is None or named in HANDSHAKE_PROTOCOL_VERSIONS


def _replayed(body: bytes, receive: Any) -> Any:
    """This body, and then what comes after it."""
    told = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        if told:
            return told.pop()
        while (message := await receive())["type"] == "http.request":
            pass  # the body again, of a server that had all of it at hand
        return message

    return replay


def _access(caller: Caller) -> AccessToken:
    """Whose session it is: the SDK lets nobody else into it."""
    return AccessToken(token="", client_id=str(caller.principal), scopes=[], subject=str(caller.principal))


def _in_session(caller: Caller, headers: list[tuple[bytes, bytes]]) -> Caller:
    """A client that names no conversation has the one of its session."""
    named = next((value for name, value in headers if name == _SESSION), b"").decode("ascii", "replace")
    conversation = caller.conversation or (named if named.isalnum() and len(named) <= 64 else None)
    return replace(caller, door=DOOR, conversation=conversation)
