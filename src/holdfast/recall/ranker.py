"""Ranks the searched spaces on one scale. Many small spaces are joined and ranked at once: ranking each by itself would
cost more than everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from holdfast.contracts.records import StatesAhead
from holdfast.contracts.rows import FEATURES_ONLY, ModelRow, Visible
from holdfast.crypto.blind import blind_label
from holdfast.crypto.keys import DataKey
from holdfast.domain.access import sees
from holdfast.domain.entry import Content, Entry
from holdfast.domain.principal import Caller
from holdfast.domain.space import Space
from holdfast.recall.arrays import Bools, Floats, Ints, RankingArrays
from holdfast.recall.bm25 import Postings, WordScores, rarities, read_postings, score_words
from holdfast.recall.fusion import Explanation, Ranking, common_scale, fuse
from holdfast.recall.index import Index
from holdfast.recall.joined import JoinedSnapshot
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.storage.sealed_store import SealedStore
from holdfast.text.analyser import analyse_chunk
from holdfast.text.duplicates import HINT_COSINE
from holdfast.text.question import Question, in_first_person, read_question
from holdfast.text.typos import certainty, corrections, may_be_a_typo

_AS_WRITTEN: Mapping[str, list[str]] = {}
WORD_POOL = 200
"""The best entries by words: their cosine is exact in a large space too."""
KEPT_FROM = 256
"""Features are stored for spaces with at least this many entries."""
VOCABULARY = 2_000
VOCABULARY_CHARACTERS = 1_000_000
"""Entries, and characters of them, whose words are searched for corrections of a question that matches nothing."""
JOINED_FROM = 4
"""Small spaces are joined from this number on."""
SMALL = 1_024
JOINED = 8_192
"""Chunks of a small space, and of all spaces joined into one."""

CANDIDATES = 20
"""Near entries taken by words, and by meaning."""
LEAST_WORDS = 1e-9
"""Any score of words at all."""


@dataclass(frozen=True, slots=True)
class SearchedSpace:
    """One space of a recall, and the part of it that the caller may see."""

    caller: Caller
    space: Space
    visible: Visible
    snapshot: SpaceSnapshot
    """Holds visible entries alone: nothing else has a part in any score."""
    mask: Bools | None
    """The entries that pass the filters; None without filters."""
    number: int = 0
    """Position among the searched spaces: breaks the last ties."""


@dataclass(frozen=True, slots=True)
class SearchGroup:
    """A space by itself, or several joined ones."""

    spaces: Sequence[SearchedSpace]
    joined: JoinedSnapshot | None

    @property
    def arrays(self) -> RankingArrays:
        return self.spaces[0].snapshot.arrays if self.joined is None else self.joined.arrays

    @property
    def mask(self) -> Bools | None:
        masks = [each.mask for each in self.spaces if each.mask is not None]
        return np.concatenate(masks) if len(masks) > 1 else masks[0] if masks else None

    def position_of(self, searched: SearchedSpace, position: int) -> int | None:
        """Position in the group of an entry of one space; None for a space of another group."""
        for number, each in enumerate(self.spaces):
            if each is searched:
                return position if self.joined is None else self.joined.starts[number] + position
        return None


@dataclass(frozen=True, slots=True)
class RankedGroup:
    group: SearchGroup
    postings: Postings
    words: WordScores
    ranking: Ranking


class Candidate(NamedTuple):
    """An entry of a searched space, by its position there and its number."""

    searched: SearchedSpace
    position: int
    number: int
    score: float
    ranked: RankedGroup | None = None
    """None for an entry that was not ranked, but is among the newest."""

    def explain(self) -> Explanation | None:
        if self.ranked is None:
            return None
        position = self.ranked.group.position_of(self.searched, self.position)
        return None if position is None else self.ranked.ranking.explain(position)


def filter_mask(
    index: Index,
    snapshot: SpaceSnapshot,
    visible: Visible,
    labels: Sequence[tuple[str, str]],
    since_us: int | None,
    until_us: int | None,
) -> Bools | None:
    """The entries that carry all these labels (kind and value) and fall into the period; None without a filter."""
    masks = []
    if since_us is not None or until_us is not None:
        masks.append(snapshot.during(since_us, until_us))
    for kind, value in labels:

        def read(keys: list[DataKey], kind: str = kind, value: str = value) -> Bools:
            blinds = [
                blind_label(key, partition, kind, value) for key in keys for partition in visible.partitions
            ]
            return index.snapshots.labelled(snapshot, blinds)

        masks.append(index.sealed.under_every_key(snapshot.space, read))
    return np.logical_and.reduce(masks) if masks else None


def rank(
    index: Index, searched: Sequence[SearchedSpace], text: str, serving: ModelRow | None, limit: int
) -> tuple[list[RankedGroup], str | None]:
    """Ranks at least `limit` entries of all spaces on one scale. Also returns why words alone decided although an
    embedder is configured."""
    store_features_later(index, searched, serving)
    vector, degraded = question_vector(index, searched, text, serving)
    return rank_by(index, searched, text, vector, limit), degraded


def rank_ahead(
    index: Index,
    ahead: StatesAhead,
    searched: Sequence[SearchedSpace],
    text: str,
    serving: ModelRow | None,
    limit: int,
) -> tuple[list[RankedGroup], str | None] | None:
    """Ranks snapshots that may be stale while the store reads the spaces' counters. None when a space has changed."""
    store_features_later(index, searched, serving)
    # Embedded before the counters are requested: a remote embedder must not hold a connection.
    vector, degraded = question_vector(index, searched, text, serving)
    with ahead.of([each.snapshot.space for each in searched]) as states:
        ranked = rank_by(index, searched, text, vector, limit)
        return (ranked, degraded) if states() == [each.snapshot.state for each in searched] else None


