"""The arguments of a call read from JSON or a query string, and written the other way round for a server."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from holdfast.domain.errors import HoldfastError, InvalidField, MissingField, TooLarge
from holdfast.domain.limits import check_list
from holdfast.domain.retention import whole_seconds
from holdfast.vocabularies.fields import Field, Kind

LONGEST_NUMBER = 100
MOST_BITS = 14_000
"""Python refuses to write longer whole numbers as digits."""
DEEPEST = 64
"""A server refuses shallower values itself; a value that contains itself has no end."""
MOST_ITEMS = 10_000
"""In one list or table; a batch of rows has an outcome for each, which others would wait for."""
_WHOLE = re.compile("-?[0-9]+")
_CONVERTED = frozenset({Kind.TEXTS, Kind.WHOLE, Kind.DATA, Kind.TABLE, Kind.ROWS})
"""Kinds whose JSON is checked or converted before the call gets it."""
_MANY = frozenset({Kind.TEXTS, Kind.TABLE, Kind.ROWS})
_OF_PYTHON = (UUID, datetime, timedelta, bytes)
"""Types that JSON writes as a text or a number."""
_OF_KIND: Mapping[Kind, tuple[type, ...]] = {
    Kind.ID: (UUID,),
    Kind.MOMENT: (datetime,),
    Kind.DATA: (bytes,),
}
_IN_QUERY = {Kind.WHOLE: int, Kind.SWITCH: bool}


def read_arguments(fields: Sequence[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, by parameter. Null means the same as leaving a field out."""
    arguments: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.name)
        if value is not None:
            if field.parameter in arguments:
                raise InvalidField(f"`{field.name}` and another field say the same thing; send one of them.")
            arguments[field.parameter] = _read(field, value) if field.kind in _CONVERTED else value
        elif field.missing is not None and field.parameter not in arguments:
            _refuse_unknown(fields, given)
            raise _missing(field)
    if len(arguments) < len(given):
        _refuse_unknown(fields, given)
    return arguments


def _read(field: Field, value: Any) -> Any:
    if field.kind is Kind.DATA:
        try:
            return base64.b64decode(value, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise InvalidField("`data` is bytes in base64.") from None
    if isinstance(value, dict) and field.kind in (Kind.TEXTS, Kind.ROWS):
        raise InvalidField(f"`{field.name}` is a list.")  # Python would iterate over the names of a mapping
    if field.kind in _MANY and isinstance(value, dict | list) and len(value) > MOST_ITEMS:
        raise TooLarge(
            f"`{field.name}` may have {MOST_ITEMS} items; it has {len(value)}. Send them in parts."
        )
    if field.of and isinstance(value, list):
        return [_read_row(field.of, row) for row in value]
    if field.kind is Kind.WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)  # JSON knows one kind of number
    return value


def _read_row(fields: Sequence[Field], row: Any) -> Any:
    """The arguments of a row or its error: one bad row does not refuse the others."""
    if not isinstance(row, Mapping):
        return row
    try:
        return read_arguments(fields, row)
    except HoldfastError as refusal:
        return refusal


def _missing(field: Field) -> HoldfastError:
    assert field.missing is not None
    if field.missing is not MissingField:
        return field.missing(None)
    words = (field.bounds or {}).get("enum")
    return MissingField(f"`{field.name}` is required{': one of ' + ', '.join(words) if words else ''}.")


def _refuse_unknown(fields: Sequence[Field], given: Mapping[str, Any]) -> None:
    known = {field.name for field in fields}
    for name in given:
        if name not in known:
            raise InvalidField(
                f"There is no field `{name[:64]}` here; there are {', '.join(sorted(known)) or 'none'}."
            )


