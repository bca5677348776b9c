"""One space moved to another backend. What an earlier try has brought stays: rows that the source no longer has as they
are go first, then those that are missing come. Its counters are put last: they say that everything is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

from holdfast.contracts.rows import DerivedRow, EntryRow, RevisionRow, SpaceState, WholeSpace
from holdfast.contracts.storage import Store, Transaction
from holdfast.storage.codec import open_entry
from holdfast.storage.index_text import index_text
from holdfast.storage.keyring import SpaceKeys
from holdfast.storage.sealed import Sealed
from holdfast.storage.signals import reseal_signals

PAGE = 200

Row = TypeVar("Row")
Place = TypeVar("Place")


def move_space(source: Sealed, target: Store, space: WholeSpace) -> Iterator[int]:
    """Says again and again how many of its entries are over."""
    store, id, keys = source.store, space.row.id, source.keyring.of(space.row.id)
    target.write(partial(_begin, source=store, space=space))
    _drop_changed(store, target, id)
    over = 0
    for entries in entries_of(store, id):
        _bring_entries(target, id, keys, entries)
        _bring_derived(store, target, id, keys, [row.number for row in entries])
        over += len(entries)
        yield over
    for revisions in revisions_of(store, id):
        _bring_revisions(target, id, revisions)
    for model in store.models.all():
        reached = store.derived.progress(model.model, id)
        target.write(partial(_put_progress, space=id, model=model.model, reached=reached))
    target.write(partial(_end, space=space))


def same_access(source: Store, target: Store, space: UUID) -> bool:
    """Who may read the space, and with which keys."""
    return (
        source.keys.of(space) == target.keys.of(space)
        and sorted(source.grants.on(space)) == sorted(target.grants.on(space))
        and source.copies.members(space) == target.copies.members(space)
    )


def put_access(tx: Transaction, source: Store, space: UUID) -> None:
    """None of it moves a counter of the space. What an earlier move brought and the source no longer has goes."""
    keys, grants = source.keys.of(space), source.grants.on(space)
    for key in set(tx.keys.of(space)).difference(keys):
        tx.keys.delete(space, key.key_id)
    for key in keys:
        tx.copies.put_key(key)
    for grant in set(tx.grants.on(space)).difference(grants):
        tx.grants.delete(space, grant.grantee, grant.granted_by)
    for grant in grants:
        tx.grants.put(grant)
    tx.members.replace(space, source.copies.members(space))


def _begin(tx: Transaction, source: Store, space: WholeSpace) -> None:
    nothing = space.counts._replace(seq=0, entries=0, indexed=0, length=0)
    tx.copies.put_space(WholeSpace(space.row, nothing, SpaceState(0, 0, 0)))
    put_access(tx, source, space.row.id)


def _end(tx: Transaction, space: WholeSpace) -> None:
    tx.copies.put_space(space)


# What an earlier try has brought


def _drop_changed(source: Store, target: Store, space: UUID) -> None:
    """Before anything comes: a changed entry may stand in the way of a new one by its key."""
    for entries in entries_of(target, space):
        ours = set(source.entries.by_numbers(space, [row.number for row in entries]))
        _drop(target, space, {row.number for row in entries if row not in ours})
    for revisions in revisions_of(target, space):
        numbers = {row.number for row in revisions}
        kept = {row for number in numbers for row in source.entries.revisions_of(space, number)}
        _drop(target, space, {row.number for row in revisions if row not in kept})


def _drop(target: Store, space: UUID, numbers: set[int]) -> None:
    if numbers:
        target.write(partial(_drop_entries, space=space, numbers=sorted(numbers)))


def _drop_entries(tx: Transaction, space: UUID, numbers: Sequence[int]) -> None:
    tx.terms.drop(space, numbers)
    tx.derived.drop(space, numbers)
    tx.entries.delete(space, numbers)
    tx.erase(wait=False)


# What is missing


def _bring_entries(target: Store, space: UUID, keys: SpaceKeys, rows: Sequence[EntryRow]) -> None:
    there = {row.number for row in target.entries.by_numbers(space, [row.number for row in rows])}
    missing = [row for row in rows if row.number not in there]
    if missing:
        target.write(partial(_put_entries, space=space, keys=keys, rows=missing))


def _put_entries(tx: Transaction, space: UUID, keys: SpaceKeys, rows: Sequence[EntryRow]) -> None:
    for row in rows:
        tx.copies.put_entry(space, row)
        key = keys.get(row.key_id)
        if key is not None and row.length and row.trashed_us is None:
            entry = open_entry(key, row)
            if entry is not None:
                tx.terms.put(space, row.number, index_text(key, entry.content)[0], replaces=False)


def _bring_revisions(target: Store, space: UUID, rows: Sequence[RevisionRow]) -> None:
    """Nothing is there that the source does not have, so that a page of it reaches as far as these rows do."""
    before = rows[0].number, rows[0].revision - 1
    there = set(target.copies.revisions(space, before, PAGE))
    missing = [row for row in rows if row not in there]
    if missing:
        target.write(partial(_put_revisions, space=space, rows=missing))


def _put_revisions(tx: Transaction, space: UUID, rows: Sequence[RevisionRow]) -> None:
    for row in rows:
        tx.entries.add_revision(space, row)


def _bring_derived(
    source: Store, target: Store, space: UUID, keys: SpaceKeys, numbers: Sequence[int]
) -> None:
    compared_there = target.vectors is not None
    for model in source.models.all():
        there = set(map(_made_from, target.derived.of(space, model.model, numbers)))
        ours = source.derived.of(space, model.model, numbers)
        missing = [row for row in ours if _made_from(row) not in there]
        if missing:
            put = partial(_put_derived, space=space, keys=keys, rows=missing, compared_there=compared_there)
            target.write(put)


def _made_from(row: DerivedRow) -> tuple[int, int, int]:
    """What it is derived from; its seal is another one in every store."""
    return row.number, row.revision, row.key_id


def _put_derived(
    tx: Transaction, space: UUID, keys: SpaceKeys, rows: Sequence[DerivedRow], compared_there: bool
) -> None:
    """What does not open is derived again."""
    for row in rows:
        key = keys.get(row.key_id)
        carried = None if key is None else reseal_signals(key, key, row, compared_there=compared_there)
        if carried is not None:
            tx.derived.put(space, carried)


def _put_progress(tx: Transaction, space: UUID, model: int, reached: int) -> None:
    tx.derived.advance(model, space, reached)


# Pages


def entries_of(store: Store, space: UUID) -> Iterator[list[EntryRow]]:
    return pages(lambda after: store.copies.entries(space, after, PAGE), lambda row: row.number, 0)


def revisions_of(store: Store, space: UUID) -> Iterator[list[RevisionRow]]:
    return pages(
        lambda after: store.copies.revisions(space, after, PAGE),
        lambda row: (row.number, row.revision),
        (0, 0),
    )


def pages(
    read: Callable[[Place], list[Row]], place_of: Callable[[Row], Place], start: Place
) -> Iterator[list[Row]]:
    after = start
    while page := read(after):
        yield page
        after = place_of(page[-1])
