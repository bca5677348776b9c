"""Authorises a caller for a space, and finds the entry that a key or an id names there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.rows import Visible
from holdfast.contracts.storage import Transaction
from holdfast.domain.access import (
    ALL_ON,
    NO_STANDING,
    Decision,
    Grant,
    Level,
    Op,
    Standing,
    catalogue_level,
    decide,
    is_own,
    may_delete,
    may_flag,
    sees,
)
from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    AccessDenied,
    Conflict,
    InvalidField,
    InvalidKey,
    Locked,
    MissingKey,
    NotFound,
    PreconditionFailed,
    Unavailable,
)
from holdfast.domain.ids import new_space_id, split_entry_id
from holdfast.domain.limits import check_revision, check_words
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, PrincipalKind, is_subject, principal
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

SpaceRef = SpaceName | UUID | str | None
"""The caller's space (None), an id, a reference, or `kind:reference`. Vocabularies may also pass a space in full."""

Held = Mapping[UUID, Sequence[Grant]]
"""All grants of a caller by the spaces they open, just read."""

_KINDS = {kind.label: kind for kind in SpaceKind}
_PRINCIPAL_KINDS = {
    SpaceKind.AGENT: PrincipalKind.AGENT,
    SpaceKind.USER: PrincipalKind.USER,
    SpaceKind.SERVICE: PrincipalKind.SERVICE,
}
_OWNERLESS = (SpaceKind.CHAT, SpaceKind.SYSTEM)


class Access(NamedTuple):
    """A space that the session's caller may use, and at which level."""

    session: Session
    space: Space
    level: Level
    decision: Decision

    @property
    def caller(self) -> Caller:
        return self.session.caller


def authorize(session: Session, ref: SpaceRef, op: Op, now: int) -> Access:
    """The one space `ref` names in which the caller may do `op`. Never reveals whether other spaces exist."""
    if ref is None:
        return authorize_own(session, op, now)
    granted: list[Access] = []
    refusal = None
    for space in _meant(session, ref, now):
        try:
            granted.append(authorize_space(session, space, op, now))
        except AccessDenied as denied:
            refusal = denied
    if not granted:
        raise refusal or _refusal(session, op, now)
    if len(granted) > 1:
        raise Conflict("More than one space has this reference; name it by its id or as kind:reference.")
    return granted[0]


def _refusal(session: Session, op: Op, now: int) -> AccessDenied:
    """The error for a space that exists without access, for one that does not exist."""
    try:
        authorize_space(session, _nowhere(new_space_id(), now), op, now)
    except AccessDenied as denied:
        return denied
    return AccessDenied()


def authorize_own(session: Session, op: Op, now: int) -> Access:
    """The caller's own space, for which no grant has to be read."""
    own = session.sealed.own_space(session.principal) or planned(own_space(session.principal), now)
    return _decided(session, own, op, now, NO_STANDING)


def authorize_space(session: Session, space: Space, op: Op, now: int, held: Held | None = None) -> Access:
    standing = NO_STANDING if is_own(session.principal, space) else standing_of(session, space, held)
    return _decided(session, space, op, now, standing)


def _decided(session: Session, space: Space, op: Op, now: int, standing: Standing) -> Access:
    engine, caller = session.engine, session.caller
    settings = (
        engine.agent_settings(caller.principal) if caller.principal.kind is PrincipalKind.AGENT else ALL_ON
    )
    decision = decide(caller, space, op, now, standing, engine.rules_of(caller.roles), settings)
    return Access(session, space, decision.level, decision)


def try_authorize(
    session: Session, space: Space, op: Op, now: int, held: Held | None = None
) -> Access | None:
    try:
        return authorize_space(session, space, op, now, held)
    except AccessDenied:
        return None


def standing_of(session: Session, space: Space, held: Held | None = None) -> Standing:
    """Reads what the caller may do in a space, live: a withdrawn grant does not count. `held` are grants that were read
    for several spaces together."""
    if held is not None:
        grants = held.get(space.id, ())
    else:
        grants = session.sealed.grants_held(space.id, session.principal) if space.stored else ()
    return Standing(
        tuple(grants),
        participant=space.kind is SpaceKind.CHAT and _takes_part(session, space),
        system=_system_level(session, space) if space.kind is SpaceKind.SYSTEM else None,
    )


def planned(name: SpaceName, now: int) -> Space:
    """A space that is stored with its first write."""
    return Space(new_space_id(), name, now, stored=False)