def rank_by(
    index: Index, searched: Sequence[SearchedSpace], text: str, vector: Floats | None, limit: int
) -> list[RankedGroup]:
    question, groups = read_question(text), _groups(index, searched)
    ranked = _ranked(index, groups, question, vector, limit)
    if not any(each.words.top for each in ranked):
        # A vector has neighbours even for words that nobody wrote, but not the ones that were meant.
        spellings = _spellings(index.sealed, ranked, question)
        if spellings:
            ranked = _ranked(index, groups, question, vector, limit, spellings)
    return ranked


def _groups(index: Index, searched: Sequence[SearchedSpace]) -> list[SearchGroup]:
    if len(searched) < JOINED_FROM:
        return [SearchGroup([each], None) for each in searched]
    groups: list[SearchGroup] = []
    together: list[SearchedSpace] = []
    chunks = 0
    for each in searched:
        more = len(each.snapshot.arrays.space.unit_entry)
        if more > SMALL or each.snapshot.matrix.coded or each.snapshot.compared_there:
            groups.append(SearchGroup([each], None))
            continue
        if chunks + more > JOINED:
            groups.append(_joined(index, together))
            together, chunks = [], 0
        together.append(each)
        chunks += more
    return [*groups, _joined(index, together)] if together else groups


def _joined(index: Index, spaces: Sequence[SearchedSpace]) -> SearchGroup:
    if len(spaces) == 1:
        return SearchGroup(spaces, None)
    return SearchGroup(spaces, index.snapshots.joined([each.snapshot for each in spaces]))


def _ranked(
    index: Index,
    groups: Sequence[SearchGroup],
    question: Question,
    vector: Floats | None,
    limit: int,
    spellings: Mapping[str, list[str]] = _AS_WRITTEN,
) -> list[RankedGroup]:
    postings = [_postings(index, each, question, spellings) for each in groups]
    rarity = rarities([(each.arrays, own) for each, own in zip(groups, postings, strict=True)])
    words = [
        _words(each, score_words(each.arrays, own, rarity), certainty(spellings))
        for each, own in zip(groups, postings, strict=True)
    ]
    cosines = [
        None if vector is None else _cosines(index, each, vector, own)
        for each, own in zip(groups, words, strict=True)
    ]
    scale = common_scale(words, cosines)
    return [
        RankedGroup(
            each, own, score, fuse(each.arrays, question, own, score, cosine, scale, limit, each.mask)
        )
        for each, own, score, cosine in zip(groups, postings, words, cosines, strict=True)
    ]


def _postings(
    index: Index, group: SearchGroup, question: Question, spellings: Mapping[str, list[str]]
) -> Postings:
    """The occurrences of each term of the question, or of the words it is a typo for."""
    meant = [
        (number, word) for number, term in enumerate(question.terms) for word in spellings.get(term, [term])
    ]
    terms, snapshots = [word for _, word in meant], [each.snapshot for each in group.spaces]
    if group.joined is None:
        found = index.snapshots.occurrences(snapshots[0], terms)
    else:
        found = index.snapshots.joined_occurrences(group.joined, snapshots, terms)
    if spellings:
        found = found.counted_as([number for number, _ in meant])
    return read_postings(group.arrays, question, found)


