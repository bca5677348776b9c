"""What a call may be told: a name, what kind of value, one sentence. Values are judged by the operation itself, so that
every door refuses in the same words; here it is only settled which parameter they belong to."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as part
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from holdfast.domain.errors import HoldfastError, InvalidField, MissingField, TooLarge
from holdfast.domain.limits import check_list
from holdfast.domain.retention import whole_seconds

Schema = Mapping[str, Any]
LONGEST_NUMBER = 100
MOST_BITS = 14_000
"""Of a whole number that Python writes as digits."""
DEEPEST = 64
"""A server refuses less deep ones in its own words; what holds itself has no end."""
MOST_ITEMS = 10_000
"""In one list or table; a batch of rows has an outcome for each, which others would wait for."""
_WHOLE = re.compile("-?[0-9]+")


class Kind(StrEnum):
    TEXT = "text"
    ID = "id"
    WHOLE = "whole number"
    SWITCH = "true or false"
    MOMENT = "moment"
    TEXTS = "texts"
    DATA = "bytes"
    TABLE = "table"
    ROWS = "rows"
    ANY = "any JSON value"


_JSON: Mapping[Kind, Schema] = {
    Kind.TEXT: {"type": "string"},
    Kind.ID: {"type": "string", "format": "uuid"},
    Kind.WHOLE: {"type": "integer"},
    Kind.SWITCH: {"type": "boolean"},
    Kind.MOMENT: {"type": "string", "format": "date-time"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.DATA: {"type": "string", "format": "byte"},
    Kind.TABLE: {"type": "object"},
    Kind.ROWS: {"type": "array", "items": {"type": "object"}},
    Kind.ANY: {},
}
"""What JSON writes for a value."""
_MANY = frozenset({Kind.TEXTS, Kind.TABLE, Kind.ROWS})
_OTHERWISE = (UUID, datetime, timedelta, bytes)
"""What Python has and JSON says in other words."""
_ALSO: Mapping[Kind, tuple[type, ...]] = {
    Kind.ID: (UUID,),
    Kind.MOMENT: (datetime,),
    Kind.DATA: (bytes,),
}
_AS_SAID = frozenset({Kind.TEXT, Kind.ID, Kind.SWITCH, Kind.MOMENT, Kind.ANY})


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: Kind
    sentence: str
    example: Any = None
    into: str = ""
    """The parameter it becomes, when that has another name."""
    missing: type[HoldfastError] | None = None
    """What is raised when it is left out; None: it may be."""
    wrong: type[HoldfastError] = InvalidField
    """What is raised when it cannot be sent as what it is."""
    also: tuple[type, ...] = ()
    """What Python may say in its place, besides what any of its kind may be: the id of a space, a timedelta."""
    bounds: Schema | None = None
    """What the schema says besides, such as a range or the words to choose from."""
    of: tuple[Field, ...] = ()
    """What a row may say, where the value is rows."""
    parameter: str = part(init=False)
    as_said: bool = part(init=False)
    """Whether the value goes on as it came, whatever it is."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameter", self.into or self.name)
        object.__setattr__(self, "as_said", self.kind in _AS_SAID)

    def schema(self) -> dict[str, Any]:
        shown = dict(_JSON[self.kind]) | ({"items": object_schema(self.of)} if self.of else {})
        shown |= dict(self.bounds or {}) | {"description": self.sentence}
        return shown if self.example is None else shown | {"examples": [self.example]}


def object_schema(fields: Sequence[Field], rules: Schema | None = None) -> dict[str, Any]:
    """Fields as one JSON object; `rules` are about several of them. What may be left out may be null."""
    alone = {field.name for field in fields if field.missing is not None}
    alone -= {field.name for field in fields for other in fields if _same(field, other)}
    return {
        "type": "object",
        "properties": {
            field.name: field.schema() if field.name in alone else _or_null(field.schema())
            for field in fields
        },
        "additionalProperties": False,
        **({"required": sorted(alone)} if alone else {}),
        **(rules or {}),
    }


def _same(field: Field, other: Field) -> bool:
    """Whether either of two fields says the same thing, so that neither is required alone."""
    return field is not other and field.parameter == other.parameter


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return schema
    shown = schema | {"type": [schema["type"], "null"]}
    return shown | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})


