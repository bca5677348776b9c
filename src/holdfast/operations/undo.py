"""Undo: an earlier state becomes the newest revision. Nothing is lost; undoing again goes further back."""

from __future__ import annotations

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, may_flag, sees_state
from holdfast.domain.entry import Change, Entry, Revision
from holdfast.domain.errors import AccessDenied, Conflict, InvalidField, Locked
from holdfast.domain.principal import Caller
from holdfast.domain.profile import PROFILES
from holdfast.operations.authorize import EntryName, EntryRef, look_up_in, opened, require_flagging, seek
from holdfast.operations.engine import Engine
from holdfast.operations.judge import provenance_after
from holdfast.operations.remember import check_expected
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow
from holdfast.storage.sealed_transaction import SealedTransaction


def undo(
    engine: Engine, caller: Caller, target: EntryName, to: int | None = None, expected: int | None = None
) -> Job[Entry]:
    """Back by one change, or to revision `to`."""
    now = engine.clock()
    if to is not None and (not isinstance(to, int) or isinstance(to, bool) or to < 1):
        raise InvalidField("A revision is a whole number from 1.")
    sought = seek(engine, caller, target, Op.CHANGE, now)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(expected, head.row.revision)
        entry = opened(head)
        back_to = _step_back(entry) if to is None else to
        earlier = _revision(engine, sealed, sought, head, back_to)
        if earlier.content is None:
            raise Locked
        if not sees_state(caller, earlier):
            raise AccessDenied("Only a person may bring back what was quarantined.")
        if entry.always_inject:
            require_flagging(sought.entered)
        content = earlier.content._replace(
            change=Change.UNDONE,
            restores=back_to,
            provenance=provenance_after(caller, earlier.content),
            removed_by="",
        )
        sealed.free_expired(place, entry.partition, entry.owner, content.namespace, content.key)
        if PROFILES[entry.partition].of_files:
            sealed.refuse_twin(place, entry.owner, content.key, entry.number)
        restored = sealed.revise(
            place,
            head,
            content,
            _state(sought, entry, earlier, now),
            indexed=PROFILES[entry.partition].indexed and not earlier.encrypted,
            history=True,
            keep=engine.limits.revisions,
        )
        sealed.audit("undo", caller.principal, restored.space, restored.id, restored.revision)
        return restored

    return write


def _step_back(entry: Entry) -> int:
    position = entry.content.restores or entry.revision
    if position <= 1:
        raise Conflict("There is nothing to undo: this is the first revision.")
    return position - 1


def _revision(
    engine: Engine, tx: SealedTransaction, sought: EntryRef, head: OpenedRow, number: int
) -> Revision:
    if number >= head.row.revision:
        raise Conflict(
            f"There is no earlier revision {number}; the entry is at revision {head.row.revision}."
        )
    rows = tx.tx.entries.history(sought.visible, head.row.number, number + 1, 1)
    if not rows or rows[0].revision != number:
        raise Conflict(f"Revision {number} is no longer kept.")
    return engine.sealed.revision(sought.entered.space.id, rows[0])


def _state(sought: EntryRef, entry: Entry, earlier: Revision, now: int) -> State:
    """An expiry that has passed is not brought back: the entry would vanish by being undone."""
    expired = earlier.expires_us is not None and earlier.expires_us <= now
    return State(
        expires_us=entry.expires_us if expired else earlier.expires_us,
        always_inject=earlier.always_inject
        if may_flag(sought.entered.caller, sought.entered.space, sought.entered.level)
        else entry.always_inject,
        encrypted=earlier.encrypted,
        quarantined=entry.quarantined or earlier.quarantined,
    )
