"""Copies a whole store to another backend, space by space, and verifies the copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

from holdfast.contracts.rows import (
    STORE,
    AuditRow,
    DerivedRow,
    EntryRow,
    NameRow,
    ReceiptRow,
    RevisionRow,
    SpaceState,
    WholeSpace,
)
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.errors import Conflict
from holdfast.storage.features import reseal_features
from holdfast.storage.index_terms import index_text
from holdfast.storage.keyring import SpaceKeys
from holdfast.storage.row_codec import open_entry
from holdfast.storage.sealed_store import SealedStore

_AFTER_ALL_TIME = (1 << 62) - 1
_ALL_KEYS = 1_000_000

Row = TypeVar("Row")
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    spaces: int
    entries: int
    revisions: int
    grants: int
    unreadable: int
    """Entries whose key is not configured. They are moved sealed, and not indexed until they are written again."""


def move(source: SealedStore, target: Store, progress: Progress | None = None) -> Moved:
    """Copies everything, then compares every row. Nobody may write to the source meanwhile: a change is refused at
    the end, and moving again copies it. `progress` gets the number of entries copied."""
    there = target.keys.of(STORE)
    if there and there != source.store.keys.of(STORE):
        raise Conflict("The target holds another store; choose an empty one.")
    target.write(partial(_put_store, source=source.store))
    _drop_other_models(source.store, target)
    for names in _names(source.store):
        _put_all(target, names, lambda tx, row: tx.names.put(*row))
    over = 0
    for space in _spaces(source.store):
        if _found(target, space.row.id) != space:
            for done in move_space(source, target, space):
                _tell(progress, over + done)
        elif not same_access(source.store, target, space.row.id):
            target.write(partial(put_access, source=source.store, space=space.row.id))
        over += space.counts.entries
        _tell(progress, over)
    _move_uses(source.store, target)
    _move_receipts(source.store, target)
    _move_audit(source.store, target)
    return compare(source, target)


def compare(source: SealedStore, target: Store) -> Moved:
    """Counts the contents of both stores; Conflict when they differ in any row."""
    ours = source.store
    _require(ours.keys.of(STORE) == target.keys.of(STORE), "the store's own keys")
    _require(ours.rules.all() == target.rules.all(), "the rules")
    _require(ours.agents.all() == target.agents.all(), "the settings of agents")
    _require(ours.models.all() == target.models.all(), "the models")
    _require(_same(_receipts(ours), _receipts(target)), "the answers to idempotency keys")
    _require(_same(_names(ours), _names(target)), "the names")
    _require(_same(_audit(ours), _audit(target)), "the audit log")
    spaces = list(_spaces(ours))
    _require(spaces == list(_spaces(target)), "the spaces and their counters")
    entries = revisions = grants = unreadable = 0
    for space in spaces:
        id = space.row.id
        where = f"the space {id}"
        _require(same_access(ours, target, id), f"the keys, the grants or the list of {where}")
        _require(_same(entries_of(ours, id), entries_of(target, id)), f"the entries of {where}")
        _require(_same(revisions_of(ours, id), revisions_of(target, id)), f"the revisions of {where}")
        readable = source.keyring.of(id).readable
        entries += sum(len(page) for page in entries_of(ours, id))
        unreadable += sum(row.key_id not in readable for page in entries_of(ours, id) for row in page)
        revisions += sum(len(page) for page in revisions_of(ours, id))
        grants += len(ours.grants.on(id))
    return Moved(len(spaces), entries, revisions, grants, unreadable)


def _require(equal: bool, what: str) -> None:
    if not equal:
        raise Conflict(f"The two stores differ in {what}: the source was written to meanwhile. Move again.")


def _same(ours: Iterator[list[Row]], theirs: Iterator[list[Row]]) -> bool:
    """Compares page by page: both sides are read in the same order and size."""
    while True:
        mine, other = next(ours, []), next(theirs, [])
        if mine != other:
            return False
        if not mine:
            return True


def _tell(progress: Progress | None, over: int) -> None:
    if progress is not None:
        progress(over)


def _found(target: Store, space: UUID) -> WholeSpace | None:
    """The space in the target with its counters, which are written last."""
    page = target.copies.spaces(UUID(int=space.int - 1), 1)
    return page[0] if page and page[0].row.id == space else None


# What belongs to no space


def _put_store(tx: Transaction, source: Store) -> None:
    for key in source.keys.of(STORE):
        tx.copies.put_key(key)
    for rule in source.rules.all():
        tx.rules.put(rule)
    for agent in source.agents.all():
        tx.agents.put(agent)
    for model in source.models.all():
        tx.copies.put_model(model)


def _put_all(target: Store, rows: Sequence[Row], put: Callable[[Transaction, Row], object]) -> None:
    """Puts these rows in one transaction."""

    def job(tx: Transaction) -> None:
        for row in rows:
            put(tx, row)

    if rows:
        target.write(job)


def _drop_other_models(source: Store, target: Store) -> None:
    """Drops models that the source no longer has since an earlier move."""
    known = {model.model for model in source.models.all()}
    for model in [model.model for model in target.models.all() if model.model not in known]:
        while target.write(partial(_drop_derived, model=model)) == PAGE:
            pass
        _put_all(target, [model], lambda tx, model: tx.models.delete(model))


def _drop_derived(tx: Transaction, model: int) -> int:
    return tx.derived.drop_model(model, PAGE)


def _move_uses(source: Store, target: Store) -> None:
    """Copies the use counts of keys: a worn key must not seem new."""
    there = {(key.space, key.key_id): key.uses for key in target.keys.most_used(_ALL_KEYS)}
    for key in source.keys.most_used(_ALL_KEYS):
        more = key.uses - there.get((key.space, key.key_id), 0)
        if more > 0:
            _put_all(target, [(key.space, key.key_id, more)], lambda tx, use: tx.keys.add_uses(*use))


def _move_receipts(source: Store, target: Store) -> None:
    """Replaces all receipts: they live for a day, and no counter shows their changes."""
    while target.write(lambda tx: tx.receipts.delete_before(_AFTER_ALL_TIME, PAGE)):
        pass
    for receipts in _receipts(source):
        _put_all(target, receipts, lambda tx, row: tx.receipts.put(row))


def _move_audit(source: Store, target: Store) -> None:
    """Copies the lines after those that the target has. The code is right once the last line is there."""
    position = sum(len(page) for page in _audit(target))
    code = source.audit.head().code
    while lines := source.audit.after(position, PAGE):
        _put_all(target, lines, lambda tx, row: tx.audit.append(row, code))
        position += len(lines)


# Pages


def _spaces(store: Store) -> Iterator[WholeSpace]:
    for page in pages(lambda after: store.copies.spaces(after, PAGE), lambda space: space.row.id, STORE):
        yield from page


def _names(store: Store) -> Iterator[list[NameRow]]:
    return pages(lambda after: store.copies.names(after, PAGE), lambda row: row.name, b"")


def _receipts(store: Store) -> Iterator[list[ReceiptRow]]:
    return pages(
        lambda after: store.copies.receipts(after, PAGE), lambda row: (row.principal, row.key), (b"", b"")
    )


def _audit(store: Store) -> Iterator[list[AuditRow]]:
    position = 0
    while page := store.audit.after(position, PAGE):
        yield page
        position += len(page)


PAGE = 200


Place = TypeVar("Place")


def move_space(source: SealedStore, target: Store, space: WholeSpace) -> Iterator[int]:
    """Moves one space, and yields the number of its entries copied so far."""
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
        _put_all(target, [(model.model, id, reached)], lambda tx, progress: tx.derived.advance(*progress))
    target.write(lambda tx: tx.copies.put_space(space))


def same_access(source: Store, target: Store, space: UUID) -> bool:
    """Compares keys, grants and access list of a space."""
    return (
        source.keys.of(space) == target.keys.of(space)
        and sorted(source.grants.on(space)) == sorted(target.grants.on(space))
        and source.copies.members(space) == target.copies.members(space)
    )


def put_access(tx: Transaction, source: Store, space: UUID) -> None:
    """Copies keys, grants and access list, and removes those that the source no longer has. No counter of the space
    shows their changes."""
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


# What an earlier try has brought


def _drop_changed(source: Store, target: Store, space: UUID) -> None:
    """Drops rows of an earlier try that differ. It comes first, because a changed entry may hold the key of a new
    one."""
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
    """Adds missing revisions. The target has none that the source lacks, so a page of it covers these rows."""
    before = rows[0].number, rows[0].revision - 1
    there = set(target.copies.revisions(space, before, PAGE))
    missing = [row for row in rows if row not in there]
    _put_all(target, missing, lambda tx, row: tx.entries.add_revision(space, row))


def _bring_derived(
    source: Store, target: Store, space: UUID, keys: SpaceKeys, numbers: Sequence[int]
) -> None:
    """Copies missing derived rows; those that do not open are derived again later."""
    compared_there = target.vectors is not None
    for model in source.models.all():
        there = set(map(_made_from, target.derived.of(space, model.model, numbers)))
        carried = []
        for row in source.derived.of(space, model.model, numbers):
            key = keys.get(row.key_id)
            if key is not None and _made_from(row) not in there:
                carried.append(reseal_features(key, key, row, compared_there=compared_there))
        opened = [row for row in carried if row is not None]
        _put_all(target, opened, lambda tx, row: tx.derived.put(space, row))


def _made_from(row: DerivedRow) -> tuple[int, int, int]:
    """The identity of a derived row without its seal, which differs between stores."""
    return row.number, row.revision, row.key_id


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
