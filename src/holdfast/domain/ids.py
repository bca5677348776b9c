"""Ids. A space id is a UUID whose last 32 bits are zero; an entry id is its space's id with the entry's number there.
So an id names its space without an index. Numbers are random, so they reveal no count."""

from __future__ import annotations

import secrets
from uuid import UUID, SafeUUID

from holdfast.domain.errors import NotFound
from holdfast.domain.randomness import fresh_bytes

NUMBER_BITS = 32
_NUMBER_DIGITS = NUMBER_BITS // 4
_DIGITS = 32
_NUMBER_MASK = (1 << NUMBER_BITS) - 1
_VERSION = 8 << 76
_VARIANT = 2 << 62
_STAMPS = (0xF << 76) | (3 << 62)

_SAFE = SafeUUID.unknown

SpaceId = UUID
EntryId = UUID


def new_space_id() -> UUID:
    random = secrets.randbits(128) & ~_STAMPS & ~_NUMBER_MASK
    return UUID(int=random | _VERSION | _VARIANT)


def new_number() -> int:
    """A random number for an entry; the store checks that it is free in its space."""
    return int.from_bytes(fresh_bytes(4)) or new_number()


def entry_id(space: UUID, number: int) -> UUID:
    return _id(space.int | number)


def entry_id_text(space: str, number: int) -> str:
    """The text of an entry id, from the text of its space's id."""
    return f"{space[:-_NUMBER_DIGITS]}{number:0{_NUMBER_DIGITS}x}"


def _id(value: int) -> UUID:
    """Makes a UUID directly: its own constructor weighs six ways to give one and takes three times as long."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", value)
    object.__setattr__(made, "is_safe", _SAFE)
    return made


def number_of(entry: UUID) -> int:
    return entry.int & _NUMBER_MASK


def split_entry_id(text: str | UUID) -> tuple[UUID, int]:
    """The space and number of an entry id; any other UUID names an entry that does not exist."""
    try:
        value = text.int if isinstance(text, UUID) else _read(text)
    except (ValueError, AttributeError, TypeError):
        raise NotFound from None
    number = value & _NUMBER_MASK
    if not number:
        raise NotFound
    return _id(value & ~_NUMBER_MASK), number


def _read(text: str) -> int:
    """The number in the spelling that answers use. UUID accepts other spellings too, and so do we."""
    digits = text.replace("-", "")
    return int(digits, 16) if len(digits) == _DIGITS else UUID(text).int
