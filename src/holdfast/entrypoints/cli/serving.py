"""`holdfast serve`: the server in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import settings_of


def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Where to listen; default: HOLDFAST_HOST.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Where to listen; default: HOLDFAST_PORT.")
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
            help="Mirror file memories there as Markdown, in plain text; default: HOLDFAST_MARKDOWN_DIR.",
        ),
    ] = None,
    _as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Serve REST and MCP for many callers at once, until Ctrl-C."""
    from holdfast.domain.errors import Unavailable

    given = {
        "host": host,
        "port": port,
        "database_url": database,
        "markdown_dir": markdown,
        "subject": subject,
    }
    settings = settings_of(data, **{name: value for name, value in given.items() if value is not None})
    try:
        from holdfast.entrypoints.http.server import serve as serve_http
        from holdfast.entrypoints.mcp.http import open_door
        from holdfast.entrypoints.mirror.watching import mirrored
    except ImportError as error:
        raise Unavailable("The server needs `holdfast[server]`: pip install 'holdfast[server]'.") from error
    raise typer.Exit(serve_http(settings, open_door, lambda memory: mirrored(memory, settings.markdown_dir)))
