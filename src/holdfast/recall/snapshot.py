"""One space as recall sees it: outlines, features and vectors as arrays that never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holdfast.contracts.rows import ALWAYS_INJECT, ENCRYPTED, QUARANTINED, OutlineRow, SpaceState, Visible
from holdfast.domain.ids import NUMBER_BITS
from holdfast.domain.partition import OWNER_ONLY_IN_USER_SPACES
from holdfast.recall.arrays import (
    DEFAULT,
    NO_DAY,
    NOBODY,
    Bools,
    Ints,
    RankingArrays,
    SpaceArrays,
    neighbours,
    prepare_arrays,
)
from holdfast.recall.cosine import Matrix
from holdfast.storage.features import NEVER, NO_CONVERSATION, Features
from holdfast.text.traits import role_of

NO_EXPIRY = np.iinfo(np.int64).max
DAY_US = 86_400_000_000
NO_STATE = SpaceState(0, -1, -1)
Longs = NDArray[np.int64]
SNAPSHOT_BYTES = 9_000
"""Memory for some seventy arrays and their objects in a space that is nearly empty."""
_MOST_STEPS = 16
_CACHED_NUMBERS = 16_384
"""The most numbers that stay in the processor's cache, where a binary search is quicker."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One value for each entry, oldest change first; `chunk_terms` alone has one for each chunk."""

    numbers: Longs
    revisions: Ints
    partitions: NDArray[np.uint8]
    owners: Ints
    updated: Longs
    expires: Longs
    flags: Ints
    at: Longs
    seqs: Longs
    conversations: Ints
    speakers: Ints
    roles: NDArray[np.uint8]
    traits: NDArray[np.uint8]
    characters: Ints
    label_terms: Ints
    chunks: Ints
    slots: Ints
    """Row of the entry's vector; NOBODY while it waits for one."""
    chunk_terms: Ints

    def where(self, kept: Bools) -> Columns:
        by_chunk = np.repeat(kept, self.chunks)
        return self._each(lambda name, values: values[by_chunk if name == "chunk_terms" else kept])

    def followed_by(self, more: Columns) -> Columns:
        return self._each(lambda name, values: np.concatenate((values, getattr(more, name))))

    def _each(self, change: Callable[[str, NDArray[Any]], NDArray[Any]]) -> Columns:
        changed: dict[str, NDArray[Any]] = {
            field.name: change(field.name, getattr(self, field.name)) for field in fields(self)
        }
        return Columns(**changed)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, field.name).nbytes for field in fields(self))


class Numbering:
    """Numbers equal things equally, from 0 in the order they come. Snapshots of one space share it."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def __call__(self, thing: object) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def find(self, thing: object) -> int:
        return self._numbers.get(thing, NOBODY)

    def all(self) -> tuple[object, ...]:
        return tuple(self._numbers)


@dataclass(frozen=True, slots=True)
class NumberLookup:
    """Finds the position of the entry with a number. Numbers are random, so the first bits of one lead to within a few
    steps of it; in a large space a binary search would miss the processor's cache at every step."""

    numbers: Longs
    """Sorted, with a sentinel above all at the end."""
    positions: Ints
    starts: Ints
    """For each value of the first bits, the first number with at least that value; empty where a binary search is
    quicker."""
    shift: int

    @classmethod
    def of(cls, numbers: Longs) -> NumberLookup:
        order = np.argsort(numbers, kind="stable").astype(np.int32)
        known = np.append(numbers[order], np.iinfo(np.int64).max)
        positions = np.append(order, np.int32(NOBODY))
        if len(known) <= _CACHED_NUMBERS:
            return cls(known, positions, order[:0], NUMBER_BITS)
        bits = min((2 * len(numbers)).bit_length(), NUMBER_BITS)
        shift = NUMBER_BITS - bits
        starts = np.searchsorted(known, np.arange(1 << bits, dtype=np.int64) << shift).astype(np.int32)
        return cls(known, positions, starts, shift)

    def find(self, numbers: Longs) -> tuple[Ints, Bools]:
        at = self._at(numbers)
        return self.positions.take(at), self.numbers.take(at) == numbers

    def _at(self, numbers: Longs) -> NDArray[np.integer]:
        if len(self.numbers) <= _CACHED_NUMBERS:
            return self.numbers.searchsorted(numbers)
        at = self.starts.take(numbers >> self.shift)
        for _ in range(_MOST_STEPS):
            below = self.numbers.take(at) < numbers
            if not below.any():
                return at
            at += below
        return self.numbers.searchsorted(numbers)