def _words(group: SearchGroup, scores: WordScores, share: float) -> WordScores:
    """The scores of entries that pass the filters, times a share for guessed words."""
    mask = group.mask
    if mask is None and share == 1.0:
        return scores
    counts = 1.0 if mask is None else mask
    return replace(scores, score=scores.score * (counts * np.float32(share)))


def _cosines(index: Index, group: SearchGroup, vector: Floats, words: WordScores) -> Floats:
    """Cosines of the group's entries, exact for the best by words."""
    snapshots = index.snapshots
    if group.joined is None:
        snapshot = group.spaces[0].snapshot
        cosines = snapshots.cosines(
            snapshot, vector, words.best(WORD_POOL) if snapshot.matrix.coded else None
        )
    else:
        cosines = np.concatenate([snapshots.cosines(each.snapshot, vector) for each in group.spaces])
    mask = group.mask
    return cosines if mask is None else cosines * mask


def question_vector(
    index: Index, searched: Sequence[SearchedSpace], text: str, serving: ModelRow | None
) -> tuple[Floats | None, str | None]:
    """The embedded question, or why there is none although an embedder is configured."""
    if not any(len(each.snapshot) for each in searched) or not index.embeds:
        return None, None
    named = {
        name
        for each in searched
        if (people := each.snapshot.arrays.people_named(text))
        for name in each.snapshot.spoke(people)
    }
    # The embedder may be a foreign service: no secret of a question reaches it, as none of a note does.
    return index.query_vector(in_first_person(index.scrub(text).text, named), serving)


def store_features_later(index: Index, searched: Sequence[SearchedSpace], serving: ModelRow | None) -> None:
    """Has the worker store the features of large spaces: without a model nothing else would."""
    for each in searched:
        if serving is None and len(each.snapshot) >= KEPT_FROM:
            progress = index.sealed.store.derived.progress(FEATURES_ONLY, each.snapshot.space)
            if each.snapshot.state.seq > progress + KEPT_FROM:
                index.features_due.add(each.snapshot.space)
                index.wake()


def _spellings(
    sealed: SealedStore, ranked: Sequence[RankedGroup], question: Question
) -> dict[str, list[str]]:
    """For words that no entry holds the nearest ones of the newest entries."""
    known = {
        term
        for each in ranked
        for term, found in zip(question.terms, each.postings.terms, strict=True)
        if found.holders
    }
    unknown = [term for term in question.terms if term not in known and may_be_a_typo(term)]
    searched = [one for each in ranked for one in each.group.spaces]
    return corrections(unknown, _vocabulary(sealed, searched)) if unknown else {}


def _vocabulary(sealed: SealedStore, searched: Sequence[SearchedSpace]) -> set[str]:
    runs: set[str] = set()
    for each in searched:
        for entry in open_shown(sealed, each, _newest_numbers(each.snapshot, len(searched))):
            if entry.content.is_text:
                for part in (entry.text, entry.hint, entry.key, *entry.tags):
                    runs.update(part.split())
    return {term for run in runs for term in analyse_chunk(run)}


