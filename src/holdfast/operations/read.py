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
from holdfast.domain.errors import InvalidField, MissingField
from holdfast.domain.ids import entry_id
from holdfast.domain.limits import check_limit, check_revision
from holdfast.domain.partition import Partition
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.domain.times import SECOND
from holdfast.operations.authorize import (
    Access,
    EntryName,
    SpaceRef,
    authorize,
    find_ref,
    look_up,
    opened,
    visible_to,
)
from holdfast.operations.engine import Engine
from holdfast.operations.read_log import GET, HISTORY, LIST
from holdfast.operations.results import Page
from holdfast.operations.session import Session
from holdfast.storage.sealed_store import Filter, OpenedRow, PageRow

ALL = Filter()
UNFILTERED = (ALL, Filter(""))
"""Filters that let nearly every row through, so that no more need be opened than are requested."""
SCAN = 256
"""Rows opened at a time while a list looks for those that match."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Filters and paging of a list."""

    partitions: tuple[Partition, ...]
    space: SpaceRef = None
    matching: Filter = ALL
    limit: int = 100
    cursor: str | None = None
    expiring_within: int | timedelta | None = None


def get(session: Session, name: EntryName) -> Entry:
    now = session.clock()
    entry = opened(look_up(find_ref(session, name, Op.READ, now)))
    session.engine.reads.note(GET, session.principal, now, (entry,))
    return entry


def list_entries(session: Session, listing: Listing) -> Page:
    """Lists entries, and notes them as read."""
    page = look_through(session, listing)
    session.engine.reads.note(LIST, session.principal, session.clock(), tuple(page))
    return page


def look_through(session: Session, listing: Listing) -> Page:
    """Newest change first. A cursor goes on in the order of the first page: what is written meanwhile neither hides
    an entry nor shows it twice."""
    now = session.clock()
    access = authorize(session, listing.space, Op.READ, now)
    limit = check_limit(listing.limit, session.limits.list_rows)
    if listing.expiring_within is not None:
        _seconds_ahead(listing.expiring_within)
    if not access.space.stored:
        return Page()
    visible = visible_to(access, listing.partitions, now)
    if listing.expiring_within is not None:
        return _expiring(access, visible, listing, limit)
    request = _request(listing, access)
    if listing.cursor is None:
        counts = session.sealed.store.spaces.counts(access.space.id)
        since = counts.seq if counts else 0
        before = since + 1
    else:
        since, before = session.sealed.open_cursor(request, listing.cursor)
    found, more, broken = _scan(session.engine, access, visible, listing.matching, since, before, limit)
    cursor = session.sealed.seal_cursor(request, (since, found[-1].position)) if more and found else None
    entries = [opened(OpenedRow(row, entry)) for _, row, entry in found]
    return Page(entries, cursor, broken + session.sealed.count_locked(visible))


def list_trash(session: Session, listing: Listing) -> Page:
    now = session.clock()
    access = authorize(session, listing.space, Op.READ, now)
    limit = check_limit(listing.limit, session.limits.list_rows)
    if not access.space.stored:
        return Page()
    visible = visible_to(access, listing.partitions, now)
    request = b"trash" + _request(listing, access)
    before = None if listing.cursor is None else session.sealed.open_cursor(request, listing.cursor)[0]
    rows = session.sealed.store.entries.trash(visible, before, limit)
    heads = session.sealed.open_rows(visible, rows)
    entries = [
        head.entry
        for head in heads
        if head.entry is not None and sees(session.caller, access.space, head.entry, now)
    ]
    cursor = session.sealed.seal_cursor(request, (rows[-1].seq,)) if len(rows) == limit else None
    session.engine.reads.note(LIST, session.principal, now, tuple(entries))
    return Page(entries, cursor, sum(head.entry is None for head in heads))


def list_locked(session: Session, space: SpaceRef) -> list[UUID]:
    """Entries of every partition that cannot be opened: their key is not configured, or the file was changed."""
    now = session.clock()
    access = authorize(session, space, Op.READ, now)
    if not access.space.stored:
        return []
    visible, counts = (
        visible_to(access, tuple(Partition), now),
        session.sealed.store.spaces.counts(access.space.id),
    )
    since = counts.seq if counts else 0
    found: list[UUID] = []
    before = since + 1
    while page := session.sealed.page(visible, ALL, since, before, SCAN):
        found += [
            entry_id(access.space.id, found_row.row.number) for found_row in page if found_row.entry is None
        ]
        before = page[-1].position
    return found


