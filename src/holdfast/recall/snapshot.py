"""One space as recall sees it: outlines, signals and vectors as arrays, never changed once made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from holdfast.contracts.rows import (
    ALWAYS_INJECT,
    ENCRYPTED,
    QUARANTINED,
    OutlineRow,
    SpaceState,
    Visible,
)
from holdfast.domain.ids import NUMBER_BITS
from holdfast.domain.partition import OWNER_ONLY_IN_USER_SPACES
from holdfast.recall.arrays import (
    NO_DAY,
    NOBODY,
    Bools,
    Ints,
    RankingArrays,
    SpaceArrays,
    neighbours,
    prepare,
)
from holdfast.recall.vector_matrix import Matrix
from holdfast.recall.weights import DEFAULT
from holdfast.storage.features import NEVER, NO_CONVERSATION, Features
from holdfast.text.traits import role_of

NO_EXPIRY = np.iinfo(np.int64).max
DAY_US = 86_400_000_000
NO_STATE = SpaceState(0, -1, -1)
Longs = NDArray[np.int64]
VIEW_BYTES = 9_000
"""What some seventy arrays and their keepers take where there is next to nothing in them."""
_MOST_STEPS = 16
_CACHED_NUMBERS = 16_384
"""Up to so many numbers stay in the processor's cache, where a search by halves is quicker."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One value an entry, oldest change first; `chunk_terms` alone has one a chunk."""

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
    """Gives equal things equal small numbers, in the order of their coming; several views of a space share one."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def __call__(self, thing: object) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def find(self, thing: object) -> int:
        return self._numbers.get(thing, NOBODY)

    def all(self) -> tuple[object, ...]:
        return tuple(self._numbers)


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the entry with a number stands. Numbers are random, so the first bits of one lead to within a few steps of
    it; a search by halves would miss the caches of a large space at every step."""

    numbers: Longs
    """Sorted, and one above all at the end."""
    positions: Ints
    starts: Ints
    """By the first bits, the first of the numbers that has them or comes after; none where halving is quicker."""
    shift: int

    @classmethod
    def of(cls, numbers: Longs) -> Directory:
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
    prepared: RankingArrays
    directory: Directory
    nbytes: int
    compared_there: bool = False
    """Whether the store compares its vectors, because they are too many to be opened here."""

    def __len__(self) -> int:
        return len(self.columns.numbers)

    def spoke(self, people: Iterable[str]) -> list[str]:
        """Who of these people said something here."""
        said = self.columns.speakers
        return [name for name in people if (said == self.speakers.find(name)).any()]

    def find(self, numbers: Longs) -> tuple[Ints, Bools]:
        """Where these entries stand, and which of them the view knows."""
        return self.directory.find(numbers)

    def position(self, number: int) -> int | None:
        at, known = self.find(np.array([number], dtype=np.int64))
        return int(at[0]) if known[0] else None

    def allowed(self, visible: Visible) -> Bools:
        """Which entries this caller may be shown at this moment, but for what a second look at each will say."""
        columns = self.columns
        allowed = _rooms(visible.partitions)[columns.partitions]
        if visible.private:
            own = columns.owners == self.owners.find(visible.viewer)
            allowed &= own | ~_rooms(visible.private)[columns.partitions]
        allowed &= columns.expires > visible.now
        allowed &= (columns.flags & (QUARANTINED | ENCRYPTED)) == 0
        return allowed

    def during(self, since_us: int | None, until_us: int | None) -> Bools:
        """By the time something was said, else by its last change."""
        when = np.where(self.columns.at == NEVER, self.columns.updated, self.columns.at)
        return (when >= (NEVER if since_us is None else since_us)) & (
            when <= (NO_EXPIRY if until_us is None else until_us)
        )

    def before(self, position: int) -> int | None:
        """The number of the note before this one in its conversation."""
        previous = int(self.prepared.space.previous[position])
        return None if previous == NOBODY else int(self.columns.numbers[previous])


def _rooms(partitions: Iterable[int]) -> Bools:
    """By a partition's number, whether it is among these."""
    among = np.zeros(256, dtype=np.bool_)
    among[list(partitions)] = True
    return among


def compare_with(columns: Columns, live: Sequence[OutlineRow]) -> tuple[Bools, list[OutlineRow]]:
    """Which known entries are still there as they were, and which of the live ones are new or changed."""
    numbers = np.array([row.number for row in live], dtype=np.int64)
    revisions = np.array([row.revision for row in live], dtype=np.int64)
    then = columns.numbers << 31 | columns.revisions
    now = numbers << 31 | revisions
    come = ~np.isin(now, then)
    return np.isin(then, now), [row for row, new in zip(live, come, strict=True) if new]