@dataclass(frozen=True, slots=True)
class SpaceSnapshot:
    space: UUID
    model: int
    state: SpaceState
    columns: Columns
    matrix: Matrix
    owners: Numbering
    conversations: Numbering
    speakers: Numbering
    arrays: RankingArrays
    directory: NumberLookup
    nbytes: int
    compared_there: bool = False
    """True when the store compares the vectors, because they are too many to be opened here."""

    def __len__(self) -> int:
        return len(self.columns.numbers)

    def spoke(self, people: Iterable[str]) -> list[str]:
        """The people among these who said something in the space."""
        speakers = self.columns.speakers
        return [name for name in people if (speakers == self.speakers.find(name)).any()]

    def find(self, numbers: Longs) -> tuple[Ints, Bools]:
        """The positions of these entries, and a mask of those the snapshot knows."""
        return self.directory.find(numbers)

    def position(self, number: int) -> int | None:
        at, known = self.find(np.array([number], dtype=np.int64))
        return int(at[0]) if known[0] else None

    def allowed(self, visible: Visible) -> Bools:
        """The entries this caller may see at this moment. Every hit is checked once more when it is read."""
        columns = self.columns
        allowed = _rooms(visible.partitions)[columns.partitions]
        if visible.private:
            own = columns.owners == self.owners.find(visible.viewer)
            allowed &= own | ~_rooms(visible.private)[columns.partitions]
        allowed &= columns.expires > visible.now
        allowed &= (columns.flags & (QUARANTINED | ENCRYPTED)) == 0
        return allowed

    def during(self, since_us: int | None, until_us: int | None) -> Bools:
        """The entries of a period, by the time something was said, else by its last change."""
        when = np.where(self.columns.at == NEVER, self.columns.updated, self.columns.at)
        return (when >= (NEVER if since_us is None else since_us)) & (
            when <= (NO_EXPIRY if until_us is None else until_us)
        )

    def before(self, position: int) -> int | None:
        """The number of the note before this one in its conversation."""
        previous = int(self.arrays.space.previous[position])
        return None if previous == NOBODY else int(self.columns.numbers[previous])


def _rooms(partitions: Iterable[int]) -> Bools:
    """A mask over partition numbers."""
    among = np.zeros(256, dtype=np.bool_)
    among[list(partitions)] = True
    return among


def compare_with(columns: Columns, live: Sequence[OutlineRow]) -> tuple[Bools, list[OutlineRow]]:
    """Returns a mask of the entries that are live and unchanged, and the live rows that are new or changed."""
    numbers = np.array([row.number for row in live], dtype=np.int64)
    revisions = np.array([row.revision for row in live], dtype=np.int64)
    then = columns.numbers << 31 | columns.revisions
    now = numbers << 31 | revisions
    come = ~np.isin(now, then)
    return np.isin(then, now), [row for row, new in zip(live, come, strict=True) if new]


def new_columns(
    snapshot: SpaceSnapshot, rows: Sequence[OutlineRow], features: Sequence[Features], slots: Ints
) -> Columns:
    def column(values: Iterable[int], kind: type[np.generic]) -> NDArray[Any]:
        return np.fromiter(values, dtype=kind, count=len(rows))

    def conversation(row: OutlineRow, own: Features) -> int:
        """Numbers conversations by partition, and in a private partition by owner: its notes lend nothing to others."""
        if own.conversation == NO_CONVERSATION:
            return NOBODY
        owner = row.owner if row.partition in OWNER_ONLY_IN_USER_SPACES else b""
        return snapshot.conversations((own.conversation, row.partition, owner))

    both = list(zip(rows, features, strict=True))
    return Columns(
        column((row.number for row in rows), np.int64),
        column((row.revision for row in rows), np.int32),
        column((row.partition for row in rows), np.uint8),
        column((snapshot.owners(row.owner) for row in rows), np.int32),
        column((row.updated_us for row in rows), np.int64),
        column((NO_EXPIRY if row.expires_us is None else row.expires_us for row in rows), np.int64),
        column((row.flags for row in rows), np.int32),
        column((own.at_us for own in features), np.int64),
        column((row.seq for row in rows), np.int64),
        column((conversation(row, own) for row, own in both), np.int32),
        column((snapshot.speakers(own.speaker) if own.speaker else NOBODY for own in features), np.int32),
        column((role_of(own.speaker) for own in features), np.uint8),
        column((own.traits for own in features), np.uint8),
        column((own.characters for own in features), np.int32),
        column((own.label_terms for own in features), np.int32),
        column((max(1, len(own.chunk_terms)) for own in features), np.int32),
        slots,
        np.array([n for own in features for n in own.chunk_terms or (0,)], dtype=np.int32),
    )


