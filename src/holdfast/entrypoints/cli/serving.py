"""`holdfast serve` and `holdfast mcp`: servers in this process, over HTTP and over standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path
from signal import SIG_DFL, SIGINT, signal
from typing import Annotated

import typer

from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import settings_of

SurfaceNames = Annotated[
    str,
    typer.Option("--surface", metavar="NAME[,NAME]", help="Which tools: core, facts, files, … or all."),
]


def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; default: HOLDFAST_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65_535, help="Port to listen on; default: HOLDFAST_PORT."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database", metavar="URL", help="sqlite:///… or postgresql://…; default: HOLDFAST_DATABASE_URL."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="DIR",
            help="Mirror file memories there as unencrypted Markdown files; default: HOLDFAST_MARKDOWN_DIR.",
        ),
    ] = None,
    _as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Serve REST and MCP for many callers at once, until Ctrl-C."""
    options = {
        "host": host,
        "port": port,
        "database_url": database,
        "markdown_dir": markdown,
        "subject": subject,
    }
    settings = settings_of(data, **{name: value for name, value in options.items() if value is not None})
    try:
        from holdfast.entrypoints.http.server import serve as serve_http
        from holdfast.entrypoints.mcp.http import open_mcp
        from holdfast.entrypoints.mirror.mirror import mirrored
    except ImportError as error:
        raise Unavailable("The server needs its extra: pip install 'holdfast-memory[server]'.") from error
    raise typer.Exit(serve_http(settings, open_mcp, lambda memory: mirrored(memory, settings.markdown_dir)))


def mcp(
    surface: SurfaceNames = "core",
    _as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Serve MCP over standard input and output, on the local store or on the server of HOLDFAST_URL."""
    if sys.stdin is None:
        raise InvalidField("An agent talks to this over standard input, which is closed.")
    signal(SIGINT, SIG_DFL)  # a thread blocks on the next line, and nothing else ends that
    settings = settings_of(data, subject=subject)
    if settings.url:
        from holdfast.entrypoints.mcp.bridge import bridge

        with open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False) as lines:
            bridge(settings.url, settings.token, surface, lines, sys.stdout)
        return
    try:
        from holdfast.entrypoints.mcp.stdio import serve_stdio
    except ImportError as error:
        raise Unavailable("MCP needs the server extra: pip install 'holdfast-memory[server]'.") from error
    serve_stdio(settings, surface)
