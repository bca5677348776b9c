"""Share a space, take a share back, and see who has one."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass

from holdfast.contracts.rows import GrantRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, Reason, is_own, may_share
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.grant import Grant, Level, parse_level
from holdfast.domain.principal import parse_grantee
from holdfast.domain.retention import Retention, Ttl, Zero
from holdfast.operations.authorize import Access, SpaceRef, authorize
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

GRANTS = Retention(Zero.NONE)


@dataclass(frozen=True, slots=True)
class Unshared:
    """How many grants went: those asked for, and re-shares that stood on them."""

    revoked: int
    cascaded: int


def share(session: Session, space: SpaceRef, grantee: str, level: str, ttl: Ttl) -> Job[Grant]:
    """Gives at most what the caller holds, for at most as long."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    to, asked = parse_grantee(grantee), parse_level(level)
    if is_own(to, access.space) or to == session.principal:
        raise InvalidField(_NEEDS_NO_GRANT)
    if not may_share(access.decision):
        raise AccessDenied("Your access comes from a chat, a session or a system and cannot be given on.")
    if asked > access.level:
        raise AccessDenied(f"You hold {access.level.label} here and cannot give {asked.label}.")
    wished = GRANTS.expires_us(ttl, now)
    place = session.sealed.write_target(access.space, now)
    me, them = session.sealed.blind(session.principal), session.sealed.blind(to)

    def write(tx: Transaction) -> Grant:
        sealed = SealedTransaction(session.sealed, tx, now)
        sealed.insert_new(place)
        roots = _roots(tx, access, now)
        if them in roots:
            raise InvalidField(_NEEDS_NO_GRANT)
        expires = _no_longer_than_own(tx, access, wished)
        grant = Grant(access.space.id, to, asked, session.principal, now, expires)
        replaces = any(row.granted_by == me for row in tx.grants.of(access.space.id, them))
        sealed.grant(grant)
        if replaces:
            _keep_what_stands(sealed, access, roots)
        sealed.audit("share", session.principal, access.space.id)
        return grant

    return Job(write)


def unshare(session: Session, space: SpaceRef, grantee: str) -> Job[Unshared]:
    """Manage takes back any grant, readwrite those it gave. Re-shares that stood on them go too."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    target = session.sealed.blind(parse_grantee(grantee))
    me = session.sealed.blind(session.principal)

    def write(tx: Transaction) -> Unshared:
        sealed = SealedTransaction(session.sealed, tx, now)
        roots = _roots(tx, access, now)
        rows = [
            row
            for row in tx.grants.of(access.space.id, target)
            if access.level is Level.MANAGE or row.granted_by == me
        ]
        revoked = sum(tx.grants.delete(row.space, row.grantee, row.granted_by) for row in rows)
        cascaded = _keep_what_stands(sealed, access, roots) if revoked else 0
        sealed.audit("unshare", session.principal, access.space.id)
        return Unshared(revoked, cascaded)

    return Job(write)


def grants_on(session: Session, space: SpaceRef) -> list[Grant]:
    """Who has access to a space, for those who may share it."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    grants = session.sealed.grants(session.sealed.store.grants.on(access.space.id))
    return [grant for grant in grants if grant.live(now)]


def _no_longer_than_own(tx: Transaction, access: Access, expires: int | None) -> int | None:
    """A share that stands on a grant ends with it."""
    if access.decision.reason is not Reason.GRANT:
        return expires
    held = access.session.sealed.grants_held(access.space.id, access.caller.principal, tx.grants)
    ends = [grant.expires_us for grant in held if grant.level >= access.level]
    if not ends:
        raise AccessDenied
    if None in ends:
        return expires
    own_end = max(end for end in ends if end is not None)
    return own_end if expires is None else min(expires, own_end)


def _roots(tx: Transaction, access: Access, now: int) -> set[bytes]:
    """Who gives without a grant of their own: the owner; where nobody owns, the caller with such standing, and givers
    whom nobody gave anything. To be asked before a grant is taken back, for then its holder looks like one of them."""
    if access.space.owner is not None:
        return {access.session.sealed.blind(access.space.owner)}
    rows = tx.grants.on(access.space.id)
    roots = {row.granted_by for row in rows} - {row.grantee for row in rows if _end(row) > now}
    if access.decision.reason is not Reason.GRANT:
        roots.add(access.session.sealed.blind(access.caller.principal))
    return roots


def _keep_what_stands(tx: SealedTransaction, access: Access, roots: set[bytes]) -> int:
    """Shortens grants to what their givers still hold, removes those that stand on nothing, and says how many."""
    rows = [row for row in tx.genuine_grants(access.space.id) if _end(row) > tx.now]
    ends = _standing_until(rows, roots, tx.now)
    gone = 0
    for row in rows:
        if row not in ends:
            gone += tx.tx.grants.delete(row.space, row.grantee, row.granted_by)
        elif ends[row] < _end(row):
            tx.put_grant(row._replace(expires_us=ends[row]))
    return gone


def _standing_until(rows: list[GrantRow], roots: set[bytes], now: int) -> dict[GrantRow, int]:
    """Until when each grant has a chain of givers who hold its level and may share. It grows from the roots, so
    that grants in a circle do not hold each other up."""
    held: defaultdict[bytes, list[GrantRow]] = defaultdict(list)
    for row in rows:
        held[row.grantee].append(row)
    ends: dict[GrantRow, int] = {}
    grew = True
    while grew:
        grew = False
        for row in rows:
            needed = max(row.level, Level.READWRITE)
            own = [ends[grant] for grant in held[row.granted_by] if grant in ends and grant.level >= needed]
            end = _end(row) if row.granted_by in roots else min(_end(row), max(own, default=now))
            if end > ends.get(row, now):
                ends[row], grew = end, True
    return ends


def _end(row: GrantRow) -> int:
    return _NEVER if row.expires_us is None else row.expires_us


_NEVER = sys.maxsize
_NEEDS_NO_GRANT = "Neither the owner of a space nor who shares it needs a grant to it."
