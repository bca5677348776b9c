"""Recall: the entries that answer a question, by words and by meaning, over every space the caller may search. Words
alone are always enough; what the embedder cannot give is said, never hidden behind an empty list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from holdfast.contracts.rows import SIGNALS_ONLY, ModelRow, Visible
from holdfast.crypto.blind import blind_label
from holdfast.domain.access import Op, sees
from holdfast.domain.entry import Entry
from holdfast.domain.limits import check_limit
from holdfast.domain.principal import Caller
from holdfast.operations.answers import Hit, Hits
from holdfast.operations.ask import Ask
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered, enter
from holdfast.operations.note_reads import RECALL
from holdfast.operations.resolve import visible_to
from holdfast.operations.spaces import enterable
from holdfast.search.analyser import analyse_chunk
from holdfast.search.fusion import Ranking, common_scale, fuse
from holdfast.search.question import Question, in_first_person, read_question
from holdfast.search.space import Bools, Floats, Ints
from holdfast.search.typos import certainty, corrections, may_be_a_typo
from holdfast.search.words import Postings, WordScores, rarities, read_postings, score_words
from holdfast.storage.view import View

SPARE = 10
"""Entries ranked beyond the limit, in case some went since."""
_AS_WRITTEN: Mapping[str, list[str]] = {}
WORD_POOL = 200
"""The best by words, whose cosine is exact in a large space too."""
KEPT_FROM = 256
"""In a space of this size what was derived is worth keeping."""
VOCABULARY = 2_000
VOCABULARY_CHARACTERS = 1_000_000
"""Entries whose words are looked through when those of a question stand nowhere, and how much text of theirs."""


@dataclass(frozen=True, slots=True)
class Searched:
    """One space of a recall: what the caller may see there, and how it was ranked."""

    entered: Entered
    visible: Visible
    view: View
    """Of what the caller may see: nothing else has a part in any score."""
    wanted: Bools | None
    """What the filters leave; None without filters."""
    postings: Postings | None = None
    words: WordScores | None = None
    ranking: Ranking | None = None


class Chosen(NamedTuple):
    """An entry of a searched space, by its place there and by its number."""

    searched: Searched
    place: int
    number: int
    score: float


def recall(engine: Engine, caller: Caller, ask: Ask) -> Hits:
    limit = check_limit(ask.limit, engine.limits.search_hits)
    now, serving = engine.clock(), engine.index.ready()
    entered = enter_all(engine, caller, ask, now)
    if not ask.query.strip():
        searched = open_all(engine, entered, ask, serving)
        hits = _shown(engine, newest(searched, limit + SPARE), limit, explain=False)
        return Hits(_noted(engine, caller, now, hits))
    ranked, degraded = _rank_ahead(engine, entered, ask, serving, limit) or rank(
        engine, open_all(engine, entered, ask, serving), ask.query, serving, limit
    )
    hits = _shown(engine, best(ranked, limit + SPARE), limit, explain=ask.explain)
    return Hits(_noted(engine, caller, now, hits), degraded)


def _noted(engine: Engine, caller: Caller, now: int, hits: list[Hit]) -> list[Hit]:
    engine.reads.note(RECALL, caller.principal, now, [hit.entry for hit in hits])
    return hits


def enter_all(engine: Engine, caller: Caller, ask: Ask, now: int) -> list[tuple[Entered, Visible]]:
    """The spaces that are named, or all that the caller may search, each with what may be seen of it."""
    if ask.spaces is None:
        found = enterable(engine, caller, Op.SEARCH, now)
        if not found:  # a role without the rule to read, or an agent whose memory is off, is told so
            enter(engine, caller, None, Op.SEARCH, now)
    else:
        found = [enter(engine, caller, ref, Op.SEARCH, now) for ref in ask.spaces]
    stored = {one.space.id: one for one in found if one.space.stored}.values()
    return [(each, visible_to(engine, each, ask.partitions, now)) for each in stored]


def open_all(
    engine: Engine, entered: Sequence[tuple[Entered, Visible]], ask: Ask, serving: ModelRow | None
) -> list[Searched]:
    """Each as it is committed now."""
    searched = []
    for each, visible in entered:
        view = engine.index.shown(visible, serving)
        searched.append(Searched(each, visible, view, _wanted(engine, view, visible, ask)))
    return searched


def _rank_ahead(
    engine: Engine,
    entered: Sequence[tuple[Entered, Visible]],
    ask: Ask,
    serving: ModelRow | None,
    limit: int,
) -> tuple[list[Searched], str | None] | None:
    """By what this process has opened of the spaces, while their counters are on the way: they say whether it still
    holds. None when it does not, when something is not opened yet, or where the counters are not far away."""
    ahead = engine.sealed.store.ahead
    if ahead is None or not entered or ask.tags or ask.category:
        return None
    searched = []
    for each, visible in entered:
        view = engine.index.opened(visible, serving)
        if view is None:
            return None
        searched.append(Searched(each, visible, view, _wanted(engine, view, visible, ask)))
    _keep_signals(engine, searched, serving)
    # Before anything is asked for: an embedder may be far away too, and no connection waits for it.
    vector, degraded = _vector(engine, searched, ask.query, serving)
    with ahead.of([each.view.space for each in searched]) as states:
        ranked = _rank_by(engine, searched, ask.query, vector, limit)
        return (ranked, degraded) if states() == [each.view.state for each in searched] else None


def rank(
    engine: Engine, searched: Sequence[Searched], text: str, serving: ModelRow | None, limit: int
) -> tuple[list[Searched], str | None]:
    """Every space ranked on one scale, and why words alone decided although an embedder is configured."""
    _keep_signals(engine, searched, serving)
    vector, degraded = _vector(engine, searched, text, serving)
    return _rank_by(engine, searched, text, vector, limit), degraded


def _rank_by(
    engine: Engine, searched: Sequence[Searched], text: str, vector: Floats | None, limit: int
) -> list[Searched]:
    question = read_question(text)
    ranked = _ranked(engine, searched, question, vector, limit)
    if not any(each.words is not None and each.words.top for each in ranked):
        # Words that nobody wrote: a vector has neighbours even so, but not the ones that were meant.
        spellings = _spellings(engine, ranked, question)
        if spellings:
            ranked = _ranked(engine, searched, question, vector, limit, spellings)
    return ranked


def _ranked(
    engine: Engine,
    searched: Sequence[Searched],
    question: Question,
    vector: Floats | None,
    limit: int,
    spellings: Mapping[str, list[str]] = _AS_WRITTEN,
) -> list[Searched]:
    postings = [_postings(engine, each.view, question, spellings) for each in searched]
    rarity = rarities([(each.view.prepared, own) for each, own in zip(searched, postings, strict=True)])
    words = [
        _words(each, score_words(each.view.prepared, own, rarity), certainty(spellings))
        for each, own in zip(searched, postings, strict=True)
    ]
    cosines = [
        None if vector is None else _cosines(engine, each, vector, own)
        for each, own in zip(searched, words, strict=True)
    ]
    scale = common_scale(words, cosines)
    return [
        replace(
            each,
            postings=own,
            words=score,
            ranking=fuse(each.view.prepared, question, own, score, cosine, scale, limit + SPARE, each.wanted),
        )
        for each, own, score, cosine in zip(searched, postings, words, cosines, strict=True)
    ]


def _postings(engine: Engine, view: View, question: Question, spellings: Mapping[str, list[str]]) -> Postings:
    """Where each term of the question stands, or the words that it is a slip for."""
    meant = [
        (number, one) for number, term in enumerate(question.terms) for one in spellings.get(term, [term])
    ]
    found = engine.index.views.occurrences(view, [one for _, one in meant])
    if spellings:
        found = found.counted_as([number for number, _ in meant])
    return read_postings(view.prepared, question, found)


def _words(each: Searched, scores: WordScores, share: float) -> WordScores:
    """What of the scores counts: the filters' choice, and less where words were guessed."""
    if each.wanted is None and share == 1.0:
        return scores
    counts = 1.0 if each.wanted is None else each.wanted
    return replace(scores, score=scores.score * (counts * np.float32(share)))


