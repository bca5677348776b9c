"""One ranking from words and meaning: normalised scores added, the conversation's best note shared, chat signals as
factors. Every part is kept, so that `explain` is a lookup and not a second computation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.arrays import Bools, Floats, Ints, Parts, RankingArrays
from holdfast.recall.bm25 import Postings, WordScores
from holdfast.recall.cosine import CosineRange, cosine_range, normalise
from holdfast.text.question import Question
from holdfast.text.traits import Role

MEANING_POOL = 200


@dataclass(frozen=True, slots=True)
class Scale:
    """What a full score means, the same for every space that one recall searches."""

    words: float
    meaning: CosineRange | None
    has_meaning: bool  # whether the question was embedded at all


@dataclass(frozen=True, slots=True)
class Explanation:
    """score = (words + meaning + conversation) * (1 + sum of factors) * role"""

    score: float
    words: float
    meaning: float
    conversation: float
    factors: dict[str, float]
    role: float


@dataclass(frozen=True, slots=True)
class Ranks:
    """Places from 1, None where the entry has none: no word, no vector, or not among the hits."""

    words: int | None
    meaning: int | None
    final: int | None


@dataclass(frozen=True, slots=True)
class Ranking:
    order: tuple[int, ...]
    hits: Bools
    scores: Floats
    words: Floats
    meaning: Floats
    conversation: Floats
    asked_factors: Mapping[str, Floats]
    role: Floats
    prepared: RankingArrays

    def explain(self, entry: int) -> Explanation:
        factors: dict[str, float] = {}
        for part in (self.prepared.fixed_factors, self.asked_factors):
            for name, values in part.items():
                if values[entry]:
                    factors[name] = factors.get(name, 0.0) + float(values[entry])
        return Explanation(
            score=float(self.scores[entry]),
            words=float(self.words[entry]),
            meaning=float(self.meaning[entry]),
            conversation=float(self.conversation[entry]),
            factors=factors,
            role=float(self.role[entry]),
        )

    def ranks_of(self, entry: int) -> Ranks:
        """Within this space; `hits_above` of the other searched spaces' rankings adds what they put before it."""
        return Ranks(
            words=_rank(self.words, self.words > 0.0, entry),
            meaning=_rank(self.meaning, self.meaning > 0.0, entry),
            final=_rank(self.scores, self.hits, entry),
        )

    def hits_above(self, score: float) -> int:
        return int(np.count_nonzero(self.hits & (self.scores > score)))


def common_scale(word_scores: Sequence[WordScores], cosines: Sequence[Floats | None]) -> Scale:
    """Half against the best entry, half against the ideal: spaces that explain little of the question score low
    throughout, and do not drown out meaning."""
    top = max((scores.top for scores in word_scores), default=0.0)
    ideal = max((scores.ideal for scores in word_scores), default=0.0)
    known = [cosine for cosine in cosines if cosine is not None]
    return Scale(
        words=max(0.5 * (ideal + top), 1e-9),
        meaning=cosine_range(known),
        has_meaning=bool(known),
    )


def fuse(
    prepared: RankingArrays,
    question: Question,
    postings: Postings,
    word_scores: WordScores,
    cosine: Floats | None,
    scale: Scale | None = None,
    limit: int = 10,
    allowed: Bools | None = None,
) -> Ranking:
    """At most `limit` entries, best first, ties to the newer; `scale` where several spaces are searched. Of joined ones
    all that equal the last come too: their places do not say which is newer.

    Only entries with a word or among the nearest vectors are hits, and only where `allowed`."""
    scale = scale or common_scale([word_scores], [cosine])
    share = _share_of_words(prepared, postings) if scale.has_meaning else np.float32(1.0)
    words = word_scores.score * (share / np.float32(scale.words))
    hits = words > 0.0
    meaning, base = prepared.nothing, words
    if cosine is not None:
        meaning, nearest = _meaning(prepared, cosine, scale, words, share)
        base = words + meaning
        hits[nearest] = True
    if allowed is not None:
        hits &= allowed
    conversation = _share_of_conversation(base, prepared, question)
    asked = _asked_factors(prepared, question, postings)
    factor = sum(asked.values(), prepared.factor)
    role = np.ones_like(base) if question.asks_assistant else prepared.role
    scores = base + conversation
    scores *= factor
    scores *= role
    return Ranking(
        order=_best(scores, hits, limit, cut=prepared.parts is None),
        hits=hits,
        scores=scores,
        words=words,
        meaning=meaning,
        conversation=conversation,
        asked_factors=asked,
        role=role,
        prepared=prepared,
    )


def _meaning(
    prepared: RankingArrays, cosine: Floats, scale: Scale, words: Floats, share: Floats | np.float32
) -> tuple[Floats, NDArray[np.intp]]:
    """What an entry's vector counts, and the nearest. Until it has a vector, a note is taken to mean what its words
    say."""
    rest = np.float32(1.0) - share
    meaning = normalise(cosine, scale.meaning)
    meaning *= rest
    nearest = _nearest(meaning, prepared.parts)
    if not cosine.all():
        meaning = np.where(cosine == 0.0, words * (rest / share), meaning)
    return meaning, nearest


