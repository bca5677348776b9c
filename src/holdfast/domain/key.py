"""Keys: those made when none is given, and heads that belong to the engine."""

from __future__ import annotations

from holdfast.domain.errors import ReservedCategory, ReservedKey
from holdfast.domain.randomness import fresh_bytes

_MADE = "auto-"
_MADE_LENGTH = len(_MADE) + 16


def made_key(seed: bytes | None = None) -> str:
    """A random key, or the key derived from a seed."""
    return _MADE + (fresh_bytes(8) if seed is None else seed[:8]).hex()


def is_made(key: str) -> bool:
    """Returns True for a made key, whose characters are no words to search for."""
    return key.startswith(_MADE) and len(key) == _MADE_LENGTH


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
