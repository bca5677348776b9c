"""Caps on what a caller may write, and its shape. Over a cap is `too_large`, a wrong shape `invalid_…`, absence
`missing_…`. Every check happens before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from holdfast.domain.errors import (
    HoldfastError,
    InvalidField,
    InvalidKey,
    MissingValue,
    ReservedCategory,
    ReservedKey,
    TooLarge,
)

KIB = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Limits:
    key_bytes: int = 512
    hint_characters: int = 500
    body_bytes: int = 64 * KIB
    value_bytes: int = 1024 * KIB
    tags: int = 32
    tag_characters: int = 64
    entries: int = 100_000
    list_rows: int = 1_000
    search_hits: int = 50
    always_inject: int = 25
    revisions: int = 10_000


def check_key(key: object, limits: Limits) -> str:
    """The key, trimmed. Callers decide what an absent key means."""
    if not isinstance(key, str):
        raise InvalidKey("A key must be text.")
    key = key.strip()
    if not key:
        raise InvalidKey("A key must not be blank; leave it out to have one made.")
    if key.isascii() and key.isprintable() and len(key) <= limits.key_bytes:
        return key
    body = _encoded(key, InvalidKey, "A key must be valid text.")
    if len(body) > limits.key_bytes:
        raise _too_large("A key", body, limits.key_bytes)
    if _CONTROL.search(key):
        raise InvalidKey("A key must not hold control characters.")
    return key


def check_lookup_key(key: object) -> str:
    """A key for a lookup: it must be text, but one that was never written is simply not found."""
    if not is_text(key):
        raise InvalidKey("A key must be valid text.")
    return key


def refuse_reserved(key: str, category: str, heads: tuple[str, ...]) -> None:
    """Refuses a reserved category or key head, because projections of the engine read by key."""
    if category in heads:
        raise ReservedCategory(
            f"The category `{category}` belongs to the engine; choose another, for example `preferences`."
        )
    head = key.split("/", 1)[0]
    if head in heads:
        raise ReservedKey(
            f"Keys under `{head}/` belong to the engine; choose another, for example `preferences/editor`."
        )


def check_text(text: object, cap: int, *, what: str = "The text", blank: bool = False) -> bytes:
    if text is None:
        raise MissingValue
    if not isinstance(text, str):
        raise InvalidField(f"{what} must be text.")
    if not blank and not text.strip():
        raise MissingValue
    body = _encoded(text, InvalidField, "A text holds characters that are not valid text (lone surrogates).")
    if b"\0" in body:
        raise InvalidField(f"{what} must not hold NUL characters.")
    if len(body) > cap:
        raise _too_large(what, body, cap)
    return body


def check_bytes(value: object, cap: int, *, what: str = "The value") -> bytes:
    """Opaque bytes, or text that becomes bytes; may be empty."""
    if isinstance(value, str):
        value = _encoded(value, InvalidField, "A value holds characters that are not valid text.")
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidField(f"{what} must be bytes or text.")
    body = bytes(value)
    if len(body) > cap:
        raise _too_large(what, body, cap)
    return body


def check_hint(hint: object, limits: Limits) -> str:
    return _one_line("hint", hint, limits.hint_characters)


def check_label(what: str, label: object, limits: Limits) -> str:
    """A category, a speaker, a conversation: short, one line, trimmed, may be empty."""
    return _one_line(what, label, limits.hint_characters).strip()


def check_tags(tags: object, limits: Limits) -> tuple[str, ...]:
    """Tags, trimmed and without repeats, in the order given."""
    items = check_list("tags", tags)
    if len(items) > limits.tags:
        raise TooLarge(f"At most {limits.tags} tags; {len(items)} were given.")
    kept: dict[str, None] = {}
    for tag in items:
        line = _one_line("tag", tag, limits.tag_characters).strip()
        if not line:
            raise InvalidField("A tag must not be blank.")
        kept[line] = None
    return tuple(kept)


def check_list(what: str, items: object) -> tuple[Any, ...]:
    """Copies an iterable, because a write may be prepared twice. One text is no list of texts."""
    if isinstance(
        items, (tuple, list)
    ):  # what nearly always comes; asking for an Iterable costs ten times as much
        return tuple(items)
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidField(f"The {what} must be a list.")
    return tuple(items)


def check_mapping(what: str, items: object) -> dict[Any, Any]:
    if not isinstance(items, Mapping):
        raise InvalidField(f"The {what} must be a mapping.")
    return dict(items)


def check_words(what: str, words: object) -> str:
    """A value that is only compared: a prefix, a tag, a reference."""
    if not is_text(words):
        raise InvalidField(f"The {what} must be valid text.")
    return words


def check_flag(what: str, flag: object) -> bool:
    if not isinstance(flag, bool):
        raise InvalidField(f"`{what}` is true or false.")
    return flag


def check_revision(revision: object) -> int:
    if not isinstance(revision, int) or isinstance(revision, bool) or not 0 <= revision < 1 << 63:
        raise InvalidField("A revision is a whole number from 0.")
    return revision


def check_position(position: object) -> int:
    if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < 1 << 63:
        raise InvalidField("A position is a whole number from 0.")
    return position


def check_idempotency_key(key: object) -> str:
    if not isinstance(key, str) or not 1 <= len(key) <= 255 or not key.isprintable():
        raise InvalidField("An idempotency key is 1 to 255 printable characters.")
    return key


def check_limit(limit: object, cap: int) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidField(f"A limit must be a whole number from 1 to {cap}.")
    return min(limit, cap)


def is_text(value: object) -> TypeGuard[str]:
    """Returns True for text that can be encoded; lone surrogates cannot."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _one_line(what: str, line: object, cap: int) -> str:
    if line == "":
        return ""
    if not isinstance(line, str):
        raise InvalidField(f"The {what} must be text.")
    if line.isprintable() and len(line) <= cap:
        return line  # neither a control character nor a line end nor a surrogate is printable
    _encoded(line, InvalidField, "A field holds characters that are not valid text (lone surrogates).")
    if len(line) > cap:
        raise TooLarge(f"The {what} may have {cap} characters; it has {len(line)}.")
    if _CONTROL.search(line) or len(line.splitlines()) > 1:
        raise InvalidField(f"The {what} must be one line without control characters.")
    return line


def _encoded(text: str, refusal: type[HoldfastError], message: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise refusal(message) from None


def _too_large(what: str, body: bytes, cap: int) -> TooLarge:
    return TooLarge(f"{what} may have {cap} bytes; it has {len(body)}.")
