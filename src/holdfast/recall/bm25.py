"""BM25 over the statistics of the searched spaces alone, where a short note also holds its neighbours' words, faintly.
The borrowing happens per term and before saturation: a word both notes share counts once, a word only the neighbour has
still counts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.arrays import NO_ENTRIES, Bools, Floats, Ints, Occurrences, RankingArrays
from holdfast.text.question import Question

CELLS_AT_ONCE = 1 << 20
"""Terms by chunks that are worked out in one go: a pasted page in a large space must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a space knows of one term of the question beside its places."""

    people: tuple[int, ...]  # whom the term names, as numbers into `Space.names`
    speakers: Ints  # entries of theirs
    dates: Ints  # entries whose day it names
    holders: int  # entries that hold the term in one of these ways
    weight: float


@dataclass(frozen=True, slots=True)
class Postings:
    """Where the terms of a question stand: for every occurrence the number of its term, its chunk, and what it counts
    there, by its field and the chunk's length."""

    terms: tuple[Term, ...]
    numbers: Ints
    units: Ints
    amounts: Floats
    misled: bool | Bools
    """Whether a term is a name in many notes that no speaker answers to: vectors follow it, not the matter. For each of
    several joined spaces."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """`score` is BM25 per entry, its best chunk; `ideal` what an entry holding every term about once would score."""

    score: Floats
    ideal: float

    @property
    def top(self) -> float:
        return float(self.score.max(initial=0.0))

    def best(self, count: int) -> Ints:
        """Up to `count` entries with the highest scores, in no order: their cosines a scan should not guess."""
        found = np.flatnonzero(self.score > 0.0).astype(np.int32)
        if len(found) <= count:
            return found
        return found[np.argpartition(self.score[found], -count)[-count:]]


def read_postings(prepared: RankingArrays, question: Question, found: Occurrences) -> Postings:
    """`found` numbers the terms as the question does; speakers and dates come from the space."""
    units = prepared.units(found)
    people = [prepared.name_terms.get(term, ()) for term in question.terms]
    speakers = [prepared.spoken_by(each) for each in people]
    dates = [
        prepared.calendar.entries(term) if term in question.date_terms else NO_ENTRIES
        for term in question.terms
    ]
    holders = _holders(prepared, found, speakers, dates)
    weights = [question.weight(term, prepared.constants.request_word) for term in question.terms]
    return Postings(
        terms := tuple(map(Term, people, speakers, dates, holders, weights)),
        found.terms,
        units,
        prepared.field_weight.take(found.fields) / prepared.unit_norm.take(units),
        _misled(prepared, question, found, terms),
    )


def rarities(searched: Sequence[tuple[RankingArrays, Postings]]) -> list[float]:
    """How rare each term of the question is over all these spaces together."""
    size = sum(prepared.space.size for prepared, _ in searched)
    by_term = zip(*(postings.terms for _, postings in searched), strict=True)
    return [_rarity(size, sum(each.holders for each in same)) for same in by_term]


def score_words(
    prepared: RankingArrays, postings: Postings, rarity: Sequence[float] | None = None
) -> WordScores:
    """Entries without any term, own or borrowed, score exactly 0. `rarity` from `rarities` makes spaces comparable."""
    rarity = rarities([(prepared, postings)]) if rarity is None else rarity
    worth = [rare * term.weight for rare, term in zip(rarity, postings.terms, strict=True)]
    total = _total(prepared, postings, np.array(worth, dtype=np.float32))
    if not prepared.one_chunk_each:
        total = np.maximum.reduceat(total, prepared.unit_starts)
    return WordScores(total, sum(worth))


def _total(prepared: RankingArrays, postings: Postings, worth: Floats) -> Floats:
    """BM25 of every chunk."""
    k1 = np.float32(prepared.constants.k1)
    total = np.zeros(len(prepared.space.unit_entry), dtype=np.float32)
    for first, held in _held(prepared, postings):
        # The second occurrence counts less than the first.
        saturation = held + k1
        held *= worth[first : first + len(held), None] * (k1 + np.float32(1.0))
        held /= saturation
        total += np.add.reduce(held, axis=0)
    return total


def _held(prepared: RankingArrays, postings: Postings) -> Iterator[tuple[int, Floats]]:
    """How much of each term every chunk holds, own and borrowed: some terms at a time, the number of their first."""
    units, constants = len(prepared.space.unit_entry), prepared.constants
    at_once = _terms_at_once(units)
    for first in range(0, len(postings.terms) if units else 0, at_once):
        terms = postings.terms[first : first + at_once]
        held = np.zeros((len(terms), units), dtype=np.float32)
        some = range(first, first + len(terms))
        numbers, units_there, amounts = _of_terms(
            postings.numbers, some, len(postings.terms), postings.units, postings.amounts
        )
        _lend(prepared, numbers, units_there, amounts, held)
        for row, term in zip(held, terms, strict=True):
            if term.speakers.size:
                row[prepared.all_units(term.speakers)] += np.float32(constants.speaker_term)
            if term.dates.size:
                row[prepared.all_units(term.dates)] += np.float32(constants.date_term)
        yield first, held


def _terms_at_once(size: int) -> int:
    return max(1, CELLS_AT_ONCE // max(size, 1))


def _of_terms(
    numbers: Ints, some: range, all_of_them: int, *columns: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """The numbers and columns of those occurrences that are of some of the terms, these numbered from 0."""
    if len(some) == all_of_them:
        return numbers, *columns
    among = (numbers >= some.start) & (numbers < some.stop)
    return numbers[among] - np.int32(some.start), *(column[among] for column in columns)


def _lend(prepared: RankingArrays, numbers: Ints, units: Ints, amounts: Floats, held: Floats) -> None:
    """Adds what each occurrence counts to its chunk, and a share of it to the notes around."""
    cells, lending = held.reshape(-1), prepared.lending
    rows = numbers * np.int32(held.shape[1])
    np.add.at(cells, rows + units, amounts)
    lent = np.flatnonzero(lending.lends.take(units))
    if lent.size:
        units = units.take(lent)
        borrowed = lending.borrowers.take(units, axis=0)
        borrowed += rows.take(lent)[:, None]
        shares = lending.shares.take(units, axis=0)
        shares *= amounts.take(lent)[:, None]
        np.add.at(cells, borrowed.T.reshape(-1), shares.T.reshape(-1))


def _holders(
    prepared: RankingArrays, found: Occurrences, speakers: Sequence[Ints], dates: Sequence[Ints]
) -> list[int]:
    """How many entries hold each term, each counted once."""
    size, holders = prepared.space.size, []
    at_once = _terms_at_once(size)
    for first in range(0, len(speakers), at_once):
        some = range(first, min(first + at_once, len(speakers)))
        numbers, entries = _of_terms(found.terms, some, len(speakers), found.entries)
        held = np.zeros((len(some), size), dtype=np.bool_)
        held.reshape(-1)[numbers * np.int32(size) + entries] = True
        for term, row in zip(some, held, strict=True):
            for also in (speakers[term], dates[term]):
                if also.size:
                    row[also] = True
            holders.append(int(np.count_nonzero(row)))
    return holders


def _misled(
    prepared: RankingArrays, question: Question, found: Occurrences, terms: Sequence[Term]
) -> bool | Bools:
    """A name is common that is half as rare, on the scale of `_rarity`, as a word of one entry."""
    named = [number for number, term in enumerate(question.terms) if term in question.names]
    parts, size = prepared.parts, prepared.space.size
    if parts is None:
        return any(not terms[number].people and terms[number].holders ** 2 > size for number in named)
    misled = np.zeros(len(parts.sizes), dtype=np.bool_)
    for number in named:
        held = np.zeros(size, dtype=np.bool_)
        held[found.entries[found.terms == number]] = True
        held[terms[number].dates] = True
        common = np.bincount(parts.of_entry[held], minlength=len(misled)) ** 2 > parts.sizes
        common[parts.of_name.take(np.array(terms[number].people, dtype=np.intp))] = False
        misled |= common
    return misled


def _rarity(size: int, holders: int) -> float:
    return math.log(1.0 + (size - holders + 0.5) / (holders + 0.5))
