"""Follow: what changed in some rooms of the caller's own space since it was looked at last, for a copy that is kept
beside the store. Costs as much as has changed, however much there is."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import SpaceState
from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered, enter
from holdfast.operations.resolve import visible_to

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
    engine: Engine, entered: Entered, rooms: tuple[Partition, ...], state: SpaceState | None, now: int
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
    engine: Engine, entered: Entered, rooms: tuple[Partition, ...], since: int, now: int
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
