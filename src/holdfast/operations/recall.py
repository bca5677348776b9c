"""Recalls the entries that answer a question, by words and by meaning, from every space the caller may search. Words
alone are always enough; a missing vector is reported, never hidden behind an empty list."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.contracts.rows import ModelRow, Visible
from holdfast.domain.access import Op
from holdfast.domain.limits import check_limit
from holdfast.operations.ask import Ask
from holdfast.operations.authorize import Access, authorize, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.read_log import RECALL
from holdfast.operations.results import Hit, Hits
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.recall.ranker import (
    Candidate,
    RankedGroup,
    SearchedSpace,
    best_candidates,
    filter_mask,
    newest_candidates,
    open_shown,
    rank,
    rank_ahead,
)
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.storage.row_codec import whole_namespace

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
