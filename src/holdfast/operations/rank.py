"""How the searched spaces are ranked, all on one scale. Many small ones are joined and ranked in one go: what each of
them costs by itself would be most of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from holdfast.contracts.rows import FEATURES_ONLY, ModelRow, Visible
from holdfast.domain.access import sees
from holdfast.domain.entry import Entry
from holdfast.operations.authorize import Access
from holdfast.operations.engine import Engine
from holdfast.recall.arrays import Bools, Floats, RankingArrays
from holdfast.recall.bm25 import Postings, WordScores, rarities, read_postings, score_words
from holdfast.recall.fusion import Ranking, common_scale, fuse
from holdfast.recall.joined import JoinedSnapshot
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.text.analyser import analyse_chunk
from holdfast.text.question import Question, in_first_person, read_question
from holdfast.text.typos import certainty, corrections, may_be_a_typo

_AS_WRITTEN: Mapping[str, list[str]] = {}
WORD_POOL = 200
"""The best by words, whose cosine is exact in a large space too."""
KEPT_FROM = 256
"""In a space of this size what was derived is worth keeping."""
VOCABULARY = 2_000
VOCABULARY_CHARACTERS = 1_000_000
"""Entries whose words are looked through when those of a question stand nowhere, and how much text of theirs."""
JOINED_FROM = 4
"""So many small spaces are joined."""
SMALL = 1_024
JOINED = 8_192
"""Chunks of a small space, and of all that are joined."""


@dataclass(frozen=True, slots=True)
class SearchedSpace:
    """One space of a recall, and what the caller may see there."""

    entered: Access
    visible: Visible
    view: SpaceSnapshot
    """Of what the caller may see: nothing else has a part in any score."""
    wanted: Bools | None
    """What the filters leave; None without filters."""
    turn: int = 0
    """Which of the searched spaces it is: the earlier comes first where nothing else tells two entries apart."""


@dataclass(frozen=True, slots=True)
class SearchGroup:
    """A space by itself, or several joined ones."""

    searched: Sequence[SearchedSpace]
    joint: JoinedSnapshot | None

    @property
    def prepared(self) -> RankingArrays:
        return self.searched[0].view.prepared if self.joint is None else self.joint.prepared

    @property
    def wanted(self) -> Bools | None:
        wanted = [each.wanted for each in self.searched if each.wanted is not None]
        return np.concatenate(wanted) if len(wanted) > 1 else wanted[0] if wanted else None

    def place_of(self, searched: SearchedSpace, place: int) -> int | None:
        """Where an entry of one of the spaces stands among all of the group."""
        for at, each in enumerate(self.searched):
            if each is searched:
                return place if self.joint is None else self.joint.starts[at] + place
        return None


@dataclass(frozen=True, slots=True)
class RankedGroup:
    group: SearchGroup
    postings: Postings
    words: WordScores
    ranking: Ranking


class Candidate(NamedTuple):
    """An entry of a searched space, by its place there and by its number."""

    searched: SearchedSpace
    place: int
    number: int
    score: float
    among: RankedGroup | None = None


def rank(
    engine: Engine, searched: Sequence[SearchedSpace], text: str, serving: ModelRow | None, limit: int
) -> tuple[list[RankedGroup], str | None]:
    """At least `limit` of all spaces on one scale, and why words alone decided although an embedder is configured."""
    keep_features(engine, searched, serving)
    vector, degraded = question_vector(engine, searched, text, serving)
    return rank_by(engine, searched, text, vector, limit), degraded


def rank_by(
    engine: Engine, searched: Sequence[SearchedSpace], text: str, vector: Floats | None, limit: int
) -> list[RankedGroup]:
    question, groups = read_question(text), _groups(engine, searched)
    ranked = _ranked(engine, groups, question, vector, limit)
    if not any(each.words.top for each in ranked):
        # Words that nobody wrote: a vector has neighbours even so, but not the ones that were meant.
        spellings = _spellings(engine, ranked, question)
        if spellings:
            ranked = _ranked(engine, groups, question, vector, limit, spellings)
    return ranked


def _groups(engine: Engine, searched: Sequence[SearchedSpace]) -> list[SearchGroup]:
    if len(searched) < JOINED_FROM:
        return [SearchGroup([each], None) for each in searched]
    groups: list[SearchGroup] = []
    together: list[SearchedSpace] = []
    chunks = 0
    for each in searched:
        more = len(each.view.prepared.space.unit_entry)
        if more > SMALL or each.view.matrix.coded or each.view.compared_there:
            groups.append(SearchGroup([each], None))
            continue
        if chunks + more > JOINED:
            groups.append(_joined(engine, together))
            together, chunks = [], 0
        together.append(each)
        chunks += more
    return [*groups, _joined(engine, together)] if together else groups


def _joined(engine: Engine, searched: Sequence[SearchedSpace]) -> SearchGroup:
    if len(searched) == 1:
        return SearchGroup(searched, None)
    return SearchGroup(searched, engine.index.views.joint([each.view for each in searched]))


def _ranked(
    engine: Engine,
    groups: Sequence[SearchGroup],
    question: Question,
    vector: Floats | None,
    limit: int,
    spellings: Mapping[str, list[str]] = _AS_WRITTEN,
) -> list[RankedGroup]:
    postings = [_postings(engine, each, question, spellings) for each in groups]
    rarity = rarities([(each.prepared, own) for each, own in zip(groups, postings, strict=True)])
    words = [
        _words(each, score_words(each.prepared, own, rarity), certainty(spellings))
        for each, own in zip(groups, postings, strict=True)
    ]
    cosines = [
        None if vector is None else _cosines(engine, each, vector, own)
        for each, own in zip(groups, words, strict=True)
    ]
    scale = common_scale(words, cosines)
    return [
        RankedGroup(
            each, own, score, fuse(each.prepared, question, own, score, cosine, scale, limit, each.wanted)
        )
        for each, own, score, cosine in zip(groups, postings, words, cosines, strict=True)
    ]


def _postings(
    engine: Engine, group: SearchGroup, question: Question, spellings: Mapping[str, list[str]]
) -> Postings:
    """Where each term of the question stands, or the words that it is a slip for."""
    meant = [
        (number, one) for number, term in enumerate(question.terms) for one in spellings.get(term, [term])
    ]
    terms, views = [one for _, one in meant], [each.view for each in group.searched]
    if group.joint is None:
        found = engine.index.views.occurrences(views[0], terms)
    else:
        found = engine.index.views.joint_occurrences(group.joint, views, terms)
    if spellings:
        found = found.counted_as([number for number, _ in meant])
    return read_postings(group.prepared, question, found)


def _words(group: SearchGroup, scores: WordScores, share: float) -> WordScores:
    """What of the scores counts: the filters' choice, and less where words were guessed."""
    wanted = group.wanted
    if wanted is None and share == 1.0:
        return scores
    counts = 1.0 if wanted is None else wanted
    return replace(scores, score=scores.score * (counts * np.float32(share)))


