"""BM25 over the statistics of the searched spaces alone. A short note also holds its neighbours' words, faintly. Each
term is borrowed before saturation: a word both notes share counts once, a word of the neighbour alone still counts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.arrays import NO_ENTRIES, Bools, Floats, Ints, Occurrences, RankingArrays
from holdfast.text.question import Question

CELLS_AT_ONCE = 1 << 20
"""Terms times chunks that are computed at once: a pasted page in a large space must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the question in a space, beside its occurrences."""

    people: tuple[int, ...]  # the people it names, as numbers into `SpaceArrays.names`
    speakers: Ints  # their entries
    dates: Ints  # entries whose day it names
    holders: int  # entries that hold the term in one of these ways
    weight: float


@dataclass(frozen=True, slots=True)
class Postings:
    """Every occurrence of a question's terms: the number of the term, the chunk, and the amount it counts there, by its
    field and the chunk's length."""

    terms: tuple[Term, ...]
    numbers: Ints
    units: Ints
    amounts: Floats
    misled: bool | Bools
    """True where a term is a name in many notes but of no speaker: vectors then follow the name, not the matter. One
    value for each of several joined spaces."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """`score` is the BM25 of each entry's best chunk, `ideal` that of an entry with every term about once."""

    score: Floats
    ideal: float

    @property
    def top(self) -> float:
        return float(self.score.max(initial=0.0))

    def best(self, count: int) -> Ints:
        """Up to `count` entries with the highest scores, in no order."""
        found = np.flatnonzero(self.score > 0.0).astype(np.int32)
        if len(found) <= count:
            return found
        return found[np.argpartition(self.score[found], -count)[-count:]]


def read_postings(arrays: RankingArrays, question: Question, found: Occurrences) -> Postings:
    """Adds what the space knows of speakers and dates. `found` numbers the terms as the question does."""
    units = arrays.units(found)
    people = [arrays.name_terms.get(term, ()) for term in question.terms]
    speakers = [arrays.spoken_by(each) for each in people]
    dates = [
        arrays.calendar.entries(term) if term in question.date_terms else NO_ENTRIES
        for term in question.terms
    ]
    holders = _holders(arrays, found, speakers, dates)
    weights = [question.weight(term, arrays.constants.request_word) for term in question.terms]
    return Postings(
        terms := tuple(map(Term, people, speakers, dates, holders, weights)),
        found.terms,
        units,
        arrays.field_weight.take(found.fields) / arrays.unit_norm.take(units),
        _misled(arrays, question, found, terms),
    )


def rarities(searched: Sequence[tuple[RankingArrays, Postings]]) -> list[float]:
    """The rarity of each term of the question over all these spaces together."""
    size = sum(arrays.space.size for arrays, _ in searched)
    by_term = zip(*(postings.terms for _, postings in searched), strict=True)
    return [_rarity(size, sum(each.holders for each in same)) for same in by_term]


def score_words(
    arrays: RankingArrays, postings: Postings, rarity: Sequence[float] | None = None
) -> WordScores:
    """Entries without any term, own or borrowed, score exactly 0. `rarity` from `rarities` makes spaces comparable."""
    rarity = rarities([(arrays, postings)]) if rarity is None else rarity
    worth = [rare * term.weight for rare, term in zip(rarity, postings.terms, strict=True)]
    total = _total(arrays, postings, np.array(worth, dtype=np.float32))
    if not arrays.one_chunk_each:
        total = np.maximum.reduceat(total, arrays.unit_starts)
    return WordScores(total, sum(worth))


def _total(arrays: RankingArrays, postings: Postings, worth: Floats) -> Floats:
    """BM25 of every chunk."""
    k1 = np.float32(arrays.constants.k1)
    total = np.zeros(len(arrays.space.unit_entry), dtype=np.float32)
    for first, held in _held(arrays, postings):
        # The second occurrence counts less than the first.
        saturation = held + k1
        held *= worth[first : first + len(held), None] * (k1 + np.float32(1.0))
        held /= saturation
        total += np.add.reduce(held, axis=0)
    return total


def _held(arrays: RankingArrays, postings: Postings) -> Iterator[tuple[int, Floats]]:
    """The amount of each term in every chunk, own and borrowed. Yields some terms at a time, with the number of the
    first."""
    units, constants = len(arrays.space.unit_entry), arrays.constants
    at_once = _terms_at_once(units)
    for first in range(0, len(postings.terms) if units else 0, at_once):
        terms = postings.terms[first : first + at_once]
        held = np.zeros((len(terms), units), dtype=np.float32)
        some = range(first, first + len(terms))
        numbers, units_there, amounts = _of_terms(
            postings.numbers, some, len(postings.terms), postings.units, postings.amounts
        )
        _lend(arrays, numbers, units_there, amounts, held)
        for row, term in zip(held, terms, strict=True):
            if term.speakers.size:
                row[arrays.all_units(term.speakers)] += np.float32(constants.speaker_term)
            if term.dates.size:
                row[arrays.all_units(term.dates)] += np.float32(constants.date_term)
        yield first, held


def _terms_at_once(size: int) -> int:
    return max(1, CELLS_AT_ONCE // max(size, 1))


def _of_terms(
    numbers: Ints, some: range, all_of_them: int, *columns: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """The occurrences of some of the terms, which are numbered from 0 then."""
    if len(some) == all_of_them:
        return numbers, *columns
    among = (numbers >= some.start) & (numbers < some.stop)
    return numbers[among] - np.int32(some.start), *(column[among] for column in columns)


def _lend(arrays: RankingArrays, numbers: Ints, units: Ints, amounts: Floats, held: Floats) -> None:
    """Adds the amount of each occurrence to its chunk, and a share of it to the notes around."""
    cells, lending = held.reshape(-1), arrays.lending
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
    arrays: RankingArrays, found: Occurrences, speakers: Sequence[Ints], dates: Sequence[Ints]
) -> list[int]:
    """Counts the entries that hold each term."""
    size, holders = arrays.space.size, []
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
    arrays: RankingArrays, question: Question, found: Occurrences, terms: Sequence[Term]
) -> bool | Bools:
    """A name is common if it is at most half as rare, on the scale of `_rarity`, as a word of one entry."""
    named = [number for number, term in enumerate(question.terms) if term in question.names]
    parts, size = arrays.parts, arrays.space.size
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
