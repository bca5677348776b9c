"""Entering a space: which one is meant, what is true of the caller there right now, and what that allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.access import NO_STANDING, Decision, Op, Standing, catalogue_level, decide, is_own
from holdfast.domain.agent import ALL_ON
from holdfast.domain.errors import AccessDenied, Conflict, InvalidField
from holdfast.domain.grant import Grant, Level
from holdfast.domain.ids import new_space_id
from holdfast.domain.limits import check_words
from holdfast.domain.principal import Caller, PrincipalKind, is_subject, principal
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations.engine import Engine

SpaceRef = SpaceName | UUID | str | None
"""Nothing (the own space), an id, a reference, or `kind:reference`. Surfaces may also name a space whole."""

Held = Mapping[UUID, Sequence[Grant]]
"""All grants of a caller by the spaces they open, just read."""

_KINDS = {kind.label: kind for kind in SpaceKind}
_PRINCIPAL_KINDS = {
    SpaceKind.AGENT: PrincipalKind.AGENT,
    SpaceKind.USER: PrincipalKind.USER,
    SpaceKind.SERVICE: PrincipalKind.SERVICE,
}
_AGENT = PrincipalKind.AGENT
_OWNERLESS = (SpaceKind.CHAT, SpaceKind.SYSTEM)
_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


class Entered(NamedTuple):
    caller: Caller
    space: Space
    level: Level
    decision: Decision


def enter(engine: Engine, caller: Caller, ref: SpaceRef, op: Op, now: int) -> Entered:
    """The one space meant that the caller may enter for this. Whether others exist shows in nothing."""
    if ref is None:
        own, decision = enter_own(engine, caller, op, now)
        here: Entered = _tuple(Entered, (caller, own, decision.level, decision))
        return here
    entered: list[Entered] = []
    refusal = None
    for space in _meant(engine, caller, ref, now):
        try:
            entered.append(enter_space(engine, caller, space, op, now))
        except AccessDenied as denied:
            refusal = denied
    if not entered:
        raise refusal or _refusal(engine, caller, op, now)
    if len(entered) > 1:
        raise Conflict("More than one space has this reference; name it by its id or as kind:reference.")
    return entered[0]


def _refusal(engine: Engine, caller: Caller, op: Op, now: int) -> AccessDenied:
    """The words in which the caller is refused a space that is there, for one that is not."""
    try:
        enter_space(engine, caller, _nowhere(new_space_id(), now), op, now)
    except AccessDenied as denied:
        return denied
    return AccessDenied()


def enter_own(engine: Engine, caller: Caller, op: Op, now: int) -> tuple[Space, Decision]:
    """The caller's own space, of which nothing need be read to decide."""
    own = engine.sealed.own_space(caller.principal) or planned(own_space(caller.principal), now)
    settings = engine.agents.of(caller.principal) if caller.principal.kind is _AGENT else ALL_ON
    return own, decide(caller, own, op, now, NO_STANDING, engine.rules.of(caller.roles), settings)


def enter_space(
    engine: Engine, caller: Caller, space: Space, op: Op, now: int, held: Held | None = None
) -> Entered:
    standing = NO_STANDING if is_own(caller.principal, space) else standing_of(engine, caller, space, held)
    settings = engine.agents.of(caller.principal) if caller.principal.kind is _AGENT else ALL_ON
    decision = decide(caller, space, op, now, standing, engine.rules.of(caller.roles), settings)
    return Entered(caller, space, decision.level, decision)


def try_enter(
    engine: Engine, caller: Caller, space: Space, op: Op, now: int, held: Held | None = None
) -> Entered | None:
    try:
        return enter_space(engine, caller, space, op, now, held)
    except AccessDenied:
        return None


def standing_of(engine: Engine, caller: Caller, space: Space, held: Held | None = None) -> Standing:
    """Read live: a grant withdrawn or a participant gone a moment ago does not count. `held` is what was read for
    several spaces together."""
    if held is not None:
        grants = held.get(space.id, ())
    else:
        grants = engine.sealed.grants_held(space.id, caller.principal) if space.stored else ()
    return Standing(
        tuple(grants),
        participant=space.kind is SpaceKind.CHAT and _takes_part(engine, caller, space),
        system=_system_level(engine, caller, space) if space.kind is SpaceKind.SYSTEM else None,
    )


