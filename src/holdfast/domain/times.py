"""Times: integer microseconds since the epoch, UTC, always passed in as an argument."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.domain.errors import InvalidField

SECOND = 1_000_000
DAY = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def to_datetime(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def to_micros(moment: datetime) -> int:
    """Converts a datetime. A naive one is refused: guessing a zone would move the moment."""
    if moment.tzinfo is None:
        raise InvalidField("A time needs a zone, for example datetime.now(UTC).")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def check_moment(name: str, moment: object) -> int:
    """Checks a datetime, or its text in RFC 3339."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise InvalidField(f"`{name}` must be a time such as 2026-05-08T14:00:00Z.") from None
    if not isinstance(moment, datetime):
        raise InvalidField(f"`{name}` must be a datetime with a zone.")
    micros = to_micros(moment)
    if not _FIRST <= micros <= _LAST:  # in its own zone it had a year, in UTC it has none
        raise InvalidField(f"`{name}` must lie in the years 1 to 9999.")
    return micros
