"""The options that commands share, and the parsers of their values."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.domain.errors import InvalidField, InvalidInput, TooLarge

MOST_INPUT_BYTES = 64 << 20
UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "": 1}
TTL = re.compile(r"(\d{1,12})([dhms]?)")


@dataclass(slots=True)
class GlobalOptions:
    """The options that every command takes; a command finds them in its context."""

    as_json: bool = False
    subject: str | None = None
    data: Path | None = None
    debug: bool = False


def global_parameters() -> list[Any]:
    """Returns the parameters that fill GlobalOptions."""
    alone = typer.Typer(add_completion=False)
    alone.command()(_fill)
    parameters = list(typer.main.get_command(alone).params)
    for parameter in parameters:
        parameter.expose_value = False
    return parameters


def _note_json(context: typer.Context, value: bool) -> None:
    if value and isinstance(context.obj, GlobalOptions):
        context.obj.as_json = True


def _note_subject(context: typer.Context, value: str | None) -> None:
    if value is not None and isinstance(context.obj, GlobalOptions):
        context.obj.subject = value


def _note_data(context: typer.Context, value: Path | None) -> None:
    if value is not None and isinstance(context.obj, GlobalOptions):
        context.obj.data = value


def seconds(text: str | int) -> int:
    """Parses 90d, 12h, 30m, 45s, or seconds; a default is a number already."""
    if isinstance(text, int):
        return text
    found = TTL.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a time such as 90d, 12h, 30m, 45s or plain seconds.")
    return int(found[1]) * UNITS[found[2]]


def moment(text: str) -> datetime:
    """Parses a time; one without a zone is in this machine's zone."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(f"{text!r} is not a time such as 2026-05-08 or 2026-05-08T14:00Z.") from None


def lifetime(ttl: int | None) -> timedelta | None:
    try:
        return None if ttl is None else timedelta(seconds=ttl)
    except OverflowError:
        raise typer.BadParameter("That is longer than anything lives.") from None


def text_of(text: str, refused: type[InvalidInput] = InvalidField) -> str:
    """Returns the text; for `-`, standard input without its last line break. Raises `refused` if that is no text."""
    if text != "-":
        return text
    if sys.stdin is None:
        raise refused("Standard input is closed.")
    data = sys.stdin.buffer.read(MOST_INPUT_BYTES + 1)
    if len(data) > MOST_INPUT_BYTES:
        raise TooLarge("Standard input is longer than any memory may be.")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise refused("Standard input is not UTF-8 text.") from None


def _fill(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of text.", callback=_note_json)
    ] = False,
    subject: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="SUBJECT",
            help="Act as this user; default: HOLDFAST_SUBJECT.",
            callback=_note_subject,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="The data directory, with its `holdfast.toml`; default: HOLDFAST_DATA_DIR.",
            file_okay=False,
            callback=_note_data,
        ),
    ] = None,
) -> None:
    """Declares the parameters; their callbacks do the work."""


Key = Annotated[str | None, typer.Argument(metavar="[KEY]", help="The memory's key, or name it by --id.")]
Id = Annotated[str | None, typer.Option("--id", help="The memory's id, instead of its key.")]
Space = Annotated[
    str | None,
    typer.Option("--space", help="A space by id, reference or kind:reference; default: your own."),
]
Hint = Annotated[str | None, typer.Option("--hint", help="When this memory is useful, in one line.")]
Category = Annotated[str | None, typer.Option("--category", help="Category.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag (repeatable).")]
Ttl = Annotated[
    int | None,
    typer.Option(
        "--ttl", metavar="TIME", help="How long it lives: 90d, 12h, 30m, 45s or seconds.", parser=seconds
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="Maximum results.")]


def target(key: str | None, id: str | None, space: str | None) -> dict[str, Any]:
    """Returns the arguments that name one memory."""
    if (key is None) == (id is None):
        raise typer.BadParameter("Name one memory, by its key or by --id.")
    return {"key": key, "id": id, "space": space}
