"""Joins small snapshots into one, so that many small spaces are ranked together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.ids import NUMBER_BITS
from holdfast.recall.arrays import (
    NOBODY,
    UNIT_KEY_SHIFT,
    Bools,
    Calendar,
    Ints,
    Lending,
    Parts,
    RankingArrays,
    SpaceArrays,
    Talks,
)
from holdfast.recall.snapshot import SNAPSHOT_BYTES, Longs, SpaceSnapshot

Offsets = NDArray[np.intp]


def join_arrays(spaces: Sequence[RankingArrays]) -> RankingArrays:
    """Joins the entries of the first space, of the second and so on. All were prepared with the same constants."""
    sizes = np.array([each.space.size for each in spaces], dtype=np.intp)
    names = np.array([len(each.space.names) for each in spaces], dtype=np.intp)
    entries = _starts(sizes)
    units = _starts([len(each.space.unit_entry) for each in spaces])
    space = _space(spaces, entries, _starts(names))
    fixed = {
        name: _end_to_end(each.fixed_factors[name] for each in spaces) for name in spaces[0].fixed_factors
    }
    return RankingArrays(
        space=space,
        constants=spaces[0].constants,
        unit_norm=_end_to_end(each.unit_norm for each in spaces),
        unit_starts=_shifted((each.unit_starts for each in spaces), units),
        unit_keys=_end_to_end(
            each.unit_keys + (int(start) << UNIT_KEY_SHIFT)
            for each, start in zip(spaces, entries, strict=True)
        ),
        one_chunk_each=all(each.one_chunk_each for each in spaces),
        field_weight=spaces[0].field_weight,
        talk=_end_to_end(each.talk for each in spaces),
        lending=Lending(
            _end_to_end(each.lending.lends for each in spaces),
            _shifted((each.lending.borrowers for each in spaces), units),
            _end_to_end(each.lending.shares for each in spaces),
        ),
        calendar=Calendar(
            _end_to_end(each.calendar.year for each in spaces),
            _end_to_end(each.calendar.month for each in spaces),
            _end_to_end(each.calendar.day for each in spaces),
            _end_to_end(each.calendar.weekday for each in spaces),
        ),
        name_terms=_name_terms(spaces, _starts(names)),
        talks=_talks([each.talks for each in spaces], entries),
        role=_end_to_end(each.role for each in spaces),
        fixed_factors=fixed,
        factor=_end_to_end(each.factor for each in spaces),
        tells_time=_end_to_end(each.tells_time for each in spaces),
        nothing=np.zeros(space.size, dtype=np.float32),
        parts=Parts(
            entries, sizes, np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(names)), names)
        ),
    )


def _space(spaces: Sequence[RankingArrays], entries: Offsets, names: Offsets) -> SpaceArrays:
    parts = [each.space for each in spaces]
    talks = _starts([int(each.conversation.max(initial=NOBODY)) + 1 for each in parts])

    def column(of: Callable[[SpaceArrays], NDArray[Any]]) -> NDArray[Any]:
        return _end_to_end(map(of, parts))

    return SpaceArrays(
        unit_entry=_shifted((each.unit_entry for each in parts), entries),
        unit_length=column(lambda each: each.unit_length),
        body_start=column(lambda each: each.body_start),
        conversation=_shifted((each.conversation for each in parts), talks),
        previous=_shifted((each.previous for each in parts), entries),
        following=_shifted((each.following for each in parts), entries),
        speaker=_shifted((each.speaker for each in parts), names),
        names=tuple(name for each in parts for name in each.names),
        role=column(lambda each: each.role),
        traits=column(lambda each: each.traits),
        characters=column(lambda each: each.characters),
        pinned=column(lambda each: each.pinned),
        day=column(lambda each: each.day),
    )


def _name_terms(spaces: Sequence[RankingArrays], names: Offsets) -> dict[str, tuple[int, ...]]:
    """The people each term may name. Somebody who speaks in two spaces is one person in each."""
    people: defaultdict[str, list[int]] = defaultdict(list)
    for each, start in zip(spaces, names.tolist(), strict=True):
        for term, numbers in each.name_terms.items():
            people[term] += (start + number for number in numbers)
    return {term: tuple(numbers) for term, numbers in people.items()}


def _talks(talks: Sequence[Talks], entries: Offsets) -> Talks:
    before = _starts([len(each.entries) for each in talks])
    return Talks(
        _end_to_end(each.entries + start for each, start in zip(talks, entries, strict=True)),
        _end_to_end(each.starts + start for each, start in zip(talks, before, strict=True)),
        _end_to_end(each.lengths for each in talks),
    )


def _starts(sizes: Sequence[int] | Offsets) -> Offsets:
    ends: Offsets = np.cumsum(sizes, dtype=np.intp)
    return ends - sizes


def _end_to_end(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))


def _shifted(arrays: Iterable[Ints], starts: Offsets) -> Ints:
    """Shifts numbers that count from the start of their space; NOBODY stays."""
    each = list(arrays)
    numbers = np.concatenate(each)
    shift = np.repeat(starts, [len(own) for own in each]).reshape(-1, *[1] * (numbers.ndim - 1))
    return np.where(numbers == NOBODY, NOBODY, numbers + shift).astype(np.int32)


MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class JoinedSnapshot:
    """Several snapshots as one: the entries of the first, then those of the second and so on."""

    parts: tuple[RankingArrays, ...]
    """The arrays it was joined from, which identify it. The snapshots would keep vectors that nobody uses any more."""
    arrays: RankingArrays
    starts: tuple[int, ...]
    of_entry: Ints
    """The number of each entry's snapshot."""
    numbers: Longs
    updated: Longs
    keys: Longs
    """Number of the snapshot, then of the entry; sorted, with a sentinel above all at the end."""
    positions: Ints
    nbytes: int

    def find(self, snapshots: Ints, numbers: Longs) -> tuple[Ints, Bools]:
        """The positions of these entries, and a mask of the known ones."""
        keys = snapshots.astype(np.int64) << NUMBER_BITS | numbers
        at = self.keys.searchsorted(keys)
        return self.positions.take(at), self.keys.take(at) == keys


