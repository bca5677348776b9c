"""The server as one ASGI application: the API, its description, health, and the page that greets a person."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from holdfast import __version__
from holdfast.contracts.clock import Clock
from holdfast.domain.errors import HoldfastError, NotFound
from holdfast.entrypoints.http.agents import Agents, OpenDoor, key_for_agents
from holdfast.entrypoints.http.answers import GZIP_BYTES, refusal
from holdfast.entrypoints.http.authenticate import Authenticator
from holdfast.entrypoints.http.dispatch import Api
from holdfast.entrypoints.http.front import Front
from holdfast.entrypoints.http.guard import Guard
from holdfast.entrypoints.http.jwks import Jwks
from holdfast.entrypoints.http.limits import RateLimit
from holdfast.entrypoints.http.openapi import document
from holdfast.entrypoints.http.page import docs_page, status_page
from holdfast.entrypoints.http.router import no_method
from holdfast.entrypoints.http.secret import Secret, local_secret
from holdfast.entrypoints.http.tokens import Verifier
from holdfast.entrypoints.http.watch import App, Metrics
from holdfast.entrypoints.opening import Running
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
