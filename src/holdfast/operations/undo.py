"""Undo: an earlier state becomes the newest revision. Nothing is lost; undoing again goes further back."""

from __future__ import annotations

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, may_flag, sees_state
from holdfast.domain.entry import Change, Entry, Revision
from holdfast.domain.errors import AccessDenied, Conflict, InvalidField, Locked
from holdfast.domain.profile import PROFILES
from holdfast.operations.authorize import (
    Access,
    EntryName,
    EntryRef,
    opened,
    prepare_change,
    require_flagging,
)
from holdfast.operations.provenance import provenance_after
from holdfast.operations.session import Session
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow
from holdfast.storage.sealed_transaction import SealedTransaction


def undo(session: Session, name: EntryName, to: int | None = None, expected: int | None = None) -> Job[Entry]:
    """Back by one change, or to revision `to`."""
    if to is not None and (not isinstance(to, int) or isinstance(to, bool) or to < 1):
        raise InvalidField("A revision is a whole number from 1.")
    change = prepare_change(session, name, Op.CHANGE, expected)

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        back_to = _step_back(entry) if to is None else to
        earlier = _revision(sealed, change.ref, head, back_to)
        if earlier.content is None:
            raise Locked
        if not sees_state(session.caller, earlier):
            raise AccessDenied("Only a person may bring back what was quarantined.")
        if entry.always_inject:
            require_flagging(change.access)
        content = earlier.content._replace(
            change=Change.UNDONE,
            restores=back_to,
            provenance=provenance_after(session.caller, earlier.content),
            removed_by="",
        )
        profile = PROFILES[entry.partition]
        sealed.free_expired(change.target, entry.partition, entry.owner, content.namespace, content.key)
        if profile.of_files:
            sealed.refuse_twin(change.target, entry.owner, content.key, entry.number)
        restored = sealed.revise(
            change.target,
            head,
            content,
            _state(change.access, entry, earlier, change.now),
            indexed=profile.indexed and not earlier.encrypted,
            history=True,
            keep=session.limits.revisions,
        )
        sealed.audit("undo", session.principal, restored.space, restored.id, restored.revision)
        return restored

    return Job(write)


def _step_back(entry: Entry) -> int:
    position = entry.content.restores or entry.revision
    if position <= 1:
        raise Conflict("There is nothing to undo: this is the first revision.")
    return position - 1


def _revision(tx: SealedTransaction, ref: EntryRef, head: OpenedRow, number: int) -> Revision:
    if number >= head.row.revision:
        raise Conflict(
            f"There is no earlier revision {number}; the entry is at revision {head.row.revision}."
        )
    rows = tx.tx.entries.history(ref.visible, head.row.number, number + 1, 1)
    if not rows or rows[0].revision != number:
        raise Conflict(f"Revision {number} is no longer kept.")
    return ref.access.session.sealed.revision(ref.access.space.id, rows[0])


def _state(access: Access, entry: Entry, earlier: Revision, now: int) -> State:
    """An expiry that has passed is not brought back: the entry would vanish by being undone."""
    expired = earlier.expires_us is not None and earlier.expires_us <= now
    flags = earlier if may_flag(access.caller, access.space, access.level) else entry
    return State(
        expires_us=entry.expires_us if expired else earlier.expires_us,
        always_inject=flags.always_inject,
        encrypted=earlier.encrypted,
        quarantined=entry.quarantined or earlier.quarantined,
    )