def history(
    session: Session, target: EntryName, limit: int = 100, before: int | None = None
) -> list[Revision]:
    """Every state of the entry that the caller may see, the present one first; or those before a revision."""
    ref = find_ref(session, target, Op.READ, session.clock())
    limit = check_limit(limit, session.limits.list_rows)
    head = look_up(ref)
    entry = opened(head)
    session.engine.reads.note(HISTORY, session.principal, ref.visible.now, (entry,))
    if before is not None:
        states = session.sealed.history(ref.visible, head.row.number, check_revision(before), limit)
    else:
        earlier = session.sealed.history(ref.visible, head.row.number, entry.revision, limit - 1)
        present = Revision(
            entry.revision,
            entry.updated_us,
            entry.expires_us,
            entry.always_inject,
            entry.encrypted,
            entry.content,
            entry.quarantined,
        )
        states = [present, *earlier]
    return [state for state in states if sees_state(session.caller, state)]


def _scan(
    engine: Engine, access: Access, visible: Visible, matching: Filter, since: int, before: int, limit: int
) -> tuple[Sequence[PageRow], bool, int]:
    """Matching entries, whether there are more, and how many on the way were changed outside the engine."""
    found: list[PageRow] = []
    keys = engine.sealed.keyring.of(visible.space)
    readable, broken = keys.readable, 0
    whole = bool(readable) and len(readable) == len(keys.known)
    step = limit + 1 if matching in UNFILTERED else max(limit + 1, SCAN)
    while True:
        page = engine.sealed.page(visible, matching, since, before, step)
        for page_row in page:
            entry = page_row.entry
            broken += entry is None and (whole or page_row.row.key_id in readable)
            if (
                entry is not None
                and matching.matches(entry)
                and sees(access.caller, access.space, entry, visible.now)
            ):
                found.append(page_row)
        if len(found) > limit:
            return found[:limit], True, broken
        if len(page) < step:
            return found, False, broken
        before = page[-1].position


def _expiring(access: Access, visible: Visible, listing: Listing, limit: int) -> Page:
    """Soonest first. The store gives them from the first on, so a later page asks for more and skips what was shown."""
    request = _request(listing, access)
    until, after = visible.now + _seconds_ahead(listing.expiring_within) * SECOND, (0, 0)
    if listing.cursor is not None:
        until, expires_us, seq = access.session.sealed.open_cursor(request, listing.cursor)
        after = (expires_us, seq)
    size = limit + 1
    while True:
        rows = access.session.sealed.store.entries.expiring(visible, until, size)
        heads = access.session.sealed.open_rows(visible, [row for row in rows if _expiry_place(row) > after])
        found = [
            head
            for head in heads
            if head.entry is not None
            and listing.matching.matches(head.entry)
            and sees(access.caller, access.space, head.entry, visible.now)
        ]
        if len(found) > limit or len(rows) < size:
            break
        size *= 4
    shown, cursor = found[:limit], None
    if len(found) > limit:
        cursor = access.session.sealed.seal_cursor(request, (until, *_expiry_place(shown[-1].row)))
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


def _request(listing: Listing, access: Access) -> bytes:
    """A fingerprint of the space, partitions, filter and caller that a cursor belongs to."""
    matching = listing.matching
    parts = [
        str(access.space.id),
        str(access.caller.principal),
        list(listing.partitions),
        [matching.namespace, matching.prefix, matching.category, matching.tag],
        str(listing.expiring_within),
    ]
    return fingerprint(access.session.sealed.store_key, json.dumps(parts).encode("utf-8", "surrogatepass"))


MAX_QUESTION = 8_192
"""Characters of a question that are read."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its filters, all of which must hold. Times are microseconds, both included."""

    query: str
    partitions: tuple[Partition, ...]
    limit: int = 10
    spaces: tuple[SpaceRef, ...] | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    since_us: int | None = None
    until_us: int | None = None
    explain: bool = False
    namespace: str = ""
    """Empty: any."""

    @property
    def lists(self) -> bool:
        """True for a question without a letter or a digit, which lists the newest entries."""
        return not any(map(str.isalnum, self.query))


def check_question(query: object) -> str:
    """Checks a question. Only the beginning of a very long one counts."""
    if query is None:
        raise MissingField("`query` is required.")
    if not isinstance(query, str):
        raise InvalidField("A query is text.")
    return query[:MAX_QUESTION]