def made(
    view: SpaceSnapshot, rows: Sequence[OutlineRow], signals: Sequence[Features], slots: Ints
) -> Columns:
    def column(values: Iterable[int], kind: type[np.generic]) -> NDArray[Any]:
        return np.fromiter(values, dtype=kind, count=len(rows))

    def conversation(row: OutlineRow, said: Features) -> int:
        """A private room's notes lend nothing to others', so the room, and there the owner, are part of it."""
        if said.conversation == NO_CONVERSATION:
            return NOBODY
        owner = row.owner if row.partition in OWNER_ONLY_IN_USER_SPACES else b""
        return view.conversations((said.conversation, row.partition, owner))

    both = list(zip(rows, signals, strict=True))
    return Columns(
        column((row.number for row in rows), np.int64),
        column((row.revision for row in rows), np.int32),
        column((row.partition for row in rows), np.uint8),
        column((view.owners(row.owner) for row in rows), np.int32),
        column((row.updated_us for row in rows), np.int64),
        column((NO_EXPIRY if row.expires_us is None else row.expires_us for row in rows), np.int64),
        column((row.flags for row in rows), np.int32),
        column((said.at_us for said in signals), np.int64),
        column((row.seq for row in rows), np.int64),
        column((conversation(row, said) for row, said in both), np.int32),
        column((view.speakers(said.speaker) if said.speaker else NOBODY for said in signals), np.int32),
        column((role_of(said.speaker) for said in signals), np.uint8),
        column((said.traits for said in signals), np.uint8),
        column((said.characters for said in signals), np.int32),
        column((said.label_terms for said in signals), np.int32),
        column((max(1, len(said.chunk_terms)) for said in signals), np.int32),
        slots,
        np.array([n for said in signals for n in said.chunk_terms or (0,)], dtype=np.int32),
    )


def empty_view(space: UUID, model: int, dimensions: int) -> SpaceSnapshot:
    prepared, directory = _of_nothing()
    return SpaceSnapshot(
        space=space,
        model=model,
        state=NO_STATE,
        columns=_NO_COLUMNS,
        matrix=Matrix.empty(dimensions),
        owners=Numbering(),
        conversations=Numbering(),
        speakers=Numbering(),
        prepared=prepared,
        directory=directory,
        nbytes=0,
    )


@cache
def _of_nothing() -> tuple[RankingArrays, Directory]:
    """The same for every view before it has read anything: making it takes as long as for a small space."""
    return prepare(_space(_NO_COLUMNS, ()), DEFAULT), Directory.of(_NO_COLUMNS.numbers)


_NO_COLUMNS = Columns(
    numbers=np.zeros(0, np.int64),
    revisions=np.zeros(0, np.int32),
    partitions=np.zeros(0, np.uint8),
    owners=np.zeros(0, np.int32),
    updated=np.zeros(0, np.int64),
    expires=np.zeros(0, np.int64),
    flags=np.zeros(0, np.int32),
    at=np.zeros(0, np.int64),
    seqs=np.zeros(0, np.int64),
    conversations=np.zeros(0, np.int32),
    speakers=np.zeros(0, np.int32),
    roles=np.zeros(0, np.uint8),
    traits=np.zeros(0, np.uint8),
    characters=np.zeros(0, np.int32),
    label_terms=np.zeros(0, np.int32),
    chunks=np.zeros(0, np.int32),
    slots=np.zeros(0, np.int32),
    chunk_terms=np.zeros(0, np.int32),
)


def arranged(view: SpaceSnapshot, columns: Columns) -> SpaceSnapshot:
    names = tuple(str(name) for name in view.speakers.all())
    return replace(
        view,
        columns=columns,
        prepared=prepare(_space(columns, names), DEFAULT),
        directory=Directory.of(columns.numbers),
        # Prepared arrays are about three times the columns they are made from.
        nbytes=int(view.matrix.nbytes + 4 * columns.nbytes + VIEW_BYTES),
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
    said = columns.at != NEVER
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
        day=np.where(said, columns.at // DAY_US, NO_DAY).astype(np.int32),
    )


def _dense(conversations: Ints) -> Ints:
    """Numbers without gaps: conversations that are gone must not cost anything."""
    known, dense = np.unique(conversations, return_inverse=True)
    shift = 1 if len(known) and known[0] == NOBODY else 0
    return (dense - shift).astype(np.int32)


def compacted(columns: Columns, matrix: Matrix) -> tuple[Columns, Matrix]:
    """Gives back the rows of vectors that are gone, once they are the greater part."""
    used = columns.slots[columns.slots != NOBODY]
    if matrix.used < 64 or 2 * len(used) >= matrix.used:
        return columns, matrix
    slots = columns.slots.copy()
    slots[columns.slots != NOBODY] = np.arange(len(used), dtype=np.int32)
    return replace(columns, slots=slots), matrix.only(used)
