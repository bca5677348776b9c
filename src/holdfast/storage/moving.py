"""Moving a store to another backend: every row as it is, sealed; words indexed and vectors laid down as the target
keeps them. It can be stopped and run again: a space is done when its counters are there; all is compared at the end."""

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
from holdfast.storage.codec import index_text, open_entry
from holdfast.storage.keyring import SpaceKeys
from holdfast.storage.sealed import Sealed
from holdfast.storage.signals import reseal_signals

PAGE = 200
_AFTER_ALL_TIME = (1 << 62) - 1

Row = TypeVar("Row")
Place = TypeVar("Place")
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    spaces: int
    entries: int
    revisions: int
    grants: int
    unreadable: int
    """Entries whose key is not configured: moved as they are, found by no word until they are written again."""


def move(source: Sealed, target: Store, progress: Progress | None = None) -> Moved:
    """Copies everything, then compares every row. Nobody may write to the source meanwhile: what changed is refused at
    the end, and moving again brings it over. `progress` is told how many entries are over."""
    there = target.keys.of(STORE)
    if there and there != source.store.keys.of(STORE):
        raise Conflict("The target holds another store; choose an empty one.")
    target.write(partial(_put_store, source=source.store))
    _drop_other_models(source.store, target)
    for names in _names(source.store):
        target.write(partial(_put_names, rows=names))
    over = 0
    for space in _spaces(source.store):
        if _found(target, space.row.id) != space:
            for done in _move_space(source, target, space):
                _tell(progress, over + done)
        elif not _same_access(source.store, target, space.row.id):
            target.write(partial(_put_access, source=source.store, space=space.row.id))
        over += space.counts.entries
        _tell(progress, over)
    _move_receipts(source.store, target)
    _move_audit(source.store, target)
    return compare(source, target)


def compare(source: Sealed, target: Store) -> Moved:
    """What both stores hold; Conflict when a row of one is not in the other as it is."""
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
        _require(_same_access(ours, target, id), f"the keys, the grants or the list of {where}")
        _require(_same(_entries(ours, id), _entries(target, id)), f"the entries of {where}")
        _require(_same(_revisions(ours, id), _revisions(target, id)), f"the revisions of {where}")
        readable = source.keyring.of(id).readable
        entries += sum(len(page) for page in _entries(ours, id))
        unreadable += sum(row.key_id not in readable for page in _entries(ours, id) for row in page)
        revisions += sum(len(page) for page in _revisions(ours, id))
        grants += len(ours.grants.on(id))
    return Moved(len(spaces), entries, revisions, grants, unreadable)


def _require(equal: bool, what: str) -> None:
    if not equal:
        raise Conflict(f"The two stores differ in {what}: the source was written to meanwhile. Move again.")


def _same(ours: Iterator[list[Row]], theirs: Iterator[list[Row]]) -> bool:
    """Page by page: both sides are read in the same order and size."""
    while True:
        mine, other = next(ours, []), next(theirs, [])
        if mine != other:
            return False
        if not mine:
            return True


def _tell(progress: Progress | None, over: int) -> None:
    if progress is not None:
        progress(over)


# One space


def _found(target: Store, space: UUID) -> WholeSpace | None:
    """A space of the target with its counters, which are put last."""
    page = target.copies.spaces(UUID(int=space.int - 1), 1)
    return page[0] if page and page[0].row.id == space else None


def _move_space(source: Sealed, target: Store, space: WholeSpace) -> Iterator[int]:
    """Says again and again how many of its entries are over."""
    store, id, keys = source.store, space.row.id, source.keyring.of(space.row.id)
    target.write(partial(_begin_space, source=store, space=space))
    over = 0
    for entries in _entries(store, id):
        target.write(partial(_put_entries, space=id, keys=keys, rows=entries))
        over += len(entries)
        yield over
    for revisions in _revisions(store, id):
        target.write(partial(_put_revisions, space=id, rows=revisions))
    compared_there = target.vectors is not None
    for model in store.models.all():
        derived = store.derived.of(id, model.model)
        for start in range(0, len(derived), PAGE):
            rows = derived[start : start + PAGE]
            target.write(partial(_put_derived, space=id, keys=keys, rows=rows, compared_there=compared_there))
        reached = store.derived.progress(model.model, id)
        target.write(partial(_put_progress, space=id, model=model.model, reached=reached))
    target.write(partial(_end_space, space=space))


