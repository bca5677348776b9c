"""Spaces a caller can enter, and creating a shared one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Grant, Op, Reason
from holdfast.domain.errors import Conflict
from holdfast.domain.limits import check_key
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.operations.authorize import (
    Access,
    Held,
    SpaceRef,
    authorize,
    authorize_space,
    find_or_plan,
    memberships,
    planned,
    try_authorize,
)
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

FEW = 2
"""Spaces of which each is asked by itself what the caller was granted there."""


@dataclass(frozen=True, slots=True)
class SpaceInfo:
    """A space as a visitor sees it, with the level and its source."""

    id: UUID | None
    """None until something is written there."""
    kind: str
    ref: str
    level: str
    source: str


def list_spaces(session: Session) -> list[SpaceInfo]:
    """Lists the spaces a caller can enter: their own first, then those made to be shared, granted ones, and those the
    circumstances open."""
    spaces = []
    for access in accessible(session, Op.SEARCH, session.clock()):
        space, source = access.space, access.decision.reason
        id, label = space.id if space.stored else None, "self" if source is Reason.OWN else source.value
        spaces.append(SpaceInfo(id, space.kind.label, space.ref, access.level.label, label))
    return spaces


def accessible(session: Session, op: Op, now: int) -> list[Access]:
    """Every space the caller may enter for `op`, except sessions, which belong to tool code."""
    found: dict[SpaceName, Access] = {}
    candidates = _known_candidates(session, now)
    held = _grants_held(session) if len(candidates) > FEW else None
    for space in candidates:
        if space.kind is not SpaceKind.SESSION and space.name not in found:
            access = try_authorize(session, space, op, now, held)
            if access is not None:
                found[space.name] = access
    return list(found.values())


def managed_space(session: Session, ref: SpaceRef) -> Space:
    """The space `ref` names, which the caller must be allowed to manage."""
    return authorize(session, ref, Op.MANAGE, session.clock()).space


def _grants_held(session: Session) -> Held:
    """Reads all grants of the caller in one statement."""
    held: defaultdict[UUID, list[Grant]] = defaultdict(list)
    for grant in session.sealed.grants(
        session.sealed.store.grants.to(session.sealed.blind(session.principal))
    ):
        held[grant.space].append(grant)
    return held


def create_space(session: Session, ref: str) -> Job[SpaceInfo]:
    """A space of the caller's own, made to be shared."""
    now = session.clock()
    name = SpaceName(SpaceKind.SHARED, check_key(ref, session.limits), session.principal)
    authorize_space(session, planned(name, now), Op.MANAGE, now)
    if session.sealed.space_named(name):
        raise Conflict(f"You have a space `{name.ref}` already.")
    target = session.sealed.write_target(planned(name, now), now)

    def write(tx: Transaction) -> SpaceInfo:
        sealed = SealedTransaction(session.sealed, tx, now)
        sealed.insert_new(target)
        sealed.audit("create space", session.principal, target.space.id)
        return SpaceInfo(target.space.id, name.kind.label, name.ref, "manage", "self")

    return Job(write)


def _known_candidates(session: Session, now: int) -> Sequence[Space]:
    """Spaces the caller might enter, as of a second ago at most or the last write of this process. Access is decided
    live for each; only a space that another process opened may take a second to show."""
    if session.engine.directory is not None:
        return list(_candidates(session, now))
    who = (
        session.principal,
        session.caller.session_user,
        session.caller.chats,
        session.caller.teams,
        tuple(session.caller.systems),
    )
    return session.engine.candidates.read(who, lambda: list(_candidates(session, now)))


def _candidates(session: Session, now: int) -> Iterator[Space]:
    sealed = session.sealed
    yield find_or_plan(session.engine, own_space(session.principal), now)
    yield from sealed.spaces_of(session.principal)
    for grant in sealed.store.grants.to(sealed.blind(session.principal)):
        if space := sealed.space(grant.space):
            yield space
    if session.caller.session_user is not None:
        yield find_or_plan(session.engine, own_space(session.caller.session_user), now)
    yield from (
        find_or_plan(session.engine, SpaceName(SpaceKind.CHAT, chat), now)
        for chat in sorted(session.caller.chats)
    )
    yield from (
        find_or_plan(session.engine, SpaceName(SpaceKind.SYSTEM, system), now)
        for system in sorted(session.caller.systems)
    )
    for listed in sealed.store.members.lists_with(
        [sealed.blind_member(name) for name in memberships(session.caller)]
    ):
        if space := sealed.space(listed):
            yield space
    directory = session.engine.directory
    if directory is not None:
        for level, kind in (
            ("chat", SpaceKind.CHAT),
            ("read", SpaceKind.SYSTEM),
            ("manage", SpaceKind.SYSTEM),
        ):
            for ref in sorted(directory.list_accessible_object_ids(session.principal, level)):
                yield find_or_plan(session.engine, SpaceName(kind, ref), now)
