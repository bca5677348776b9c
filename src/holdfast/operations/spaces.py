"""Which spaces a caller can enter, and making one to be shared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, Reason
from holdfast.domain.errors import Conflict
from holdfast.domain.grant import Grant
from holdfast.domain.limits import check_key
from holdfast.domain.principal import Caller
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations.authorize import (
    Access,
    Held,
    enter_space,
    find_or_plan,
    memberships,
    planned,
    try_enter,
)
from holdfast.operations.engine import Engine
from holdfast.storage.sealed_transaction import SealedTransaction

FEW = 2
"""Spaces of which each is asked by itself what the caller was granted there."""


@dataclass(frozen=True, slots=True)
class SpaceInfo:
    """A space as its visitor sees it: what it is, what they may do there and why."""

    id: UUID | None
    """None until something is written there."""
    kind: str
    ref: str
    level: str
    source: str


def list_spaces(engine: Engine, caller: Caller) -> list[SpaceInfo]:
    """The own space first, then what was made to be shared, granted, and what the circumstances open."""
    return [_info(entered) for entered in enterable(engine, caller, Op.SEARCH, engine.clock())]


def enterable(engine: Engine, caller: Caller, op: Op, now: int) -> list[Access]:
    """Every space the caller may enter for this, but for sessions, which belong to tool code."""
    found: dict[SpaceName, Access] = {}
    candidates = _known_candidates(engine, caller, now)
    held = _grants_held(engine, caller) if len(candidates) > FEW else None
    for space in candidates:
        if space.kind is not SpaceKind.SESSION and space.name not in found:
            entered = try_enter(engine, caller, space, op, now, held)
            if entered is not None:
                found[space.name] = entered
    return list(found.values())


def _grants_held(engine: Engine, caller: Caller) -> Held:
    """All in one statement, live as those of a single space are."""
    held: defaultdict[UUID, list[Grant]] = defaultdict(list)
    for grant in engine.sealed.grants(engine.sealed.store.grants.to(engine.sealed.blind(caller.principal))):
        held[grant.space].append(grant)
    return held


def _info(entered: Access) -> SpaceInfo:
    space, source = entered.space, entered.decision.reason
    label = "self" if source is Reason.OWN else source.value
    id = space.id if space.stored else None
    return SpaceInfo(id, space.kind.label, space.ref, entered.level.label, label)


def create_space(engine: Engine, caller: Caller, ref: str) -> Job[SpaceInfo]:
    """A space of the caller's own, made to be shared."""
    now = engine.clock()
    name = SpaceName(SpaceKind.SHARED, check_key(ref, engine.limits), caller.principal)
    enter_space(engine, caller, planned(name, now), Op.MANAGE, now)
    if engine.sealed.space_named(name):
        raise Conflict(f"You have a space `{name.ref}` already.")
    place = engine.sealed.place(planned(name, now), now)

    def write(tx: Transaction) -> SpaceInfo:
        sealed = SealedTransaction(engine.sealed, tx, now)
        sealed.settle(place)
        sealed.audit("create space", caller.principal, place.space.id)
        return SpaceInfo(place.space.id, name.kind.label, name.ref, "manage", "self")

    return write


def _known_candidates(engine: Engine, caller: Caller, now: int) -> Sequence[Space]:
    """Where a caller might get in, as of a moment ago and the last write of this process. Whether they do is decided
    live for each; only a space that another process opened to them may take a second to show."""
    if engine.directory is not None:
        return list(_candidates(engine, caller, now))
    who = (caller.principal, caller.session_user, caller.chats, caller.teams, tuple(caller.systems))
    return engine.candidates.of(who, lambda: list(_candidates(engine, caller, now)))


def _candidates(engine: Engine, caller: Caller, now: int) -> Iterator[Space]:
    sealed = engine.sealed
    yield find_or_plan(engine, own_space(caller.principal), now)
    yield from sealed.spaces_of(caller.principal)
    for grant in sealed.store.grants.to(sealed.blind(caller.principal)):
        if space := sealed.space(grant.space):
            yield space
    if caller.session_user is not None:
        yield find_or_plan(engine, own_space(caller.session_user), now)
    yield from (find_or_plan(engine, SpaceName(SpaceKind.CHAT, chat), now) for chat in sorted(caller.chats))
    yield from (
        find_or_plan(engine, SpaceName(SpaceKind.SYSTEM, system), now) for system in sorted(caller.systems)
    )
    for listed in sealed.store.members.lists_with(
        [sealed.blind_member(name) for name in memberships(caller)]
    ):
        if space := sealed.space(listed):
            yield space
    if engine.directory is not None:
        yield from _from_directory(engine, caller, now)


def _from_directory(engine: Engine, caller: Caller, now: int) -> Iterator[Space]:
    assert engine.directory is not None
    for level, kind in (("chat", SpaceKind.CHAT), ("read", SpaceKind.SYSTEM), ("manage", SpaceKind.SYSTEM)):
        for ref in sorted(engine.directory.list_accessible_object_ids(caller.principal, level)):
            yield find_or_plan(engine, SpaceName(kind, ref), now)
