"""Changes of a space since a position."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import SpaceState
from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.domain.times import SECOND
from holdfast.operations.authorize import Access, authorize, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible

PAGE = 256


class Copy(NamedTuple):
    """Live and trashed entries by id, at a state of the space; None when nothing was ever written there."""

    state: SpaceState | None
    live: dict[UUID, Entry]
    trashed: dict[UUID, Entry]
    locked: int


NO_COPY = Copy(None, {}, {}, 0)


def follow(session: Session, partitions: tuple[Partition, ...], before: Copy = NO_COPY) -> Copy:
    """Updates the copy. The state is read first: what is written meanwhile is read again next time."""
    now = session.clock()
    access = authorize(session, None, Op.READ, now)
    if not access.space.stored:
        return NO_COPY
    state = session.sealed.store.spaces.state(access.space.id)
    if state is None or before.state is None or state.removed != before.state.removed:
        return _whole(session.engine, access, partitions, state, now)
    if state.seq == before.state.seq:
        return before._replace(state=state)
    changed, locked = _newest(session.engine, access, partitions, before.state.seq, now)
    if locked:
        return _whole(session.engine, access, partitions, state, now)
    return Copy(state, before.live | changed, before.trashed, before.locked)


def _whole(
    engine: Engine, access: Access, partitions: tuple[Partition, ...], state: SpaceState | None, now: int
) -> Copy:
    live, locked = _newest(engine, access, partitions, -1, now)
    trashed: dict[UUID, Entry] = {}
    visible, before = visible_to(access, partitions, now), None
    while rows := engine.sealed.store.entries.trash(visible, before, PAGE):
        for head in engine.sealed.open_rows(visible, rows):
            if head.entry is None:
                locked += 1
            elif sees(access.caller, access.space, head.entry, now):
                trashed[head.entry.id] = head.entry
        before = rows[-1].seq
    return Copy(state, live, trashed, locked)


def _newest(
    engine: Engine, access: Access, partitions: tuple[Partition, ...], since: int, now: int
) -> tuple[dict[UUID, Entry], int]:
    """Entries whose last change came after `since`, and how many of them cannot be opened."""
    found: dict[UUID, Entry] = {}
    visible, locked, before = visible_to(access, partitions, now), 0, None
    while rows := engine.sealed.store.entries.page(visible, None, before, PAGE):
        newer = [row for row in rows if row.seq > since]
        for head in engine.sealed.open_rows(visible, newer):
            if head.entry is None:
                locked += 1
            elif sees(access.caller, access.space, head.entry, now):
                found.setdefault(head.entry.id, head.entry)
        if len(newer) < len(rows):
            break
        before = rows[-1].seq
    return found, locked


class Position(NamedTuple):
    """The last write of each space, and when the first entry in them expires."""

    counters: tuple[tuple[UUID, int, int], ...]
    ends_us: int | None


def position_of(session: Session, before: Position | None, *, everywhere: bool) -> Position:
    """Reads the position of the caller's space, or of every one the caller may read. Equal to `before` while nothing
    can have changed."""
    now = session.clock()
    found = accessible(session, Op.READ, now) if everywhere else [authorize(session, None, Op.READ, now)]
    spaces = [each for each in found if each.space.stored]
    ids = [each.space.id for each in spaces]
    states = session.sealed.store.spaces.states(ids)
    counters = tuple(
        (id, state.seq, state.removed) for id, state in zip(ids, states, strict=True) if state is not None
    )
    if (
        before is not None
        and before.counters == counters
        and (before.ends_us is None or now < before.ends_us)
    ):
        return before
    return Position(counters, _first_end(session.engine, spaces, now))


def _first_end(engine: Engine, spaces: list[Access], now: int) -> int | None:
    ends = [
        row.expires_us
        for each in spaces
        for row in engine.sealed.store.entries.expiring(
            visible_to(each, MODEL_VISIBLE, now), now + CENTURY_SECONDS * SECOND, 1
        )
        if row.expires_us is not None
    ]
    return min(ends, default=None)
