"""`holdfast mcp` and `holdfast connect`: adds Holdfast to the MCP settings of an AI client, with a backup of the
file, a dry run and an undo."""

from __future__ import annotations

import sys
from signal import SIG_DFL, SIGINT, signal
from typing import Annotated

import typer

from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.cli.options import As, Data, Json
from holdfast.entrypoints.cli.session import settings_of

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
    from holdfast.domain.errors import InvalidField

    if sys.stdin is None:
        raise InvalidField("An agent speaks to this over standard input, which is closed.")
    signal(SIGINT, SIG_DFL)  # a thread waits for the next line, and nothing else would end that wait
    settings = settings_of(data, subject=subject)
    if settings.url:
        from holdfast.entrypoints.mcp.bridge import bridge

        with open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False) as reading:
            bridge(settings.url, settings.token, surface, reading, sys.stdout)
        return
    try:
        from holdfast.entrypoints.mcp.stdio import speak
    except ImportError as error:
        raise Unavailable("MCP needs `holdfast[server]`: pip install 'holdfast[server]'.") from error
    speak(settings, surface)


def connect(
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="claude-code, claude-desktop, cursor, vscode or gemini.")
    ],
    surface: SurfaceNames = "core",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written; write nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the entry out again.")] = False,
    as_json: Json = False,
    data: Data = None,
    subject: As = None,
) -> None:
    """Give an agent memory: write the MCP entry of its program, after a backup of the file."""
    from holdfast.domain.errors import InvalidField, InvalidJson
    from holdfast.entrypoints.cli import clients, output
    from holdfast.entrypoints.mcp.tools import SURFACES, surface_named

    chosen = clients.CLIENTS.get(client)
    if chosen is None:
        raise InvalidField(f"A client is one of {', '.join(clients.CLIENTS)}.")
    if surface_named(surface) is None:
        raise InvalidField(f"A surface is one of {', '.join(SURFACES)}; several are joined by commas.")
    path = chosen.file()
    before = clients.read(path)
    warning = None
    try:
        if undo:
            after = clients.disconnected(chosen, before)
        else:
            settings = settings_of(data, subject=subject)
            entry = clients.entry_for(chosen, settings, surface)
            after = clients.connected(chosen, before, entry)
            warning = clients.sharing_warning(settings, entry.get("env", {}))
    except InvalidJson as error:
        raise InvalidJson(f"{path} was left as it is: {error.message}.") from None
    if not dry_run and after != before:
        clients.keep(chosen, after, backup=None if undo else before)
    if undo and not dry_run:
        clients.forget_backup(chosen)
    if as_json:
        output.emit(
            {"client": client, "file": str(path), "changed": after != before, "written": not dry_run}
            | ({} if warning is None else {"warning": warning})
        )
    elif dry_run:
        print(_difference(before, after, str(path)), end="")
    elif after == before:
        print(f"{chosen.title} needed no change: {path}")
    else:
        done = "no longer has" if undo else "now has"
        print(f"{chosen.title} {done} Holdfast: {path}\nRestart it to take effect.")
    output.remark(warning)


def _difference(before: str, after: str, path: str) -> str:
    """As `diff -u` shows it; a token or a key is not shown."""
    import difflib
    import re

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    shown = "\n".join(lines)
    return re.sub(r'("HOLDFAST_(?:TOKEN|\w*KEYS?)": )"[^"]*"', r'\1"…"', shown) + ("\n" if shown else "")
