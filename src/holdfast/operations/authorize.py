"""Authorises a caller for a space, and finds the entry that a key or an id names there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import Visible
from holdfast.domain.access import (
    NO_STANDING,
    Decision,
    Op,
    Standing,
    catalogue_level,
    decide,
    is_own,
    may_delete,
    may_flag,
    sees,
)
from holdfast.domain.agent import ALL_ON
from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    AccessDenied,
    Conflict,
    InvalidField,
    InvalidKey,
    Locked,
    MissingKey,
    NotFound,
)
from holdfast.domain.grant import Grant, Level
from holdfast.domain.ids import new_space_id, split_entry_id
from holdfast.domain.limits import check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, PrincipalKind, is_subject, principal
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations.engine import Engine
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

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


class Access(NamedTuple):
    caller: Caller
    space: Space
    level: Level
    decision: Decision


def enter(engine: Engine, caller: Caller, ref: SpaceRef, op: Op, now: int) -> Access:
    """The one space meant that the caller may enter for this. Whether others exist shows in nothing."""
    if ref is None:
        own, decision = enter_own(engine, caller, op, now)
        here: Access = _tuple(Access, (caller, own, decision.level, decision))
        return here
    entered: list[Access] = []
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
) -> Access:
    standing = NO_STANDING if is_own(caller.principal, space) else standing_of(engine, caller, space, held)
    settings = engine.agents.of(caller.principal) if caller.principal.kind is _AGENT else ALL_ON
    decision = decide(caller, space, op, now, standing, engine.rules.of(caller.roles), settings)
    return Access(caller, space, decision.level, decision)


def try_enter(
    engine: Engine, caller: Caller, space: Space, op: Op, now: int, held: Held | None = None
) -> Access | None:
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


class EntryName(NamedTuple):
    """An entry as a caller names it: by key in a space, or by id."""

    key: str | None = None
    id: str | UUID | None = None
    space: SpaceRef = None
    namespace: str = ""
    partitions: tuple[Partition, ...] = ()


class EntryRef(NamedTuple):
    """A target in a space that was entered."""

    entered: Access
    visible: Visible
    key: str | None
    number: int | None
    namespace: str


def seek(engine: Engine, caller: Caller, target: EntryName, op: Op, now: int) -> EntryRef:
    """Enters the target's space. An id in a space one cannot enter is like an id that does not exist."""
    if target.id is not None:
        space, number = split_entry_id(target.id)
        try:
            entered = enter(engine, caller, space, op, now)
        except AccessDenied:
            if op is Op.READ or _cannot_read(engine, caller, space, now):
                raise NotFound from None
            raise
        return EntryRef(entered, visible_to(engine, entered, target.partitions, now), None, number, "")
    if target.key is None:
        raise MissingKey
    if not isinstance(target.key, str):
        raise InvalidKey("A key must be text.")
    entered = enter(engine, caller, target.space, op, now)
    return EntryRef(
        entered,
        visible_to(engine, entered, target.partitions, now),
        target.key.strip(),
        None,
        target.namespace,
    )


def _cannot_read(engine: Engine, caller: Caller, space: UUID, now: int) -> bool:
    try:
        enter(engine, caller, space, Op.READ, now)
    except AccessDenied:
        return True
    return False


def visible_to(engine: Engine, entered: Access, partitions: tuple[Partition, ...], now: int) -> Visible:
    return engine.sealed.visible(entered.space, entered.caller.principal, partitions, now)


def look_up(engine: Engine, sought: EntryRef) -> OpenedRow:
    """The entry meant, from the last committed state."""
    if not sought.entered.space.stored:
        raise NotFound
    if sought.number is not None:
        head = engine.sealed.by_number(sought.visible, sought.number)
        return first_readable(sought, [head] if head else [])
    assert sought.key is not None
    return first_readable(sought, engine.sealed.by_key(sought.visible, sought.namespace, sought.key))


def look_up_in(tx: SealedTransaction, place: WriteTarget, sought: EntryRef) -> OpenedRow:
    """The entry meant, as this transaction sees it."""
    if sought.number is not None:
        head = tx.by_number(place, sought.visible, sought.number)
        return first_readable(sought, [head] if head else [])
    assert sought.key is not None
    return first_readable(sought, tx.by_key(place, sought.visible, sought.namespace, sought.key))


def first_readable(sought: EntryRef, heads: Sequence[OpenedRow]) -> OpenedRow:
    """The caller's own row, else the newest visible; its first room before others. Locked rows come last."""
    entered, now = sought.entered, sought.visible.now
    if len(heads) > 1:
        heads = sorted(heads, key=lambda head: _rank(sought, head))
    for head in heads:
        if head.entry is None or sees(entered.caller, entered.space, head.entry, now):
            return head
    raise NotFound


def opened(head: OpenedRow) -> Entry:
    if head.entry is None:
        raise Locked
    return head.entry


def deletable(engine: Engine, entered: Access, head: OpenedRow) -> bool:
    """Judged by the visible owner, so that a locked row can still be removed."""
    creator = head.row.owner == engine.sealed.blind(entered.caller.principal)
    return may_delete(entered.space, entered.level, creator=creator)


def require_delete(engine: Engine, entered: Access, head: OpenedRow) -> None:
    if not deletable(engine, entered, head):
        raise AccessDenied("Only who made this entry, or someone with manage, may remove it.")


def require_creator(engine: Engine, entered: Access, head: OpenedRow) -> None:
    """For vocabularies in which not even manage removes what somebody else made."""
    if head.row.owner != engine.sealed.blind(entered.caller.principal):
        raise AccessDenied("Only who made this entry may remove or rename it.")
    require_delete(engine, entered, head)


def seen(entered: Access, head: OpenedRow, now: int) -> Entry | None:
    """The entry, if it can be opened and the caller may see it."""
    entry = head.entry
    return entry if entry is not None and sees(entered.caller, entered.space, entry, now) else None


def require_flagging(entered: Access) -> None:
    """For changing the words of what always applies: they steer every later turn, as making it apply did."""
    if not may_flag(entered.caller, entered.space, entered.level):
        raise AccessDenied("This memory always applies; a person who manages its space changes its words.")


def _rank(sought: EntryRef, head: OpenedRow) -> tuple[bool, bool, bool, int]:
    entry = head.entry
    first_room = sought.visible.partitions[0]
    return (
        entry is None,
        entry is not None and entry.owner != sought.entered.caller.principal,
        head.row.partition != first_room,
        -head.row.seq,
    )
