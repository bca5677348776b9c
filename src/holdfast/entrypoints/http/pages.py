"""Two plain pages: what runs here and where to go on, and the routes as a table. No script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from holdfast import __version__
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

Endpoint = Callable[[Request], Awaitable[Response]]


def status_page(memory: Running) -> Endpoint:
    async def page(request: Request) -> Response:
        url = escape(str(request.base_url).rstrip("/"))
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

    return page


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
