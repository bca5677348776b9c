"""Fields: the arguments of calls as the wire has them. A field is declared at its parameter, which gives it its name
and its kind: `key: Annotated[str, Field("The name.", "timezone")]`. Values are judged by the operation itself."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from holdfast.domain.context import LARGEST_BUDGET, SMALLEST_BUDGET
from holdfast.domain.errors import (
    HoldfastError,
    InvalidField,
    InvalidKey,
    InvalidScope,
    MissingField,
    MissingValue,
    NotFound,
)
from holdfast.domain.principal import ID_BYTES
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.vocabularies.encoding import Schema

LevelName = Literal["search", "read", "readwrite", "manage"]
"""How much a grant allows; each level includes those before it."""
PartitionName = Literal["notes", "facts", "stores", "files", "assistant"]
"""The part of a space that a vocabulary keeps its entries in."""
SourceName = Literal["tool", "import"]
"""The source of words that no person stands behind."""


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


_SCHEMAS: Mapping[Kind, Schema] = {
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


@dataclass(frozen=True, slots=True)
class Field:
    sentence: str
    example: Any = None
    kind: Kind = Kind.ANY
    """Made of the parameter's annotation unless given."""
    name: str = ""
    """On the wire; that of the parameter unless given."""
    missing: type[HoldfastError] | None = None
    """The error when it is left out; None: it may be."""
    wrong: type[HoldfastError] = InvalidField
    """The error when it cannot be sent as what it is."""
    bounds: Schema | None = None
    """Further JSON Schema, such as a range or an enumeration."""
    of: tuple[Field, ...] = ()
    """The fields of a row, where the value is rows."""
    also: tuple[type, ...] = ()
    """Types of Python beside the kind's own: the id of a space, a timedelta."""
    parameter: str = ""

    def at(self, parameter: str, hint: Any) -> Field:
        """The field at a parameter with that annotation."""
        kind, types_of = _kind(hint)
        kind = kind if self.kind is Kind.ANY else self.kind
        return replace(
            self,
            kind=kind,
            name=self.name or parameter,
            also=tuple(one for one in (UUID, timedelta) if one in types_of and kind is not Kind.ID),
            parameter=parameter,
        )

    def schema(self) -> dict[str, Any]:
        schema = dict(_SCHEMAS[self.kind]) | ({"items": object_schema(self.of)} if self.of else {})
        schema |= dict(self.bounds or {}) | {"description": self.sentence}
        return schema if self.example is None else schema | {"examples": [self.example]}


def _kind(hint: Any) -> tuple[Kind, frozenset[Any]]:
    """The kind of a parameter, and the types its annotation names."""
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    named = frozenset(choices)
    for one in choices:
        match get_origin(one):
            case origin if origin is Literal:
                return Kind.TEXT, named
            case origin if origin is Mapping:
                return Kind.TABLE, named
            case origin if origin is Iterable:
                (item,) = get_args(one)
                if get_origin(item) is Mapping:
                    return Kind.ROWS, named
                return Kind.TEXTS, frozenset(get_args(item))
    for type_, kind in (
        (bool, Kind.SWITCH),
        (int, Kind.WHOLE),
        (datetime, Kind.MOMENT),
        (UUID, Kind.ID),
        (str, Kind.TEXT),
    ):
        if type_ in named:
            return kind, named
    return Kind.ANY, named


def object_schema(fields: Sequence[Field], rules: Schema | None = None) -> dict[str, Any]:
    """Fields as one JSON object; `rules` are about several of them. An optional field may be null."""
    required = {
        field.name
        for field in fields
        if field.missing is not None
        and not any(other is not field and other.parameter == field.parameter for other in fields)
    }
    return {
        "type": "object",
        "properties": {
            field.name: field.schema() if field.name in required else _or_null(field.schema())
            for field in fields
        },
        "additionalProperties": False,
        **({"required": sorted(required)} if required else {}),
        **(rules or {}),
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return schema
    shown = schema | {"type": [schema["type"], "null"]}
    return shown | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})