def _cosines(engine: Engine, group: SearchGroup, vector: Floats, words: WordScores) -> Floats:
    """What words put first is never judged by a guess at its meaning."""
    views = engine.index.views
    if group.joint is None:
        view = group.searched[0].view
        cosines = views.cosines(view, vector, words.best(WORD_POOL) if view.matrix.coded else None)
    else:
        cosines = np.concatenate([views.cosines(each.view, vector) for each in group.searched])
    wanted = group.wanted
    return cosines if wanted is None else cosines * wanted


def question_vector(
    engine: Engine, searched: Sequence[SearchedSpace], text: str, serving: ModelRow | None
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


def keep_features(engine: Engine, searched: Sequence[SearchedSpace], serving: ModelRow | None) -> None:
    """Without a model nothing else would keep what was just read from every entry."""
    for each in searched:
        if serving is None and len(each.view) >= KEPT_FROM:
            progress = engine.sealed.store.derived.progress(FEATURES_ONLY, each.view.space)
            if each.view.state.seq > progress + KEPT_FROM:
                engine.index.asked.add(each.view.space)
                engine.index.wake()


def _spellings(engine: Engine, ranked: Sequence[RankedGroup], question: Question) -> dict[str, list[str]]:
    """For words that stand nowhere the near ones that the newest entries hold."""
    known = {
        term
        for each in ranked
        for term, there in zip(question.terms, each.postings.terms, strict=True)
        if there.holders
    }
    unknown = [term for term in question.terms if term not in known and may_be_a_typo(term)]
    searched = [one for each in ranked for one in each.group.searched]
    return corrections(unknown, _vocabulary(engine, searched)) if unknown else {}


def _vocabulary(engine: Engine, searched: Sequence[SearchedSpace]) -> set[str]:
    runs: set[str] = set()
    for each in searched:
        for entry in open_shown(engine, each, _read_quickly(each.view, len(searched))):
            if entry.content.is_text:
                for part in (entry.text, entry.hint, entry.key, *entry.tags):
                    runs.update(part.split())
    return {term for run in runs for term in analyse_chunk(run)}


def _read_quickly(view: SpaceSnapshot, spaces: int) -> list[int]:
    """The newest entries of one of so many spaces: a question that finds nothing should not take seconds for it."""
    some = slice(-max(1, VOCABULARY // spaces), None)
    numbers, sizes = view.columns.numbers[some][::-1], view.columns.characters[some][::-1]
    before = np.cumsum(sizes, dtype=np.int64) - sizes
    return [int(number) for number in numbers[before < VOCABULARY_CHARACTERS // spaces]]


def open_shown(engine: Engine, each: SearchedSpace, numbers: Sequence[int]) -> list[Entry]:
    """The entries with these numbers that the caller may see now, in no stated order."""
    rows = engine.sealed.store.entries.shown(each.visible, numbers)
    entries = (head.entry for head in engine.sealed.heads(each.visible, rows))
    return [
        entry
        for entry in entries
        if entry is not None and sees(each.entered.caller, each.entered.space, entry, each.visible.now)
    ]


def best(ranked: Sequence[RankedGroup], count: int) -> list[Candidate]:
    """The best entries of all spaces with their places and scores; ties go to the newer."""
    found: list[tuple[float, int, int, int, Candidate]] = []
    for each in ranked:
        if not each.ranking.order:
            continue
        order, joint, searched = np.array(each.ranking.order), each.group.joint, each.group.searched
        columns = searched[0].view.columns if joint is None else joint
        spaces = [0] * len(order) if joint is None else joint.of_entry[order].tolist()
        starts = (0,) if joint is None else joint.starts
        for space, at, number, score, updated in zip(
            spaces,
            each.ranking.order,
            columns.numbers[order].tolist(),
            each.ranking.scores[order].tolist(),
            columns.updated[order].tolist(),
            strict=True,
        ):
            place = at - starts[space]
            chosen = Candidate(searched[space], place, number, score, each)
            found.append((-score, -updated, -place, chosen.searched.turn, chosen))
    found.sort(key=itemgetter(0, 1, 2, 3))
    return [chosen for *_, chosen in found[:count]]
