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
from holdfast.domain.principal import Principal
from holdfast.domain.profile import PROFILES
from holdfast.domain.scope import Everything, OneEntry, OneKey, Runs, parse_scope
from holdfast.domain.space import OWN_KIND, SpaceKind
from holdfast.operations.authorize import (
    Access,
    EntryName,
    EntryRef,
    check_expected,
    deletable,
    first_readable,
    opened,
    prepare_change,
    require_creator,
    require_delete,
)
from holdfast.operations.notes import removed_by
from holdfast.operations.results import Forgotten
from holdfast.operations.session import Session
from holdfast.storage.row_codec import prefix_label
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

RUNS_AT_ONCE = 1_000


def trash(
    session: Session, name: EntryName, expected: int | None = None, *, creator_only: bool = False
) -> Job[Entry]:
    change = prepare_change(session, name, Op.CHANGE, expected)

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        (require_creator if creator_only else require_delete)(change.access, head)
        trashed = sealed.trash(change.target, head, removed_by(session.caller))
        sealed.audit("trash", session.principal, entry.space, entry.id, entry.revision)
        return trashed

    return Job(write)


def restore(session: Session, name: EntryName) -> Job[Entry]:
    """Restores the last entry of that key the caller trashed, else the last anyone did; or the one of that id."""
    change = prepare_change(session, name, Op.CHANGE)

    def write(tx: Transaction) -> Entry:
        sealed = change.transaction(tx)
        head = _in_trash(sealed, change.target, change.ref)
        require_delete(change.access, head)
        trashed = opened(head)
        sealed.free_expired(change.target, trashed.partition, trashed.owner, trashed.namespace, trashed.key)
        if PROFILES[trashed.partition].of_files:
            sealed.refuse_twin(change.target, trashed.owner, trashed.key)
        entry = sealed.restore(change.target, head)
        sealed.audit("restore", session.principal, entry.space, entry.id, entry.revision)
        return entry

    return Job(write)


def purge(session: Session, name: EntryName, expected: int | None = None) -> Job[int]:
    """Removes one entry for good, live or from the trash; a locked one too, named by its id. The expected revision is
    that of the live entry, else of the one trashed last: what else lay in the trash, the caller was not shown. Who
    expects one means that entry, and is refused if it is not theirs to remove."""
    change = prepare_change(session, name, Op.WRITE)

    def write(tx: Transaction) -> int:
        sealed = change.transaction(tx)
        found = _found(sealed, change.target, change.ref)
        if not found:
            raise NotFound
        if expected is not None:
            check_expected(expected, found[0].row.revision)
            require_delete(change.access, found[0])
        return _purge(sealed, change.access, _removable(change.ref, found), "purge")

    return Job(write)


def discard(session: Session, name: EntryName) -> Job[bool]:
    """Removes one entry for good if it is there, and says whether it was."""
    remove = purge(session, name)

    def write(tx: Transaction) -> bool:
        try:
            return remove.run(tx) > 0
        except NotFound:
            return False

    return Job(write)


def forget(session: Session, scope: str, partitions: tuple[Partition, ...]) -> Job[Forgotten]:
    """Forgets for good. One's own data may always be forgotten, whatever rules a role has lost."""
    match parse_scope(scope):
        case Everything():
            return _forget_everything(session, scope)
        case OneKey(key):
            return _forget_one(session, scope, EntryName(key=key, partitions=partitions))
        case OneEntry(entry):
            return _forget_one(session, scope, EntryName(id=entry, partitions=tuple(Partition)))
        case Runs() as runs:
            return _forget_runs(session, scope, runs)
        case never:
            assert_never(never)


def _forget_everything(session: Session, scope: str) -> Job[Forgotten]:
    """Forgets the caller's space and sessions: every partition, trash, history, word and key. Opens nothing, so it
    needs no key."""
    now = session.clock()
    me = session.principal

    def write(tx: Transaction) -> Forgotten:
        sealed = SealedTransaction(session.sealed, tx, now)
        deleted = 0
        for row in _own_spaces(session, tx, me):
            deleted += sealed.empty(row.id, row.key_id)
            session.sealed.keyring.drop(row.id)
        tx.proposals.delete_of(session.sealed.blind(me))
        sealed.audit("forget all", me)
        return Forgotten(scope, deleted, tx.entries.kept_elsewhere(session.sealed.blind(me)))

    return Job(write)