def from_query(fields: Sequence[Field], query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of a query string, as JSON would have them; a list repeats its name."""
    known = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    for name, text in query:
        field = known.get(name)
        if field is not None and field.kind is Kind.TEXTS:
            values.setdefault(name, []).append(text)
        elif name in values:
            raise InvalidField(f"`{name[:64]}` is given more than once.")
        else:
            values[name] = text if field is None else _from_text(field, text)
    return values


def _from_text(field: Field, text: str) -> Any:
    match field.kind:
        case Kind.WHOLE:
            if not _WHOLE.fullmatch(text) or len(text) > LONGEST_NUMBER:
                raise InvalidField(f"`{field.name}` is a whole number.")
            return int(text)
        case Kind.SWITCH:
            if text not in ("true", "false"):
                raise InvalidField(f"`{field.name}` is true or false.")
            return text == "true"
        case _:
            return text


def to_query(fields: Sequence[Field], values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values for a query string. One of a wrong type would arrive as text of the right one, so it is refused here."""
    texts: list[tuple[str, str]] = []
    for field in fields:
        if field.name not in values:
            continue
        for value in values[field.name] if field.kind is Kind.TEXTS else (values[field.name],):
            if type(value) is not _IN_QUERY.get(field.kind, str):
                raise field.wrong(f"`{field.name}` is not a {type(value).__name__}.")
            texts.append((field.name, str(value).lower() if isinstance(value, bool) else str(value)))
    return texts


class WireRows(list[Any]):
    """Rows that are in the words of the wire already; the server judges each."""


def to_wire(fields: Sequence[Field], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as they are sent: the inverse of `read_arguments`."""
    take_bytes = {field.parameter for field in fields if field.kind is Kind.DATA}
    values: dict[str, Any] = {}
    for field in fields:
        value = arguments.get(field.parameter)
        for_other = field.parameter in take_bytes and isinstance(value, bytes) != (field.kind is Kind.DATA)
        if value is not None and not for_other:
            values[field.name] = _to_wire(field, value)
    return values


def _to_wire(field: Field, value: Any) -> Any:
    match field.kind:
        case Kind.TEXTS if not isinstance(value, str):
            return [_one_to_wire(field, each) for each in check_list(field.name, value)]
        case Kind.ROWS if isinstance(value, Iterable) and not isinstance(value, str | Mapping | WireRows):
            return [_row_to_wire(field.of, row) for row in value]
        case Kind.ROWS | Kind.TABLE | Kind.ANY if not isinstance(value, bytes):
            return sendable(value)
        case Kind.WHOLE if isinstance(value, float) and value.is_integer():
            raise field.wrong(f"`{field.name}` is a whole number.")  # JSON would make one of 1.0
        case _:
            return _one_to_wire(field, value)


def _row_to_wire(fields: Sequence[Field], row: Any) -> Any:
    """Unknown names are sent too, for the server to refuse."""
    if not isinstance(row, Mapping):
        return sendable(row)
    known = {field.parameter for field in fields}
    return to_wire(fields, row) | {name: sendable(value) for name, value in row.items() if name not in known}


def _one_to_wire(field: Field, value: Any) -> Any:
    """Refuses a type that Python refuses here and JSON would turn into one that passes."""
    if isinstance(value, _OF_PYTHON) and not isinstance(value, (*_OF_KIND.get(field.kind, ()), *field.also)):
        raise field.wrong(f"`{field.name}` is not a {type(value).__name__}.")
    try:
        return sendable(value, 1)
    except InvalidField as refusal:
        raise field.wrong(refusal.message) from None


def sendable(value: Any, deepest: int = DEEPEST) -> Any:
    """A value as JSON can carry it; any other is refused before a request is made."""
    match value:
        case str() | bool() | None:
            return value
        case int():
            if value.bit_length() <= MOST_BITS:
                return value
        case float():
            if math.isfinite(value):
                return value
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case timedelta():
            return whole_seconds(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            if deepest and all(isinstance(name, str) for name in value):
                return {name: sendable(one, deepest - 1) for name, one in value.items()}
        case Iterable():
            if deepest:
                return [sendable(one, deepest - 1) for one in value]
    raise InvalidField(f"A {type(value).__name__} cannot be sent.")
