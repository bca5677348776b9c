"""`holdfast mcp` and `holdfast connect`: how an agent on this machine gets memory."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.entrypoints.cli.door import settings_of
from holdfast.entrypoints.cli.options import As, Data, Json

SurfaceNames = Annotated[
    str,
    typer.Option("--surface", metavar="NAME[,NAME]", help="Which tools: core, facts, files, … or all."),
]


def mcp(
    surface: SurfaceNames = "core",
    _as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Speak MCP over standard input and output, on the local store or on the server that HOLDFAST_URL names."""
    from holdfast.domain.errors import InvalidField, Unavailable

    settings = settings_of(data, subject=subject)
    if settings.url:
        if "," in surface:
            raise InvalidField("A server offers one surface at an address; name one, or `all`.")
        from holdfast.entrypoints.mcp.bridge import bridge

        bridge(settings.url, settings.token, surface)
        return
    try:
        from holdfast.entrypoints.mcp.stdio import speak
    except ImportError as error:
        raise Unavailable("MCP needs `holdfast[server]`: pip install 'holdfast[server]'.") from error
    speak(settings, surface)
