"""The ASGI application: routes a request to the API, MCP or a page, with limits, request ids, logs and error handling
around them."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from secrets import token_hex
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from holdfast import __version__
from holdfast.contracts.host import Clock
from holdfast.domain.errors import AccessDenied, HoldfastError, InvalidField, NotFound
from holdfast.entrypoints.http.answers import AT_ONCE, GZIP_BYTES, Answer, AtOnce, Send, refusal
from holdfast.entrypoints.http.api import Api, no_method
from holdfast.entrypoints.http.authenticate import Authenticator
from holdfast.entrypoints.http.jwks import Jwks
from holdfast.entrypoints.http.mcp_mount import Agents, OpenDoor, key_for_agents
from holdfast.entrypoints.http.metrics import App, Metrics, note
from holdfast.entrypoints.http.openapi import document
from holdfast.entrypoints.http.pages import docs_page, status_page
from holdfast.entrypoints.http.rate_limit import RateLimit
from holdfast.entrypoints.http.routes import BASE
from holdfast.entrypoints.http.secret import Secret, local_secret
from holdfast.entrypoints.http.tokens import Verifier
from holdfast.entrypoints.python.running import Running
from holdfast.settings import Settings
from holdfast.wiring import system_clock


def create_app(
    memory: Running,
    settings: Settings,
    secret: Secret | None = None,
    clock: Clock = system_clock,
    agents: OpenDoor | None = None,
) -> App:
    """The application over an open store, or over one that could not be opened: then it says so. A host may pass a
    memory that it opened with a directory of its own. `agents` opens the door at /mcp, if there is to be one."""
    secret = secret or local_secret(settings)
    jwks = None if settings.jwks_url is None else Jwks(settings.jwks_url, settings.jwt_algorithms, clock)
    verifier = Verifier(settings, secret, clock, jwks)
    authenticator = Authenticator(settings, verifier)
    rate = RateLimit(settings.rate_per_minute)
    api = Api(memory, authenticator, rate=rate, request_bytes=settings.request_bytes)
    mcp = None
    if agents is not None:
        mcp = Agents(agents(memory, settings, key_for_agents(secret)), authenticator, rate, settings)
    metrics, described = Metrics(), document(__version__)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        checks = await asyncio.to_thread(memory.readiness)
        ready = all(state == "ok" for state in checks.values())
        return JSONResponse({"ready": ready, **checks}, 200 if ready else 503)

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse("\n".join(metrics.lines({"up": int(memory.enabled)})) + "\n")

    async def openapi(_: Request) -> Response:
        return JSONResponse(described)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        async with mcp.door.running() if mcp is not None else nullcontext():
            yield
        if jwks is not None:
            await jwks.close()

    pages = Starlette(
        routes=[
            _get("/healthz", healthz),
            _get("/readyz", readyz),
            _get("/metrics", show_metrics),
            _get("/openapi.json", openapi),
            _get("/docs", docs_page),
            _get("/", status_page(memory)),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=GZIP_BYTES)],
        exception_handlers={404: _not_found, 405: _not_allowed},
        lifespan=lifespan,
    )
    pages.router.redirect_slashes = False  # one address for each thing

    guard = Guard(host=settings.host, allowed=settings.allowed_hosts)
    return Front(guard, api, mcp, pages, metrics)


def _get(path: str, endpoint: Any) -> Route:
    async def noted(request: Request) -> Response:
        request.scope["holdfast.route"] = path
        response: Response = await endpoint(request)
        return response

    return Route(path, noted, methods=["GET"])


async def _not_found(request: Request, _: Exception) -> Response:
    return _refused(request, NotFound("There is no such route."))


async def _not_allowed(request: Request, _: Exception) -> Response:
    return _refused(request, no_method(("GET", "HEAD")))


def _refused(request: Request, error: HoldfastError) -> Response:
    request.scope["holdfast.code"] = error.code
    answered = refusal(error)
    headers = {name.decode(): value.decode() for name, value in answered.headers}
    return Response(answered.body, answered.status, headers)


REQUEST_ID = b"x-request-id"
_API = f"{BASE}/"
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Front:
    """The outermost layer. What the API answers is sent from here; the pages and the door for agents send for
    themselves and are listened to."""

    def __init__(self, guard: Guard, api: Api, agents: Agents | None, pages: App, metrics: Metrics) -> None:
        self._guard = guard
        self._api = api
        self._agents = agents
        self._pages = pages
        self._metrics = metrics
        self._process, self._numbers = token_hex(4), itertools.count(1)

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        request = _given_id(scope["headers"]) if REQUEST_ID in headers else None
        scope["holdfast.request_id"] = request = request or f"{self._process}-{next(self._numbers):x}"
        sending = _Sending(send, request)
        self._metrics.open += 1
        try:
            await self._answer(scope, headers, receive, sending)
        finally:
            self._metrics.open -= 1
            note(self._metrics, scope, request, sending.status, time.perf_counter() - began)

    async def _answer(self, scope: Any, headers: dict[bytes, bytes], receive: Any, sending: _Sending) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        try:
            self._guard.check(headers, scope["headers"])
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            await refusal(error).send(sending)
            return
        if path.startswith(_API):
            answered = await self._api.answer(scope, headers, receive)
            if answered is not None and len(answered.body) >= GZIP_BYTES:
                answered = await answered.coded(headers.get(b"accept-encoding", b""))
            if answered is not None and not sending.at_once(answered, scope):
                await answered.send(sending)
        elif self._agents is not None and self._agents.serves(path):
            await self._agents(scope, receive, sending)
        else:
            await self._pages(scope, receive, sending)


class _Sending:
    """What goes out gets the id of its request; what its status is, is kept."""

    __slots__ = ("_line", "_send", "status")

    def __init__(self, send: Send, request: str) -> None:
        self._send = send
        self._line = (REQUEST_ID, request.encode())
        self.status = 0

    def at_once(self, answered: Answer, scope: Any) -> bool:
        """Sends it whole, if the server can."""
        self.status = answered.status
        write: AtOnce | None = scope["extensions"].get(AT_ONCE) if "extensions" in scope else None
        return write is not None and write(answered.status, [*answered.lines(), self._line], answered.body)

    async def __call__(self, message: Any) -> None:
        """As ASGI sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], self._line]
        await self._send(message)


