"""BM25 over the statistics of the searched spaces alone, where a short note also holds its neighbours' words, faintly.
The borrowing happens per term and before saturation: a word both notes share counts once, a word only the neighbour has
still counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.search.constants import Constants
from holdfast.search.prepared import Prepared
from holdfast.search.question import Question
from holdfast.search.space import Floats, Ints, Occurrences


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a term of the question stands: chunks with their field-weighted frequency, entries by speaker and date."""

    units: Ints
    frequency: Floats
    people: tuple[int, ...]  # whom the term names, as numbers into `Space.names`
    speakers: Ints
    dates: Ints
    holders: int  # entries that hold the term in one of these ways
    misleads: bool  # a name in many notes that no speaker answers to: vectors follow it, not the matter
    weight: float = 1.0


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
        found = np.flatnonzero(self.score).astype(np.int32)
        if len(found) <= count:
            return found
        return found[np.argpartition(self.score[found], -count)[-count:]]


def posting(prepared: Prepared, question: Question, term: str, found: Occurrences) -> Posting:
    """`found` in any order, NOWHERE if the index does not know the term; speakers and dates come from the space."""
    units, frequency = _summed(prepared.units(found), prepared.field_weight[found.fields])
    people = prepared.name_terms.get(term, ())
    speakers = prepared.spoken_by(people)
    dates = prepared.calendar.entries(term) if term in question.date_terms else speakers[:0]
    holders = _holders(prepared, units, speakers, dates)
    return Posting(
        units=units,
        frequency=frequency,
        people=people,
        speakers=speakers,
        dates=dates,
        holders=holders,
        misleads=term in question.names and not people and _is_common(holders, prepared.space.size),
        weight=question.weight(term, prepared.constants.request_word),
    )


def rarities(searched: Sequence[tuple[Prepared, Sequence[Posting]]]) -> list[float]:
    """How rare each term is over all these spaces together, each with its postings in the order of the question."""
    size = sum(prepared.space.size for prepared, _ in searched)
    by_term = zip(*(postings for _, postings in searched), strict=True)
    return [_rarity(size, sum(each.holders for each in same)) for same in by_term]


def score_words(
    prepared: Prepared, postings: Sequence[Posting], rarity: Sequence[float] | None = None
) -> WordScores:
    """Entries without any term, own or borrowed, score exactly 0. `rarity` from `rarities` makes spaces comparable."""
    constants = prepared.constants
    unit_entry = prepared.space.unit_entry
    total = np.zeros(len(unit_entry), dtype=np.float32)
    ideal = 0.0
    for term, rare in zip(postings, rarity or rarities([(prepared, postings)]), strict=True):
        worth = rare * term.weight
        ideal += worth
        if not term.holders:
            continue
        own = term.frequency / prepared.unit_norm[term.units]
        if not prepared.conversations and not term.speakers.size and not term.dates.size:
            # Nobody lends here, so only the units that hold the term change.
            total[term.units] += _saturated(own, worth, constants)
            continue
        held = _lent(term.units if prepared.one_chunk_each else unit_entry[term.units], own, prepared)
        held[term.speakers] += constants.speaker_term
        held[term.dates] += constants.date_term
        if not prepared.one_chunk_each:
            held = held[unit_entry]
        held[term.units] += own
        total += _saturated(held, worth, constants)
    if not prepared.one_chunk_each:
        total = np.maximum.reduceat(total, prepared.unit_starts)
    return WordScores(total, ideal)


def _saturated(held: Floats, worth: float, constants: Constants) -> Floats:
    """What a term is worth at these frequencies: the second occurrence counts less than the first."""
    saturated = held / (held + np.float32(constants.k1))
    saturated *= np.float32(worth * (constants.k1 + 1.0))
    return saturated


def _summed(units: Ints, amounts: Floats) -> tuple[Ints, Floats]:
    """Each unit once, with the sum of its amounts."""
    if (units[1:] > units[:-1]).all():
        return units, amounts
    order = np.argsort(units, kind="stable")
    units, amounts = units[order], amounts[order]
    starts = np.concatenate(([0], np.flatnonzero(units[1:] != units[:-1]) + 1))
    return units[starts], np.add.reduceat(amounts, starts)


def _lent(entries: Ints, frequency: Floats, prepared: Prepared) -> Floats:
    """What every entry borrows of one term."""
    lending, constants = prepared.lending, prepared.constants
    if not prepared.one_chunk_each:
        short = lending.single[entries]
        entries, frequency = entries[short], frequency[short]
    targets = np.concatenate(
        (
            lending.following[entries],
            lending.previous[entries],
            lending.second_following[entries],
            lending.second_previous[entries],
        )
    )
    amounts = np.concatenate(
        (
            frequency * lending.to_following[entries],
            frequency * np.float32(constants.from_next),
            frequency * np.float32(constants.from_second_previous),
            frequency * np.float32(constants.from_second_next),
        )
    )
    # NOBODY is -1: shifting by one collects what is lent to nobody in the first bin.
    received = np.bincount(targets + 1, weights=amounts, minlength=prepared.space.size + 1)
    return received[1:].astype(np.float32)


def _holders(prepared: Prepared, units: Ints, speakers: Ints, dates: Ints) -> int:
    if prepared.one_chunk_each and not speakers.size and not dates.size:
        return len(units)
    holds = np.zeros(prepared.space.size, dtype=np.bool_)
    holds[prepared.space.unit_entry[units]] = True
    holds[speakers] = True
    holds[dates] = True
    return int(np.count_nonzero(holds))


def _is_common(holders: int, size: int) -> bool:
    """Half as rare, on the scale of `_rarity`, as a word of one entry."""
    return holders * holders > size


def _rarity(size: int, holders: int) -> float:
    return math.log(1.0 + (size - holders + 0.5) / (holders + 0.5))
