"""Any call of any vocabulary from the shell, by the tables that tools and routes are made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.domain.errors import InvalidField, InvalidJson
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import As, Data, Json, text_of
from holdfast.entrypoints.cli.session import opened
from holdfast.entrypoints.plain_json import decode

if TYPE_CHECKING:
    from holdfast.vocabularies.wire.call import Call


def call(
    surface: Annotated[str, typer.Argument(help="A vocabulary: core, facts, stores, files, …")],
    tool: Annotated[str, typer.Argument(help="One of its calls, such as memory_store.")],
    said: Annotated[
        str,
        typer.Argument(metavar="[JSON]", help="What it is told, as a JSON object; `-` reads standard input."),
    ] = "{}",
    as_json: Json = False,
    subject: As = None,
    data: Data = None,
) -> None:
    """Make any call of any vocabulary."""
    from holdfast.vocabularies.wire.fields import arguments

    row = _row(surface, tool)
    told = _object(text_of(said, InvalidJson))
    given = arguments(row.fields, told)
    with opened(data, subject, "calling") as me:
        document = row.answer.show(_done(me, row, given, told))
    if as_json:
        output.emit(document)
    elif row.answer.is_text:
        output.body(document["text"])
    else:
        output.body(json.dumps(document, indent=2, ensure_ascii=False))


def _row(surface: str, tool: str) -> Call:
    table = _table()
    if surface not in table:
        raise InvalidField(f"There is no vocabulary `{surface}`; there are {', '.join(sorted(table))}.")
    if tool not in table[surface]:
        raise InvalidField(f"{surface} has no call `{tool}`; it has {', '.join(sorted(table[surface]))}.")
    return table[surface][tool]


def _table() -> dict[str, dict[str, Call]]:
    """Each call under its own name, and under the name that agents know it by."""
    from holdfast.entrypoints.http.routes import ROUTES
    from holdfast.entrypoints.mcp.tools import NAMED

    table: dict[str, dict[str, Call]] = {}
    for route in ROUTES:
        for row in (route.call, route.purge):
            if row is not None:
                table.setdefault(route.tag, {}).setdefault(row.name, row)
    for surface in NAMED.values():
        table.setdefault(surface.name, {}).update({tool.name: tool.call for tool in surface.tools})
    return table


def _object(text: str) -> dict[str, Any]:
    try:
        value = decode(text)
    except ValueError as error:
        raise InvalidJson(f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidJson('Say it as a JSON object, such as {"key": "preferences/editor"}.')
    return value


def _done(me: Any, row: Call, given: dict[str, Any], told: dict[str, Any]) -> Any:
    """By the server, which judges each of many rows itself, or here."""
    session = getattr(me, "_session", None)
    if session is None:
        from holdfast.entrypoints.http.client_transport import sending
        from holdfast.vocabularies.wire.fields import Told

        rows = {
            field.parameter: Told(told[field.name])
            for field in row.fields
            if field.of and isinstance(told.get(field.name), list)
        }
        return sending(row.run)(me, **given | rows)
    result = row.run(row.surface(session), **given)
    if not row.writes:
        return result
    from holdfast.entrypoints.python.local import carry_out

    return carry_out(session, result)
