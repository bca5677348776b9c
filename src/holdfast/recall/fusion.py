"""Fuses words and meaning into one ranking: normalised scores are added, a conversation shares its best note, features
of chats are factors. Every part is kept, so that `explain` is a lookup and not a second computation."""

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
    """The scores that count as full, shared by all spaces of one recall."""

    words: float
    meaning: CosineRange | None
    has_meaning: bool  # the question was embedded


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
class Ranking:
    order: tuple[int, ...]
    hits: Bools
    scores: Floats
    words: Floats
    meaning: Floats
    conversation: Floats
    question_factors: Mapping[str, Floats]
    role: Floats
    arrays: RankingArrays

    def explain(self, entry: int) -> Explanation:
        factors: dict[str, float] = {}
        for part in (self.arrays.fixed_factors, self.question_factors):
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


def common_scale(word_scores: Sequence[WordScores], cosines: Sequence[Floats | None]) -> Scale:
    """A full score is halfway between the best entry and the ideal. Spaces that hold few of the question's words score
    low throughout, and do not drown out meaning."""
    top = max((scores.top for scores in word_scores), default=0.0)
    ideal = max((scores.ideal for scores in word_scores), default=0.0)
    known = [cosine for cosine in cosines if cosine is not None]
    return Scale(words=max(0.5 * (ideal + top), 1e-9), meaning=cosine_range(known), has_meaning=bool(known))


def fuse(
    arrays: RankingArrays,
    question: Question,
    postings: Postings,
    word_scores: WordScores,
    cosine: Floats | None,
    scale: Scale | None = None,
    limit: int = 10,
    allowed: Bools | None = None,
) -> Ranking:
    """Ranks at most `limit` entries, best first, ties to the newer. Joined spaces add all entries that equal the last:
    their positions do not say which is newer. Hits have a word or are among the nearest vectors, and are `allowed`."""
    scale = scale or common_scale([word_scores], [cosine])
    share = _share_of_words(arrays, postings) if scale.has_meaning else np.float32(1.0)
    words = word_scores.score * (share / np.float32(scale.words))
    hits = words > 0.0
    meaning, base = arrays.nothing, words
    if cosine is not None:
        meaning, nearest = _meaning(arrays, cosine, scale, words, share)
        base = words + meaning
        hits[nearest] = True
    if allowed is not None:
        hits &= allowed
    conversation = _share_of_conversation(base, arrays, question)
    factors = _question_factors(arrays, question, postings)
    factor = sum(factors.values(), arrays.factor)
    role = np.ones_like(base) if question.asks_assistant else arrays.role
    scores = base + conversation
    scores *= factor
    scores *= role
    return Ranking(
        order=_best(scores, hits, limit, cut=arrays.parts is None),
        hits=hits,
        scores=scores,
        words=words,
        meaning=meaning,
        conversation=conversation,
        question_factors=factors,
        role=role,
        arrays=arrays,
    )


def _meaning(
    arrays: RankingArrays, cosine: Floats, scale: Scale, words: Floats, share: Floats | np.float32
) -> tuple[Floats, NDArray[np.intp]]:
    """The share of meaning in each score, and the nearest entries. A note without a vector gets as much meaning as its
    words score."""
    rest = np.float32(1.0) - share
    meaning = normalise(cosine, scale.meaning)
    meaning *= rest
    nearest = _nearest(meaning, arrays.parts)
    if not cosine.all():
        meaning = np.where(cosine == 0.0, words * (rest / share), meaning)
    return meaning, nearest


def _nearest(meaning: Floats, parts: Parts | None) -> NDArray[np.intp]:
    """The MEANING_POOL nearest entries of every space."""
    if parts is None or len(meaning) <= MEANING_POOL:
        return _highest(meaning, MEANING_POOL)
    near = meaning > 0.0
    for part in np.flatnonzero(parts.sizes > MEANING_POOL).tolist():
        within = slice(parts.starts[part], parts.starts[part] + parts.sizes[part])
        best = _highest(meaning[within], MEANING_POOL)
        near[within] = False
        near[within][best] = True
    return np.flatnonzero(near)