def _forget_one(session: Session, scope: str, name: EntryName) -> Job[Forgotten]:
    try:
        change = prepare_change(session, name, Op.FORGET)
    except NotFound:
        return Job(lambda _: Forgotten(scope, 0))

    def write(tx: Transaction) -> Forgotten:
        sealed, ref = change.transaction(tx), change.ref
        heads = _removable(ref, _found(sealed, change.target, ref))
        if not heads and ref.key is not None and sealed.has_locked(change.target, ref.visible.with_expired):
            raise Locked(
                "Some of your memories are sealed with a key that is not configured; only `all` can be forgotten."
            )
        return Forgotten(scope, _purge(sealed, change.access, heads, "forget") if heads else 0)

    return Job(write)


def _forget_runs(session: Session, scope: str, runs: Runs) -> Job[Forgotten]:
    """Forgets recorded runs of the caller's space and sessions; facts and notes are never touched."""
    now = session.clock()
    me = session.principal

    def write(tx: Transaction) -> Forgotten:
        sealed = SealedTransaction(session.sealed, tx, now)
        deleted = 0
        for row in _own_spaces(session, tx, me):
            visible = session.sealed.visible(session.sealed.open_space(row), me, (Partition.RUNS,), now)
            keys = session.sealed.keyring.of(row.id)
            labels = [prefix_label(key, Partition.RUNS, "", runs.prefix) for key in keys.all()]
            while rows := tx.entries.page(visible.with_expired, labels, None, RUNS_AT_ONCE):
                deleted += sealed.purge(row.id, rows)
        sealed.audit("forget runs", me)
        return Forgotten(scope, deleted)

    return Job(write)


def _own_spaces(session: Session, tx: Transaction, me: Principal) -> list[SpaceRow]:
    """The caller's own space and its sessions, not what they made to be shared."""
    kinds = (OWN_KIND[me.kind], SpaceKind.SESSION)
    return [row for row in tx.spaces.owned_by(session.sealed.blind(me)) if row.kind in kinds]


def _removable(ref: EntryRef, found: list[OpenedRow]) -> list[OpenedRow]:
    """Entries the caller may remove; all of them when there are none, so that the refusal says why."""
    return [head for head in found if deletable(ref.access, head)] or found


def _found(tx: SealedTransaction, target: WriteTarget, ref: EntryRef) -> list[OpenedRow]:
    """The live entry meant and, by key, all that was trashed under it, the last first. What has expired but was not
    swept yet is there for those alone who may remove it."""
    if not target.space.stored:
        return []
    named = _named(tx, target, ref)
    lasting = [head for head in named if not head.row.is_over(tx.now)]
    expired = [head for head in named if head.row.is_over(tx.now)]
    live = [head for head in lasting if head.row.trashed_us is None]
    trashed = [head for head in lasting if head.row.trashed_us is not None]
    if ref.key is not None:
        try:
            live = [first_readable(ref, live)]
        except NotFound:
            live = []
    return live + trashed + [head for head in expired if deletable(ref.access, head)]


def _named(tx: SealedTransaction, target: WriteTarget, ref: EntryRef) -> list[OpenedRow]:
    """All that has the id or the key: live, in the trash, the last trashed first, or expired."""
    visible = ref.visible.with_expired
    if ref.number is not None:
        head = tx.by_number(target, visible, ref.number) or tx.by_number(
            target, visible, ref.number, trashed=True
        )
        return [head] if head else []
    assert ref.key is not None
    tx.require_all_keys(target)
    live = tx.by_key(target, visible, ref.namespace, ref.key)
    return live + tx.trashed_by_key(target, visible, ref.namespace, ref.key)


def _in_trash(tx: SealedTransaction, target: WriteTarget, ref: EntryRef) -> OpenedRow:
    if ref.number is not None:
        head = tx.by_number(target, ref.visible, ref.number, trashed=True)
        found = [head] if head else []
    else:
        assert ref.key is not None
        found = tx.trashed_by_key(target, ref.visible, ref.namespace, ref.key)
    if not found:
        raise NotFound("There is no such entry in the trash.")
    return next((head for head in found if head.row.owner == ref.visible.viewer), found[0])


def _purge(tx: SealedTransaction, access: Access, heads: list[OpenedRow], operation: str) -> int:
    for head in heads:
        require_delete(access, head)
    space, who = access.space.id, access.caller.principal
    for head in heads:
        tx.audit(operation, who, space, entry_id(space, head.row.number), head.row.revision)
    return tx.purge(space, [head.row for head in heads])
