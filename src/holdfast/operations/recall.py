"""Recalls the entries that answer a question, by words and by meaning, from every space the caller may search. Explains
why an entry was not among them, and lists entries that say nearly the same as another one. Words alone are always
enough; a missing vector is reported, never hidden behind an empty list."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import ModelRow, Visible
from holdfast.domain.access import Level, Op, sees
from holdfast.domain.entry import Content, Entry
from holdfast.domain.errors import AccessDenied, NotFound
from holdfast.domain.limits import check_limit
from holdfast.operations.authorize import (
    Access,
    EntryName,
    authorize,
    find_ref,
    look_up,
    opened,
    try_authorize,
    visible_to,
)
from holdfast.operations.engine import Engine
from holdfast.operations.notes import Note
from holdfast.operations.read import Ask
from holdfast.operations.read_log import RECALL, SIMILAR
from holdfast.operations.results import Hit, Hits, Similar, WhyNot
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.recall.ranker import (
    Candidate,
    Placement,
    RankedGroup,
    SearchedSpace,
    best_candidates,
    filter_mask,
    near_entries,
    newest_candidates,
    open_shown,
    placement,
    rank,
    rank_ahead,
    rank_among,
)
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.storage.row_codec import whole_namespace
from holdfast.text.duplicates import Verdict, compare

ALL_RANKED = 1_000_000
_UNSEEN = "There is no such entry, it lies in the trash or was removed, or you may not see it."
_EXPIRED = "Its time to live is over; the next sweep removes it."
_BEFORE_ALL_TIME = -1
SHOWN = 5
"""Similar entries that are listed."""
SPARE = 10
"""Entries ranked beyond the limit, in case some went since."""


def recall(session: Session, ask: Ask, most: int | None = None) -> Hits:
    """`most` replaces the cap on hits, for callers that choose among them further."""
    limit = check_limit(ask.limit, most or session.limits.search_hits)
    now, serving = session.clock(), session.engine.index.ready()
    spaces = authorize_all(session, ask, now)
    degraded = None
    if ask.query.strip():
        ranked, degraded = _rank_ahead(session.engine, spaces, ask, serving, limit + SPARE) or rank(
            session.engine.index,
            open_all(session.engine, spaces, ask, serving),
            ask.query,
            serving,
            limit + SPARE,
        )
        candidates = best_candidates(ranked, limit + SPARE)
    else:
        candidates = newest_candidates(open_all(session.engine, spaces, ask, serving), limit + SPARE)
    hits = _shown(session.engine, candidates, limit, explain=ask.explain)
    session.engine.reads.note(RECALL, session.principal, now, [hit.entry for hit in hits])
    return Hits(hits, degraded)


def authorize_all(session: Session, ask: Ask, now: int) -> list[tuple[Access, Visible]]:
    """The named spaces, or all that the caller may search, each with what may be seen of it. A question that only
    lists entries needs leave to read: a caller who may only search learns what answers, not what is stored."""
    op = Op.READ if ask.lists else Op.SEARCH
    if ask.spaces is None:
        found = accessible(session, op, now)
        if not found:  # raises for a role that may not read and for an agent whose memory is off
            authorize(session, None, op, now)
    else:
        found = [authorize(session, ref, op, now) for ref in ask.spaces]
    stored = {one.space.id: one for one in found if one.space.stored}.values()
    return [(each, visible_to(each, ask.partitions, now)) for each in stored]


def open_all(
    engine: Engine, spaces: Sequence[tuple[Access, Visible]], ask: Ask, serving: ModelRow | None
) -> list[SearchedSpace]:
    """Snapshots of the spaces as committed now."""
    return _searched(
        engine, spaces, ask, engine.index.snapshots.all_shown([visible for _, visible in spaces], serving)
    )


def _searched(
    engine: Engine, spaces: Sequence[tuple[Access, Visible]], ask: Ask, snapshots: Sequence[SpaceSnapshot]
) -> list[SearchedSpace]:
    category = [("category", ask.category)] if ask.category else []
    namespace = [("prefix", whole_namespace(ask.namespace))] if ask.namespace else []
    labels = [*category, *namespace, *(("tag", tag) for tag in ask.tags)]
    return [
        SearchedSpace(
            access.caller,
            access.space,
            visible,
            snapshot,
            filter_mask(engine.index, snapshot, visible, labels, ask.since_us, ask.until_us),
            number,
        )
        for number, ((access, visible), snapshot) in enumerate(zip(spaces, snapshots, strict=True))
    ]


def _rank_ahead(
    engine: Engine,
    spaces: Sequence[tuple[Access, Visible]],
    ask: Ask,
    serving: ModelRow | None,
    limit: int,
) -> tuple[list[RankedGroup], str | None] | None:
    """Ranks the snapshots this process has while the store reads the spaces' counters. None when one is missing or
    stale, where labels must be looked up, and where the counters are near."""
    ahead = engine.sealed.store.ahead
    if ahead is None or not spaces or ask.tags or ask.category or ask.namespace:
        return None
    snapshots = []
    for _, visible in spaces:
        snapshot = engine.index.snapshots.opened(visible, serving)
        if snapshot is None:
            return None
        snapshots.append(snapshot)
    searched = _searched(engine, spaces, ask, snapshots)
    return rank_ahead(engine.index, ahead, searched, ask.query, serving, limit)


def _shown(engine: Engine, candidates: Sequence[Candidate], limit: int, *, explain: bool) -> list[Hit]:
    """Reads each candidate again as the store has it now. A spare one takes the place of one that went meanwhile."""
    hits: list[Hit] = []
    start = 0
    while len(hits) < limit and start < len(candidates):
        some = candidates[start : start + limit - len(hits)]
        start += len(some)
        hits += _read_again(engine, some, explain=explain)
    return hits


def _read_again(engine: Engine, candidates: Sequence[Candidate], *, explain: bool) -> list[Hit]:
    numbers: dict[int, tuple[SearchedSpace, list[int]]] = {}
    for one in candidates:
        numbers.setdefault(id(one.searched), (one.searched, []))[1].append(one.number)
    entries = {
        (searched, entry.number): entry
        for searched, (each, among) in numbers.items()
        for entry in open_shown(engine.sealed, each, among)
        if not (entry.encrypted or entry.quarantined)
    }
    hits: list[Hit] = []
    for one in candidates:
        entry = entries.get((id(one.searched), one.number))
        if entry is not None:
            hits.append(Hit(entry, one.score, one.explain() if explain else None))
    return hits


def why_not(session: Session, ask: Ask, id: str | UUID) -> WhyNot:
    """The first stage that dropped the entry. A missing entry and one the caller may not see both end at `identity`."""
    limit, now = check_limit(ask.limit, session.limits.search_hits), session.clock()
    try:
        ref = find_ref(session, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
        entry = opened(look_up(ref))
    except (NotFound, AccessDenied):
        return (
            WhyNot("expiry", _EXPIRED) if _has_expired(session, ask, id, now) else WhyNot("identity", _UNSEEN)
        )
    serving = session.engine.index.ready()
    searched = open_all(session.engine, authorize_all(session, ask, now), ask, serving)
    here = next((each for each in searched if each.snapshot.space == entry.space), None)
    if here is None:
        return WhyNot("grant", "Its space was not among those searched; name it in `spaces`.")
    position = here.snapshot.position(entry.number)
    if position is None:
        return _held_back(entry)
    if here.mask is not None and not here.mask[position]:
        return WhyNot("filter", "The category, tags, dates or namespace asked for leave it out.")
    if ask.query.strip():
        ranked, _ = rank(session.engine.index, searched, ask.query, serving, ALL_RANKED)
        answer = _by_rank(placement(ranked, here, position, ALL_RANKED), limit)
    else:
        rank_by_age = rank_among(newest_candidates(searched, ALL_RANKED), here, position)
        answer = WhyNot("shown", "It is among the newest.", rank=rank_by_age)
        if rank_by_age > limit:
            reason = f"{rank_by_age - 1} entries changed after it; the limit is {limit}."
            answer = WhyNot("limit", reason, rank=rank_by_age)
    if ref.access.level is Level.SEARCH and answer.stage != "shown":
        # Ranks count other entries, and a caller who may only search learns no counts.
        return WhyNot(answer.stage, "Others answer the question better.")
    return answer


def _has_expired(session: Session, ask: Ask, id: str | UUID, now: int) -> bool:
    """Says if the caller could see the entry until it expired."""
    try:
        ref = find_ref(session, EntryName(id=id, partitions=ask.partitions), Op.SEARCH, now)
    except (NotFound, AccessDenied):
        return False
    if ref.number is None or not ref.access.space.stored:
        return False
    head = session.sealed.by_number(ref.visible._replace(now=_BEFORE_ALL_TIME), ref.number)
    entry = None if head is None else head.entry
    return (
        entry is not None
        and entry.expires_us is not None
        and entry.expires_us <= now
        and sees(session.caller, ref.access.space, entry, _BEFORE_ALL_TIME)
    )


def _held_back(entry: Entry) -> WhyNot:
    if entry.encrypted:
        return WhyNot("filter", "It was encrypted by its client and cannot be searched.")
    if entry.quarantined:
        return WhyNot("filter", "It is quarantined until a person approves it.")
    return WhyNot("word rank", "It holds no word that could be found.")


def _by_rank(ranks: Placement, limit: int) -> WhyNot:
    words, near, final = ranks.word_rank, ranks.vector_rank, ranks.rank
    if final is None:
        stage, reason = "word rank", "No word of the question is in it, nor in the notes beside it."
        if near is not None:
            stage = "vector rank"
            reason = f"No word of the question is in it, and {near - 1} entries are nearer in meaning."
    elif final <= limit:
        stage, reason = "shown", "It is among the hits."
    elif (alone := min(rank for rank in (words, near, ALL_RANKED) if rank is not None)) <= limit:
        stage = "fusion"
        reason = f"Words or meaning alone put it at {alone}, both together at {final}; the limit is {limit}."
    else:
        stage, reason = "limit", f"It stands at {final}; the limit is {limit}."
    return WhyNot(stage, reason, words, near, final, ranks.score)


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
        if not other.content.is_text or other.content.namespace != content.namespace:
            continue  # it changed a moment ago
        likeness = compare(content.text, other.text, near[other.number])
        if likeness.verdict is not Verdict.DIFFERENT:
            found.append(Similar(other, likeness.verdict.value, likeness.jaccard, likeness.guard))
    return sorted(found, key=lambda one: (-one.jaccard, -one.entry.updated_us))


def _note_reading(session: Session, visible: Visible, found: list[Similar]) -> None:
    session.engine.reads.note(SIMILAR, session.principal, visible.now, [one.entry for one in found])