def join_snapshots(snapshots: Sequence[SpaceSnapshot]) -> JoinedSnapshot:
    sizes = [len(snapshot) for snapshot in snapshots]
    starts = np.cumsum(sizes) - sizes
    of_entry = np.repeat(np.arange(len(snapshots), dtype=np.int32), sizes)
    # Sorted, snapshot by snapshot.
    numbers = np.concatenate([snapshot.directory.numbers[:-1] for snapshot in snapshots])
    positions = np.concatenate([snapshot.directory.positions[:-1] for snapshot in snapshots]) + np.repeat(
        starts, sizes
    )
    parts = tuple(snapshot.arrays for snapshot in snapshots)
    return JoinedSnapshot(
        parts=parts,
        arrays=join_arrays(parts),
        starts=tuple(starts.tolist()),
        of_entry=of_entry,
        numbers=np.concatenate([snapshot.columns.numbers for snapshot in snapshots]),
        updated=np.concatenate([snapshot.columns.updated for snapshot in snapshots]),
        keys=np.append(of_entry.astype(np.int64) << NUMBER_BITS | numbers, np.iinfo(np.int64).max),
        positions=np.append(positions, -1).astype(np.int32),
        # Counts its parts too: they may have been dropped from the cache.
        nbytes=2 * sum(4 * snapshot.columns.nbytes + SNAPSHOT_BYTES for snapshot in snapshots),
    )


class JoinedCache:
    """Joined snapshots used last, within a ceiling of bytes."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._kept: OrderedDict[tuple[int, ...], JoinedSnapshot] = OrderedDict()
        self._lock = Lock()
        self.nbytes = 0

    def of(self, snapshots: Sequence[SpaceSnapshot]) -> JoinedSnapshot:
        # Unique while the joined one holds them.
        name = tuple([id(snapshot.arrays) for snapshot in snapshots])
        with self._lock:
            joined = self._kept.get(name)
            if joined is not None:
                self._kept.move_to_end(name)
                return joined
        joined = join_snapshots(snapshots)
        with self._lock:
            if name not in self._kept:
                self._kept[name] = joined
                self.nbytes += joined.nbytes
            while self._kept and (self.nbytes > self._ceiling or len(self._kept) > MOST_KEPT):
                self.nbytes -= self._kept.popitem(last=False)[1].nbytes
        return joined
