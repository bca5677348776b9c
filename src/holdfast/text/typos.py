"""Finds the nearest known words for a query term that occurs nowhere in a space. Letter masks leave few candidates,
whose edit distances are computed together in one table. Where nothing is near, compounds of the term are taken."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
MOST_CORRECTIONS = 3
# A query with more unknown words has another subject or language, not typos.
MOST_TERMS = 16
SHORTEST = 4
LONGEST = 60
PART_FROM = 5
PART_LEAVES = 3
"""The least letters of a part of a compound, and of the rest: a shorter rest is an ending."""
TWO_EDITS_FROM = 8
SURE_FROM = 6
DOUBTFUL = 0.5

Codes = NDArray[np.uint32]
Masks = NDArray[np.uint64]
Counts = NDArray[np.uint8]


def may_be_a_typo(term: str) -> bool:
    return SHORTEST <= len(term) <= LONGEST and not _has_digit(term)


def corrections(terms: Sequence[str], vocabulary: Iterable[str]) -> dict[str, list[str]]:
    """The at most three nearest words for each term outside the vocabulary, nearest first, then alphabetical. A term
    without any is left out. Near is one edit, or two from eight letters on: a letter added, dropped or replaced, or two
    neighbours swapped. Without a near word, compounds of the term count. Numbers are never corrected."""
    unknown = [term for term in dict.fromkeys(terms) if may_be_a_typo(term)][:MOST_TERMS]
    if not unknown:
        return {}
    words = set(vocabulary)
    shortest, longest = (edge(map(len, unknown)) for edge in (min, max))
    known = _Vocabulary.of([word for word in words if shortest - 2 <= len(word) <= longest + 2], longest + 2)
    nearest = {term: _nearest(term, known) or _holding(term, words) for term in unknown if term not in words}
    return {term: found for term, found in nearest.items() if found}


def certainty(spellings: Mapping[str, Sequence[str]]) -> float:
    """The weight of corrected words beside meaning. Two in three words of four letters and one in ten of six have a
    neighbour by chance, so a short term may be no typo: a farm is not a form."""
    return DOUBTFUL if spellings and all(len(term) < SURE_FROM for term in spellings) else 1.0


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    words: list[str]
    lengths: Ints
    letters: Codes  # a row per word, zeros after its end
    masks: Masks  # the letters of each word, as 64 bits

    @classmethod
    def of(cls, words: list[str], width: int) -> "_Vocabulary":
        letters = np.array(words, dtype=f"U{width}").view(np.uint32).reshape(len(words), width)
        lengths = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
        return cls(words, lengths, letters, _masks(letters))


def _has_digit(term: str) -> bool:
    return any(map(str.isdigit, term))


def _nearest(term: str, known: _Vocabulary) -> list[str]:
    allowed = 2 if len(term) >= TWO_EDITS_FROM else 1
    codes = np.array([ord(letter) for letter in term], dtype=np.uint32)
    mask = _masks(codes[None, :])
    # An edit adds at most one letter to the set, and removes at most one.
    candidates = np.flatnonzero(
        (np.abs(known.lengths - len(term)) <= allowed)
        & (np.bitwise_count(known.masks & ~mask) <= allowed)
        & (np.bitwise_count(mask & ~known.masks) <= allowed)
    )
    letters = np.ascontiguousarray(known.letters[candidates, : len(term) + allowed].T)
    distances = _distances(codes, letters, known.lengths[candidates], allowed)
    near = np.flatnonzero(distances <= allowed).tolist()
    ranked = sorted({(int(distances[place]), known.words[candidates[place]]) for place in near})
    return [word for _, word in ranked if not _has_digit(word)][:MOST_CORRECTIONS]


def _holding(term: str, words: Set[str]) -> list[str]:
    """Compounds of the term: first those that end with it, then those that begin with it, then any."""
    if len(term) < PART_FROM:
        return []
    least = len(term) + PART_LEAVES
    holding = [word for word in words if term in word and len(word) >= least and not _has_digit(word)]
    holding.sort(key=lambda word: (not word.endswith(term), not word.startswith(term), len(word), word))
    return holding[:MOST_CORRECTIONS]


def _distances(term: Codes, letters: Codes, lengths: Ints, allowed: int) -> Counts:
    """The edit distance from the term to every word, more than `allowed` where it is large. A swap of neighbours is one
    edit.

    Fills the usual table for all words (columns of `letters`) at once, but only the band near its diagonal."""
    width, count = letters.shape
    beyond = np.uint8(allowed + 1)
    one = np.uint8(1)
    before: Counts = np.full((width + 1, count), beyond)
    above: Counts = np.repeat(np.arange(width + 1, dtype=np.uint8)[:, None], count, axis=1)
    for row, code in enumerate(term, 1):
        current: Counts = np.full((width + 1, count), beyond)
        current[0] = row
        for column in range(max(1, row - allowed), min(width, row + allowed) + 1):
            cell = np.minimum(above[column], current[column - 1]) + one
            np.minimum(cell, above[column - 1] + (letters[column - 1] != code), out=cell)
            if row > 1 and column > 1:
                swapped = (letters[column - 1] == term[row - 2]) & (letters[column - 2] == code)
                np.minimum(cell, before[column - 2] + one, out=cell, where=swapped)
            current[column] = cell
        before, above = above, current
    ends: Counts = above[lengths, np.arange(count)]
    return ends


def _masks(letters: Codes) -> Masks:
    bits = np.left_shift(np.uint64(1), (letters & 63).astype(np.uint64))
    held: Masks = np.bitwise_or.reduce(np.where(letters != 0, bits, np.uint64(0)), axis=1)
    return held
