"""JSON Schema about several fields together: what a call needs, and what excludes what. Made for the OpenAPI document;
the call itself judges every request, and models are shown none of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.vocabularies.encoding import MAYBE_TEXT, NO_VALUE, TEXT, Json, Schema
from holdfast.vocabularies.fields import NAME, NO_NUL, NOT_BLANK, NOT_SPACE, SUBJECT, name_under
from holdfast.vocabularies.store_requests import ACTIONS, COMMANDS, LONGEST_PATH, ROOT

GIVEN: Schema = {"not": NO_VALUE}


def way(title: str, needed: Mapping[str, Schema], *without: str, **more: Any) -> Schema:
    """One way to call: the fields it needs, and those it excludes."""
    return {
        "title": title,
        "properties": {**needed, **dict.fromkeys(without, NO_VALUE)},
        **({"required": list(needed)} if needed else {}),
        **more,
    }


TEXT_OR_DATA: Schema = {
    "oneOf": [
        {
            "title": "text",
            "required": ["text"],
            "properties": {
                "text": TEXT | NOT_BLANK,
                "data": NO_VALUE,
                "encrypted": {"enum": [False, None]},
            },
        },
        {
            "title": "text that a client encrypted",
            "required": ["text", "encrypted"],
            "properties": {"text": TEXT, "data": NO_VALUE, "encrypted": {"const": True}},
        },
        {
            "title": "bytes that a client encrypted",
            "required": ["data", "encrypted"],
            "properties": {"text": NO_VALUE, "data": TEXT, "encrypted": {"const": True}},
        },
    ]
}
TOOL_PATH = {"pattern": rf"^{ROOT}(/([^/.]|\.[^/.]|\.\.[^/])[^/]*)*/?$", "maxLength": LONGEST_PATH}
"""No part of a path is empty, `.` or `..`."""
VALUE_OR_DATA: Schema = {
    "oneOf": [
        way("a value", {"value": GIVEN}, "data"),
        way("bytes that a client encrypted", {"data": TEXT, "encrypted": {"const": True}}, "value"),
    ]
}

_BY_ADDRESS: Json = {
    "anyOf": [
        way("by path", {"path": GIVEN}, "scope", "store", "key", "action"),
        way("by scope and key", {}, "path", "store"),
        way("by store and key", {}, "path", "scope"),
    ]
}
_ENTRY: Json = {
    "anyOf": [
        way("path", {"path": TEXT | name_under(f"{ROOT}/")}),
        way("key", {"key": TEXT | NOT_SPACE}),
    ]
}
_NEW_KEY: Json = {"properties": {"key": MAYBE_TEXT | NAME}}
_KEPT: Json = {
    "anyOf": [
        {"title": "text, or any JSON", "properties": {"content": NO_NUL, "value": NO_NUL}},
        way("text that a client encrypted", {"encrypted": {"const": True}}),
    ]
}
_CONTENT_OR_VALUE: Json = {"anyOf": [way("value", {"value": GIVEN}), way("content", {"content": GIVEN})]}
_WHOM = {"agent": TEXT | SUBJECT | {"minLength": 1}}
Needs = tuple[Mapping[str, Schema], tuple[Schema, ...]]
"""The fields a word needs, and schemas about several of them."""
_EITHER: dict[str, Needs] = {
    "delete": ({}, (_ENTRY,)),
    "search": ({"query": TEXT}, ()),
    "share": (_WHOM, ()),
    "unshare": (_WHOM, ()),
    "stores": ({}, ()),
}
_OF_COMMANDS: dict[str, Needs] = _EITHER | {
    "view": ({}, ()),
    "create": ({"content": GIVEN}, (_ENTRY, _NEW_KEY, _KEPT)),
    "edit": ({"old_str": TEXT | {"minLength": 1}, "new_str": TEXT}, (_ENTRY,)),
    "rename": ({"new_str": TEXT | NOT_BLANK}, (_ENTRY,)),
}
_OF_ACTIONS: dict[str, Needs] = _EITHER | {
    "get": ({}, (_ENTRY,)),
    "set": ({}, (_ENTRY, _NEW_KEY, _KEPT, _CONTENT_OR_VALUE)),
    "list": ({}, ()),
}


def _ways(name: str, words: Iterable[str], table: Mapping[str, Needs], other: str) -> Iterator[Schema]:
    for word in words:
        needed, together = table[word]
        more = {"allOf": list(together)} if together else {}
        yield way(f"{name} {word}", {name: {"const": word}, **needed}, other, **more)


OF_THE_TOOL: Schema = {
    "oneOf": [
        *_ways("command", COMMANDS, _OF_COMMANDS, "action"),
        *_ways("action", ACTIONS, _OF_ACTIONS, "command"),
    ],
    "allOf": [_BY_ADDRESS],
}
