"""Who keeps memories here, and how many. Counts alone: no entry is opened, so a lost key hides nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.contracts.rows import SpaceRow
from holdfast.domain.access import Op
from holdfast.domain.errors import Locked
from holdfast.domain.limits import check_limit
from holdfast.domain.space import OWN_KIND, Space, SpaceKind
from holdfast.operations.authorize import authorize_own
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session

AT_ONCE = 1_000
_KINDS = frozenset((*OWN_KIND.values(), SpaceKind.SESSION))


@dataclass(frozen=True, slots=True)
class CallerCount:
    caller: str
    """kind:id."""
    session: str | None
    namespace: str
    """`subject` or `subject:session`, for show."""
    entries: int
    """In every room, trash included."""


def list_callers(session: Session, limit: int) -> list[CallerCount]:
    """The busiest first; who is no administrator sees themselves alone."""
    limit = check_limit(limit, session.limits.list_rows)
    authorize_own(session, Op.METADATA, session.clock())
    rows = _everyone(session.engine) if session.caller.is_admin else _own(session)
    found = [_count(space, entries) for space, entries in rows]
    found.sort(key=lambda one: (-one.entries, one.caller, one.session or ""))
    return found[:limit]


def _everyone(engine: Engine) -> Iterator[tuple[Space, int]]:
    after = None
    while page := engine.sealed.store.copies.spaces(after, AT_ONCE):
        for row, counts, _ in page:
            if row.kind in _KINDS and (space := _named(engine, row)) is not None:
                yield space, counts.entries
        after = page[-1].row.id


def _own(session: Session) -> Iterator[tuple[Space, int]]:
    for space in session.sealed.spaces_of(session.principal):
        counts = session.sealed.store.spaces.counts(space.id)
        if space.kind in _KINDS and counts is not None:
            yield space, counts.entries


def _named(engine: Engine, row: SpaceRow) -> Space | None:
    """None for a row that was changed in the file."""
    try:
        return engine.sealed.open_space(row)
    except Locked:
        return None


def _count(space: Space, entries: int) -> CallerCount:
    owner = space.owner
    assert owner is not None
    session = space.ref if space.kind is SpaceKind.SESSION else None
    namespace = owner.id if session is None else f"{owner.id}:{session}"
    return CallerCount(str(owner), session, namespace, entries)
