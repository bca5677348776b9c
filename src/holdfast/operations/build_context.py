"""The context: what a host puts before a model at each turn. The one place where stored text becomes prompt text."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from holdfast.domain.access import Op, sees
from holdfast.domain.context import (
    SUMMARISED,
    Context,
    Part,
    always_line,
    by_category,
    category_line,
    fenced,
    index_lines,
)
from holdfast.domain.entry import Entry
from holdfast.domain.file import FileIndex
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.space import Space, own_space
from holdfast.operations.authorize import Access, visible_to
from holdfast.operations.read import Listing, look_through
from holdfast.operations.read_log import CONTEXT
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.storage.sealed_store import Filter, OpenedRow

SPARE = 4
"""The multiple of the always-apply cap that is read of each space, to count what is left out."""
SCAN = 1_000
"""The newest notes, facts and files that are read, so that a context costs as much in a space of 100,000."""
_LISTED = frozenset({*SUMMARISED, Partition.FILES})


class _AlwaysEntry(NamedTuple):
    """An entry that always applies, its sort order, and its space unless that is the caller's own."""

    order: tuple[int, bool, tuple[str, ...], int]
    entry: Entry
    elsewhere: Space | None


def build_context(session: Session, budget: int) -> Context:
    """Builds the context. Refuses a role without the rule to read when it lists the caller's space."""
    found = _always(session), _index(session), _summary(session)
    return fenced([part for part, _ in found], sum(locked for _, locked in found), budget)


def _always(session: Session) -> tuple[Part, int]:
    """Entries that always apply in every space the caller may read, newest first. At one moment the caller's space
    comes first, then the others by name."""
    now, cap = session.clock(), session.limits.always_inject
    applied: list[_AlwaysEntry] = []
    locked, uncounted = 0, False
    for access in accessible(session, Op.READ, now):
        if access.space.stored:
            visible = visible_to(access, MODEL_VISIBLE, now)
            rows = session.sealed.store.entries.flagged(visible, cap * SPARE)
            heads = session.sealed.open_rows(visible, rows)
            applied += _applied(access, heads, now)
            locked += _unopened(access, heads)
            uncounted |= len(heads) == cap * SPARE
    applied.sort(key=attrgetter("order"))
    chosen = _shared_out(applied, cap)
    lines = [always_line(each.entry, each.elsewhere) for each in chosen]
    session.engine.reads.note(CONTEXT, session.principal, now, [each.entry for each in chosen])
    beyond = len(applied) - len(lines)
    return Part("Always apply:", "always-apply", "always-apply", lines, beyond, uncounted), locked


def _shared_out(applied: Sequence[_AlwaysEntry], cap: int) -> list[_AlwaysEntry]:
    """The newest, with at least half the cap for the caller's own entries and half for others'."""
    others = sum(each.elsewhere is not None for each in applied)
    own_quota = max(cap - cap // 2, cap - others)
    quota = {True: own_quota, False: cap - min(own_quota, len(applied) - others)}
    chosen: list[_AlwaysEntry] = []
    for each in applied:
        is_own = each.elsewhere is None
        if quota[is_own]:
            quota[is_own] -= 1
            chosen.append(each)
    return chosen


def _applied(access: Access, heads: Sequence[OpenedRow], now: int) -> list[_AlwaysEntry]:
    space, elsewhere = access.space, not _is_home(access)
    return [
        _AlwaysEntry(
            (-row.updated_us, elsewhere, space.name.parts(), -row.seq), entry, space if elsewhere else None
        )
        for row, entry in heads
        if entry is not None and entry.for_models and sees(access.caller, space, entry, now)
    ]


def _unopened(access: Access, heads: Sequence[OpenedRow]) -> int:
    """Counts locked rows. Those of the caller's notes, facts and files are counted where these are listed."""
    home = _is_home(access)
    return sum(entry is None and not (home and row.partition in _LISTED) for row, entry in heads)


def _index(session: Session) -> tuple[Part, int]:
    index = list_files(session)
    lines = index_lines(index.files)
    session.engine.reads.note(CONTEXT, session.principal, session.clock(), index.files[: len(lines)])
    beyond = len(index.files) - len(lines)
    return Part("Index of files:", "index line", "index lines", lines, beyond, index.more), index.locked


def list_files(session: Session, type: str | None = None) -> FileIndex:
    """The caller's newest files: MEMORY.md and the context show the same."""
    page = look_through(session, Listing((Partition.FILES,), matching=Filter(category=type), limit=SCAN))
    return FileIndex([entry for entry in page if entry.for_models], page.cursor is not None, page.locked)


def _summary(session: Session) -> tuple[Part, int]:
    """Counts and the newest keys, as my-memory has them, but of the newest entries alone."""
    page = look_through(session, Listing(SUMMARISED, limit=SCAN))
    more = page.cursor is not None
    categories = by_category((entry.category, entry.key) for entry in page if entry.for_models)
    lines = [category_line(category, at_least=more) for category in categories]
    heading = "Notes and facts by category, with the newest keys:"
    return Part(heading, "category", "categories", lines, uncounted=more), page.locked


def _is_home(access: Access) -> bool:
    return access.space.name == own_space(access.caller.principal)
