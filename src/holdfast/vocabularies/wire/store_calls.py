"""The rows of the stores vocabulary."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta
from typing import Any

from holdfast.domain.errors import InvalidKey, InvalidLevel, MissingField, MissingKey, MissingValue
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.operations.share_preview import Preview
from holdfast.vocabularies.store_requests import (
    ACTIONS,
    COMMANDS,
    LEVELS,
    LONGEST_KEY,
    LONGEST_PATH,
    ROOT,
    Scope,
)
from holdfast.vocabularies.stores import StoreCalls
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.entries import ENTRY
from holdfast.vocabularies.wire.fields import Kind
from holdfast.vocabularies.wire.rules import SAID, way
from holdfast.vocabularies.wire.shape import MAYBE_TEXT, SWITCH, TEXT, WHOLE, Json, Part, Shape, many
from holdfast.vocabularies.wire.store_rules import OF_THE_TOOL
from holdfast.vocabularies.wire.words import CURSOR, LIMIT, LINE, NAME, SPACE, SUBJECT, field
from holdfast.vocabularies.wire.words import LEVELS as FOUR_LEVELS

_PART = r"([^/.]|\.[^/.]|\.\.[^/])[^/]*"
"""Of a path: neither empty nor `.` nor `..`."""
_PATH = {"pattern": f"^{ROOT}(/{_PART})*/?$", "maxLength": LONGEST_PATH}


def _as_it_is(value: Any) -> Any:
    return value


ANSWER: Shape[Any] = Shape(
    "MemoryAnswer",
    (),
    _as_it_is,
    _as_it_is,
    whole={
        "description": "`view`: the entry, or null. A folder, or `search`: {entries}. `stores`: {stores}. `edit`: "
        "{edited, occurrences, diff, redacted?, redactions?, advice?}. Other commands: a sentence that says what was "
        "done.",
        "type": ["object", "string", "null"],
        "examples": ["created /memories/preferences"],
    },
)
TOOL_FIELDS = (
    field("command", Kind.TEXT, "What to do.", "create", bounds={"enum": list(COMMANDS)}),
    field(
        "path",
        Kind.TEXT,
        "`/memories/KEY` in the own store, `/memories/shared/STORE/KEY` in another; `/` at the end lists.",
        "/memories/preferences",
        bounds=_PATH,
    ),
    field("content", Kind.ANY, "What to keep: text, or any JSON.", "Prefers short answers"),
    field("old_str", Kind.TEXT, "edit: the passage, exactly as it stands; the first one is replaced."),
    field("new_str", Kind.TEXT, "edit: what to put there. rename: the new path or key."),
    field("query", Kind.TEXT, "search: a question, in words."),
    field("agent", Kind.TEXT, "share, unshare: whom, as kind:id; a bare id is an agent."),
    field(
        "level",
        Kind.TEXT,
        "share: how far in; default: read.",
        wrong=InvalidLevel,
        bounds={"enum": list(LEVELS)},
    ),
    field(
        "scope",
        Kind.TEXT,
        "In place of a path, with `key`: the own store, that of the user or that of the chat.",
        bounds={"enum": list(Scope)},
    ),
    field(
        "store",
        Kind.TEXT,
        "In place of a path, with `key`: a store's id.",
        bounds={"minLength": 1},
    ),
    field(
        "key",
        Kind.TEXT,
        "The entry's name in that store.",
        wrong=InvalidKey,
        bounds={"maxLength": LONGEST_KEY},
    ),
    field("namespace", Kind.TEXT, "A room of keys of its own inside a store.", bounds=LINE),
    field(
        "ttl",
        Kind.WHOLE,
        "create, share: how long it holds, in seconds; 0: for ever.",
        also=(timedelta,),
        bounds={"minimum": 0, "maximum": CENTURY_SECONDS},
    ),
    field("encrypted", Kind.SWITCH, "create: the client encrypted the text: kept as it is, never indexed."),
    field("prefix", Kind.TEXT, "What listed keys begin with, literally."),
    LIMIT,
    CURSOR,
    field(
        "action",
        Kind.TEXT,
        "The older words, with `store` and `key`, in place of `command`.",
        bounds={"enum": list(ACTIONS)},
    ),
    field("value", Kind.ANY, "set: what to keep."),
)


def _read_internal(shown: Json) -> Any:
    return base64.b64decode(shown["data"]) if "data" in shown else shown["value"]


INTERNAL: Shape[Any] = Shape(
    "Internal",
    (
        Part(
            "value",
            {"description": "As it was given; null when there is nothing."},
            lambda value: None if isinstance(value, bytes) else value,
        ),
        Part(
            "data",
            {"type": "string", "format": "byte"},
            lambda value: base64.b64encode(value).decode() if isinstance(value, bytes) else None,
            optional=True,
        ),
    ),
    _read_internal,
)
KEPT: Shape[bool] = Shape(
    "InternalKept",
    (Part("persisted", SWITCH, lambda kept: kept),),
    lambda shown: bool(shown["persisted"]),
)


def _read_preview(shown: Json) -> Preview:
    return Preview(**shown | {"entries": tuple(ENTRY.read(entry) for entry in shown["entries"])})


PREVIEW_ANSWER: Shape[Preview] = Shape(
    "Preview",
    (
        Part("grantee", TEXT, lambda seen: seen.grantee),
        Part("level", TEXT, lambda seen: seen.level),
        Part("holds", MAYBE_TEXT, lambda seen: seen.holds),
        Part("lists", SWITCH, lambda seen: seen.lists),
        Part("writes", SWITCH, lambda seen: seen.writes),
        Part("total", WHOLE, lambda seen: seen.total),
        Part("hidden", WHOLE, lambda seen: seen.hidden),
        Part(
            "entries",
            many(ENTRY),
            lambda seen: [ENTRY.show(entry) for entry in seen.entries],
            shapes=(ENTRY,),
        ),
    ),
    _read_preview,
)
PREVIEW = Call(
    StoreCalls,
    StoreCalls.preview,
    (
        field(
            "agent",
            Kind.TEXT,
            "Who: kind:id; a bare id is an agent.",
            "reviewer",
            missing=MissingField,
            bounds=SUBJECT | {"minLength": 1},
        ),
        SPACE,
        field(
            "level",
            Kind.TEXT,
            "The level they would be given; default: read.",
            "read",
            wrong=InvalidLevel,
            bounds={"enum": FOUR_LEVELS},
        ),
        LIMIT,
    ),
    PREVIEW_ANSWER,
    aside=True,
)
_STORE = field("store", Kind.TEXT, "A store's id.", "my-agent", missing=MissingField)
_KEY = field(
    "key", Kind.TEXT, "The name in that store.", "github/token", missing=MissingKey, wrong=InvalidKey
)
GET_INTERNAL = Call(StoreCalls, StoreCalls.get_internal, (_STORE, _KEY), INTERNAL)
SET_INTERNAL = Call(
    StoreCalls,
    StoreCalls.set_internal,
    (
        _STORE,
        replace(_KEY, bounds=NAME),
        field("data", Kind.DATA, "Bytes in place of `value`, for what a client encrypted.", into="value"),
        field("value", Kind.ANY, "Text, or any JSON.", "ghp_example", missing=MissingValue),
        field("encrypted", Kind.SWITCH, "The client encrypted it."),
        field(
            "ttl",
            Kind.WHOLE,
            "How long it lives, in seconds; 0 or none: for ever.",
            also=(timedelta,),
            bounds={"minimum": 0, "maximum": CENTURY_SECONDS},
        ),
    ),
    KEPT,
    writes=True,
    rules={
        "oneOf": [
            way("a value", {"value": SAID}, "data"),
            way("bytes that a client encrypted", {"data": TEXT, "encrypted": {"const": True}}, "value"),
        ]
    },
)
MEMORY = Call(
    StoreCalls,
    StoreCalls.memory,
    TOOL_FIELDS,
    ANSWER,
    writes=True,
    rules=OF_THE_TOOL,
)
