"""Lists the entries that say nearly the same as another one. Nothing is merged here: the caller decides."""

from __future__ import annotations

from holdfast.contracts.rows import Visible
from holdfast.domain.access import Op
from holdfast.domain.entry import Content
from holdfast.domain.limits import check_limit
from holdfast.operations.authorize import (
    Access,
    EntryName,
    find_ref,
    look_up,
    opened,
    try_authorize,
    visible_to,
)
from holdfast.operations.notes import Note
from holdfast.operations.read_log import SIMILAR
from holdfast.operations.results import Similar
from holdfast.operations.session import Session
from holdfast.recall.ranker import SearchedSpace, open_shown
from holdfast.recall.similar import near_entries
from holdfast.text.duplicates import Verdict, compare

SHOWN = 5


def similar(session: Session, name: EntryName, limit: int = SHOWN) -> list[Similar]:
    """Nearest first, in the entry's own partition and space; never the entry itself."""
    limit = check_limit(limit, session.limits.search_hits)
    ref = find_ref(session, name, Op.READ, session.clock())
    entry = opened(look_up(ref))
    if entry.encrypted or not entry.content.is_text:
        return []
    visible = ref.visible._replace(partitions=(entry.partition,))
    found = _compared(ref.access, visible, entry.content, entry.number)[:limit]
    _note_reading(session, visible, found)
    return found


def similar_to_note(note: Note, now: int) -> list[Similar]:
    """Entries near a note that is about to be written, found by its words: it has no vector yet."""
    access, content = note.access, note.content
    if note.words is None or not content.is_text or not access.space.stored:
        return []
    if try_authorize(access.session, access.space, Op.READ, now) is None:
        return []
    visible = visible_to(access, (note.profile.partition,), now)
    superseded = None if note.supersedes is None else note.supersedes.ref.number
    own_name = access.caller.principal, content.namespace, content.key
    found = [
        one
        for one in _compared(access, visible, content, None)
        if one.entry.number != superseded
        and (one.entry.owner, one.entry.content.namespace, one.entry.key) != own_name
    ][:SHOWN]
    _note_reading(access.session, visible, found)
    return found


def _compared(access: Access, visible: Visible, content: Content, number: int | None) -> list[Similar]:
    engine = access.session.engine
    snapshot = engine.index.snapshots.shown(visible, engine.index.serving())
    near = near_entries(engine.index, snapshot, content, number)
    searched = SearchedSpace(access.caller, access.space, visible, snapshot, None)
    found = []
    for other in open_shown(engine.sealed, searched, list(near)):
        if not other.content.is_text:
            continue  # it changed a moment ago
        likeness = compare(content.text, other.text, near[other.number])
        if likeness.verdict is not Verdict.DIFFERENT:
            found.append(Similar(other, likeness.verdict.value, likeness.jaccard, likeness.guard))
    return sorted(found, key=lambda one: (-one.jaccard, -one.entry.updated_us))


def _note_reading(session: Session, visible: Visible, found: list[Similar]) -> None:
    session.engine.reads.note(SIMILAR, session.principal, visible.now, [one.entry for one in found])