def _nowhere(id: UUID, now: int) -> Space:
    """A space of nobody, so that a missing id is refused like one without access."""
    return Space(id, SpaceName(SpaceKind.SHARED, ""), now, stored=False)


def find_or_plan(engine: Engine, name: SpaceName, now: int) -> Space:
    return engine.sealed.space_named(name) or planned(name, now)


def _meant(session: Session, ref: SpaceRef, now: int) -> Iterator[Space]:
    match ref:
        case SpaceName():
            yield find_or_plan(session.engine, ref, now)
        case UUID():
            own = session.sealed.own_space(session.principal)
            yield (
                own if own is not None and own.id == ref else session.sealed.space(ref) or _nowhere(ref, now)
            )
        case str():
            yield from _referenced(session, ref, now)
        case _:
            raise InvalidField("Name a space by its id, its reference, or kind:reference.")


def _referenced(session: Session, ref: str, now: int) -> Iterator[Space]:
    check_words("space", ref)
    with suppress(ValueError):
        if by_id := session.sealed.space(UUID(ref)):
            yield by_id
            return
    kind, colon, rest = ref.partition(":")
    if colon and kind in _KINDS and rest:
        yield from _named(session, rest, (_KINDS[kind],), now)
    else:
        yield from _named(session, ref, tuple(SpaceKind), now)


def _named(session: Session, ref: str, kinds: tuple[SpaceKind, ...], now: int) -> Iterator[Space]:
    for kind in kinds:
        if kind in _PRINCIPAL_KINDS:
            if is_subject(ref):  # nobody is called anything else, but a chat may be
                yield find_or_plan(session.engine, own_space(principal(_PRINCIPAL_KINDS[kind], ref)), now)
        elif kind in _OWNERLESS:
            yield find_or_plan(session.engine, SpaceName(kind, ref), now)
        elif kind is SpaceKind.SHARED:
            yield from (space for space in shared_spaces(session) if space.ref == ref)


def shared_spaces(session: Session) -> list[Space]:
    """Spaces made to be shared: the caller's own and those a grant names, whoever made them."""
    found = {
        space.id: space
        for space in session.sealed.spaces_of(session.principal)
        if space.kind is SpaceKind.SHARED
    }
    for row in session.sealed.store.grants.to(session.sealed.blind(session.principal)):
        if (
            row.space not in found
            and (space := session.sealed.space(row.space))
            and space.kind is SpaceKind.SHARED
        ):
            found[row.space] = space
    return list(found.values())


def _takes_part(session: Session, space: Space) -> bool:
    """True for a participant. A stored list decides alone; without one the host's directory, then what the token or the
    host vouched for."""
    if space.listed:
        return session.sealed.membership(space.id, memberships(session.caller)) is not None
    if (
        session.engine.directory is not None
        and space.ref in session.engine.directory.list_accessible_object_ids(session.principal, "chat")
    ):
        return True
    return space.ref in session.caller.chats


def _system_level(session: Session, space: Space) -> Level | None:
    if space.listed:
        return session.sealed.membership(space.id, memberships(session.caller))
    if session.engine.directory is not None:
        for level in ("manage", "read"):
            if space.ref in session.engine.directory.list_accessible_object_ids(session.principal, level):
                return catalogue_level(level)
    claimed = session.caller.systems.get(space.ref)
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
    """An entry that may or may not exist, in a space the caller has access to."""

    access: Access
    visible: Visible
    key: str | None
    number: int | None
    namespace: str


def find_ref(session: Session, name: EntryName, op: Op, now: int) -> EntryRef:
    """Authorises `op` in the entry's space. An id in a space without access is like an id that does not exist."""
    if session.is_off:
        raise Unavailable(session.reason)
    if name.id is not None:
        space, number = split_entry_id(name.id)
        try:
            access = authorize(session, space, op, now)
        except AccessDenied:
            if op is Op.READ or _cannot_read(session, space, now):
                raise NotFound from None
            raise
        return EntryRef(access, visible_to(access, name.partitions, now), None, number, "")
    if name.key is None:
        raise MissingKey
    if not isinstance(name.key, str):
        raise InvalidKey("A key must be text.")
    access = authorize(session, name.space, op, now)
    visible = visible_to(access, name.partitions, now)
    return EntryRef(access, visible, name.key.strip(), None, name.namespace)


def _cannot_read(session: Session, space: UUID, now: int) -> bool:
    try:
        authorize(session, space, Op.READ, now)
    except AccessDenied:
        return True
    return False