def _cosines(engine: Engine, each: Searched, vector: Floats, words: WordScores) -> Floats:
    """What words put first is never judged by a guess at its meaning."""
    sure = words.best(WORD_POOL) if each.view.matrix.coded else None
    cosines = engine.index.views.cosines(each.view, vector, sure)
    return cosines if each.wanted is None else cosines * each.wanted


def _wanted(engine: Engine, view: View, visible: Visible, ask: Ask) -> Bools | None:
    """What the filters leave, before any limit."""
    masks = []
    if ask.since_us is not None or ask.until_us is not None:
        masks.append(view.during(ask.since_us, ask.until_us))
    category = [("category", ask.category)] if ask.category else []
    for kind, value in [*category, *(("tag", tag) for tag in ask.tags)]:
        labels = [
            blind_label(key, room, kind, value)
            for key in engine.sealed.keyring.of(view.space).all()
            for room in visible.partitions
        ]
        masks.append(engine.index.views.labelled(view, labels))
    return np.logical_and.reduce(masks) if masks else None


def _vector(
    engine: Engine, searched: Sequence[Searched], text: str, serving: ModelRow | None
) -> tuple[Floats | None, str | None]:
    if not any(len(each.view) for each in searched) or not engine.index.embeds:
        return None, None
    named = {
        name
        for each in searched
        if (people := each.view.prepared.people_named(text))
        for name in each.view.spoke(people)
    }
    # An embedder may be somebody else's: it is told no secret of a question, as it is told none of a note.
    return engine.index.query_vector(in_first_person(engine.scrub(text).text, named), serving)


