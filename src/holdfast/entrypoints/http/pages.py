"""Everything outside the API and MCP: health, readiness, metrics, the OpenAPI document, and two plain HTML pages
(status and routes) without scripts or foreign content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from holdfast import __version__
from holdfast.domain.errors import HoldfastError, NotFound
from holdfast.entrypoints.http.api import no_method
from holdfast.entrypoints.http.messages import GZIP_BYTES, refusal
from holdfast.entrypoints.http.metrics import Metrics
from holdfast.entrypoints.http.openapi import document
from holdfast.entrypoints.http.routes import BASE, ROUTES
from holdfast.entrypoints.python.running import Running

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #0a7d5a; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
code, pre { font: .9em/1.5 ui-monospace, monospace; }
pre { background: var(--soft); padding: .8rem 1rem; overflow: auto; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; } .state { font-weight: 600; color: var(--accent); }
.off { color: #c0392b; } a { color: inherit; } .scroll { overflow-x: auto; }
"""


def pages_app(memory: Running, metrics: Metrics, lifespan: Callable[[Starlette], Any]) -> Starlette:
    described = document(__version__)

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

    async def status_page(request: Request) -> Response:
        return _status_page(memory, str(request.base_url).rstrip("/"))

    pages = Starlette(
        routes=[
            _get("/healthz", healthz),
            _get("/readyz", readyz),
            _get("/metrics", show_metrics),
            _get("/openapi.json", openapi),
            _get("/docs", docs_page),
            _get("/", status_page),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=GZIP_BYTES)],
        exception_handlers={404: _not_found, 405: _not_allowed},
        lifespan=lifespan,
    )
    pages.router.redirect_slashes = False  # one address for each page
    return pages


def _get(path: str, endpoint: Any) -> Route:
    async def with_route(request: Request) -> Response:
        request.scope["holdfast.route"] = path
        response: Response = await endpoint(request)
        return response

    return Route(path, with_route, methods=["GET"])


async def _not_found(request: Request, _: Exception) -> Response:
    return _refusal(request, NotFound("There is no such route."))


async def _not_allowed(request: Request, _: Exception) -> Response:
    return _refusal(request, no_method(("GET", "HEAD")))


def _refusal(request: Request, error: HoldfastError) -> Response:
    request.scope["holdfast.code"] = error.code
    answer = refusal(error)
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.body, answer.status, headers)


def _status_page(memory: Running, url: str) -> Response:
    url = escape(url)
    state = (
        '<p class="state">Memory is on.</p>'
        if memory.enabled
        else f'<p class="state off">Memory is off: {escape(memory.reason or "")}</p>'
    )
    return _page(
        "Holdfast",
        f"""<h1>Holdfast {escape(__version__)}</h1>{state}
<h2>Where to go on</h2>
<table>
<tr><td><a href="/docs">/docs</a></td><td>every route, with what it takes</td></tr>
<tr><td><a href="/openapi.json">/openapi.json</a></td><td>the same for programs (OpenAPI 3.1)</td></tr>
<tr><td><a href="/readyz">/readyz</a></td><td>whether store, keys and schema are well</td></tr>
<tr><td><a href="/metrics">/metrics</a></td><td>counters for Prometheus</td></tr>
</table>
<h2>Try this</h2>
<pre>export HOLDFAST_TOKEN=$(holdfast token create --subject local)
curl -H "Authorization: Bearer $HOLDFAST_TOKEN" -H "Content-Type: application/json" \\
  -d '{{"text": "Deploys go through Konflux"}}' {url}{BASE}/remember
curl -H "Authorization: Bearer $HOLDFAST_TOKEN" -H "Content-Type: application/json" \\
  -d '{{"query": "how do we deploy?"}}' {url}{BASE}/recall</pre>
<p>A page to look through memories comes later; until then <code>holdfast list</code> shows them.</p>""",
    )


async def docs_page(_: Request) -> Response:
    rows = "".join(
        f"<tr><td><code>{route.method}</code></td><td><code>{escape(f'{BASE}/{route.path}')}</code></td>"
        f"<td>{escape(route.call.sentence)}</td>"
        f"<td>{', '.join(f'<code>{escape(field.name)}</code>' for field in route.in_query) or '–'}</td></tr>"
        for route in ROUTES
    )
    return _page(
        "Holdfast: routes",
        f"""<h1>Routes</h1><p>Send <code>Authorization: Bearer …</code>; bodies are JSON.
<a href="/openapi.json">The OpenAPI document</a> says it in full.</p>
<div class="scroll"><table><tr><th></th><th>route</th><th></th><th>fields</th></tr>{rows}</table></div>""",
    )


def _page(title: str, body: str) -> Response:
    return HTMLResponse(
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style><body>{body}</body></html>",
        headers=HEADERS,
    )
