"""Time is integer microseconds since the epoch, UTC, and always comes in as an argument."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.domain.errors import InvalidField

SECOND = 1_000_000
DAY = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def to_micros(moment: datetime) -> int:
    """A naive datetime is refused: guessing a zone would move the moment."""
    if moment.tzinfo is None:
        raise InvalidField("A time needs a zone, for example datetime.now(UTC).")
    return (moment - _EPOCH) // timedelta(microseconds=1)
