"""Trash and restore, purge, and forget. Trashing can be undone; purging and forgetting leave no byte."""

from __future__ import annotations

from typing import assert_never

from holdfast.contracts.rows import SpaceRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op
from holdfast.domain.entry import Entry
from holdfast.domain.errors import Locked, NotFound
from holdfast.domain.ids import entry_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, Principal
from holdfast.domain.profile import PROFILES
from holdfast.domain.scope import Everything, OneEntry, OneKey, Runs, parse_scope
from holdfast.domain.space import OWN_KIND, SpaceKind
from holdfast.operations.authorize import (
    Access,
    EntryName,
    EntryRef,
    deletable,
    first_readable,
    look_up_in,
    opened,
    require_creator,
    require_delete,
    seek,
)
from holdfast.operations.engine import Engine
from holdfast.operations.judge import removed_by
from holdfast.operations.remember import check_expected
from holdfast.operations.results import Forgotten
from holdfast.storage.row_codec import prefix_label
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

RUNS_AT_ONCE = 1_000


def trash(
    engine: Engine,
    caller: Caller,
    target: EntryName,
    expected: int | None = None,
    *,
    creator_only: bool = False,
) -> Job[Entry]:
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(expected, head.row.revision)
        entry = opened(head)
        (require_creator if creator_only else require_delete)(engine, sought.entered, head)
        trashed = sealed.trash(place, head, removed_by(caller))
        sealed.audit("trash", caller.principal, entry.space, entry.id, entry.revision)
        return trashed

    return write


def restore(engine: Engine, caller: Caller, target: EntryName) -> Job[Entry]:
    """The last entry of that key the caller trashed, else the last anyone did; or the one of that id."""
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = _in_trash(sealed, place, sought)
        require_delete(engine, sought.entered, head)
        trashed = opened(head)
        sealed.free_expired(place, trashed.partition, trashed.owner, trashed.namespace, trashed.key)
        if PROFILES[trashed.partition].of_files:
            sealed.refuse_twin(place, trashed.owner, trashed.key)
        entry = sealed.restore(place, head)
        sealed.audit("restore", caller.principal, entry.space, entry.id, entry.revision)
        return entry

    return write


def purge(engine: Engine, caller: Caller, target: EntryName, expected: int | None = None) -> Job[int]:
    """Removes one entry for good, live or from the trash; a locked one too, named by its id. The expected revision is
    that of the live entry, else of the one trashed last: what else lay in the trash, the caller was not shown. Who
    expects one means that entry, and is refused if it is not theirs to remove."""
    now = engine.clock()
    sought = seek(engine, caller, target, Op.WRITE, now)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> int:
        sealed = SealedTransaction(engine.sealed, tx, now)
        found = _found(engine, sealed, place, sought)
        if not found:
            raise NotFound
        if expected is not None:
            check_expected(expected, found[0].row.revision)
            require_delete(engine, sought.entered, found[0])
        return _purge(engine, sealed, sought.entered, _removable(engine, sought, found), "purge")

    return write


def discard(engine: Engine, caller: Caller, target: EntryName) -> Job[bool]:
    """Removes one entry for good if it is there, and says whether it was."""
    remove_it = purge(engine, caller, target)

    def write(tx: Transaction) -> bool:
        try:
            return remove_it(tx) > 0
        except NotFound:
            return False

    return write


def forget(engine: Engine, caller: Caller, scope: str, partitions: tuple[Partition, ...]) -> Job[Forgotten]:
    """Forgets for good. One's own data may always be forgotten, whatever rules a role has lost."""
    match parse_scope(scope):
        case Everything():
            return _forget_everything(engine, caller, scope)
        case OneKey(key):
            return _forget_one(engine, caller, scope, EntryName(key=key, partitions=partitions))
        case OneEntry(entry):
            return _forget_one(engine, caller, scope, EntryName(id=entry, partitions=tuple(Partition)))
        case Runs() as runs:
            return _forget_runs(engine, caller, scope, runs)
        case never:
            assert_never(never)


def _forget_everything(engine: Engine, caller: Caller, scope: str) -> Job[Forgotten]:
    """The own space and its sessions: every room, trash, history, word and key. Opens nothing, so it needs no key."""
    now = engine.clock()
    me = caller.principal

    def write(tx: Transaction) -> Forgotten:
        sealed = SealedTransaction(engine.sealed, tx, now)
        deleted = 0
        for row in _own_spaces(engine, tx, me):
            deleted += sealed.empty(row.id, row.key_id)
            engine.sealed.keyring.drop(row.id)
        tx.proposals.delete_of(engine.sealed.blind(me))
        sealed.audit("forget all", me)
        return Forgotten(scope, deleted, tx.entries.kept_elsewhere(engine.sealed.blind(me)))

    return write


