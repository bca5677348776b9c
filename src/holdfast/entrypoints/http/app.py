"""The ASGI application: routes a request to the API, MCP or a page, with host checks, request ids, logs and metrics
around them."""

from __future__ import annotations

import hmac
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from secrets import token_hex
from typing import Any, Protocol

from holdfast.contracts.host import Clock
from holdfast.domain.errors import AccessDenied, HoldfastError, InvalidField, NotFound, Unauthenticated
from holdfast.domain.principal import Caller
from holdfast.entrypoints.http.api import Api
from holdfast.entrypoints.http.authenticate import Authenticator, RateLimit, Verifier
from holdfast.entrypoints.http.jwks import Jwks
from holdfast.entrypoints.http.messages import (
    GZIP_BYTES,
    Answer,
    ClientLeft,
    Send,
    answer,
    check_media,
    connection_of,
    read_body,
    refusal,
)
from holdfast.entrypoints.http.metrics import App, Metrics
from holdfast.entrypoints.http.pages import pages_app
from holdfast.entrypoints.http.routes import BASE
from holdfast.entrypoints.http.tokens import Secret, local_secret
from holdfast.entrypoints.python.running import Running
from holdfast.settings import Settings
from holdfast.wiring import system_clock


def create_app(
    memory: Running,
    settings: Settings,
    secret: Secret | None = None,
    clock: Clock = system_clock,
    mcp: McpFactory | None = None,
) -> HttpApp:
    """Returns the application over a store. If the store could not be opened, the application says so. A host may pass
    a memory that it opened with a directory of its own. `mcp` makes the application at /mcp, if there is to be one."""
    secret = secret or local_secret(settings)
    jwks = None if settings.jwks_url is None else Jwks(settings.jwks_url, settings.jwt_algorithms, clock)
    authenticator = Authenticator(settings, Verifier(settings, secret, clock, jwks))
    rate = RateLimit(settings.rate_per_minute)
    api = Api(memory, authenticator, rate=rate, request_bytes=settings.request_bytes)
    mount = None
    if mcp is not None:
        mount = McpMount(mcp(memory, settings, mcp_state_key(secret)), authenticator, rate, settings)
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        async with mount.app.running() if mount is not None else nullcontext():
            yield
        if jwks is not None:
            await jwks.close()

    hosts = HostCheck(host=settings.host, allowed=settings.allowed_hosts)
    return HttpApp(hosts, api, mount, pages_app(memory, metrics, lifespan), metrics)


REQUEST_ID = b"x-request-id"
_API = f"{BASE}/"
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class HttpApp:
    def __init__(
        self, hosts: HostCheck, api: Api, mcp: McpMount | None, pages: App, metrics: Metrics
    ) -> None:
        self._hosts = hosts
        self._api = api
        self._mcp = mcp
        self._pages = pages
        self._metrics = metrics
        self._process, self._numbers = token_hex(4), itertools.count(1)

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        began, status, headers = time.perf_counter(), 0, dict(scope["headers"])
        request_id = None
        if REQUEST_ID in headers:  # set by a proxy before us
            sent_ids = [value for name, value in scope["headers"] if name == REQUEST_ID]
            request_id = next((value.decode() for value in sent_ids if _ID.fullmatch(value)), None)
        request_id = request_id or f"{self._process}-{next(self._numbers):x}"
        scope["holdfast.request_id"] = request_id

        async def send_with_id(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID, request_id.encode())]
            await send(message)

        self._metrics.open += 1
        try:
            answer = await self._respond(scope, headers, receive, send_with_id)
            if answer is not None:
                status = answer.status
                connection = connection_of(scope)
                if connection is None or not connection.write_response(answer, request_id.encode()):
                    await answer.send(send_with_id)
        finally:
            self._metrics.open -= 1
            self._metrics.record(scope, request_id, status, time.perf_counter() - began)

    def end_streams(self) -> None:
        """Ends the requests that would last until their client disconnects."""
        if self._mcp is not None:
            self._mcp.app.end_streams()

    async def _respond(
        self, scope: Any, headers: dict[bytes, bytes], receive: Any, send: Send
    ) -> Answer | None:
        """Returns the answer that is still to be sent."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        try:
            self._hosts.check(headers, scope["headers"])
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            return refusal(error)
        if path.startswith(_API):
            answer = await self._api.answer(scope, headers, receive)
            if answer is not None and len(answer.body) >= GZIP_BYTES:
                answer = await answer.compressed(headers.get(b"accept-encoding", b""))
            return answer
        if self._mcp is not None and self._mcp.serves(path):
            await self._mcp(scope, receive, send)
        else:
            await self._pages(scope, receive, send)
        return None


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = ("0.0.0.0", "::", "[::]", "")

_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#]+)(?::([0-9]*))?", re.IGNORECASE)
_ORIGIN = re.compile(rb"https?://(.+)", re.IGNORECASE)


class HostCheck:
    """Refuses host names that are not ours, and pages of other origins."""

    def __init__(self, *, host: str, allowed: Sequence[str] = ()) -> None:
        bound = () if host in ANY else (f"[{host}]" if ":" in host else host,)
        self._listed = frozenset(name.lower() for name in allowed)
        self._allowed = frozenset(name.lower() for name in (*LOOPBACK, *bound)) | self._listed

    def check(self, headers: Mapping[bytes, bytes], sent: Sequence[tuple[bytes, bytes]]) -> None:
        """`sent` holds every header, also repeated ones."""
        host = headers.get(b"host")
        if host is None or (len(sent) != len(headers) and [name for name, _ in sent].count(b"host") != 1):
            raise InvalidField("A request names its host exactly once.")
        if _name(host) not in self._allowed:
            raise AccessDenied(
                "This server does not go by that name; HOLDFAST_ALLOWED_HOSTS lists those it does."
            )
        if b"origin" in headers and not all(
            self._is_own_origin(value, host) for name, value in sent if name == b"origin"
        ):
            raise AccessDenied("Pages of another site may not call this server.")

    def _is_own_origin(self, origin: bytes, host: bytes) -> bool:
        """Accepts the host and port of the request, or a name that the settings list. Loopback alone is not enough,
        because other programs of this machine serve pages on other ports."""
        match = _ORIGIN.fullmatch(origin)
        return match is not None and (match[1].lower() == host.lower() or _name(match[1]) in self._listed)


def _name(host: bytes) -> str:
    """Returns the host without its port, or nothing if it is malformed. An IPv6 address keeps its brackets."""
    match = _HOST.fullmatch(host)
    return "" if match is None else match[1].decode("latin-1").lower()


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
            body = await read_body(scope, receive, headers, self._request_bytes)
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