def _share_of_words(arrays: RankingArrays, postings: Postings) -> Floats | np.float32:
    """The share of words in a score; the rest is meaning. A question that names Mia is near every "Hi Mia!". Where
    speakers are known it is embedded without the name; for plain notes its vector counts less."""
    constants = arrays.constants
    usual = np.float32(1.0 / (1.0 + constants.meaning))
    if not np.any(postings.misled):
        return usual
    plain = arrays.space.role == Role.NONE
    if arrays.parts is not None:
        plain &= np.asarray(postings.misled).take(arrays.parts.of_entry)
    return np.where(plain, np.float32(1.0 / (1.0 + constants.meaning_misled)), usual)


def _share_of_conversation(base: Floats, arrays: RankingArrays, question: Question) -> Floats:
    """A share of the score of the conversation's best note. A note without a conversation is one by itself, so that
    talk does not push plain facts down."""
    constants, talks = arrays.constants, arrays.talks
    share = np.float32(constants.conversation_gathering if question.gathers else constants.conversation)
    shared: Floats = base * share
    if talks.entries.size:
        best = np.maximum.reduceat(shared.take(talks.entries), talks.starts)
        shared[talks.entries] = np.repeat(best, talks.lengths)
    return shared


def _question_factors(arrays: RankingArrays, question: Question, postings: Postings) -> dict[str, Floats]:
    constants = arrays.constants
    factors: dict[str, Floats] = {}
    if question.asks_when:
        factors["tells time"] = np.float32(constants.tells_time_when_asked) * arrays.tells_time
    about = _spoken_of(arrays, postings)
    if about is not None:
        weight = constants.named_speaker_gathering if question.gathers else constants.named_speaker
        factors["speaker"] = np.float32(weight) * (about & arrays.talk)
    dated = [term.dates for term in postings.terms if term.dates.size]
    if dated:
        factors["date"] = _shares_of_dates(arrays, dated)
    return factors


def _spoken_of(arrays: RankingArrays, postings: Postings) -> Bools | None:
    """The entries of the one person the question names. A question about two people prefers neither's notes."""
    named = {number for term in postings.terms for number in term.people}
    speaker, parts = arrays.space.speaker, arrays.parts
    if parts is None:
        return speaker == named.pop() if len(named) == 1 else None
    people = np.array(sorted(named), dtype=np.int32)
    where = parts.of_name.take(people)
    alone = people[np.bincount(where, minlength=len(parts.sizes))[where] == 1]
    return np.isin(speaker, alone) if alone.size else None


def _shares_of_dates(arrays: RankingArrays, dated: Sequence[Ints]) -> Floats:
    """Every part of a date that some day of the space has counts equally."""
    share, full, parts = arrays.nothing.copy(), arrays.constants.named_date, arrays.parts
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
    """The best hits in order. Every hit has a score above 0, everything else has 0 here."""
    if limit < 1:
        return ()
    found = _highest(scores * hits, limit)
    order = found[np.lexsort((-found, -scores[found]))]
    return tuple(order[: limit if cut else None].tolist())


def _highest(values: Floats, count: int) -> NDArray[np.intp]:
    """Positions of the `count` highest values above 0, and of all that equal the last of them."""
    floor, groups = np.float32(0.0), max(8 * count, 1_024)
    if len(values) >= 2 * groups:
        # `count` groups have a value of at least this, so `count` values do.
        tops = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
        floor = np.partition(tops, -count)[-count]
    found = np.flatnonzero(values >= floor if floor > 0.0 else values > 0.0)
    if len(found) > count:
        among = values[found]
        found = found[among >= np.partition(among, -count)[-count]]
    return found
