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
from holdfast.domain.principal import Caller, parse_grantee
from holdfast.domain.retention import Retention, Ttl, Zero
from holdfast.operations.authorize import Access, SpaceRef, enter
from holdfast.operations.engine import Engine
from holdfast.storage.sealed_transaction import SealedTransaction

GRANTS = Retention(Zero.NONE)


@dataclass(frozen=True, slots=True)
class Unshared:
    """How many grants went: those asked for, and re-shares that stood on them."""

    revoked: int
    cascaded: int


def share(engine: Engine, caller: Caller, space: SpaceRef, grantee: str, level: str, ttl: Ttl) -> Job[Grant]:
    """Gives at most what the caller holds, for at most as long."""
    now = engine.clock()
    entered = enter(engine, caller, space, Op.SHARE, now)
    to, asked = parse_grantee(grantee), parse_level(level)
    if is_own(to, entered.space) or to == caller.principal:
        raise InvalidField(_NEEDS_NO_GRANT)
    if not may_share(entered.decision):
        raise AccessDenied("Your access comes from a chat, a session or a system and cannot be given on.")
    if asked > entered.level:
        raise AccessDenied(f"You hold {entered.level.label} here and cannot give {asked.label}.")
    wished = GRANTS.expires_us(ttl, now)
    place = engine.sealed.place(entered.space, now)
    me, them = engine.sealed.blind(caller.principal), engine.sealed.blind(to)

    def write(tx: Transaction) -> Grant:
        sealed = SealedTransaction(engine.sealed, tx, now)
        sealed.settle(place)
        roots = _roots(engine, tx, entered, now)
        if them in roots:
            raise InvalidField(_NEEDS_NO_GRANT)
        expires = _no_longer_than_own(engine, tx, entered, wished)
        grant = Grant(entered.space.id, to, asked, caller.principal, now, expires)
        replaces = any(row.granted_by == me for row in tx.grants.of(entered.space.id, them))
        sealed.grant(grant)
        if replaces:
            _keep_what_stands(sealed, entered, roots)
        sealed.audit("share", caller.principal, entered.space.id)
        return grant

    return write


def unshare(engine: Engine, caller: Caller, space: SpaceRef, grantee: str) -> Job[Unshared]:
    """Manage takes back any grant, readwrite those it gave. Re-shares that stood on them go too."""
    now = engine.clock()
    entered = enter(engine, caller, space, Op.SHARE, now)
    target = engine.sealed.blind(parse_grantee(grantee))
    me = engine.sealed.blind(caller.principal)

    def write(tx: Transaction) -> Unshared:
        sealed = SealedTransaction(engine.sealed, tx, now)
        roots = _roots(engine, tx, entered, now)
        rows = [
            row
            for row in tx.grants.of(entered.space.id, target)
            if entered.level is Level.MANAGE or row.granted_by == me
        ]
        revoked = sum(tx.grants.delete(row.space, row.grantee, row.granted_by) for row in rows)
        cascaded = _keep_what_stands(sealed, entered, roots) if revoked else 0
        sealed.audit("unshare", caller.principal, entered.space.id)
        return Unshared(revoked, cascaded)

    return write


def grants_on(engine: Engine, caller: Caller, space: SpaceRef) -> list[Grant]:
    """Who has access to a space, for those who may share it."""
    now = engine.clock()
    entered = enter(engine, caller, space, Op.SHARE, now)
    grants = engine.sealed.grants(engine.sealed.store.grants.on(entered.space.id))
    return [grant for grant in grants if grant.live(now)]


def _no_longer_than_own(engine: Engine, tx: Transaction, entered: Access, expires: int | None) -> int | None:
    """A share that stands on a grant ends with it."""
    if entered.decision.reason is not Reason.GRANT:
        return expires
    held = engine.sealed.grants_held(entered.space.id, entered.caller.principal, tx.grants)
    ends = [grant.expires_us for grant in held if grant.level >= entered.level]
    if not ends:
        raise AccessDenied
    if None in ends:
        return expires
    own_end = max(end for end in ends if end is not None)
    return own_end if expires is None else min(expires, own_end)


def _roots(engine: Engine, tx: Transaction, entered: Access, now: int) -> set[bytes]:
    """Who gives without a grant of their own: the owner; where nobody owns, the caller with such standing, and givers
    whom nobody gave anything. To be asked before a grant is taken back, for then its holder looks like one of them."""
    if entered.space.owner is not None:
        return {engine.sealed.blind(entered.space.owner)}
    rows = tx.grants.on(entered.space.id)
    roots = {row.granted_by for row in rows} - {row.grantee for row in rows if _end(row) > now}
    if entered.decision.reason is not Reason.GRANT:
        roots.add(engine.sealed.blind(entered.caller.principal))
    return roots


def _keep_what_stands(tx: SealedTransaction, entered: Access, roots: set[bytes]) -> int:
    """Shortens grants to what their givers still hold, removes those that stand on nothing, and says how many."""
    rows = [row for row in tx.genuine_grants(entered.space.id) if _end(row) > tx.now]
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
