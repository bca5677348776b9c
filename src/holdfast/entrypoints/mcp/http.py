"""MCP over streamable HTTP, as one ASGI application for all surfaces. The server around it authenticates the caller,
reads the body, and checks host names, origins, rates and sizes."""

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
from holdfast.entrypoints.mcp.protocol import (
    ARGUMENTS,
    Context,
    Replacement,
    Unreadable,
    has_half_character,
    read_message,
    without_arguments,
)
from holdfast.entrypoints.mcp.server import SessionOf, build_server
from holdfast.entrypoints.mcp.subscriptions import Subscriptions
from holdfast.entrypoints.mcp.tools import DOOR, Surface, surface_named
from holdfast.entrypoints.plain_json import LARGE
from holdfast.entrypoints.python.running import Running
from holdfast.operations.session import Session
from holdfast.settings import Settings
from holdfast.wiring import locate_store

CALLER = "holdfast.caller"
"""The scope key of the caller."""
DEFAULT = "core"
Build = Callable[[Surface, SessionOf, Subscriptions, bytes | None], Server[Any]]
_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"


class McpHttpApp:
    """Serves the core surface at `/mcp`, and others at `/mcp/{surface}`, several joined by commas. With `sessions` the
    older protocol keeps its state in this process, so that a call can wait for a person. Where other nodes serve too,
    every request stands alone."""

    def __init__(
        self,
        memory: Running,
        state_key: bytes,
        *,
        sessions: bool = True,
        build: Build = build_server,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        self._memory = memory
        self._subscriptions = subscriptions or Subscriptions()
        self._state_key = state_key
        self._sessions = sessions
        self._build = build
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._making_manager = asyncio.Lock()
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
                await self._subscriptions.close()
                self._tasks.cancel_scope.cancel()

    async def _manager(self, surface: Surface) -> StreamableHTTPSessionManager:
        """Returns the manager of a surface, made on first use: there are as many surfaces as ways to join them."""
        assert self._tasks is not None
        async with self._making_manager:
            if surface.name not in self._managers:
                manager = StreamableHTTPSessionManager(
                    self._build(surface, self._session, self._subscriptions, self._state_key),
                    stateless=not self._sessions,
                    max_request_body_size=sys.maxsize,
                    security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                )
                await self._tasks.start(_run, manager)
                self._managers[surface.name] = manager
        return self._managers[surface.name]

    def end_streams(self) -> None:
        self._subscriptions.end_streams()

    def serves(self, surface: str) -> bool:
        return surface_named(surface or DEFAULT) is not None

    async def __call__(
        self, surface: str, caller: Caller, scope: Any, body: bytes, receive: Any, send: Any
    ) -> None:
        named = surface_named(surface or DEFAULT)
        assert named is not None
        manager = self._managers.get(named.name) or await self._manager(named)
        headers = dict(reversed(scope["headers"]))  # of repeated headers the first, like the SDK
        # A client that names no conversation gets that of its session.
        session = headers.get(_SESSION, b"").decode("ascii", "replace")
        conversation = caller.conversation or (session if session.isalnum() and len(session) <= 64 else None)
        # The SDK lets no other principal into the session.
        principal = str(caller.principal)
        user = AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=principal))
        scope |= {CALLER: replace(caller, door=DOOR, conversation=conversation), "user": user}
        try:
            if scope["method"] == "POST":
                if len(body) < LARGE:
                    body = _sdk_body(body, scope, headers)
                else:
                    body = await asyncio.to_thread(_sdk_body, body, scope, headers)
        except Unreadable as unreadable:
            scope["holdfast.code"] = unreadable.code
            await JSONResponse(unreadable.response, unreadable.status)(scope, receive, send)
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Any:
            return unread.pop() if unread else await receive()

        token = auth_context_var.set(user)
        try:
            await manager.handle_request(scope, receive_again, send)
        finally:
            auth_context_var.reset(token)


async def _run(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await sleep_forever()


def open_mcp(memory: Running, settings: Settings, state_key: bytes) -> McpHttpApp:
    """Keeps sessions only where no other node could get the next request."""
    return McpHttpApp(memory, state_key, sessions=not locate_store(settings).is_shared)


def _sdk_body(body: bytes, scope: Any, headers: dict[bytes, bytes]) -> bytes:
    """Returns a body that the SDK can read. In the older protocol, arguments that it could not read are passed in the
    scope instead. The newer protocol reads them, and binds the client's request state to them."""
    text = body.decode("utf-8", "surrogateescape")
    message = read_message(text, patient=False)
    if isinstance(message, Replacement):
        return json.dumps(message).encode()
    version = headers.get(_VERSION)
    is_handshake = version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS
    if not is_handshake or not has_half_character(text, message):
        return body
    scope[ARGUMENTS] = message["params"]["arguments"]
    return json.dumps(without_arguments(message)).encode()
