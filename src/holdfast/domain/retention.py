"""Lifetimes of entries. Vocabularies define a time to live; the engine knows only `expires_us` or none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from holdfast.domain.errors import InvalidField, TtlTooLong, TtlTooShort
from holdfast.domain.times import DAY, SECOND

HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
CENTURY_SECONDS = 100 * 365 * DAY_SECONDS
TRASH_US = 30 * DAY
IDEMPOTENCY_US = DAY
PROPOSAL_US = 600 * SECOND
PROPOSAL_REMEMBERED_US = DAY
"""The time for which a proposal that is over can be told from one that never was."""

Ttl = int | timedelta | None

ENDLESS = "A memory of this kind has no time to live; it stays until it is removed."


class Zero(Enum):
    """The meaning of a time to live of 0 in a vocabulary."""

    DEFAULT = "default"
    NONE = "none"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Retention:
    zero: Zero
    default: int | None = None
    minimum: int = 1
    maximum: int = CENTURY_SECONDS
    required: bool = False
    endless: bool = False
    """Nothing in this vocabulary ever expires: a time to live is refused, not silently dropped."""

    def seconds(self, ttl: Ttl) -> int | None:
        """The seconds an entry lives, None for ever. A value out of range is refused, never clamped."""
        seconds = None if ttl is None else whole_seconds(ttl)
        if seconds is None or (seconds == 0 and self.zero is Zero.DEFAULT):
            if self.required:
                raise TtlTooShort("A time to live is required here.")
            return self.default
        if seconds == 0 and self.zero is Zero.NONE:
            return None
        if seconds < self.minimum:
            raise TtlTooShort(f"The time to live must be at least {self.minimum} seconds.")
        if seconds > self.maximum:
            raise TtlTooLong(f"The time to live must be at most {self.maximum} seconds.")
        if self.endless:
            raise InvalidField(ENDLESS)
        return seconds

    def expires_us(self, ttl: Ttl, now: int) -> int | None:
        seconds = self.seconds(ttl)
        return None if seconds is None else now + seconds * SECOND


def whole_seconds(ttl: Ttl) -> int | None:
    if isinstance(ttl, timedelta):
        if ttl > timedelta(0) and ttl < timedelta(seconds=1):
            raise TtlTooShort("The time to live must be at least 1 second.")
        return ttl // timedelta(seconds=1)
    if ttl is not None and (not isinstance(ttl, int) or isinstance(ttl, bool)):
        raise InvalidField("A time to live is a whole number of seconds or a timedelta.")
    return ttl
