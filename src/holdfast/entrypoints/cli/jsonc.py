"""Editing a JSON file that belongs to somebody else: comments, order, spacing and line ends stay as they are, only one
member is put in, changed or taken out. JSON with comments and trailing commas is read too."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from holdfast.domain.errors import InvalidJson

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ATOM = re.compile(r"[^\s,}\]]+")
_MARK = "\ufeff"
"""A byte order mark, which some editors put first."""


class Member(NamedTuple):
    start: int
    value: int
    end: int


def parsed(text: str) -> dict[str, Any]:
    """What the file says; an empty one says nothing. InvalidJson when it is no object."""
    if not _blanked(text).strip():
        return {}
    try:
        value = json.loads(_plain(text))
    except ValueError as error:
        raise InvalidJson(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidJson("it is not a JSON object")
    return value


def with_member(text: str, path: tuple[str, str], value: Any) -> str:
    """`path` names an object in the file and a member of it; both are made where they are missing."""
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        return _with_member(text.replace("\r\n", "\n"), path, value).replace("\n", "\r\n")
    return _with_member(text, path, value)


def _with_member(text: str, path: tuple[str, str], value: Any) -> str:
    parsed(text)
    outer, inner = path
    if not _blanked(text).strip():
        return json.dumps({outer: {inner: value}}, indent=2) + "\n"
    root = _object_at(_blanked(text))
    members = _members(_blanked(text), root)
    if outer not in members:
        return _inserted(text, root, members, outer, {inner: value}, 1)
    at = members[outer].value
    if _blanked(text)[at] != "{":
        raise InvalidJson(f"`{outer}` in it is not an object")
    inside = _members(_blanked(text), at)
    if inner not in inside:
        return _inserted(text, at, inside, inner, value, 2)
    return text[: inside[inner].value] + _written(value, 2) + text[inside[inner].end :]


def without_member(text: str, path: tuple[str, str]) -> str:
    outer, inner = path
    blank = _blanked(text)
    if inner not in parsed(text).get(outer, {}):
        return text
    inside = _members(blank, _members(blank, _object_at(blank))[outer].value)
    names = list(inside)
    place, found = names.index(inner), inside[inner]
    if place + 1 < len(names):  # up to the next one, with the comma between them
        return text[: found.start] + text[inside[names[place + 1]].start :]
    start = inside[names[place - 1]].end if place else found.start
    end = found.end
    comma = _SPACE.match(blank, end)
    assert comma is not None
    if blank[comma.end() : comma.end() + 1] == ",":
        end = comma.end() + 1
    return text[:start].rstrip(" \t\n\r" if not place else "") + text[end:]


def _plain(text: str) -> str:
    """Without comments and trailing commas, every character where it was."""
    return _LAST_COMMA.sub(_emptied, _blanked(text))


def _blanked(text: str) -> str:
    """Without comments; commas stay."""
    return _COMMENT.sub(_emptied, text.replace(_MARK, " ", 1) if text.startswith(_MARK) else text)


def _emptied(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else _spaces(found[0])


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _object_at(blank: str) -> int:
    return blank.index("{")


def _members(blank: str, at: int) -> dict[str, Member]:
    """The members of the object that begins there. The text was parsed before, so it is well formed."""
    found: dict[str, Member] = {}
    place = _skip(blank, at + 1)
    while blank[place] != "}":
        name = _STRING.match(blank, place)
        assert name is not None
        value = _skip(blank, _skip(blank, name.end()) + 1)
        end = _end(blank, value)
        found[json.loads(name[0])] = Member(place, value, end)
        place = _skip(blank, end)
        if blank[place] == ",":
            place = _skip(blank, place + 1)
    return found


def _skip(blank: str, place: int) -> int:
    found = _SPACE.match(blank, place)
    assert found is not None
    return found.end()


def _end(blank: str, place: int) -> int:
    if blank[place] == '"':
        found = _STRING.match(blank, place)
    elif blank[place] not in "{[":
        found = _ATOM.match(blank, place)
    else:
        depth = 0
        for each in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', blank[place:]):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(each[0], 0)
            if not depth:
                return place + each.end()
        raise InvalidJson("it is not JSON")
    assert found is not None
    return found.end()


def _inserted(text: str, at: int, members: dict[str, Member], name: str, value: Any, depth: int) -> str:
    member = f"{json.dumps(name)}: {_written(value, depth)}"
    if not members:
        rest = text[at + 1 :]
        closing = "" if rest.lstrip(" \t").startswith("\n") else "\n" + "  " * (depth - 1)
        return f"{text[: at + 1]}\n{'  ' * depth}{member}{closing}{rest}"
    last = list(members.values())[-1]
    blank = _blanked(text)
    after = _skip(blank, last.end)
    divided = blank[after] == ","  # a trailing one
    end = after + 1 if divided else last.end
    line = blank.find("\n", end)
    stop = line if line >= 0 and not blank[end:line].strip() else end  # behind a comment on the same line
    return f"{text[:end]}{'' if divided else ','}{text[end:stop]}\n{'  ' * depth}{member}{text[stop:]}"


def _written(value: Any, depth: int) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + "  " * depth)
