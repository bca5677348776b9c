"""JSON from outside, with the same rules for every entrypoint: UTF-8, unique names, limited depth and number of values,
no NaN, Infinity or numbers out of range."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from holdfast.domain.errors import TooLarge

LARGE = 128 * 1024
"""Larger texts are parsed and compressed in a worker thread, so that the event loop stays responsive."""
DEPTH = 32
MOST_VALUES = 500_000
"""Millions of small values would keep the interpreter busy for seconds."""
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_STRING = re.compile(r'"[^"]*+"?')
"""Matches an unterminated string to the end, so that no part of the text is scanned twice."""


class TooDeep(ValueError):
    def __init__(self) -> None:
        super().__init__(f"nested more than {DEPTH} deep")


def decode(text: str, extra_depth: int = 0) -> Any:
    """Raises TooDeep, TooLarge for too many values, and ValueError for anything else that is not plain JSON.
    `extra_depth` allows for the levels of an envelope."""
    opening = text.count("[") + text.count("{")
    if opening + text.count(",") > MOST_VALUES:
        bare = _STRING.sub("", _ESCAPE.sub("", text))
        if bare.count(",") + bare.count("[") + bare.count("{") > MOST_VALUES:
            raise TooLarge(f"A request may hold {MOST_VALUES} values.")
    try:
        text.encode()
    except UnicodeEncodeError:  # an unescaped half of a surrogate pair stands for bytes that were not UTF-8
        raise ValueError("it is not valid UTF-8") from None
    try:
        value = _decode(text)
    except RecursionError:
        raise TooDeep from None
    deepest = DEPTH + extra_depth
    if opening > deepest and depth_of(value) > deepest:
        raise TooDeep
    return value


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is given twice")
    return members


def no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _finite(number: str) -> float:
    """Refuses a number that overflows, because it could not be written as JSON again."""
    value = float(number)
    if math.isinf(value):
        raise ValueError("a number is out of range")
    return value


_decode = json.JSONDecoder(
    object_pairs_hook=unique_names, parse_constant=no_constant, parse_float=_finite
).decode


def depth_of(value: Any) -> int:
    deepest, level = 0, [value] if isinstance(value, dict | list) else []
    while level:
        deepest += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return deepest
