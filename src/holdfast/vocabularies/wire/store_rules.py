"""What each command and each action of the memory tool needs, in JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from holdfast.vocabularies.store_requests import ACTIONS, COMMANDS, ROOT
from holdfast.vocabularies.wire.fields import Schema
from holdfast.vocabularies.wire.rules import SAID, way
from holdfast.vocabularies.wire.shape import MAYBE_TEXT, TEXT, Json
from holdfast.vocabularies.wire.words import NAME, NO_NUL, NOT_BLANK, NOT_SPACE, SUBJECT, name_under

_BY_ADDRESS: Json = {
    "anyOf": [
        way("by path", {"path": SAID}, "scope", "store", "key", "action"),
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
_CONTENT_OR_VALUE: Json = {"anyOf": [way("value", {"value": SAID}), way("content", {"content": SAID})]}
_WHOM = {"agent": TEXT | SUBJECT | {"minLength": 1}}
Needs = tuple[Mapping[str, Schema], tuple[Schema, ...]]
"""What a word needs: fields, and what holds of several."""
_EITHER: dict[str, Needs] = {
    "delete": ({}, (_ENTRY,)),
    "search": ({"query": TEXT}, ()),
    "share": (_WHOM, ()),
    "unshare": (_WHOM, ()),
    "stores": ({}, ()),
}
_OF_COMMANDS: dict[str, Needs] = _EITHER | {
    "view": ({}, ()),
    "create": ({"content": SAID}, (_ENTRY, _NEW_KEY, _KEPT)),
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
