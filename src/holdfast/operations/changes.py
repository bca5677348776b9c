"""Changes of a space since a position, and waiting for new ones."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import SpaceState
from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.principal import Caller
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.domain.times import SECOND
from holdfast.operations.authorize import Access, enter, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.spaces import enterable

PAGE = 256


class Copy(NamedTuple):
    """Live and trashed entries by id, as of a state of the space; None: nothing was ever written there."""

    state: SpaceState | None
    live: dict[UUID, Entry]
    trashed: dict[UUID, Entry]
    locked: int


NO_COPY = Copy(None, {}, {}, 0)


def follow(engine: Engine, caller: Caller, rooms: tuple[Partition, ...], before: Copy = NO_COPY) -> Copy:
    """The copy brought up to date. The state is read first: what is written meanwhile is read again next time."""
    now = engine.clock()
    entered = enter(engine, caller, None, Op.READ, now)
    if not entered.space.stored:
        return NO_COPY
    state = engine.sealed.store.spaces.state(entered.space.id)
    if state is None or before.state is None or state.removed != before.state.removed:
        return _whole(engine, entered, rooms, state, now)
    if state.seq == before.state.seq:
        return before._replace(state=state)
    changed, locked = _newest(engine, entered, rooms, before.state.seq, now)
    if locked:
        return _whole(engine, entered, rooms, state, now)
    return Copy(state, before.live | changed, before.trashed, before.locked)


def _whole(
    engine: Engine, entered: Access, rooms: tuple[Partition, ...], state: SpaceState | None, now: int
) -> Copy:
    live, locked = _newest(engine, entered, rooms, -1, now)
    trashed: dict[UUID, Entry] = {}
    visible, place = visible_to(engine, entered, rooms, now), None
    while rows := engine.sealed.store.entries.trash(visible, place, PAGE):
        for head in engine.sealed.heads(visible, rows):
            if head.entry is None:
                locked += 1
            elif sees(entered.caller, entered.space, head.entry, now):
                trashed[head.entry.id] = head.entry
        place = rows[-1].seq
    return Copy(state, live, trashed, locked)


def _newest(
    engine: Engine, entered: Access, rooms: tuple[Partition, ...], since: int, now: int
) -> tuple[dict[UUID, Entry], int]:
    """Entries whose last change came after `since`, and how many of them cannot be opened."""
    found: dict[UUID, Entry] = {}
    visible, locked, place = visible_to(engine, entered, rooms, now), 0, None
    while rows := engine.sealed.store.entries.page(visible, None, place, PAGE):
        newer = [row for row in rows if row.seq > since]
        for head in engine.sealed.heads(visible, newer):
            if head.entry is None:
                locked += 1
            elif sees(entered.caller, entered.space, head.entry, now):
                found.setdefault(head.entry.id, head.entry)
        if len(newer) < len(rows):
            break
        place = rows[-1].seq
    return found, locked


class Place(NamedTuple):
    """How far each space has been written, and when the first entry in them runs out."""

    counters: tuple[tuple[UUID, int, int], ...]
    ends_us: int | None


def place_of(engine: Engine, caller: Caller, before: Place | None, *, everywhere: bool) -> Place:
    """In the own space, or in every one the caller may read. Equal to `before` while nothing can have changed."""
    now = engine.clock()
    spaces = _spaces(engine, caller, now, everywhere=everywhere)
    ids = [each.space.id for each in spaces]
    states = engine.sealed.store.spaces.states(ids)
    counters = tuple(
        (id, state.seq, state.removed) for id, state in zip(ids, states, strict=True) if state is not None
    )
    if (
        before is not None
        and before.counters == counters
        and (before.ends_us is None or now < before.ends_us)
    ):
        return before
    return Place(counters, _first_end(engine, spaces, now))


def _spaces(engine: Engine, caller: Caller, now: int, *, everywhere: bool) -> list[Access]:
    if everywhere:
        found = enterable(engine, caller, Op.READ, now)
    else:
        found = [enter(engine, caller, None, Op.READ, now)]
    return [each for each in found if each.space.stored]


def _first_end(engine: Engine, spaces: list[Access], now: int) -> int | None:
    ends = [
        row.expires_us
        for each in spaces
        for row in engine.sealed.store.entries.expiring(
            visible_to(engine, each, MODEL_VISIBLE, now), now + CENTURY_SECONDS * SECOND, 1
        )
        if row.expires_us is not None
    ]
    return min(ends, default=None)
