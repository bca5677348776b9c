"""JSON from outside, by the same rules at every door: UTF-8, each name once, neither too deep nor of too many values,
without NaN, Infinity or numbers that come to it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from holdfast.domain.errors import TooLarge

LARGE = 128 * 1024
"""What has more bytes is read and compressed in a thread, so that the loop goes on."""
DEPTH = 32
MOST_VALUES = 500_000
"""At once: millions of small ones keep the interpreter busy for seconds, whatever becomes of them."""


class TooDeep(ValueError):
    def __init__(self) -> None:
        super().__init__(f"nested more than {DEPTH} deep")


def decode(text: str, around: int = 0) -> Any:
    """Raises TooDeep, ValueError for what is not JSON otherwise, and TooLarge for too many values. So many levels
    `around` what is asked for come with the way it is sent."""
    if _signs(text) > MOST_VALUES and _signs(_STRING.sub("", _ESCAPED.sub("", text))) > MOST_VALUES:
        raise TooLarge(f"A request may hold {MOST_VALUES} values.")
    if not _is_utf8(text):
        raise ValueError("it is not valid UTF-8")
    try:
        value = _decode(text)
    except RecursionError:
        raise TooDeep from None
    deepest = DEPTH + around
    if text.count("[") + text.count("{") > deepest and _depth(value) > deepest:
        raise TooDeep
    return value


def _signs(text: str) -> int:
    """Not fewer than there are values, apart from one."""
    return text.count(",") + text.count("[") + text.count("{")


_ESCAPED = re.compile(r"\\.", re.DOTALL)
_STRING = re.compile(r'"[^"]*+"?')
"""One that does not end goes as far as there is text, so that no part of it is looked at twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name is given twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _finite(number: str) -> float:
    """One beyond all others could not be said again to the next door."""
    value = float(number)
    if math.isinf(value):
        raise ValueError("a number is out of range")
    return value


def _is_utf8(text: str) -> bool:
    """Half a character that is not escaped stands for bytes that were none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite).decode


def _depth(value: Any) -> int:
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