def visible_to(access: Access, partitions: tuple[Partition, ...], now: int) -> Visible:
    return access.session.sealed.visible(access.space, access.caller.principal, partitions, now)


def look_up(ref: EntryRef) -> OpenedRow:
    """Reads the entry from the last committed state."""
    if not ref.access.space.stored:
        raise NotFound
    sealed = ref.access.session.sealed
    if ref.number is not None:
        row = sealed.by_number(ref.visible, ref.number)
        return first_readable(ref, [row] if row else [])
    assert ref.key is not None
    return first_readable(ref, sealed.by_key(ref.visible, ref.namespace, ref.key))


def look_up_in(tx: SealedTransaction, target: WriteTarget, ref: EntryRef) -> OpenedRow:
    """Reads the entry as this transaction sees it."""
    if ref.number is not None:
        row = tx.by_number(target, ref.visible, ref.number)
        return first_readable(ref, [row] if row else [])
    assert ref.key is not None
    return first_readable(ref, tx.by_key(target, ref.visible, ref.namespace, ref.key))


class EntryChange(NamedTuple):
    """A change of one entry that the caller may make, before its transaction."""

    ref: EntryRef
    target: WriteTarget
    now: int
    expected: int | None

    @property
    def access(self) -> Access:
        return self.ref.access

    def transaction(self, tx: Transaction) -> SealedTransaction:
        return SealedTransaction(self.access.session.sealed, tx, self.now)

    def begin(self, tx: Transaction) -> tuple[SealedTransaction, OpenedRow]:
        """Reads the entry in the transaction, and refuses another revision than the expected one."""
        sealed = self.transaction(tx)
        head = look_up_in(sealed, self.target, self.ref)
        check_expected(self.expected, head.row.revision)
        return sealed, head


def prepare_change(session: Session, name: EntryName, op: Op, expected: int | None = None) -> EntryChange:
    now = session.clock()
    ref = find_ref(session, name, op, now)
    return EntryChange(ref, session.sealed.write_target(ref.access.space, now), now, expected)


def check_expected(expected: int | None, actual: int) -> None:
    if expected is not None and check_revision(expected) != actual:
        raise PreconditionFailed(f"The entry is at revision {actual}, not {expected}; read it again.")


def first_readable(ref: EntryRef, heads: Sequence[OpenedRow]) -> OpenedRow:
    """The caller's own row, else the newest visible; its first partition before others. Locked rows come last."""
    access, now = ref.access, ref.visible.now
    if len(heads) > 1:
        heads = sorted(heads, key=lambda head: _rank(ref, head))
    for head in heads:
        if head.entry is None or sees(access.caller, access.space, head.entry, now):
            return head
    raise NotFound


def opened(head: OpenedRow) -> Entry:
    if head.entry is None:
        raise Locked
    return head.entry


def deletable(access: Access, head: OpenedRow) -> bool:
    """True when the caller may delete the row. Checks the visible owner, so that a locked row can still be removed."""
    creator = head.row.owner == access.session.sealed.blind(access.caller.principal)
    return may_delete(access.space, access.level, creator=creator)


def require_delete(access: Access, head: OpenedRow) -> None:
    if not deletable(access, head):
        raise AccessDenied("Only who made this entry, or someone with manage, may remove it.")


def require_creator(access: Access, head: OpenedRow) -> None:
    """Requires the creator, for vocabularies in which not even manage removes what somebody else made."""
    if head.row.owner != access.session.sealed.blind(access.caller.principal):
        raise AccessDenied("Only who made this entry may remove or rename it.")
    require_delete(access, head)


def seen(access: Access, head: OpenedRow, now: int) -> Entry | None:
    """The entry, if it can be opened and the caller may see it."""
    entry = head.entry
    return entry if entry is not None and sees(access.caller, access.space, entry, now) else None


def require_flag(access: Access) -> None:
    if not may_flag(access.caller, access.space, access.level):
        raise AccessDenied("Always-apply needs a person who manages this space.")


def require_flagging(access: Access) -> None:
    """Refuses to change a pinned memory's words to callers who may not pin: they steer every later turn."""
    if not may_flag(access.caller, access.space, access.level):
        raise AccessDenied("This memory always applies; a person who manages its space changes its words.")


def _rank(ref: EntryRef, head: OpenedRow) -> tuple[bool, bool, bool, int]:
    entry = head.entry
    first_partition = ref.visible.partitions[0]
    return (
        entry is None,
        entry is not None and entry.owner != ref.access.caller.principal,
        head.row.partition != first_partition,
        -head.row.seq,
    )
