"""`holdfast call`: any call of any vocabulary, from the tables behind tools and routes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.domain.errors import InvalidField, InvalidJson
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.options import text_of
from holdfast.entrypoints.cli.session import opened
from holdfast.entrypoints.plain_json import decode

if TYPE_CHECKING:
    from holdfast.vocabularies.call import Call


def call(
    context: typer.Context,
    surface: Annotated[str, typer.Argument(help="A vocabulary: core, facts, stores, files, …")],
    tool: Annotated[str, typer.Argument(help="One of its calls, such as memory_store.")],
    arguments: Annotated[
        str,
        typer.Argument(metavar="[JSON]", help="Its arguments, as a JSON object; `-` reads standard input."),
    ] = "{}",
) -> None:
    """Call any API method with JSON."""
    from holdfast.vocabularies.arguments import read_arguments

    row = _row(surface, tool)
    request = _json_object(text_of(arguments, InvalidJson))
    checked = read_arguments(row.fields, request)
    with opened(context, "calling") as me:
        document = row.answer.encode(_run(me, row, checked, request))
    if context.obj.as_json:
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
    """Returns the calls of each vocabulary, under their own names and under the names of their tools."""
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


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = decode(text)
    except ValueError as error:
        raise InvalidJson(f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidJson('Say it as a JSON object, such as {"key": "preferences/editor"}.')
    return value


def _run(me: Any, row: Call, checked: dict[str, Any], request: dict[str, Any]) -> Any:
    """Runs the call here, or on the server, which checks each row of a list itself."""
    from holdfast.entrypoints.python.local import LocalTransport
    from holdfast.vocabularies.arguments import WireRows

    transport = me._transport
    if not isinstance(transport, LocalTransport):
        for field in row.fields:
            if field.of and isinstance(request.get(field.name), list):
                checked[field.parameter] = WireRows(request[field.name])
    return transport.run(row.run, (), checked)