def _nearest(meaning: Floats, parts: Parts | None) -> NDArray[np.intp]:
    """So many of every space."""
    if parts is None or len(meaning) <= MEANING_POOL:
        return _highest(meaning, MEANING_POOL)
    near = meaning > 0.0
    for part in np.flatnonzero(parts.sizes > MEANING_POOL).tolist():
        within = slice(parts.starts[part], parts.starts[part] + parts.sizes[part])
        best = _highest(meaning[within], MEANING_POOL)
        near[within] = False
        near[within][best] = True
    return np.flatnonzero(near)


def _share_of_words(prepared: RankingArrays, postings: Postings) -> Floats | np.float32:
    """Beside what meaning gets. A question that names Mia is near every "Hi Mia!"; where speakers are known it is
    embedded without the name, for plain notes its vector counts less."""
    constants = prepared.constants
    usual = np.float32(1.0 / (1.0 + constants.meaning))
    if not np.any(postings.misled):
        return usual
    plain = prepared.space.role == Role.NONE
    if prepared.parts is not None:
        plain &= np.asarray(postings.misled).take(prepared.parts.of_entry)
    return np.where(plain, np.float32(1.0 / (1.0 + constants.meaning_misled)), usual)


def _share_of_conversation(base: Floats, prepared: RankingArrays, question: Question) -> Floats:
    """Of the conversation's best note. A note without a conversation is one by itself, so that talk does not push plain
    facts down."""
    constants, talks = prepared.constants, prepared.talks
    share = np.float32(constants.conversation_gathering if question.gathers else constants.conversation)
    shared: Floats = base * share
    if talks.entries.size:
        best = np.maximum.reduceat(shared.take(talks.entries), talks.starts)
        shared[talks.entries] = np.repeat(best, talks.lengths)
    return shared


def _asked_factors(prepared: RankingArrays, question: Question, postings: Postings) -> dict[str, Floats]:
    constants = prepared.constants
    asked: dict[str, Floats] = {}
    if question.asks_when:
        asked["tells time"] = np.float32(constants.tells_time_when_asked) * prepared.tells_time
    about = _spoken_of(prepared, postings)
    if about is not None:
        weight = constants.named_speaker_gathering if question.gathers else constants.named_speaker
        asked["speaker"] = np.float32(weight) * (about & prepared.talk)
    dated = [term.dates for term in postings.terms if term.dates.size]
    if dated:
        asked["date"] = _shares_of_dates(prepared, dated)
    return asked


def _spoken_of(prepared: RankingArrays, postings: Postings) -> Bools | None:
    """The entries of the one person the question names. A question about two is not about one's notes more than the
    other's."""
    named = {number for term in postings.terms for number in term.people}
    speaker, parts = prepared.space.speaker, prepared.parts
    if parts is None:
        return speaker == named.pop() if len(named) == 1 else None
    people = np.array(sorted(named), dtype=np.int32)
    where = parts.of_name.take(people)
    alone = people[np.bincount(where, minlength=len(parts.sizes))[where] == 1]
    return np.isin(speaker, alone) if alone.size else None


def _shares_of_dates(prepared: RankingArrays, dated: Sequence[Ints]) -> Floats:
    """Each part of a date that some day of the space has counts the same."""
    share, full, parts = prepared.nothing.copy(), prepared.constants.named_date, prepared.parts
    if parts is None:
        for entries in dated:
            share[entries] += np.float32(full / len(dated))
        return share
    count = len(parts.sizes)
    known = sum(np.bincount(parts.of_entry[entries], minlength=count) > 0 for entries in dated)
    each = (full / np.maximum(known, 1)).astype(np.float32)
    for entries in dated:
        share[entries] += each[parts.of_entry[entries]]
    return share


def _best(scores: Floats, hits: Bools, limit: int, *, cut: bool) -> tuple[int, ...]:
    """Every hit has a score above nothing, and what is none has nothing here."""
    if limit < 1:
        return ()
    found = _highest(scores * hits, limit)
    order = found[np.lexsort((-found, -scores[found]))]
    return tuple(order[: limit if cut else None].tolist())


def _highest(values: Floats, count: int) -> NDArray[np.intp]:
    """Places of the `count` highest values above 0, and of all that equal the last of them."""
    floor, groups = np.float32(0.0), max(8 * count, 1_024)
    if len(values) >= 2 * groups:
        # So many groups have a value from here on, hence so many values are.
        tops = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
        floor = np.partition(tops, -count)[-count]
    found = np.flatnonzero(values >= floor if floor > 0.0 else values > 0.0)
    if len(found) > count:
        among = values[found]
        found = found[among >= np.partition(among, -count)[-count]]
    return found


def _rank(scores: Floats, counted: Bools, entry: int) -> int | None:
    if not counted[entry]:
        return None
    newer = counted[entry + 1 :] & (scores[entry + 1 :] == scores[entry])
    return 1 + int(np.count_nonzero(counted & (scores > scores[entry]))) + int(np.count_nonzero(newer))
