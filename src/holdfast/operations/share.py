"""Share a space, take a share back, and see who has one."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from holdfast.contracts.rows import GrantRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Grant, Level, Op, Reason, is_own, may_share, parse_level, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.limits import check_limit
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, parse_grantee
from holdfast.domain.retention import Retention, Ttl, Zero
from holdfast.operations import read
from holdfast.operations.authorize import Access, SpaceRef, authorize
from holdfast.operations.read import Listing
from holdfast.operations.session import Session
from holdfast.storage.sealed_transaction import SealedTransaction

GRANTS = Retention(Zero.NONE)
SCAN = 1_000
_NEVER = sys.maxsize
_NEEDS_NO_GRANT = "Neither the owner of a space nor who shares it needs a grant to it."


@dataclass(frozen=True, slots=True)
class Unshared:
    """Counts of removed grants: those named, and re-shares that stood on them."""

    revoked: int
    cascaded: int


def share(session: Session, space: SpaceRef, grantee: str, level: str, ttl: Ttl) -> Job[Grant]:
    """Gives at most what the caller holds, for at most as long."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    to, given_level = parse_grantee(grantee), parse_level(level)
    if is_own(to, access.space) or to == session.principal:
        raise InvalidField(_NEEDS_NO_GRANT)
    if not may_share(access.decision):
        raise AccessDenied("Your access comes from a chat, a session or a system and cannot be given on.")
    if given_level > access.level:
        raise AccessDenied(f"You hold {access.level.label} here and cannot give {given_level.label}.")
    wished = GRANTS.expires_us(ttl, now)
    target = session.sealed.write_target(access.space, now)
    me, them = session.sealed.blind(session.principal), session.sealed.blind(to)

    def write(tx: Transaction) -> Grant:
        sealed = SealedTransaction(session.sealed, tx, now)
        sealed.insert_new(target)
        roots = _roots(tx, access, now)
        if them in roots:
            raise InvalidField(_NEEDS_NO_GRANT)
        expires = _no_longer_than_own(tx, access, wished)
        grant = Grant(access.space.id, to, given_level, session.principal, now, expires)
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
    """Lists the grants of a space, for those who may share it."""
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
    """Principals who may grant without holding a grant: the owner or, in ownerless spaces, this caller and granters
    nobody granted to. Call it before a grant is removed: without one its holder would count as a root."""
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


@dataclass(frozen=True, slots=True)
class Preview:
    grantee: str
    level: str
    holds: str | None
    """The level they hold there by a grant now."""
    lists: bool
    writes: bool
    total: int
    """The number of entries they would see. At search level: could find, one by one, by searching for them."""
    hidden: int
    """The number of entries that the caller sees and they would not."""
    entries: tuple[Entry, ...]
    """The newest of them."""


def preview(session: Session, space: SpaceRef, grantee: str, level: str, limit: int) -> Preview:
    """Shows what the grantee would see, to callers who could give the level. Counts only what the caller sees."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    to, given_level = parse_grantee(grantee), parse_level(level)
    limit = check_limit(limit, session.limits.list_rows)
    if is_own(to, access.space):
        raise InvalidField("The owner of a space sees all of it.")
    if not may_share(access.decision) or given_level > access.level:
        raise AccessDenied(f"You hold {access.level.label} here and cannot give {given_level.label}.")
    held = [grant.level for grant in session.sealed.grants_held(access.space.id, to) if grant.live(now)]
    shown: list[Entry] = []
    total = hidden = 0
    for entry in _everything(session, access.space.id if access.space.stored else None):
        # A search shows neither what a client encrypted nor what waits in quarantine.
        is_found = given_level is not Level.SEARCH or not (entry.encrypted or entry.quarantined)
        if is_found and sees(Caller(to), access.space, entry, now):
            total += 1
            if len(shown) < limit:
                shown.append(entry)
        else:
            hidden += 1
    return Preview(
        str(to),
        given_level.label,
        max(held).label if held else None,
        given_level >= Level.READ,
        given_level >= Level.READWRITE,
        total,
        hidden,
        tuple(shown),
    )


def _everything(session: Session, space: UUID | None) -> Iterator[Entry]:
    cursor: str | None = None
    while space is not None:
        page = read.look_through(session, Listing(MODEL_VISIBLE, space, limit=SCAN, cursor=cursor))
        yield from page
        if (cursor := page.cursor) is None:
            return