def planned(name: SpaceName, now: int) -> Space:
    """A space that is stored with its first write."""
    return Space(new_space_id(), name, now, stored=False)


def _nowhere(id: UUID, now: int) -> Space:
    """Nobody's space, so that an id that does not exist is refused in the words of one that does."""
    return Space(id, SpaceName(SpaceKind.SHARED, ""), now, stored=False)


def find_or_plan(engine: Engine, name: SpaceName, now: int) -> Space:
    return engine.sealed.space_named(name) or planned(name, now)


def _meant(engine: Engine, caller: Caller, ref: SpaceRef, now: int) -> Iterator[Space]:
    match ref:
        case SpaceName():
            yield find_or_plan(engine, ref, now)
        case UUID():
            own = engine.sealed.own_space(caller.principal)
            yield own if own is not None and own.id == ref else engine.sealed.space(ref) or _nowhere(ref, now)
        case str():
            yield from _referenced(engine, caller, ref, now)
        case _:
            raise InvalidField("Name a space by its id, its reference, or kind:reference.")


def _referenced(engine: Engine, caller: Caller, ref: str, now: int) -> Iterator[Space]:
    check_words("space", ref)
    if by_id := _space_with_id(engine, ref):
        yield by_id
        return
    kind, colon, rest = ref.partition(":")
    if colon and kind in _KINDS and rest:
        yield from _named(engine, caller, rest, (_KINDS[kind],), now)
    else:
        yield from _named(engine, caller, ref, tuple(SpaceKind), now)


def _space_with_id(engine: Engine, ref: str) -> Space | None:
    try:
        return engine.sealed.space(UUID(ref))
    except ValueError:
        return None


def _named(
    engine: Engine, caller: Caller, ref: str, kinds: tuple[SpaceKind, ...], now: int
) -> Iterator[Space]:
    for kind in kinds:
        if kind in _PRINCIPAL_KINDS:
            if is_subject(ref):  # nobody is called anything else, but a chat may be
                yield find_or_plan(engine, own_space(principal(_PRINCIPAL_KINDS[kind], ref)), now)
        elif kind in _OWNERLESS:
            yield find_or_plan(engine, SpaceName(kind, ref), now)
        elif kind is SpaceKind.SHARED:
            yield from (space for space in shared_spaces(engine, caller) if space.ref == ref)


def shared_spaces(engine: Engine, caller: Caller) -> list[Space]:
    """Spaces made to be shared: the caller's own and those a grant names, whoever made them."""
    found = {
        space.id: space
        for space in engine.sealed.spaces_of(caller.principal)
        if space.kind is SpaceKind.SHARED
    }
    for row in engine.sealed.store.grants.to(engine.sealed.blind(caller.principal)):
        if (
            row.space not in found
            and (space := engine.sealed.space(row.space))
            and space.kind is SpaceKind.SHARED
        ):
            found[row.space] = space
    return list(found.values())


def _takes_part(engine: Engine, caller: Caller, space: Space) -> bool:
    """A stored list decides alone; without one the host's directory, then what the token or the host vouched for."""
    if space.listed:
        return engine.sealed.membership(space.id, memberships(caller)) is not None
    if engine.directory is not None and space.ref in engine.directory.list_accessible_object_ids(
        caller.principal, "chat"
    ):
        return True
    return space.ref in caller.chats


def _system_level(engine: Engine, caller: Caller, space: Space) -> Level | None:
    if space.listed:
        return engine.sealed.membership(space.id, memberships(caller))
    if engine.directory is not None:
        for asked in ("manage", "read"):
            if space.ref in engine.directory.list_accessible_object_ids(caller.principal, asked):
                return catalogue_level(asked)
    claimed = caller.systems.get(space.ref)
    return catalogue_level(claimed) if claimed in ("read", "manage") else None


def memberships(caller: Caller) -> list[str]:
    """The names a list may know the caller by."""
    return [str(caller.principal), *(f"team:{team}" for team in sorted(caller.teams))]
