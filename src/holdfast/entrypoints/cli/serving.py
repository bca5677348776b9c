"""`holdfast serve` and `holdfast mcp`: servers in this process; and `holdfast token create`, a local token for them."""

from __future__ import annotations

import sys
from pathlib import Path
from signal import SIG_DFL, SIGINT, signal
from typing import Annotated

import typer

from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import seconds
from holdfast.entrypoints.cli.session import settings_of

SurfaceNames = Annotated[
    str,
    typer.Option("--surface", metavar="NAME[,NAME]", help="Which tools: core, facts, files, … or all."),
]


def serve(
    context: typer.Context,
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
) -> None:
    """Serve REST and MCP for many callers at once, until Ctrl-C."""
    options = {
        "host": host,
        "port": port,
        "database_url": database,
        "markdown_dir": markdown,
        "subject": context.obj.subject,
    }
    settings = settings_of(
        context.obj.data, **{name: value for name, value in options.items() if value is not None}
    )
    try:
        from holdfast.entrypoints.http.server import serve as serve_http
        from holdfast.entrypoints.mcp.http import open_mcp
        from holdfast.entrypoints.mirror.mirror import mirrored
    except ImportError as error:
        raise Unavailable("The server needs its extra: pip install 'holdfast-memory[server]'.") from error
    raise typer.Exit(serve_http(settings, open_mcp, lambda memory: mirrored(memory, settings.markdown_dir)))


def mcp(
    context: typer.Context,
    surface: SurfaceNames = "core",
) -> None:
    """Serve MCP over standard input and output, on the local store or on the server of HOLDFAST_URL."""
    if sys.stdin is None:
        raise InvalidField("An agent talks to this over standard input, which is closed.")
    signal(SIGINT, SIG_DFL)  # a thread blocks on the next line, and nothing else ends that
    settings = settings_of(context.obj.data, subject=context.obj.subject)
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


token = typer.Typer(help="Access tokens for the server.", no_args_is_help=True)


@token.command()
def create(
    context: typer.Context,
    subject: Annotated[str, typer.Option("--subject", help="The caller it names, for example alice.")],
    kind: Annotated[str, typer.Option("--kind", help="user, agent or service.")] = "user",
    owner: Annotated[str | None, typer.Option("--owner", help="The owner of this agent or service.")] = None,
    roles: Annotated[
        list[str] | None, typer.Option("--role", help="`member` unless given; `admin`; may be repeated.")
    ] = None,
    teams: Annotated[list[str] | None, typer.Option("--team", help="A team; may be repeated.")] = None,
    chats: Annotated[list[str] | None, typer.Option("--chat", help="A chat; may be repeated.")] = None,
    user: Annotated[
        str | None,
        typer.Option("--for-user", help="The user an agent or service works for; opens their space."),
    ] = None,
    systems: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME=LEVEL", help="A system, `read` or `manage`; may be repeated."),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="The unattended run it is made for.")] = None,
    ttl: Annotated[
        int,
        typer.Option(
            "--ttl", metavar="TIME", help="How long it is valid: 30d, 12h or seconds.", parser=seconds
        ),
    ] = 30 * 86_400,
) -> None:
    """Create a local access token and print it; anyone who has it is that caller."""
    from holdfast.domain.errors import Unavailable

    try:
        from holdfast.entrypoints.http.tokens import local_secret, mint
    except ImportError as error:
        raise Unavailable("Tokens need the server extra: pip install 'holdfast-memory[server]'.") from error
    from holdfast.domain.times import SECOND
    from holdfast.vocabularies.encoding import moment
    from holdfast.wiring import system_clock

    settings, now = settings_of(context.obj.data), system_clock()
    token = mint(
        local_secret(settings),
        subject=subject,
        ttl_seconds=ttl,
        now=now,
        kind=kind,
        owner=owner,
        roles=roles or ("member",),
        teams=teams or (),
        chats=chats or (),
        session_user=user,
        systems=dict(_system(text) for text in systems or ()),
        run=run,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
    )
    if context.obj.as_json:
        ends = moment((now // SECOND + ttl) * SECOND)
        output.emit({"token": token, "subject": subject, "kind": kind, "expires_at": ends})
    else:
        print(token)


def _system(text: str) -> tuple[str, str]:
    name, equals, level = text.rpartition("=")
    return (name, level) if equals else (text, "read")