def _given_id(headers: list[tuple[bytes, bytes]]) -> str | None:
    """That of a proxy before us, if it is one."""
    for name, value in headers:
        if name == REQUEST_ID and _ID.fullmatch(value):
            return value.decode()
    return None


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = ("0.0.0.0", "::", "[::]", "")

_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#]+)(?::([0-9]*))?", re.IGNORECASE)
_ORIGIN = re.compile(rb"https?://(.+)", re.IGNORECASE)


class Guard:
    def __init__(self, *, host: str, allowed: Sequence[str] = ()) -> None:
        named = () if host in ANY else (f"[{host}]" if ":" in host else host,)
        self._named = frozenset(name.lower() for name in allowed)
        self._allowed = frozenset(name.lower() for name in (*LOOPBACK, *named)) | self._named
        self._as_sent = frozenset(name.encode() for name in self._allowed)

    def check(self, headers: Mapping[bytes, bytes], sent: Sequence[tuple[bytes, bytes]]) -> None:
        """`sent` has each header as often as it came."""
        host = headers.get(b"host")
        if host is None or (len(sent) != len(headers) and [name for name, _ in sent].count(b"host") != 1):
            raise InvalidField("A request names its host exactly once.")
        if not self._is_ours(host):
            raise AccessDenied(
                "This server does not go by that name; HOLDFAST_ALLOWED_HOSTS lists those it does."
            )
        if b"origin" in headers and not all(
            self._is_own(value, host) for name, value in sent if name == b"origin"
        ):
            raise AccessDenied("Pages of another site may not call this server.")

    def _is_ours(self, host: bytes) -> bool:
        name, _, port = host.partition(b":")
        usual = name in self._as_sent and (not port or port.isdigit())
        return usual or _name(host) in self._allowed

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        """That of the very host and port asked, or of a name that the settings list: on this machine other programs
        serve pages too, on other ports."""
        said = _ORIGIN.fullmatch(origin)
        return said is not None and (said[1].lower() == host.lower() or _name(said[1]) in self._named)


def _name(host: bytes) -> str:
    """Without the port; an IPv6 address keeps its brackets. Nothing when it is no name."""
    said = _HOST.fullmatch(host)
    return "" if said is None else said[1].decode("latin-1").lower()