def _begin_space(tx: Transaction, source: Store, space: WholeSpace) -> None:
    """What an earlier try left goes first. The counters stay at zero: they say that everything is there."""
    id = space.row.id
    nothing = space.counts._replace(seq=0, entries=0, indexed=0, length=0)
    tx.copies.put_space(WholeSpace(space.row, nothing, SpaceState(0, 0, 0)))
    tx.terms.drop_space(id)
    tx.derived.drop_space(id)
    tx.entries.delete_space(id)
    _put_access(tx, source, id)


def _same_access(source: Store, target: Store, space: UUID) -> bool:
    """Who may read the space, and with which keys."""
    return (
        source.keys.of(space) == target.keys.of(space)
        and sorted(source.grants.on(space)) == sorted(target.grants.on(space))
        and source.copies.members(space) == target.copies.members(space)
    )


def _put_access(tx: Transaction, source: Store, space: UUID) -> None:
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


def _put_entries(tx: Transaction, space: UUID, keys: SpaceKeys, rows: Sequence[EntryRow]) -> None:
    for row in rows:
        tx.copies.put_entry(space, row)
        key = keys.get(row.key_id)
        if key is not None and row.length and row.trashed_us is None:
            entry = open_entry(key, row)
            if entry is not None:
                tx.terms.put(space, row.number, index_text(key, entry.content, None)[0], replaces=False)


def _put_revisions(tx: Transaction, space: UUID, rows: Sequence[RevisionRow]) -> None:
    for row in rows:
        tx.entries.add_revision(space, row)


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


def _end_space(tx: Transaction, space: WholeSpace) -> None:
    tx.copies.put_space(space)


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


def _put_names(tx: Transaction, rows: Sequence[NameRow]) -> None:
    for row in rows:
        tx.names.put(*row)


def _drop_other_models(source: Store, target: Store) -> None:
    """Models that the source no longer has since an earlier move."""
    known = {model.model for model in source.models.all()}
    for model in target.models.all():
        if model.model not in known:
            while target.write(partial(_drop_derived, model=model.model)) == PAGE:
                pass
            target.write(partial(_drop_model, model=model.model))


def _drop_derived(tx: Transaction, model: int) -> int:
    return tx.derived.drop_model(model, PAGE)


def _drop_model(tx: Transaction, model: int) -> None:
    tx.models.delete(model)


def _move_receipts(source: Store, target: Store) -> None:
    """All anew: they come and go without a trace in any counter, and live for a day."""
    while target.write(_drop_receipts):
        pass
    for receipts in _receipts(source):
        target.write(partial(_put_receipts, rows=receipts))


def _drop_receipts(tx: Transaction) -> int:
    return tx.receipts.delete_before(_AFTER_ALL_TIME, PAGE)


def _put_receipts(tx: Transaction, rows: Sequence[ReceiptRow]) -> None:
    for row in rows:
        tx.receipts.put(row)


def _move_audit(source: Store, target: Store) -> None:
    """Goes on after the lines that are there."""
    position = sum(len(page) for page in _audit(target))
    code = source.audit.head().code
    while lines := source.audit.after(position, PAGE):
        target.write(partial(_put_audit, rows=lines, code=code))
        position += len(lines)


def _put_audit(tx: Transaction, rows: Sequence[AuditRow], code: bytes) -> None:
    """The code is right once the last line is there."""
    for row in rows:
        tx.audit.append(row, code)


# Pages


def _spaces(store: Store) -> Iterator[WholeSpace]:
    for page in _pages(lambda after: store.copies.spaces(after, PAGE), lambda space: space.row.id, STORE):
        yield from page


def _entries(store: Store, space: UUID) -> Iterator[list[EntryRow]]:
    return _pages(lambda after: store.copies.entries(space, after, PAGE), lambda row: row.number, 0)


def _revisions(store: Store, space: UUID) -> Iterator[list[RevisionRow]]:
    return _pages(
        lambda after: store.copies.revisions(space, after, PAGE),
        lambda row: (row.number, row.revision),
        (0, 0),
    )


def _names(store: Store) -> Iterator[list[NameRow]]:
    return _pages(lambda after: store.copies.names(after, PAGE), lambda row: row.name, b"")


def _receipts(store: Store) -> Iterator[list[ReceiptRow]]:
    return _pages(
        lambda after: store.copies.receipts(after, PAGE), lambda row: (row.principal, row.key), (b"", b"")
    )


def _audit(store: Store) -> Iterator[list[AuditRow]]:
    position = 0
    while page := store.audit.after(position, PAGE):
        yield page
        position += len(page)


def _pages(
    read: Callable[[Place], list[Row]], place_of: Callable[[Row], Place], start: Place
) -> Iterator[list[Row]]:
    after = start
    while page := read(after):
        yield page
        after = place_of(page[-1])