def empty_snapshot(space: UUID, model: int, dimensions: int) -> SpaceSnapshot:
    arrays, directory = _of_nothing()
    return SpaceSnapshot(
        space=space,
        model=model,
        state=NO_STATE,
        columns=_NO_COLUMNS,
        matrix=Matrix.empty(dimensions),
        owners=Numbering(),
        conversations=Numbering(),
        speakers=Numbering(),
        arrays=arrays,
        directory=directory,
        nbytes=0,
    )


@cache
def _of_nothing() -> tuple[RankingArrays, NumberLookup]:
    """Arrays of an empty space. Cached: they take as long to make as those of a small space."""
    return prepare_arrays(_space(_NO_COLUMNS, ()), DEFAULT), NumberLookup.of(_NO_COLUMNS.numbers)


_DTYPES = dict.fromkeys(("numbers", "updated", "expires", "at", "seqs"), np.dtype(np.int64)) | dict.fromkeys(
    ("partitions", "roles", "traits"), np.dtype(np.uint8)
)
_NO_COLUMNS = Columns(
    **{field.name: np.zeros(0, _DTYPES.get(field.name, np.int32)) for field in fields(Columns)}
)


def with_columns(snapshot: SpaceSnapshot, columns: Columns) -> SpaceSnapshot:
    """The snapshot with these entries, and with the arrays that follow from them."""
    names = tuple(str(name) for name in snapshot.speakers.all())
    return replace(
        snapshot,
        columns=columns,
        arrays=prepare_arrays(_space(columns, names), DEFAULT),
        directory=NumberLookup.of(columns.numbers),
        # Prepared arrays are about three times the columns they are made from.
        nbytes=int(snapshot.matrix.nbytes + 4 * columns.nbytes + SNAPSHOT_BYTES),
    )


def _space(columns: Columns, names: tuple[str, ...]) -> SpaceArrays:
    size = len(columns.numbers)
    unit_entry = np.repeat(np.arange(size, dtype=np.int32), columns.chunks)
    first = np.cumsum(columns.chunks) - columns.chunks
    terms_before = np.cumsum(columns.chunk_terms) - columns.chunk_terms
    body_start = terms_before - np.repeat(terms_before[first] if size else terms_before, columns.chunks)
    unit_length = columns.chunk_terms.astype(np.float32)
    unit_length[first] += columns.label_terms
    when = np.where(columns.at == NEVER, columns.updated, columns.at)
    place = np.lexsort((columns.seqs, when)).argsort().astype(np.int32)
    previous, following = neighbours(columns.conversations, place)
    dated = columns.at != NEVER
    return SpaceArrays(
        unit_entry=unit_entry,
        unit_length=unit_length,
        body_start=body_start.astype(np.int32),
        conversation=_dense(columns.conversations),
        previous=previous,
        following=following,
        speaker=columns.speakers,
        names=names,
        role=columns.roles,
        traits=columns.traits,
        characters=columns.characters,
        pinned=(columns.flags & ALWAYS_INJECT) != 0,
        day=np.where(dated, columns.at // DAY_US, NO_DAY).astype(np.int32),
    )


def _dense(conversations: Ints) -> Ints:
    """Renumbers conversations without gaps, so that those that are gone cost nothing."""
    known, dense = np.unique(conversations, return_inverse=True)
    shift = 1 if len(known) and known[0] == NOBODY else 0
    return (dense - shift).astype(np.int32)


def compact(columns: Columns, matrix: Matrix) -> tuple[Columns, Matrix]:
    """Frees the rows of vectors that are gone, once they are the greater part."""
    used = columns.slots[columns.slots != NOBODY]
    if matrix.used < 64 or 2 * len(used) >= matrix.used:
        return columns, matrix
    slots = columns.slots.copy()
    slots[columns.slots != NOBODY] = np.arange(len(used), dtype=np.int32)
    return replace(columns, slots=slots), matrix.only(used)
