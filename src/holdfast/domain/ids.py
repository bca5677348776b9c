"""Ids, made keys, and the random bytes of both. A space id is a UUID whose last 32 bits are zero; an entry id is its
space's id with the entry's number there. So an id names its space without an index. Numbers are random, so they reveal
no count."""

from __future__ import annotations

import os
import secrets
from collections import deque
from uuid import UUID, SafeUUID

from holdfast.domain.errors import NotFound

PIECE_BYTES = 16
PIECES = 256

_drawn: deque[bytes] = deque()


def fresh_bytes(count: int) -> bytes:
    """Returns at most 16 bytes that no other caller gets. They are drawn in large pieces: each draw is a system call
    that releases the interpreter, and under load another thread takes it every time."""
    try:
        return _drawn.pop()[:count]
    except IndexError:
        drawn = os.urandom(PIECE_BYTES * PIECES)
        _drawn.extend(drawn[at : at + PIECE_BYTES] for at in range(PIECE_BYTES, len(drawn), PIECE_BYTES))
        return drawn[:count]


# A child process must not give out what its parent is going to. Windows knows no such children.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)


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
    """Makes the UUID directly: its own constructor weighs six ways to give one and takes three times as long."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", space.int | number)
    object.__setattr__(made, "is_safe", _SAFE)
    return made


def entry_id_text(space: str, number: int) -> str:
    """The text of an entry id, from the text of its space's id."""
    return f"{space[:-_NUMBER_DIGITS]}{number:0{_NUMBER_DIGITS}x}"


def number_of(entry: UUID) -> int:
    return entry.int & _NUMBER_MASK


def split_entry_id(text: str | UUID) -> tuple[UUID, int]:
    """The space and number of an entry id; any other UUID names an entry that does not exist."""
    try:
        if isinstance(text, UUID):
            value = text.int
        else:
            digits = text.replace("-", "")  # the spelling of answers; UUID accepts others too
            value = int(digits, 16) if len(digits) == _DIGITS else UUID(text).int
    except (ValueError, AttributeError, TypeError):
        raise NotFound from None
    number = value & _NUMBER_MASK
    if not number:
        raise NotFound
    return UUID(int=value & ~_NUMBER_MASK), number


_MADE = "auto-"
_MADE_LENGTH = len(_MADE) + 16


def made_key(seed: bytes | None = None) -> str:
    """A random key, or the key derived from a seed."""
    return _MADE + (fresh_bytes(8) if seed is None else seed[:8]).hex()


def is_made(key: str) -> bool:
    """Returns True for a made key, whose characters are no words to search for."""
    return key.startswith(_MADE) and len(key) == _MADE_LENGTH
