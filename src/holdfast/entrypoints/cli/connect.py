"""`holdfast connect`: adds Holdfast to the MCP settings of an AI client, with a backup of the file, a dry run and an
undo."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from holdfast.domain.errors import InvalidField, InvalidJson
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.serving import SurfaceNames
from holdfast.entrypoints.cli.session import settings_of

if TYPE_CHECKING:
    from holdfast.entrypoints.cli.clients import AiClient
    from holdfast.settings import Settings


def connect(
    context: typer.Context,
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="claude-code, claude-desktop, cursor, vscode or gemini.")
    ],
    surface: SurfaceNames = "core",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change; write nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the entry.")] = False,
) -> None:
    """Add Holdfast to an AI client's MCP settings (backs up the file first)."""
    from holdfast.entrypoints.cli import clients
    from holdfast.entrypoints.mcp.tools import SURFACES, surface_named

    chosen = clients.CLIENTS.get(client)
    if chosen is None:
        raise InvalidField(f"Unknown client. Choose one of: {', '.join(clients.CLIENTS)}.")
    if surface_named(surface) is None:
        raise InvalidField(f"A surface is one of {', '.join(SURFACES)}; several are joined by commas.")
    before = clients.read(chosen.file())
    if undo:
        after, warning = clients.without_entry(chosen, before), None
    else:
        settings = settings_of(context.obj.data, subject=context.obj.subject)
        after, warning = _with_entry(
            chosen, before, settings, surface, dry_run=dry_run, as_json=context.obj.as_json
        )
    if not dry_run and after != before:
        clients.save(chosen, after, backup=None if undo else before)
    if undo and not dry_run:
        clients.remove_backup(chosen)
    path = str(chosen.file())
    if context.obj.as_json:
        document = {"client": client, "file": path, "changed": after != before, "written": not dry_run}
        output.emit(document | ({} if warning is None else {"warning": warning}))
    elif dry_run:
        print(_difference(before, after, path), end="")
    elif after == before:
        print(f"{chosen.title} needed no change: {path}")
    else:
        done = "no longer has" if undo else "now has"
        print(f"{chosen.title} {done} Holdfast: {path}\nRestart it to take effect.")
    output.remark(warning)


def _with_entry(
    client: AiClient, before: str, settings: Settings, surface: str, *, dry_run: bool, as_json: bool
) -> tuple[str, str | None]:
    """Returns the text with our entry, and a warning about secrets that the client will miss."""
    from holdfast.entrypoints.cli import clients

    former, problem = None, None
    try:
        former = clients.entry_in(client, before)
    except InvalidJson as error:
        problem = error
    entry = clients.entry_for(client, settings, surface, former)
    warning = clients.missing_secrets(settings, entry.get("env", {}))
    if problem is not None:
        snippet = json.dumps({client.servers: {clients.NAME: entry}}, indent=2, ensure_ascii=False)
        _refuse(problem, _without_secrets(snippet) if dry_run else snippet, warning, as_json)
    return clients.with_entry(client, before, entry), warning


def _refuse(problem: InvalidJson, snippet: str, warning: str | None, as_json: bool) -> NoReturn:
    """Leaves a file that is not plain JSON to its owner, who gets the entry to paste."""
    message = f"{problem.message} Merge the printed entry into it yourself."
    if as_json:
        document = {"error": problem.code, "message": message, "snippet": snippet}
        output.emit(document | ({} if warning is None else {"warning": warning}))
    else:
        print(snippet)
    output.remark(f"{problem.code}: {message}")
    output.remark(warning)
    raise typer.Exit(1)


def _difference(before: str, after: str, path: str) -> str:
    """Returns what `diff -u` prints, without secrets."""
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    shown = "\n".join(lines)
    return _without_secrets(shown) + ("\n" if shown else "")


def _without_secrets(text: str) -> str:
    return re.sub(r'("HOLDFAST_(?:TOKEN|\w*KEYS?)": )"[^"]*"', r'\1"…"', text)
