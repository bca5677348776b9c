"""Mounts MCP in the server: its addresses, authentication, limits, and the metadata that tells a client how to get a
token (RFC 9728). The protocol itself is not known here."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from holdfast.domain.errors import HoldfastError, NotFound, Unauthenticated
from holdfast.domain.principal import Caller
from holdfast.entrypoints.http.answers import Answer, answer, refusal
from holdfast.entrypoints.http.authenticate import Authenticator, RateLimit
from holdfast.entrypoints.http.bodies import ClientLeft, check_media, read_body
from holdfast.entrypoints.http.secret import Secret
from holdfast.entrypoints.python.running import Running
from holdfast.settings import Settings

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"
CHALLENGE = b"www-authenticate"


class McpApp(Protocol):
    def running(self) -> AbstractAsyncContextManager[None]:
        """Must be entered for as long as requests come."""

    def end_streams(self) -> None:
        """Ends the requests that would last until their client disconnects."""

    def serves(self, surface: str) -> bool: ...

    async def __call__(
        self, surface: str, caller: Caller, scope: Any, body: bytes, receive: Any, send: Any
    ) -> None:
        """Responds to a request whose body was received already."""


McpFactory = Callable[[Running, Settings, bytes], McpApp]
"""Makes the application over a memory. The bytes are a key of its own, equal on every node."""


def mcp_state_key(secret: Secret) -> bytes:
    return hmac.digest(secret.key, b"holdfast/mcp/request-state", "sha256")


class McpMount:
    def __init__(
        self, app: McpApp, authenticator: Authenticator, rate: RateLimit, settings: Settings
    ) -> None:
        self.app = app
        self._authenticator = authenticator
        self._rate = rate
        self._request_bytes = settings.request_bytes
        self._issuer = settings.jwt_issuer if settings.auth else None

    def serves(self, path: str) -> bool:
        return path == PATH or path.startswith((f"{PATH}/", METADATA))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        try:
            if path.startswith(METADATA):
                await self._metadata(scope, path.removeprefix(METADATA)).send(send)
                return
            surface = self._surface(path)
            # Counted as one route: there are too many ways to join several surfaces.
            scope["holdfast.route"] = f"{PATH}/several" if "," in surface else path
            caller = await self._authenticator.caller(scope["headers"])
            self._rate.take(caller.principal)
            headers = dict(scope["headers"])
            body = await read_body(receive, headers, self._request_bytes)
            if scope["method"] == "POST":
                check_media(headers)
        except ClientLeft:
            return
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            await self._refusal(error, scope, path).send(send)
            return
        await self.app(surface, caller, scope, body, receive, send)

    def _surface(self, path: str) -> str:
        surface = "" if path == PATH else path.removeprefix(f"{PATH}/")
        if not self.app.serves(surface) or path not in (PATH, f"{PATH}/{surface}") or path == f"{PATH}/":
            raise NotFound("There is no such surface.")
        return surface

    def _metadata(self, scope: Any, resource: str) -> Answer:
        if resource not in ("", "/"):
            self._surface(resource)
        scope["holdfast.route"] = METADATA
        metadata: dict[str, Any] = {
            "resource": _origin(scope) + (resource if len(resource) > 1 else PATH),
            "resource_name": "Holdfast",
            "bearer_methods_supported": ["header"],
        }
        if self._issuer is not None:
            metadata["authorization_servers"] = [self._issuer]
        return answer(metadata)

    def _refusal(self, error: HoldfastError, scope: Any, path: str) -> Answer:
        """Adds the address of the metadata to the challenge of a 401."""
        refused = refusal(error)
        if not isinstance(error, Unauthenticated):
            return refused
        address = json.dumps(f"{_origin(scope)}{METADATA}{path}").encode()
        headers = tuple(
            (name, b"%b%b resource_metadata=%b" % (value, b"," if b"=" in value else b"", address))
            if name == CHALLENGE
            else (name, value)
            for name, value in refused.headers
        )
        return refused._replace(headers=headers)


def _origin(scope: Any) -> str:
    """Returns the origin under the name that the client used, which was checked before."""
    host = next(value for name, value in scope["headers"] if name == b"host").decode("latin-1")
    return f"{scope['scheme']}://{host}{scope.get('root_path', '')}"