def arguments(fields: Sequence[Field], said: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call; null is as good as nothing said."""
    given: dict[str, Any] = {}
    for field in fields:
        value = said.get(field.name)
        if value is not None:
            if field.parameter in given:
                raise InvalidField(f"`{field.name}` and another field say the same thing; send one of them.")
            given[field.parameter] = value if field.as_said else _read(field, value)
        elif field.missing is not None and field.parameter not in given:
            _refuse_unknown(fields, said)
            raise _missing(field)
    if len(given) < len(said):
        _refuse_unknown(fields, said)
    return given


def _read(field: Field, value: Any) -> Any:
    if field.kind is Kind.DATA:
        return _opened(value)
    if isinstance(value, dict) and field.kind in (Kind.TEXTS, Kind.ROWS):
        raise InvalidField(f"`{field.name}` is a list.")  # in Python a mapping would pass for its names
    if field.kind in _MANY and isinstance(value, dict | list) and len(value) > MOST_ITEMS:
        raise TooLarge(
            f"`{field.name}` may have {MOST_ITEMS} items; it has {len(value)}. Send them in parts."
        )
    if field.of and isinstance(value, list):
        return [_row(field.of, row) for row in value]
    if field.kind is Kind.WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)  # JSON knows one kind of number
    return value


def _row(fields: Sequence[Field], row: Any) -> Any:
    """The arguments of a row, or why it has none: one bad row takes nothing from the others."""
    if not isinstance(row, Mapping):
        return row
    try:
        return arguments(fields, row)
    except HoldfastError as refusal:
        return refusal


def _missing(field: Field) -> HoldfastError:
    assert field.missing is not None
    if field.missing is not MissingField:
        return field.missing(None)
    words = (field.bounds or {}).get("enum")
    return MissingField(f"`{field.name}` is required{': one of ' + ', '.join(words) if words else ''}.")


def _refuse_unknown(fields: Sequence[Field], said: Mapping[str, Any]) -> None:
    known = {field.name for field in fields}
    for name in said:
        if name not in known:
            raise InvalidField(
                f"There is no field `{name[:64]}` here; there are {', '.join(sorted(known)) or 'none'}."
            )


def from_texts(fields: Sequence[Field], said: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What a query string says, as JSON would have said it; a list is a name that is repeated."""
    known = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    for name, text in said:
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


def to_texts(fields: Sequence[Field], said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is said, for a query string; a value of another kind would come out as one of the right kind, so it is
    refused here."""
    texts: list[tuple[str, str]] = []
    for field in fields:
        if field.name not in said:
            continue
        for value in said[field.name] if field.kind is Kind.TEXTS else (said[field.name],):
            if type(value) is not _PYTHON.get(field.kind, str):
                raise field.wrong(f"`{field.name}` is not a {type(value).__name__}.")
            texts.append((field.name, str(value).lower() if isinstance(value, bool) else str(value)))
    return texts


_PYTHON = {Kind.WHOLE: int, Kind.SWITCH: bool}


class Told(list[Any]):
    """Rows in the words of the wire, as somebody wrote them: the other side judges each."""


def said_by(fields: Sequence[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """The other way round: the arguments of a call as they are sent."""
    also_bytes = {field.parameter for field in fields if field.kind is Kind.DATA}
    said: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.parameter)
        for_other = field.parameter in also_bytes and isinstance(value, bytes) != (field.kind is Kind.DATA)
        if value is not None and not for_other:
            said[field.name] = _said(field, value)
    return said


def _said(field: Field, value: Any) -> Any:
    match field.kind:
        case Kind.TEXTS if not isinstance(value, str):
            return [_one(field, each) for each in check_list(field.name, value)]
        case Kind.ROWS if isinstance(value, Iterable) and not isinstance(value, str | Mapping | Told):
            return [_said_row(field.of, row) for row in value]
        case Kind.ROWS | Kind.TABLE | Kind.ANY if not isinstance(value, bytes):
            return sendable(value)
        case Kind.WHOLE if isinstance(value, float) and value.is_integer():
            raise field.wrong(f"`{field.name}` is a whole number.")  # JSON would make one of 1.0
        case _:
            return _one(field, value)


def _said_row(fields: Sequence[Field], row: Any) -> Any:
    """A name that nobody knows goes along, for the other side to refuse."""
    if not isinstance(row, Mapping):
        return sendable(row)
    known = {field.parameter for field in fields}
    return said_by(fields, row) | {name: sendable(value) for name, value in row.items() if name not in known}


def _one(field: Field, value: Any) -> Any:
    """What JSON would make something else of, which Python refuses, is refused here."""
    if isinstance(value, _OTHERWISE) and not isinstance(value, (*_ALSO.get(field.kind, ()), *field.also)):
        raise field.wrong(f"`{field.name}` is not a {type(value).__name__}.")
    try:
        return sendable(value, 1)
    except InvalidField as refusal:
        raise field.wrong(refusal.message) from None


def sendable(value: Any, deepest: int = DEEPEST) -> Any:
    """A value as JSON can carry it; what none can is refused before anything is sent."""
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


def _opened(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidField("`data` is bytes in base64.") from None