def _forget_one(engine: Engine, caller: Caller, scope: str, target: EntryName) -> Job[Forgotten]:
    now = engine.clock()
    try:
        sought = seek(engine, caller, target, Op.FORGET, now)
    except NotFound:
        return lambda _: Forgotten(scope, 0)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Forgotten:
        sealed = SealedTransaction(engine.sealed, tx, now)
        heads = _removable(engine, sought, _found(engine, sealed, place, sought))
        if not heads and sought.key is not None and sealed.has_locked(place, sought.visible.with_expired):
            raise Locked(
                "Some of your memories are sealed with a key that is not configured; only `all` can be forgotten."
            )
        return Forgotten(scope, _purge(engine, sealed, sought.entered, heads, "forget") if heads else 0)

    return write


def _forget_runs(engine: Engine, caller: Caller, scope: str, runs: Runs) -> Job[Forgotten]:
    """Recorded runs of the own space and its sessions; facts and notes are never touched."""
    now = engine.clock()
    me = caller.principal

    def write(tx: Transaction) -> Forgotten:
        sealed = SealedTransaction(engine.sealed, tx, now)
        deleted = 0
        for row in _own_spaces(engine, tx, me):
            visible = engine.sealed.visible(engine.sealed.open_space(row), me, (Partition.RUNS,), now)
            keys = engine.sealed.keyring.of(row.id)
            labels = [prefix_label(key, Partition.RUNS, "", runs.prefix) for key in keys.all()]
            while rows := tx.entries.page(visible.with_expired, labels, None, RUNS_AT_ONCE):
                deleted += sealed.purge(row.id, rows)
        sealed.audit("forget runs", me)
        return Forgotten(scope, deleted)

    return write


def _own_spaces(engine: Engine, tx: Transaction, me: Principal) -> list[SpaceRow]:
    """The caller's own space and its sessions, not what they made to be shared."""
    kinds = (OWN_KIND[me.kind], SpaceKind.SESSION)
    return [row for row in tx.spaces.owned_by(engine.sealed.blind(me)) if row.kind in kinds]


def _removable(engine: Engine, sought: EntryRef, found: list[OpenedRow]) -> list[OpenedRow]:
    """What the caller may remove of it; all of it where that is nothing, so that the refusal says why."""
    return [head for head in found if deletable(engine, sought.entered, head)] or found


def _found(engine: Engine, tx: SealedTransaction, place: WriteTarget, sought: EntryRef) -> list[OpenedRow]:
    """The live entry meant and, by key, all that was trashed under it, the last first. What has expired but was not
    swept yet is there for those alone who may remove it."""
    if not place.space.stored:
        return []
    named = _named(tx, place, sought)
    lasting = [head for head in named if not head.row.is_over(tx.now)]
    expired = [head for head in named if head.row.is_over(tx.now)]
    live = [head for head in lasting if head.row.trashed_us is None]
    trashed = [head for head in lasting if head.row.trashed_us is not None]
    if sought.key is not None:
        live = _meant(sought, live)
    return live + trashed + [head for head in expired if deletable(engine, sought.entered, head)]


def _named(tx: SealedTransaction, place: WriteTarget, sought: EntryRef) -> list[OpenedRow]:
    """All that has the id or the key: live, in the trash, the last trashed first, or expired."""
    visible = sought.visible.with_expired
    if sought.number is not None:
        head = tx.by_number(place, visible, sought.number) or tx.by_number(
            place, visible, sought.number, trashed=True
        )
        return [head] if head else []
    assert sought.key is not None
    tx.require_all_keys(place)
    live = tx.by_key(place, visible, sought.namespace, sought.key)
    return live + tx.trashed_by_key(place, visible, sought.namespace, sought.key)


def _meant(sought: EntryRef, heads: list[OpenedRow]) -> list[OpenedRow]:
    try:
        return [first_readable(sought, heads)]
    except NotFound:
        return []


def _in_trash(tx: SealedTransaction, place: WriteTarget, sought: EntryRef) -> OpenedRow:
    if sought.number is not None:
        head = tx.by_number(place, sought.visible, sought.number, trashed=True)
        found = [head] if head else []
    else:
        assert sought.key is not None
        found = tx.trashed_by_key(place, sought.visible, sought.namespace, sought.key)
    if not found:
        raise NotFound("There is no such entry in the trash.")
    return next((head for head in found if head.row.owner == sought.visible.viewer), found[0])


def _purge(
    engine: Engine, tx: SealedTransaction, entered: Access, heads: list[OpenedRow], operation: str
) -> int:
    for head in heads:
        require_delete(engine, entered, head)
    space = entered.space.id
    for head in heads:
        tx.audit(
            operation, entered.caller.principal, space, entry_id(space, head.row.number), head.row.revision
        )
    return tx.purge(entered.space.id, [head.row for head in heads])
