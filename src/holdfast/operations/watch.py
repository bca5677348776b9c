"""Watching: whether anything was written, ran out or changed hands that a caller sees. Counters alone are read."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from holdfast.domain.access import Op
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.domain.times import SECOND
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered, enter
from holdfast.operations.resolve import visible_to
from holdfast.operations.spaces import enterable


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


def _spaces(engine: Engine, caller: Caller, now: int, *, everywhere: bool) -> list[Entered]:
    if everywhere:
        found = enterable(engine, caller, Op.READ, now)
    else:
        found = [enter(engine, caller, None, Op.READ, now)]
    return [each for each in found if each.space.stored]


def _first_end(engine: Engine, spaces: list[Entered], now: int) -> int | None:
    ends = [
        row.expires_us
        for each in spaces
        for row in engine.sealed.store.entries.expiring(
            visible_to(engine, each, MODEL_VISIBLE, now), now + CENTURY_SECONDS * SECOND, 1
        )
        if row.expires_us is not None
    ]
    return min(ends, default=None)