def _newest_numbers(snapshot: SpaceSnapshot, spaces: int) -> list[int]:
    """The newest entries of one of several spaces, so few that a question that finds nothing takes no seconds."""
    some = slice(-max(1, VOCABULARY // spaces), None)
    numbers, sizes = snapshot.columns.numbers[some][::-1], snapshot.columns.characters[some][::-1]
    before = np.cumsum(sizes, dtype=np.int64) - sizes
    return [int(number) for number in numbers[before < VOCABULARY_CHARACTERS // spaces]]


def open_shown(sealed: SealedStore, searched: SearchedSpace, numbers: Sequence[int]) -> list[Entry]:
    """The entries with these numbers that the caller may see now, in no stated order."""
    visible = searched.visible
    rows = sealed.store.entries.shown(visible, numbers)
    entries = (head.entry for head in sealed.open_rows(visible, rows))
    return [
        entry
        for entry in entries
        if entry is not None and sees(searched.caller, searched.space, entry, visible.now)
    ]


def best_candidates(ranked: Sequence[RankedGroup], count: int) -> list[Candidate]:
    """The best entries of all spaces; ties go to the newer."""
    found: list[tuple[float, int, int, int, Candidate]] = []
    for each in ranked:
        if not each.ranking.order:
            continue
        order, joined, spaces = np.array(each.ranking.order), each.group.joined, each.group.spaces
        columns = spaces[0].snapshot.columns if joined is None else joined
        within = [0] * len(order) if joined is None else joined.of_entry[order].tolist()
        starts = (0,) if joined is None else joined.starts
        for space, at, number, score, updated in zip(
            within,
            each.ranking.order,
            columns.numbers[order].tolist(),
            each.ranking.scores[order].tolist(),
            columns.updated[order].tolist(),
            strict=True,
        ):
            position = at - starts[space]
            candidate = Candidate(spaces[space], position, number, score, each)
            found.append((-score, -updated, -position, candidate.searched.number, candidate))
    found.sort(key=itemgetter(0, 1, 2, 3))
    return [candidate for *_, candidate in found[:count]]


def newest_candidates(searched: Sequence[SearchedSpace], count: int) -> list[Candidate]:
    """The entries that changed last, for an empty question."""
    found = []
    for each in searched:
        columns, everything = each.snapshot.columns, np.arange(len(each.snapshot), dtype=np.int32)
        positions = everything if each.mask is None else everything[each.mask]
        found += [(int(columns.updated[at]), at, each) for at in positions[-count:].tolist()]
    found.sort(key=itemgetter(0, 1), reverse=True)
    return [Candidate(each, at, int(each.snapshot.columns.numbers[at]), 0.0) for _, at, each in found[:count]]


@dataclass(frozen=True, slots=True)
class Placement:
    """Ranks count from 1 over all searched spaces."""

    score: float
    word_rank: int | None
    """None for an entry without any of the question's words."""
    vector_rank: int | None
    """None for an entry without a vector, or with the farthest one."""
    rank: int | None
    """None for an entry that is no hit."""


def placement(ranked: Sequence[RankedGroup], searched: SearchedSpace, position: int, count: int) -> Placement:
    """Places one entry among the `count` best."""
    ranking, at = next(
        (each.ranking, at)
        for each in ranked
        if (at := each.group.position_of(searched, position)) is not None
    )
    return Placement(
        float(ranking.scores[at]),
        _rank_in([each.ranking.words for each in ranked], ranking.words[at]),
        _rank_in([each.ranking.meaning for each in ranked], ranking.meaning[at]),
        rank_among(best_candidates(ranked, count), searched, position) if ranking.hits[at] else None,
    )


def rank_among(candidates: Sequence[Candidate], searched: SearchedSpace, position: int) -> int:
    """The entry's rank in this order, from 1."""
    return 1 + next(
        at
        for at, candidate in enumerate(candidates)
        if candidate.searched is searched and candidate.position == position
    )


def _rank_in(scores: Sequence[Floats], own: float) -> int | None:
    if own <= 0.0:
        return None
    return 1 + sum(int(np.count_nonzero(each > own)) for each in scores)


def near_entries(
    index: Index, snapshot: SpaceSnapshot, content: Content, number: int | None
) -> dict[int, float]:
    """The numbers of the entries near this content, each with its cosine (0 without a vector). `number` is the
    content's own entry, which is left out; None when it is not stored."""
    position = None if number is None else snapshot.position(number)
    if position is None and number is not None:
        return {}
    others = np.ones(len(snapshot), dtype=bool)
    cosines = np.zeros(len(snapshot), dtype=np.float32)
    if position is not None:
        others[position] = False
        cosines = index.snapshots.cosines_to(snapshot, position) * others
    question = read_question(f"{content.hint} {content.text}")
    found = index.snapshots.occurrences(snapshot, question.terms)
    words = score_words(snapshot.arrays, read_postings(snapshot.arrays, question, found)).score * others
    near = np.union1d(_highest(words, LEAST_WORDS), _highest(cosines, HINT_COSINE))
    return dict(zip(snapshot.columns.numbers[near].tolist(), cosines[near].tolist(), strict=True))


def _highest(scores: Floats, least: float) -> Ints:
    """Positions of the highest scores, of equal ones the newer; in no stated order."""
    best = np.argsort(scores, kind="stable")[-CANDIDATES:]
    return best[scores[best] >= least].astype(np.int32)
