"""Preview: what somebody would see of a space if they were given a level there. Nothing is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from holdfast.domain.access import Op, is_own, may_share, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.grant import Level, parse_level
from holdfast.domain.limits import check_limit
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, parse_grantee
from holdfast.domain.space import Space
from holdfast.operations import read
from holdfast.operations.authorize import SpaceRef, authorize
from holdfast.operations.read import Listing
from holdfast.operations.session import Session

SCAN = 1_000


@dataclass(frozen=True, slots=True)
class Preview:
    grantee: str
    level: str
    holds: str | None
    """The level they hold there by a grant now."""
    lists: bool
    writes: bool
    total: int
    """How many entries they would see; at search level: could find, one by one, by asking for them."""
    hidden: int
    """How many of those the caller sees they would not."""
    entries: tuple[Entry, ...]
    """The newest of them."""


def preview(session: Session, space: SpaceRef, grantee: str, level: str, limit: int) -> Preview:
    """For those who could give the level. It is counted among what the caller sees."""
    now = session.clock()
    access = authorize(session, space, Op.SHARE, now)
    to, wanted = parse_grantee(grantee), parse_level(level)
    limit = check_limit(limit, session.limits.list_rows)
    if is_own(to, access.space):
        raise InvalidField("The owner of a space sees all of it.")
    if not may_share(access.decision) or wanted > access.level:
        raise AccessDenied(f"You hold {access.level.label} here and cannot give {wanted.label}.")
    held = [grant.level for grant in session.sealed.grants_held(access.space.id, to) if grant.live(now)]
    shown: list[Entry] = []
    total = hidden = 0
    for entry in _everything(session, access.space.id if access.space.stored else None):
        if _would_see(Caller(to), access.space, entry, wanted, now):
            total += 1
            if len(shown) < limit:
                shown.append(entry)
        else:
            hidden += 1
    return Preview(
        str(to),
        wanted.label,
        max(held).label if held else None,
        wanted >= Level.READ,
        wanted >= Level.READWRITE,
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


def _would_see(them: Caller, space: Space, entry: Entry, level: Level, now: int) -> bool:
    """A search shows neither what a client encrypted nor what waits in quarantine."""
    if level is Level.SEARCH and (entry.encrypted or entry.quarantined):
        return False
    return sees(them, space, entry, now)
