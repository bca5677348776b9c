"""Get one entry, list many, look into the trash and into history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from holdfast.contracts.rows import EntryRow, Visible
from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import Op, sees, sees_state
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.ids import entry_id, split_entry_id
from holdfast.domain.limits import check_limit, check_revision
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.domain.times import SECOND
from holdfast.operations.authorize import (
    Access,
    EntryName,
    SpaceRef,
    enter,
    enter_own,
    look_up,
    opened,
    seek,
    visible_to,
)
from holdfast.operations.engine import Engine
from holdfast.operations.read_log import GET, HISTORY, LIST
from holdfast.operations.results import Page
from holdfast.storage.sealed_store import Filter, OpenedRow, PageRow

_READ = Op.READ
"""Named here, because looking up a member of an enum runs Python code, and every read asks for this one."""
ALL = Filter()
UNFILTERED = (ALL, Filter(""))
"""What lets nearly every row through, so that no more need be opened than are asked for."""
SCAN = 256
"""Rows opened at a time while a list looks for those that match."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a caller asks to be listed."""

    partitions: tuple[Partition, ...]
    space: SpaceRef = None
    wanted: Filter = ALL
    limit: int = 100
    cursor: str | None = None
    expiring_within: int | timedelta | None = None


def get(engine: Engine, caller: Caller, target: EntryName) -> Entry:
    now = engine.clock()
    entry = opened(look_up(engine, seek(engine, caller, target, Op.READ, now)))
    engine.reads.note(GET, caller.principal, now, (entry,))
    return entry


def get_by_key(
    engine: Engine, caller: Caller, key: str, ref: SpaceRef, rooms: tuple[Partition, ...]
) -> Entry:
    """As `get` answers, in fewer steps, because nearly every read is this one: nothing is carried along that only a
    change would need. When several rows have the key, `get` chooses."""
    now, sealed = engine.clock(), engine.sealed
    if ref is None:
        space, _ = enter_own(engine, caller, _READ, now)
    else:
        space = enter(engine, caller, ref, _READ, now).space
    if not space.stored:
        raise NotFound
    heads = sealed.by_key(sealed.visible(space, caller.principal, rooms, now), "", key.strip())
    if len(heads) > 1:
        return get(engine, caller, EntryName(key, None, ref, "", rooms))
    if heads and sees(caller, space, entry := opened(heads[0]), now):
        engine.reads.note(GET, caller.principal, now, (entry,))
        return entry
    raise NotFound


def get_by_id(engine: Engine, caller: Caller, id: str | UUID, rooms: tuple[Partition, ...]) -> Entry:
    """As `get` answers; in the caller's own space in fewer steps."""
    own = engine.sealed.own_space(caller.principal)
    space, number = split_entry_id(id)
    if own is None or own.id.int != space.int:
        return get(engine, caller, EntryName(id=id, partitions=rooms))
    now = engine.clock()
    enter_own(engine, caller, _READ, now)
    head = engine.sealed.by_number(engine.sealed.visible(own, caller.principal, rooms, now), number)
    if head is None or (head.entry is not None and not sees(caller, own, head.entry, now)):
        raise NotFound
    entry = opened(head)
    engine.reads.note(GET, caller.principal, now, (entry,))
    return entry


def list_entries(engine: Engine, caller: Caller, listing: Listing) -> Page:
    """What is listed is noted as read."""
    page = look_through(engine, caller, listing)
    engine.reads.note(LIST, caller.principal, engine.clock(), tuple(page))
    return page


def look_through(engine: Engine, caller: Caller, listing: Listing) -> Page:
    """Newest change first. A cursor goes on in the order of the first page: what is written meanwhile neither hides
    an entry nor shows it twice."""
    now = engine.clock()
    entered = enter(engine, caller, listing.space, Op.READ, now)
    limit = check_limit(listing.limit, engine.limits.list_rows)
    if listing.expiring_within is not None:
        _seconds_ahead(listing.expiring_within)
    if not entered.space.stored:
        return Page()
    visible = visible_to(engine, entered, listing.partitions, now)
    if listing.expiring_within is not None:
        return _expiring(engine, entered, visible, listing, limit)
    request = _request(engine, listing, entered)
    if listing.cursor is None:
        counts = engine.sealed.store.spaces.counts(entered.space.id)
        since = counts.seq if counts else 0
        before = since + 1
    else:
        since, before = engine.sealed.open_cursor(request, listing.cursor)
    found, more, broken = _scan(engine, entered, visible, listing.wanted, since, before, limit)
    cursor = engine.sealed.seal_cursor(request, (since, found[-1].place)) if more and found else None
    entries = [opened(OpenedRow(row, entry)) for _, row, entry in found]
    return Page(entries, cursor, broken + engine.sealed.count_locked(visible))


def list_trash(engine: Engine, caller: Caller, listing: Listing) -> Page:
    now = engine.clock()
    entered = enter(engine, caller, listing.space, Op.READ, now)
    limit = check_limit(listing.limit, engine.limits.list_rows)
    if not entered.space.stored:
        return Page()
    visible = visible_to(engine, entered, listing.partitions, now)
    request = b"trash" + _request(engine, listing, entered)
    before = None if listing.cursor is None else engine.sealed.open_cursor(request, listing.cursor)[0]
    rows = engine.sealed.store.entries.trash(visible, before, limit)
    heads = engine.sealed.heads(visible, rows)
    entries = [
        head.entry
        for head in heads
        if head.entry is not None and sees(caller, entered.space, head.entry, now)
    ]
    cursor = engine.sealed.seal_cursor(request, (rows[-1].seq,)) if len(rows) == limit else None
    engine.reads.note(LIST, caller.principal, now, tuple(entries))
    return Page(entries, cursor, sum(head.entry is None for head in heads))


