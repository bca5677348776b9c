"""Brings a snapshot up to date from the store: entries that went, came or changed, and vectors made since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np

from holdfast.contracts.rows import FEATURES_ONLY, DerivedRow, EntryRow, OutlineRow, SpaceState
from holdfast.crypto.sealing import unseal_derived
from holdfast.recall.arrays import NOBODY
from holdfast.recall.cosine import Matrix
from holdfast.recall.snapshot import (
    NO_STATE,
    Columns,
    SpaceSnapshot,
    compact,
    compare_with,
    empty_snapshot,
    new_columns,
    with_columns,
)
from holdfast.storage.features import Features, features_of, unpack_features
from holdfast.storage.sealed_store import SealedStore

OPENED_AT_ONCE = 500


def follow(sealed: SealedStore, ceiling: int, snapshot: SpaceSnapshot, state: SpaceState) -> SpaceSnapshot:
    """The snapshot at this state of its space. Vectors that take more than `ceiling` bytes stay in a store that can
    compare them."""
    outlines, columns = sealed.store.outlines, snapshot.columns
    if state.removed == snapshot.state.removed:
        come = outlines.of(snapshot.space, snapshot.state.seq)
        kept = ~np.isin(columns.numbers, [row.number for row in come])
    else:
        sealed.keyring.look_again(snapshot.space)  # a space that was forgotten has another key
        kept, come = compare_with(columns, outlines.of(snapshot.space, 0))
    columns = columns if kept.all() else columns.where(kept)
    if _too_large(sealed, ceiling, len(columns.numbers) + len(come), snapshot) != snapshot.compared_there:
        empty = empty_snapshot(snapshot.space, snapshot.model, snapshot.matrix.dimensions)
        return follow(sealed, ceiling, replace(empty, compared_there=not snapshot.compared_there), state)
    matrix = snapshot.matrix
    if state.settled != snapshot.state.settled or snapshot.state == NO_STATE:
        columns, matrix = _add_vectors(sealed, snapshot, columns, matrix)
    if come:
        more, matrix = _read_new(sealed, snapshot, come, matrix)
        columns = columns.followed_by(more)
    columns, matrix = compact(columns, matrix)
    return with_columns(replace(snapshot, state=state, matrix=matrix.with_codes()), columns)


def open_derived(sealed: SealedStore, space: UUID, row: DerivedRow) -> tuple[Features, bytes] | None:
    """The features and the vector in a derived row; None when it does not open."""
    key = sealed.keyring.of(space).get(row.key_id)
    plain = None if key is None else unseal_derived(key, row.number, row.revision, row.model, row.sealed)
    return None if plain is None else unpack_features(plain)


def _too_large(sealed: SealedStore, ceiling: int, entries: int, snapshot: SpaceSnapshot) -> bool:
    """Says if the vectors stay in the store. A space that shrinks is opened again only at half the ceiling, so that one
    at the edge does not go back and forth."""
    if sealed.store.vectors is None:
        return False
    nbytes = entries * snapshot.matrix.dimensions * snapshot.matrix.rows.itemsize
    return nbytes > (ceiling // 2 if snapshot.compared_there else ceiling)


def _add_vectors(
    sealed: SealedStore, snapshot: SpaceSnapshot, columns: Columns, matrix: Matrix
) -> tuple[Columns, Matrix]:
    """Adds vectors of known entries, which are made in the order of the entries' changes."""
    if snapshot.model == FEATURES_ONLY or snapshot.compared_there:
        return columns, matrix
    reached = sealed.store.derived.progress(snapshot.model, snapshot.space)
    waiting = np.flatnonzero((columns.slots == NOBODY) & (columns.seqs <= reached))
    if not len(waiting):
        return columns, matrix
    numbers = [int(number) for number in columns.numbers[waiting]]
    positions = dict(zip(numbers, waiting, strict=True))
    slots = columns.slots.copy()
    for row in sealed.store.derived.of(snapshot.space, snapshot.model, numbers):
        opened, position = open_derived(sealed, snapshot.space, row), positions[row.number]
        if opened is not None and row.revision == columns.revisions[position]:
            matrix, slots[position] = matrix.with_vector(opened[1])
    return replace(columns, slots=slots), matrix


def _read_new(
    sealed: SealedStore, snapshot: SpaceSnapshot, rows: Sequence[OutlineRow], matrix: Matrix
) -> tuple[Columns, Matrix]:
    """Columns of new entries. Their features come from derived rows, else from the opened entries."""
    numbers = None if not len(snapshot) else [row.number for row in rows]
    revisions = {row.number: row.revision for row in rows}
    known: dict[int, tuple[Features, bytes]] = {}
    for derived in sealed.store.derived.of(snapshot.space, snapshot.model, numbers):
        current = revisions.get(derived.number) == derived.revision
        if current and (opened := open_derived(sealed, snapshot.space, derived)) is not None:
            known[derived.number] = opened
    rest = [row for row in rows if row.number not in known]
    known |= ((number, (features, b"")) for number, features in _features(sealed, snapshot.space, rest))
    readable = [row for row in rows if row.number in known]
    slots = np.full(len(readable), NOBODY, dtype=np.int32)
    for position, row in enumerate(readable):
        if (vector := known[row.number][1]) and not snapshot.compared_there:
            matrix, slots[position] = matrix.with_vector(vector)
    return new_columns(snapshot, readable, [known[row.number][0] for row in readable], slots), matrix


def _features(sealed: SealedStore, space: UUID, rows: Sequence[OutlineRow]) -> Iterable[tuple[int, Features]]:
    """Features of entries without derived rows, but for those that do not open. Each batch looks up the keys:
    a key rotation may begin and end while a large space is read."""
    for start in range(0, len(rows), OPENED_AT_ONCE):
        keys, some = sealed.keyring.of(space), rows[start : start + OPENED_AT_ONCE]
        for row in entry_rows(sealed, space, some):
            entry = sealed.open_row(keys, row).entry
            if entry is not None and entry.content.is_text:
                yield row.number, features_of(entry.content)


def entry_rows(sealed: SealedStore, space: UUID, rows: Sequence[OutlineRow]) -> list[EntryRow]:
    """The whole rows of these outlines. A full batch is read as one range of changes."""
    numbers = {row.number for row in rows}
    if len(rows) < OPENED_AT_ONCE:
        return sealed.store.entries.by_numbers(space, list(numbers))
    found = sealed.store.outlines.changed(space, rows[0].seq - 1, 2 * len(rows))
    found = [row for row in found if row.number in numbers]
    rest = numbers.difference(row.number for row in found)
    return found + sealed.store.entries.by_numbers(space, list(rest))
