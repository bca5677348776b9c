"""Recall: the entries that answer a question, by words and by meaning, over every space the caller may search. Words
alone are always enough; what the embedder cannot give is said, never hidden behind an empty list."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from holdfast.contracts.rows import ModelRow, Visible
from holdfast.crypto.blind import blind_label
from holdfast.crypto.keys import DataKey
from holdfast.domain.access import Op
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller
from holdfast.operations.ask import Ask
from holdfast.operations.authorize import Access, enter, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.rank import (
    Candidate,
    RankedGroup,
    SearchedSpace,
    best,
    keep_features,
    open_shown,
    question_vector,
    rank,
    rank_by,
)
from holdfast.operations.read_log import RECALL
from holdfast.operations.results import Hit, Hits
from holdfast.operations.spaces import enterable
from holdfast.recall.arrays import Bools, Ints
from holdfast.recall.fusion import Explanation
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.storage.row_codec import whole_namespace

SPARE = 10
"""Entries ranked beyond the limit, in case some went since."""


def recall(engine: Engine, caller: Caller, ask: Ask, most: int | None = None) -> Hits:
    """`most` takes the place of the cap on hits, for whoever goes on choosing among them."""
    limit = check_limit(ask.limit, most or engine.limits.search_hits)
    now, serving = engine.clock(), engine.index.ready()
    entered = enter_all(engine, caller, ask, now)
    if not ask.query.strip():
        searched = open_all(engine, entered, ask, serving)
        hits = _shown(engine, newest(searched, limit + SPARE), limit, explain=False)
        return Hits(_noted(engine, caller, now, hits))
    ranked, degraded = _rank_ahead(engine, entered, ask, serving, limit + SPARE) or rank(
        engine, open_all(engine, entered, ask, serving), ask.query, serving, limit + SPARE
    )
    hits = _shown(engine, best(ranked, limit + SPARE), limit, explain=ask.explain)
    return Hits(_noted(engine, caller, now, hits), degraded)


def _noted(engine: Engine, caller: Caller, now: int, hits: list[Hit]) -> list[Hit]:
    engine.reads.note(RECALL, caller.principal, now, [hit.entry for hit in hits])
    return hits


def enter_all(engine: Engine, caller: Caller, ask: Ask, now: int) -> list[tuple[Access, Visible]]:
    """The spaces that are named, or all that the caller may search, each with what may be seen of it. Who may only
    search is shown what answers a question, never what is there."""
    op = Op.READ if ask.lists else Op.SEARCH
    if ask.spaces is None:
        found = enterable(engine, caller, op, now)
        if not found:  # a role without the rule to read, or an agent whose memory is off, is told so
            enter(engine, caller, None, op, now)
    else:
        found = [enter(engine, caller, ref, op, now) for ref in ask.spaces]
    stored = {one.space.id: one for one in found if one.space.stored}.values()
    return [(each, visible_to(engine, each, ask.partitions, now)) for each in stored]


def open_all(
    engine: Engine, entered: Sequence[tuple[Access, Visible]], ask: Ask, serving: ModelRow | None
) -> list[SearchedSpace]:
    """Each as it is committed now."""
    views = engine.index.all_shown([visible for _, visible in entered], serving)
    return [
        SearchedSpace(each, visible, view, _wanted(engine, view, visible, ask), turn)
        for turn, ((each, visible), view) in enumerate(zip(entered, views, strict=True))
    ]


def _rank_ahead(
    engine: Engine,
    entered: Sequence[tuple[Access, Visible]],
    ask: Ask,
    serving: ModelRow | None,
    limit: int,
) -> tuple[list[RankedGroup], str | None] | None:
    """By what this process has opened of the spaces, while their counters are on the way: they say whether it still
    holds. None when it does not, when something is not opened yet, or where the counters are not far away."""
    ahead = engine.sealed.store.ahead
    if ahead is None or not entered or ask.tags or ask.category or ask.namespace:
        return None
    searched = []
    for turn, (each, visible) in enumerate(entered):
        view = engine.index.opened(visible, serving)
        if view is None:
            return None
        searched.append(SearchedSpace(each, visible, view, _wanted(engine, view, visible, ask), turn))
    keep_features(engine, searched, serving)
    # Before anything is asked for: an embedder may be far away too, and no connection waits for it.
    vector, degraded = question_vector(engine, searched, ask.query, serving)
    with ahead.of([each.view.space for each in searched]) as states:
        ranked = rank_by(engine, searched, ask.query, vector, limit)
        return (ranked, degraded) if states() == [each.view.state for each in searched] else None


def _wanted(engine: Engine, view: SpaceSnapshot, visible: Visible, ask: Ask) -> Bools | None:
    """What the filters leave, before any limit."""
    masks = []
    if ask.since_us is not None or ask.until_us is not None:
        masks.append(view.during(ask.since_us, ask.until_us))
    category = [("category", ask.category)] if ask.category else []
    namespace = [("prefix", whole_namespace(ask.namespace))] if ask.namespace else []
    for kind, value in [*category, *namespace, *(("tag", tag) for tag in ask.tags)]:
        masks.append(_labelled(engine, view, visible, kind, value))
    return np.logical_and.reduce(masks) if masks else None


def _labelled(engine: Engine, view: SpaceSnapshot, visible: Visible, kind: str, value: str) -> Bools:
    def read(keys: list[DataKey]) -> Bools:
        labels = [blind_label(key, room, kind, value) for key in keys for room in visible.partitions]
        return engine.index.views.labelled(view, labels)

    return engine.sealed.under_every_key(view.space, read)


def newest(searched: Sequence[SearchedSpace], count: int) -> list[Candidate]:
    """An empty question asks for what changed last."""
    found = [
        (int(each.view.columns.updated[place]), place, each)
        for each in searched
        for place in _places(each)[-count:].tolist()
    ]
    found.sort(key=itemgetter(0, 1), reverse=True)
    return [
        Candidate(each, place, int(each.view.columns.numbers[place]), 0.0) for _, place, each in found[:count]
    ]


def _places(each: SearchedSpace) -> Ints:
    everything = np.arange(len(each.view), dtype=np.int32)
    return everything if each.wanted is None else everything[each.wanted]


def _shown(engine: Engine, chosen: Sequence[Candidate], limit: int, *, explain: bool) -> list[Hit]:
    """Each is read again as the store has it now: what went or changed hands meanwhile is not shown, and one of the
    spare ones takes its place."""
    hits: list[Hit] = []
    start = 0
    while len(hits) < limit and start < len(chosen):
        some = chosen[start : start + limit - len(hits)]
        start += len(some)
        hits += _read_again(engine, some, explain=explain)
    return hits


def _read_again(engine: Engine, chosen: Sequence[Candidate], *, explain: bool) -> list[Hit]:
    numbers: dict[int, tuple[SearchedSpace, list[int]]] = {}
    for one in chosen:
        numbers.setdefault(id(one.searched), (one.searched, []))[1].append(one.number)
    entries = {
        (searched, entry.number): entry
        for searched, (each, wanted) in numbers.items()
        for entry in open_shown(engine, each, wanted)
        if not (entry.encrypted or entry.quarantined)
    }
    hits: list[Hit] = []
    for one in chosen:
        entry = entries.get((id(one.searched), one.number))
        if entry is not None:
            hits.append(Hit(entry, one.score, _explained(one) if explain else None))
    return hits


def _explained(chosen: Candidate) -> Explanation | None:
    among = chosen.among
    at = None if among is None else among.group.place_of(chosen.searched, chosen.place)
    return None if among is None or at is None else among.ranking.explain(at)
