"""Share a space, take a share back, and see who has one."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.contracts.rows import GrantRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, Reason, is_own
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.grant import Grant, Level, parse_level
from holdfast.domain.principal import Caller, Principal, parse_grantee
from holdfast.domain.retention import Retention, Ttl, Zero
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered, SpaceRef, enter
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
        raise InvalidField("Neither the owner of a space nor who shares it needs a grant to it.")
    if entered.decision.reason is Reason.SESSION_USER:
        raise AccessDenied("Only its user may share this space; you are here for this session.")
    if asked > entered.level:
        raise AccessDenied(f"You hold {entered.level.label} here and cannot give {asked.label}.")
    wished = GRANTS.expires_us(ttl, now)
    place = engine.sealed.place(entered.space, now)

    def write(tx: Transaction) -> Grant:
        sealed = SealedTransaction(engine.sealed, tx, now)
        sealed.settle(place)
        expires = _no_longer_than_own(engine, tx, entered, wished)
        grant = Grant(entered.space.id, to, asked, caller.principal, now, expires)
        sealed.grant(grant)
        _cascade(engine, tx, entered, [engine.sealed.blind(to)])
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
        rows = [
            row
            for row in tx.grants.of(entered.space.id, target)
            if entered.level is Level.MANAGE or row.granted_by == me
        ]
        revoked = sum(tx.grants.delete(row.space, row.grantee, row.granted_by) for row in rows)
        cascaded = _cascade(engine, tx, entered, [target]) if revoked else 0
        sealed.audit("unshare", caller.principal, entered.space.id)
        return Unshared(revoked, cascaded)

    return write


def grants_on(engine: Engine, caller: Caller, space: SpaceRef) -> list[Grant]:
    """Who has access to a space, for those who may share it."""
    now = engine.clock()
    entered = enter(engine, caller, space, Op.SHARE, now)
    grants = engine.sealed.grants(engine.sealed.store.grants.on(entered.space.id))
    return [grant for grant in grants if grant.live(now)]


def _no_longer_than_own(engine: Engine, tx: Transaction, entered: Entered, expires: int | None) -> int | None:
    """A share that stands on a grant ends with it."""
    if entered.decision.reason is not Reason.GRANT:
        return expires
    held = engine.sealed.grants_held(entered.space.id, entered.caller.principal, tx.grants)
    ends = [grant.expires_us for grant in held if grant.level >= entered.level]
    if not ends or None in ends:
        return expires
    own_end = max(end for end in ends if end is not None)
    return own_end if expires is None else min(expires, own_end)


def _cascade(engine: Engine, tx: Transaction, entered: Entered, losers: list[bytes]) -> int:
    """Follows what losers gave on: a grant stays only while its giver still holds its level."""
    gone = 0
    while losers:
        loser = losers.pop()
        held = max((row.level for row in tx.grants.of(entered.space.id, loser)), default=0)
        if _owns(engine, entered, loser):
            continue
        for row in _given_by(tx, entered, loser):
            if row.level > held or held < Level.READWRITE:
                gone += tx.grants.delete(row.space, row.grantee, row.granted_by)
                losers.append(row.grantee)
    return gone


def _given_by(tx: Transaction, entered: Entered, giver: bytes) -> list[GrantRow]:
    return [row for row in tx.grants.on(entered.space.id) if row.granted_by == giver]


def _owns(engine: Engine, entered: Entered, blind: bytes) -> bool:
    owner: Principal | None = entered.space.owner
    return owner is not None and engine.sealed.blind(owner) == blind