def _keep_signals(engine: Engine, searched: Sequence[Searched], serving: ModelRow | None) -> None:
    """Without a model nothing else would keep what was just read from every entry."""
    for each in searched:
        if serving is None and len(each.view) >= KEPT_FROM:
            progress = engine.sealed.store.derived.progress(SIGNALS_ONLY, each.view.space)
            if each.view.state.seq > progress + KEPT_FROM:
                engine.index.asked.add(each.view.space)
                engine.index.wake()


def _spellings(engine: Engine, ranked: Sequence[Searched], question: Question) -> dict[str, list[str]]:
    """For words that stand nowhere the near ones that the newest entries hold."""
    known = {
        term
        for each in ranked
        if each.postings is not None
        for term, there in zip(question.terms, each.postings.terms, strict=True)
        if there.holders
    }
    unknown = [term for term in question.terms if term not in known and may_be_a_typo(term)]
    return corrections(unknown, _vocabulary(engine, ranked)) if unknown else {}


def _vocabulary(engine: Engine, searched: Sequence[Searched]) -> set[str]:
    runs: set[str] = set()
    for each in searched:
        for entry in open_shown(engine, each, _read_quickly(each.view, len(searched))):
            if entry.content.is_text:
                for part in (entry.text, entry.hint, entry.key, *entry.tags):
                    runs.update(part.split())
    return {term for run in runs for term in analyse_chunk(run)}


def _read_quickly(view: View, spaces: int) -> list[int]:
    """The newest entries of one of so many spaces: a question that finds nothing should not take seconds for it."""
    some = slice(-max(1, VOCABULARY // spaces), None)
    numbers, sizes = view.columns.numbers[some][::-1], view.columns.characters[some][::-1]
    before = np.cumsum(sizes, dtype=np.int64) - sizes
    return [int(number) for number in numbers[before < VOCABULARY_CHARACTERS // spaces]]


def open_shown(engine: Engine, each: Searched, numbers: Sequence[int]) -> list[Entry]:
    """The entries with these numbers that the caller may see now, in no stated order."""
    rows = engine.sealed.store.entries.shown(each.visible, numbers)
    entries = (head.entry for head in engine.sealed.heads(each.visible, rows))
    return [
        entry
        for entry in entries
        if entry is not None and sees(each.entered.caller, each.entered.space, entry, each.visible.now)
    ]


def best(searched: Sequence[Searched], count: int) -> list[Chosen]:
    """The best entries of all spaces with their places and scores; ties go to the newer."""
    found: list[tuple[float, int, int, Chosen]] = []
    for each in searched:
        if each.ranking is None or not each.ranking.order:
            continue
        order, columns = np.array(each.ranking.order), each.view.columns
        scores, changed = each.ranking.scores[order].tolist(), columns.updated[order].tolist()
        for place, number, score, updated in zip(
            each.ranking.order, columns.numbers[order].tolist(), scores, changed, strict=True
        ):
            found.append((-score, -updated, -place, Chosen(each, place, number, score)))
    found.sort(key=itemgetter(0, 1, 2))
    return [chosen for _, _, _, chosen in found[:count]]


def newest(searched: Sequence[Searched], count: int) -> list[Chosen]:
    """An empty question asks for what changed last."""
    found = [
        (int(each.view.columns.updated[place]), place, each)
        for each in searched
        for place in _places(each)[-count:].tolist()
    ]
    found.sort(key=itemgetter(0, 1), reverse=True)
    return [
        Chosen(each, place, int(each.view.columns.numbers[place]), 0.0) for _, place, each in found[:count]
    ]


def _places(each: Searched) -> Ints:
    everything = np.arange(len(each.view), dtype=np.int32)
    return everything if each.wanted is None else everything[each.wanted]


def _shown(engine: Engine, chosen: Sequence[Chosen], limit: int, *, explain: bool) -> list[Hit]:
    """Each is read again as the store has it now: what went or changed hands meanwhile is not shown, and one of the
    spare ones takes its place."""
    hits: list[Hit] = []
    start = 0
    while len(hits) < limit and start < len(chosen):
        some = chosen[start : start + limit - len(hits)]
        start += len(some)
        hits += _read_again(engine, some, explain=explain)
    return hits


def _read_again(engine: Engine, chosen: Sequence[Chosen], *, explain: bool) -> list[Hit]:
    numbers: dict[int, tuple[Searched, list[int]]] = {}
    for one in chosen:
        numbers.setdefault(id(one.searched), (one.searched, []))[1].append(one.number)
    entries = {
        (searched, entry.number): entry
        for searched, (each, wanted) in numbers.items()
        for entry in open_shown(engine, each, wanted)
        if not (entry.encrypted or entry.quarantined)
    }
    hits: list[Hit] = []
    for each, place, number, score in chosen:
        entry = entries.get((id(each), number))
        if entry is not None:
            why = each.ranking.explain(place) if explain and each.ranking else None
            hits.append(Hit(entry, score, why))
    return hits
