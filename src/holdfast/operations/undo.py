"""Undo: an earlier state becomes the newest revision of an entry, or everything one actor did since a moment is
reversed in one transaction. Nothing is lost: a reversal is a run of its own, which can be undone like any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from holdfast.contracts.rows import EntryRow
from holdfast.contracts.storage import EntryReads, Job, Transaction
from holdfast.domain.access import Level, Op, is_person, may_flag, sees_state
from holdfast.domain.entry import Change, Content, Entry, Revision
from holdfast.domain.errors import AccessDenied, Conflict, InvalidField, Locked
from holdfast.domain.ids import made_key
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.principal import Caller, Principal, check_subject
from holdfast.domain.profile import PROFILES
from holdfast.domain.times import check_moment, to_datetime
from holdfast.operations.authorize import (
    Access,
    EntryName,
    EntryRef,
    opened,
    prepare_change,
    require_flagging,
    visible_to,
)
from holdfast.operations.notes import provenance_after, removed_by, removers
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

SCAN = 256


def undo(session: Session, name: EntryName, to: int | None = None, expected: int | None = None) -> Job[Entry]:
    """Goes back by one change, or to revision `to`. Undoing again goes further back."""
    if to is not None and (not isinstance(to, int) or isinstance(to, bool) or to < 1):
        raise InvalidField("A revision is a whole number from 1.")
    change = prepare_change(session, name, Op.CHANGE, expected)

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        back_to = to
        if back_to is None:
            back_to = (entry.content.restores or entry.revision) - 1
            if back_to < 1:
                raise Conflict("There is nothing to undo: this is the first revision.")
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
        profile, access = PROFILES[entry.partition], change.access
        sealed.free_expired(change.target, entry.partition, entry.owner, content.namespace, content.key)
        if profile.of_files:
            sealed.refuse_twin(change.target, entry.owner, content.key, entry.number)
        flags = earlier if may_flag(access.caller, access.space, access.level) else entry
        restored = sealed.revise(
            change.target,
            head,
            content,
            State(
                _expiry(entry, earlier, change.now),
                flags.always_inject,
                earlier.encrypted,
                entry.quarantined or earlier.quarantined,
            ),
            indexed=profile.indexed and not earlier.encrypted,
            history=True,
            keep=session.limits.revisions,
        )
        sealed.audit("undo", session.principal, restored.space, restored.id, restored.revision)
        return restored

    return Job(write)


def _revision(tx: SealedTransaction, ref: EntryRef, head: OpenedRow, number: int) -> Revision:
    if number >= head.row.revision:
        raise Conflict(
            f"There is no earlier revision {number}; the entry is at revision {head.row.revision}."
        )
    rows = tx.tx.entries.history(ref.visible, head.row.number, number + 1, 1)
    if not rows or rows[0].revision != number:
        raise Conflict(f"Revision {number} is no longer kept.")
    return ref.access.session.sealed.revision(ref.access.space.id, rows[0])


def _expiry(entry: Entry, earlier: Revision | Entry, now: int) -> int | None:
    """An expiry that has passed is not brought back: the entry would vanish by being undone."""
    expired = earlier.expires_us is not None and earlier.expires_us <= now
    return entry.expires_us if expired else earlier.expires_us


@dataclass(frozen=True, slots=True)
class Reversal:
    """The reversal of everything an actor did to one entry."""

    id: UUID
    space: UUID
    key: str
    step: str
    """`trash` (it was new, or was brought back), `revert` (to `revision`), `restore` (it was trashed), `keep` (others
    changed it since, or have its name now, or names were exchanged)."""
    revision: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Undone:
    actor: str
    since_us: int
    applied: bool
    changes: tuple[Reversal, ...]
    run: str | None = None
    """The id of the reversal: as an actor it can be undone in turn."""

    @property
    def since(self) -> datetime:
        return to_datetime(self.since_us)


def preview_undo_by(session: Session, actor: str, since: datetime | str) -> Undone:
    """Shows what `undo_by` would do, in every space the caller manages."""
    actor, since_us = _check_arguments(session.caller, actor, since)
    now, reads = session.clock(), session.sealed.store.entries
    changes = [
        step.reversal
        for access in _managed(session, now)
        for step in _SpaceReversal(access, reads, actor, since_us, now).plan()
    ]
    return Undone(actor, since_us, False, tuple(changes))


def undo_by(session: Session, actor: str, since: datetime | str) -> Job[Undone]:
    """Reverses what an actor wrote, edited or trashed, in every space the caller manages."""
    actor, since_us = _check_arguments(session.caller, actor, since)
    now = session.clock()
    session.caller = replace(session.caller, run=f"undo-{uuid4().hex}")
    targets = [(access, session.sealed.write_target(access.space, now)) for access in _managed(session, now)]

    def write(tx: Transaction) -> Undone:
        sealed = SealedTransaction(session.sealed, tx, now)
        changes: list[Reversal] = []
        for access, target in targets:
            reversal = _SpaceReversal(access, tx.entries, actor, since_us, now)
            for step in reversal.plan():
                reversal.apply(sealed, target, step)
                changes.append(step.reversal)
        sealed.audit("undo by actor", session.principal)
        return Undone(actor, since_us, True, tuple(changes), session.caller.run)

    return Job(write)


def _check_arguments(caller: Caller, actor: object, since: datetime | str) -> tuple[str, int]:
    if not is_person(caller):
        raise AccessDenied("Only a person may undo what another did.")
    name = check_subject("actor", actor)
    if not name:
        raise InvalidField("Name the actor as kind:id, for example agent:helper, or a run by its id.")
    return name, check_moment("since", since)


def _managed(session: Session, now: int) -> list[Access]:
    found = accessible(session, Op.CHANGE, now)
    return [access for access in found if access.level is Level.MANAGE and access.space.stored]


Name = tuple[Partition, Principal, str, str]
"""Partition, owner, namespace and key: no two live entries of a space have all of them in common."""


class _Step(NamedTuple):
    head: OpenedRow
    entry: Entry
    reversal: Reversal
    to: Revision | None = None
    """The state it goes back to; None when it is the present one."""
    earlier_removers: str = ""
    """The actors who had put it into the trash from which this actor brought it back."""

    @property
    def name(self) -> Name:
        return (self.entry.partition, self.entry.owner, self.entry.content.namespace, self.entry.content.key)

    @property
    def new_name(self) -> Name:
        content = None if self.to is None else self.to.content
        return self.name if content is None else (*self.name[:2], content.namespace, content.key)

    @property
    def takes_name(self) -> bool:
        """True when `new_name` must be free for it."""
        return self.reversal.step == "restore" or (
            self.reversal.step == "revert" and self.name != self.new_name
        )


class _SpaceReversal:
    """The reversal of one actor's changes in one space."""

    def __init__(self, access: Access, reads: EntryReads, actor: str, since: int, now: int) -> None:
        self._access = access
        self._sealed = access.session.sealed
        self._reads = reads
        self._actor = actor
        self._since = since
        self._visible = visible_to(access, MODEL_VISIBLE, now)

    def plan(self) -> list[_Step]:
        """The steps in the order in which they can be applied. An entry whose earlier name stays taken, or was
        exchanged in a circle, is kept as it is."""
        trashed: list[_Step] = []
        live: list[_Step] = []
        for head, entry in self._entries(lambda before: self._reads.trash(self._visible, before, SCAN)):
            if (step := self._of_trashed(head, entry)) is not None:
                trashed.append(step)
        trashed.sort(key=lambda step: -(step.head.row.trashed_us or 0))
        for head, entry in self._entries(lambda before: self._reads.page(self._visible, None, before, SCAN)):
            if entry.updated_us < self._since:
                break  # newest change first
            if (step := self._of_live(head, entry)) is not None:
                live.append(step)
        waiting = [step for step in (*trashed, *live) if step.takes_name]
        ordered = [step for step in live if not step.takes_name]
        ordered.sort(key=lambda step: step.reversal.step != "trash")  # which frees names
        free = {step.new_name for step in waiting if not self._is_held(step.new_name)}
        free |= {step.name for step in ordered if step.reversal.step == "trash"}
        while ready := next((step for step in waiting if step.new_name in free), None):
            waiting.remove(ready)
            ordered.append(ready)
            free.remove(ready.new_name)
            if ready.reversal.step == "revert":
                free.add(ready.name)
        return ordered + [_kept(step.head, step.entry) for step in waiting]

    def _entries(self, read: Callable[[int | None], list[EntryRow]]) -> Iterator[tuple[OpenedRow, Entry]]:
        keys, before = self._sealed.keyring.of(self._access.space.id), None
        while rows := read(before):
            for row in rows:
                head = self._sealed.open_row(keys, row)
                if head.entry is not None:
                    yield head, head.entry
            before = rows[-1].seq

    def _is_held(self, name: Name) -> bool:
        partition, owner, namespace, key = name
        keys, blind = self._sealed.keyring.of(self._access.space.id), self._sealed.blind(owner)
        return any(
            (head.row.partition, head.row.owner) == (partition, blind)
            for head in self._sealed.rows_by_key(self._reads, keys, self._visible, namespace, key)
        )

    def _of_trashed(self, head: OpenedRow, entry: Entry) -> _Step | None:
        if (entry.trashed_us or 0) < self._since or self._actor not in removers(entry.content.removed_by):
            return None
        if entry.updated_us < self._since or not self._is_by(entry.content):
            return _step(head, entry, "restore")
        before, _ = self._before(entry)
        # None: it was new, and is gone again; or its earlier state is no longer kept.
        return None if before is None else _step(head, entry, "restore", before)

    def _of_live(self, head: OpenedRow, entry: Entry) -> _Step | None:
        if not self._is_by(entry.content):
            return _kept(head, entry) if self._is_changed(entry) else None
        before, earlier_removers = self._before(entry)
        if earlier_removers:
            return _step(head, entry, "trash", before, earlier_removers)
        if before is not None:
            return _step(head, entry, "revert", before)
        if entry.created_us < self._since:
            return _kept(head, entry)  # its earlier state is no longer kept
        return _step(head, entry, "trash")

    def _before(self, entry: Entry) -> tuple[Revision | None, str]:
        """The newest state that is older or not the actor's. Also, when the actor brought the entry back from the
        trash since then, the actors who had put it there."""
        earlier_removers = _restored_from(entry.content)
        for each in self._revisions(entry):
            if each.updated_us < self._since or (each.content and not self._is_by(each.content)):
                return each, earlier_removers
            earlier_removers = _restored_from(each.content) or earlier_removers
        return None, earlier_removers

    def _is_changed(self, entry: Entry) -> bool:
        for each in self._revisions(entry):
            if each.updated_us < self._since:
                return False
            if each.content and self._is_by(each.content):
                return True
        return False

    def _revisions(self, entry: Entry) -> Iterator[Revision]:
        for row in reversed(self._reads.revisions_of(entry.space, entry.number)):
            yield self._sealed.revision(entry.space, row)

    def _is_by(self, content: Content) -> bool:
        return self._actor in (content.provenance.by, content.provenance.run)

    def apply(self, tx: SealedTransaction, target: WriteTarget, step: _Step) -> None:
        match step.reversal.step:
            case "trash":
                self._trash(tx, target, step)
            case "restore":
                self._restore(tx, target, step)
            case "revert" if step.to is not None and step.to.content is not None:
                tx.free_expired(target, *step.new_name)
                self._revise(tx, target, step.head, step.to.content, step.to, Change.UNDONE)
            case _:
                return
        tx.audit(
            f"undo by actor: {step.reversal.step}",
            self._access.caller.principal,
            step.entry.space,
            step.entry.id,
            step.head.row.revision,
        )

    def _trash(self, tx: SealedTransaction, target: WriteTarget, step: _Step) -> None:
        head, to = step.head, step.to
        taken = step.new_name != step.name and tx.own(target, *step.new_name) is not None
        if to is not None and to.content is not None:
            content = to.content._replace(key=made_key()) if taken else to.content
            head = self._revise(tx, target, head, content, to, Change.UNDONE)
        by = "\n".join(filter(None, (step.earlier_removers, removed_by(self._access.caller))))
        tx.trash(target, head, by)
        if taken:
            trashed = self._reread(tx, target, step.entry, trashed=True)
            tx.rename_trashed(target, trashed, step.new_name[-1])

    def _restore(self, tx: SealedTransaction, target: WriteTarget, step: _Step) -> None:
        """Restores as a new revision, which says that it came back from the trash, and who had put it there. Another
        entry may have the name it has in the trash, so it comes back without that one."""
        head, entry = step.head, step.entry
        tx.free_expired(target, *step.new_name)
        if step.new_name != step.name:
            head = tx.rename_trashed(target, head, made_key())
        tx.restore(target, head)
        row = self._reread(tx, target, entry).row._replace(key=step.head.row.key)
        head = OpenedRow(row, entry._replace(content=entry.content._replace(removed_by="")))
        content = entry.content if step.to is None or step.to.content is None else step.to.content
        self._revise(tx, target, head, content, step.to or entry, Change.RESTORED, entry.content.removed_by)

    def _revise(
        self,
        tx: SealedTransaction,
        target: WriteTarget,
        head: OpenedRow,
        content: Content,
        state: Revision | Entry,
        change: Change,
        earlier_removers: str = "",
    ) -> OpenedRow:
        entry = opened(head)
        revised = content._replace(
            change=change,
            restores=state.revision,
            removed_by=earlier_removers,
            provenance=provenance_after(self._access.caller, content),
        )
        expires_us = _expiry(entry, state, tx.now)
        tx.revise(
            target,
            head,
            revised,
            State(expires_us, state.always_inject, state.encrypted, state.quarantined),
            indexed=PROFILES[entry.partition].indexed and not state.encrypted,
            history=True,
            keep=self._access.session.limits.revisions,
        )
        return self._reread(tx, target, entry)

    def _reread(
        self, tx: SealedTransaction, target: WriteTarget, entry: Entry, *, trashed: bool = False
    ) -> OpenedRow:
        head = tx.by_number(target, self._visible, entry.number, trashed=trashed)
        assert head is not None, "an entry that was just written is seen by who manages its space"
        return head


def _restored_from(content: Content | None) -> str:
    return content.removed_by if content is not None and content.change is Change.RESTORED else ""


def _kept(head: OpenedRow, entry: Entry) -> _Step:
    return _step(head, entry, "keep")


def _step(
    head: OpenedRow, entry: Entry, step: str, to: Revision | None = None, earlier_removers: str = ""
) -> _Step:
    content, revision = (entry.content, entry.revision) if to is None else (to.content, to.revision)
    text = content.text if content is not None and content.is_text and not entry.encrypted else None
    reversal = Reversal(entry.id, entry.space, entry.key, step, revision, text)
    return _Step(head, entry, reversal, to, earlier_removers)