# In full, because what `\s` means differs from one language to the next.
_CONTROL = r"\x00-\x1f\x7f"
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BREAK = r"\x85\u2028\u2029"
_SEEN = rf"[^{_SPACE}{_CONTROL}]"
_WORDS = rf"[^\x00]*[^{_SPACE}\x00][^\x00]*"
NAME = {"pattern": rf"^[{_SPACE}]*{_SEEN}([^{_CONTROL}]*{_SEEN})?[{_SPACE}]*$"}
"""Not blank, no control characters; space around it is stripped. A setting caps its bytes."""
LINE = {"pattern": rf"^[^{_CONTROL}{_BREAK}]*[{_BREAK}]?$"}
TAG = {"pattern": rf"^[^{_CONTROL}{_BREAK}]*{_SEEN}[^{_CONTROL}{_BREAK}]*[{_BREAK}]?$"}
NOT_BLANK = {"pattern": rf"^{_WORDS}$"}
NOT_SPACE = {"pattern": rf"[^{_SPACE}]"}
NO_NUL = {"pattern": r"^[^\x00]*$"}
SUBJECT: dict[str, Any] = {
    "pattern": r"^[^\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*$",
    "maxLength": ID_BYTES,
}
"""An id of a principal, as far as a pattern can say what is printable."""
LONGEST_TTL = {"minimum": 1, "maximum": CENTURY_SECONDS}
REVISION_NUMBERS = {"minimum": 0, "maximum": (1 << 63) - 1}


def name_under(root: str, around: str = "") -> dict[str, str]:
    """A NAME in a tree of paths; `around` may stand before and after it."""
    seen = rf"[^{_SPACE}{_CONTROL}/]"
    name = rf"[{_SPACE}]*{seen}([^{_CONTROL}]*{seen})?[{_SPACE}]*"
    return {"pattern": f"^{root}{around}{name}{around}$"}


KEY = Field("The memory's name.", "konflux/deploy", wrong=InvalidKey)
ID = Field("The memory's id.", wrong=NotFound)
SPACE = Field("A space by id, reference or kind:reference; default: your own.", "user:alice", Kind.TEXT)
REVISION = Field("Refused with 412 unless the memory is at this revision.", 3, bounds=REVISION_NUMBERS)
TTL = Field("How long it lives, in seconds.", 7_776_000, name="ttl_seconds", bounds=LONGEST_TTL)
LIMIT = Field("At most so many.", 10, bounds={"minimum": 1})
CURSOR = Field("Of the page before: gives the next.")
CATEGORY = Field("A word to sort by, on one line.", "preferences", bounds=LINE)
TAGS = Field("Words to filter by.", ["deploy"], bounds={"items": {"type": "string"} | TAG})
IN_CATEGORY = Field("Only this category.", "preferences")
HINT = Field("One line on what it is good for; weighs more than the text.", bounds=LINE)
WITH_TAGS = Field("Only what has all of these.", ["deploy"])
IN_SPACES = Field("Only these spaces; null: your own.", bounds={"items": {"type": ["string", "null"]}})
SINCE = Field("Said or written at this moment or later.")
UNTIL = Field("Said or written before this moment.")
IN_CONTEXT = Field("False: kept from models.")
ALWAYS = Field("Whether every context holds it.")
SCOPE = Field(
    "`all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`.",
    "key:konflux/deploy",
    missing=InvalidScope,
    wrong=InvalidScope,
    bounds={"pattern": rf"^(all|packs|pipelines|(key|id|pack|pipeline):{_WORDS})$"},
)
QUESTION = Field("A question, in words.", "how do we deploy?", missing=MissingField)
NAMESPACE = Field("A set of keys of its own within the space.", bounds=LINE)
ONLY_NAMESPACE = Field("Only this namespace; empty: all of them.", bounds=LINE)
SUPERSEDES = Field("The id of a memory that goes to the trash with this write.", wrong=NotFound)
SOURCE = Field(
    "For words that nobody stands behind: it can only lower the trust in them.",
    "tool",
    bounds={"enum": list(get_args(SourceName))},
)
DERIVED_FROM = Field("Ids of memories it was made from; it is trusted no more than they are.", wrong=NotFound)
CONVERSATION = Field("Where it was said.", "standup-2026-05-08", bounds=LINE)
PARTITION = Field(
    "One room: notes, facts, stores, files or assistant.",
    "notes",
    bounds={"enum": list(get_args(PartitionName))},
)
EXPIRING = Field("Only what expires within so many seconds.", 86_400, bounds={"minimum": 0})
TOKENS = Field(
    "At most so many tokens.", 2_000, bounds={"minimum": SMALLEST_BUDGET, "maximum": LARGEST_BUDGET}
)
NOT_SHOWN = Field(
    "The memory that was not shown.", "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c", missing=MissingField
)
PASSAGE = Field("A passage, exactly as it stands.", "Konflux", missing=MissingField, bounds={"minLength": 1})
NEW_KEY = Field("The new name.", "deploy/konflux", missing=InvalidKey, wrong=InvalidKey, bounds=NAME)
TEXT = Field("What to remember.", "Deploys go through Konflux", missing=MissingValue)
DATA = Field("Bytes in place of `text`, for what a client encrypted.", kind=Kind.DATA, name="data")
OWN_KEY = replace(KEY, sentence="The memory's name; slashes make a hierarchy.", bounds=NAME)