def list_locked(engine: Engine, caller: Caller, space: SpaceRef) -> list[UUID]:
    """Entries that cannot be opened, in every room: their key is not configured, or the file was changed."""
    now = engine.clock()
    entered = enter(engine, caller, space, Op.READ, now)
    if not entered.space.stored:
        return []
    visible, place = (
        visible_to(engine, entered, tuple(Partition), now),
        engine.sealed.store.spaces.counts(entered.space.id),
    )
    since = place.seq if place else 0
    found: list[UUID] = []
    before = since + 1
    while page := engine.sealed.page(visible, ALL, since, before, SCAN):
        found += [entry_id(entered.space.id, placed.row.number) for placed in page if placed.entry is None]
        before = page[-1].place
    return found


def history(
    engine: Engine, caller: Caller, target: EntryName, limit: int = 100, before: int | None = None
) -> list[Revision]:
    """Every state of the entry that the caller may see, the present one first; or those before a revision."""
    sought = seek(engine, caller, target, Op.READ, engine.clock())
    limit = check_limit(limit, engine.limits.list_rows)
    head = look_up(engine, sought)
    entry = opened(head)
    engine.reads.note(HISTORY, caller.principal, sought.visible.now, (entry,))
    if before is not None:
        states = engine.sealed.history(sought.visible, head.row.number, check_revision(before), limit)
    else:
        earlier = engine.sealed.history(sought.visible, head.row.number, entry.revision, limit - 1)
        states = [_present(entry), *earlier]
    return [state for state in states if sees_state(caller, state)]


def _present(entry: Entry) -> Revision:
    return Revision(
        entry.revision,
        entry.updated_us,
        entry.expires_us,
        entry.always_inject,
        entry.encrypted,
        entry.content,
        entry.quarantined,
    )


def _scan(
    engine: Engine, entered: Access, visible: Visible, wanted: Filter, since: int, before: int, limit: int
) -> tuple[Sequence[PageRow], bool, int]:
    """Matching entries, whether there are more, and how many on the way were changed outside the engine."""
    found: list[PageRow] = []
    keys = engine.sealed.keyring.of(visible.space)
    readable, broken = keys.readable, 0
    whole = bool(readable) and len(readable) == len(keys.known)
    step = limit + 1 if wanted in UNFILTERED else max(limit + 1, SCAN)
    while True:
        page = engine.sealed.page(visible, wanted, since, before, step)
        for placed in page:
            entry = placed.entry
            broken += entry is None and (whole or placed.row.key_id in readable)
            if (
                entry is not None
                and wanted.matches(entry)
                and sees(entered.caller, entered.space, entry, visible.now)
            ):
                found.append(placed)
        if len(found) > limit:
            return found[:limit], True, broken
        if len(page) < step:
            return found, False, broken
        before = page[-1].place


def _expiring(engine: Engine, entered: Access, visible: Visible, listing: Listing, limit: int) -> Page:
    """Soonest first. The store gives them from the first on, so a later page asks for more and skips what was shown."""
    request = _request(engine, listing, entered)
    until, after = visible.now + _seconds_ahead(listing.expiring_within) * SECOND, (0, 0)
    if listing.cursor is not None:
        until, *place = engine.sealed.open_cursor(request, listing.cursor)
        after = (place[0], place[1])
    size = limit + 1
    while True:
        rows = engine.sealed.store.entries.expiring(visible, until, size)
        heads = engine.sealed.heads(visible, [row for row in rows if _expiry_place(row) > after])
        found = [
            head
            for head in heads
            if head.entry is not None
            and listing.wanted.matches(head.entry)
            and sees(entered.caller, entered.space, head.entry, visible.now)
        ]
        if len(found) > limit or len(rows) < size:
            break
        size *= 4
    shown, cursor = found[:limit], None
    if len(found) > limit:
        cursor = engine.sealed.seal_cursor(request, (until, *_expiry_place(shown[-1].row)))
    return Page([opened(head) for head in shown], cursor, sum(head.entry is None for head in heads))


def _seconds_ahead(within: object) -> int:
    """No entry lives longer than the cap of a time to live, so nothing lies beyond it."""
    if isinstance(within, timedelta):
        within = within // timedelta(seconds=1)
    if not isinstance(within, int) or isinstance(within, bool) or within < 0:
        raise InvalidField("`expiring_within` is a whole number of seconds or a timedelta.")
    return min(within, CENTURY_SECONDS)


def _expiry_place(row: EntryRow) -> tuple[int, int]:
    return row.expires_us or 0, row.seq


def _request(engine: Engine, listing: Listing, entered: Access) -> bytes:
    """What a cursor belongs to: the same space, rooms, filter and caller."""
    wanted = listing.wanted
    asked = [
        str(entered.space.id),
        str(entered.caller.principal),
        list(listing.partitions),
        [wanted.namespace, wanted.prefix, wanted.category, wanted.tag],
        str(listing.expiring_within),
    ]
    return fingerprint(engine.sealed.store_key, json.dumps(asked).encode("utf-8", "surrogatepass"))
