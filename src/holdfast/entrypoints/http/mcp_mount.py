"""Where the door for agents stands in the server: its addresses, who may pass, and what tells a client how to get a
token (RFC 9728). What is spoken behind it is not known here."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from starlette.datastructures import Headers

from holdfast.domain.errors import HoldfastError, NotFound, Unauthenticated
from holdfast.domain.principal import Caller
from holdfast.entrypoints.http.answers import Answer, answer, refusal
from holdfast.entrypoints.http.authenticate import Authenticator
from holdfast.entrypoints.http.bodies import ClientLeft, check_media, read_body
from holdfast.entrypoints.http.rate_limit import RateLimit
from holdfast.entrypoints.http.secret import Secret
from holdfast.entrypoints.python.running import Running
from holdfast.settings import Settings

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"
CHALLENGE = b"www-authenticate"


class AgentDoor(Protocol):
    def running(self) -> AbstractAsyncContextManager[None]:
        """What must be entered for as long as requests come."""

    def end_streams(self) -> None:
        """Ends the requests that would last until their client leaves."""

    def serves(self, surface: str) -> bool: ...

    async def __call__(
        self, surface: str, caller: Caller, scope: Any, body: bytes, receive: Any, send: Any
    ) -> None:
        """With the body, which was read; it may be received a second time."""


OpenDoor = Callable[[Running, Settings, bytes], AgentDoor]
"""Makes the door over a memory; the bytes are a key of its own, the same on every node."""


def key_for_agents(secret: Secret) -> bytes:
    return hmac.digest(secret.key, b"holdfast/mcp/request-state", "sha256")


class Agents:
    """Everything under /mcp, and the metadata of it."""

    def __init__(
        self, door: AgentDoor, authenticator: Authenticator, rate: RateLimit, settings: Settings
    ) -> None:
        self.door = door
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
            scope["holdfast.route"] = _route(surface)
            caller = await self._authenticator.caller(Headers(raw=scope["headers"]))
            self._rate.take(caller.principal)
            headers = dict(scope["headers"])
            body = await read_body(scope, receive, headers, self._request_bytes)
            if scope["method"] == "POST":
                check_media(headers)
        except ClientLeft:
            return
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            await self._refused(error, scope, path).send(send)
            return
        await self.door(surface, caller, scope, body, receive, send)

    def _surface(self, path: str) -> str:
        surface = "" if path == PATH else path.removeprefix(f"{PATH}/")
        if not self.door.serves(surface) or path not in (PATH, f"{PATH}/{surface}") or path == f"{PATH}/":
            raise NotFound("There is no such surface.")
        return surface

    def _metadata(self, scope: Any, of: str) -> Answer:
        if of not in ("", "/"):
            self._surface(of)
        scope["holdfast.route"] = METADATA
        about: dict[str, Any] = {
            "resource": _origin(scope) + (of if len(of) > 1 else PATH),
            "resource_name": "Holdfast",
            "bearer_methods_supported": ["header"],
        }
        if self._issuer is not None:
            about["authorization_servers"] = [self._issuer]
        return answer(about)

    def _refused(self, error: HoldfastError, scope: Any, path: str) -> Answer:
        refused = refusal(error)
        if not isinstance(error, Unauthenticated):
            return refused
        where = json.dumps(f"{_origin(scope)}{METADATA}{path}")
        headers = tuple(
            (name, b"%b%b resource_metadata=%b" % (value, b"," if b"=" in value else b"", where.encode()))
            if name == CHALLENGE
            else (name, value)
            for name, value in refused.headers
        )
        return refused._replace(headers=headers)


def _route(surface: str) -> str:
    """As it is counted: there are too many ways to write several."""
    if not surface:
        return PATH
    return f"{PATH}/{'several' if ',' in surface else surface}"


def _origin(scope: Any) -> str:
    """By the name under which the server was asked, which the guard has let through."""
    host = next(value for name, value in scope["headers"] if name == b"host").decode("latin-1")
    return f"{scope['scheme']}://{host}{scope.get('root_path', '')}"
