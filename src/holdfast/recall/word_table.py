"""The opened word index of one space: every blind term with its places. Immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holdfast.contracts.records import WordTableReads
from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT, WordTableRow

Longs = NDArray[np.int64]
PLACE_BYTES = 16
"""Memory for one place and its term."""
LEAST_MERGED = 4_096
MOST_CHANGED = 1_024
"""Recent changes are merged into the sorted places beyond so many places, or entries."""
_NONE: Longs = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Places:
    terms: Longs
    """Sorted; each term as often as it occurs."""
    packed: Longs
    """The place of each term, packed as in contracts/rows.py."""

    @classmethod
    def of(cls, rows: Sequence[WordTableRow]) -> Places:
        if not rows:
            return NO_PLACES
        lengths = np.array([len(row.terms) for row in rows], dtype=np.int64)
        terms = np.fromiter(chain.from_iterable(row.terms for row in rows), np.int64, int(lengths.sum()))
        numbers, *begins = np.array([row[:4] for row in rows], dtype=np.int64).T.repeat(lengths, axis=1)
        nth = np.arange(len(terms)) - (np.cumsum(lengths) - lengths).repeat(lengths)
        field, before = np.full(len(terms), ord("h"), dtype=np.int64), np.zeros(len(terms), dtype=np.int64)
        for letter, begin in zip("tkb", begins, strict=True):
            inside = nth >= begin
            field[inside], before[inside] = ord(letter), begin[inside]
        packed = numbers << PLACE_NUMBER_SHIFT | field << PLACE_FIELD_SHIFT | (nth - before)
        return cls._sorted(terms, packed)

    @classmethod
    def _sorted(cls, terms: Longs, packed: Longs) -> Places:
        order = np.argsort(terms, kind="stable")
        return cls(terms[order], packed[order])

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, term: int) -> Longs:
        first, last = self.terms.searchsorted((term, term + 1))
        return self.packed[first:last]

    def without(self, numbers: Longs) -> Places:
        kept = outside(self.packed, numbers)
        return Places(self.terms[kept], self.packed[kept])

    def merged(self, more: Places) -> Places:
        terms, packed = np.concatenate((self.terms, more.terms)), np.concatenate((self.packed, more.packed))
        return self._sorted(terms, packed)


NO_PLACES = Places(_NONE, _NONE)


def outside(packed: Longs, numbers: Longs) -> NDArray[np.bool_]:
    """A mask of the places in none of these entries."""
    return ~np.isin(packed >> PLACE_NUMBER_SHIFT, numbers)


@dataclass(frozen=True, slots=True)
class WordTable:
    """Recent changes are kept apart and merged with the rest only when they are many. A write then costs as much as it
    changes, not as much as the space holds."""

    key_id: int
    """The key that blinds its terms."""
    versions: Longs
    """The number and revision of every entry, packed by `versions_of`."""
    places: Places
    lately: Places
    changed: Longs
    """Numbers of entries whose places are all in `lately`."""

    @classmethod
    def of(cls, key_id: int, versions: Longs, places: Places) -> WordTable:
        return cls(key_id, versions, places, NO_PLACES, _NONE)

    @property
    def nbytes(self) -> int:
        return (
            PLACE_BYTES * (len(self.places) + len(self.lately)) + self.versions.nbytes + self.changed.nbytes
        )

    def find(self, term: int) -> Longs:
        found = self.places.find(term)
        if len(self.changed):
            found = found[outside(found, self.changed)]
        return np.concatenate((found, self.lately.find(term))) if len(self.lately) else found

    def followed(self, versions: Longs, gone: Longs, rows: Sequence[WordTableRow]) -> WordTable:
        """The table after the entries `gone` (by number) went or changed, and these rows came."""
        changed = np.union1d(self.changed, gone)
        lately = self.lately.without(gone).merged(Places.of(rows))
        if len(changed) <= MOST_CHANGED and len(lately) <= max(LEAST_MERGED, len(self.places) // 4):
            return WordTable(self.key_id, versions, self.places, lately, changed)
        return WordTable.of(self.key_id, versions, self.places.without(changed).merged(lately))


def open_word_table(
    reads: WordTableReads, space: UUID, key_id: int, versions: Longs, former: WordTable | None
) -> WordTable:
    """Reads the words of these entries, or only those that changed since the former table."""
    if former is None or former.key_id != key_id:
        rows = reads.of(space)
        return WordTable.of(key_id, _read(versions, versions, rows), Places.of(rows))
    gone = numbers_of(former.versions[~np.isin(former.versions, versions)])
    come = versions[~np.isin(versions, former.versions)]
    if not len(gone) and not len(come):
        return former
    rows = reads.of(space, numbers_of(come).tolist()) if len(come) else []
    return former.followed(_read(versions, come, rows), gone, rows)


def _read(versions: Longs, requested: Longs, rows: Sequence[WordTableRow]) -> Longs:
    """The versions without those requested in vain: an entry that just went may come back as it was, and must be read
    then."""
    missed = np.setdiff1d(numbers_of(requested), np.array([row.number for row in rows], dtype=np.int64))
    return versions[~np.isin(numbers_of(versions), missed)] if len(missed) else versions


def versions_of(numbers: Longs, revisions: NDArray[np.int32]) -> Longs:
    versions: Longs = numbers << 31 | revisions
    return versions


def numbers_of(versions: Longs) -> Longs:
    numbers: Longs = versions >> 31
    return numbers
