"""Undo by actor: everything one agent, user, service or run wrote, edited or trashed since a moment, shown first, then
reversed in one transaction. That can be reversed in turn: what was new lies in the trash, what was edited has its
history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from holdfast.contracts.rows import EntryRow, Visible
from holdfast.contracts.storage import EntryReads, Job, Transaction
from holdfast.domain.access import Op, is_person
from holdfast.domain.entry import Change, Content, Entry, Provenance, Revision
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.grant import Level
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, check_subject
from holdfast.domain.profile import PROFILES
from holdfast.domain.times import check_moment, to_datetime
from holdfast.operations.engine import Engine
from holdfast.operations.enter import Entered
from holdfast.operations.judge import provenance_after, removed_by
from holdfast.operations.resolve import visible_to
from holdfast.operations.spaces import enterable
from holdfast.storage.sealed import Head, Place
from holdfast.storage.sealed_transaction import SealedTransaction, State

SCAN = 256


@dataclass(frozen=True, slots=True)
class Reversal:
    """What becomes of one entry."""

    id: UUID
    space: UUID
    key: str
    step: str
    """`trash` (it was new), `revert` (to `revision`), `restore` (it was trashed), `keep` (others changed it since)."""
    revision: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Undone:
    actor: str
    since_us: int
    applied: bool
    changes: tuple[Reversal, ...]

    @property
    def since(self) -> datetime:
        return to_datetime(self.since_us)


def preview(engine: Engine, caller: Caller, actor: str, since: datetime | str) -> Undone:
    """What undoing would do, in every space the caller manages."""
    actor, since_us = _asked(caller, actor, since)
    now = engine.clock()
    changes = [
        step
        for entered in _managed(engine, caller, now)
        for _, step in _steps(engine, entered, engine.sealed.store.entries, actor, since_us, now)
    ]
    return Undone(actor, since_us, False, tuple(changes))


def undo_by(engine: Engine, caller: Caller, actor: str, since: datetime | str) -> Job[Undone]:
    actor, since_us = _asked(caller, actor, since)
    now = engine.clock()
    places = [(entered, engine.sealed.place(entered.space, now)) for entered in _managed(engine, caller, now)]

    def write(tx: Transaction) -> Undone:
        sealed = SealedTransaction(engine.sealed, tx, now)
        done: list[Reversal] = []
        for entered, place in places:
            for head, step in list(_steps(engine, entered, tx.entries, actor, since_us, now)):
                _reverse(engine, sealed, entered, place, head, step)
                done.append(step)
        sealed.audit("undo by actor", caller.principal)
        return Undone(actor, since_us, True, tuple(done))

    return write


def _asked(caller: Caller, actor: object, since: datetime | str) -> tuple[str, int]:
    if not is_person(caller):
        raise AccessDenied("Only a person may undo what another did.")
    name = check_subject("actor", actor)
    if not name:
        raise InvalidField("Name the actor as kind:id, for example agent:helper, or a run by its id.")
    return name, check_moment("since", since)


def _managed(engine: Engine, caller: Caller, now: int) -> list[Entered]:
    found = enterable(engine, caller, Op.CHANGE, now)
    return [entered for entered in found if entered.level is Level.MANAGE and entered.space.stored]


def _steps(
    engine: Engine, entered: Entered, reads: EntryReads, actor: str, since: int, now: int
) -> Iterator[tuple[Head, Reversal]]:
    visible = visible_to(engine, entered, MODEL_VISIBLE, now)
    keys = engine.sealed.keyring.of(entered.space.id)
    for row in _rows(lambda before: reads.trash(visible, before, SCAN)):
        head = engine.sealed.head(keys, row)
        if head.entry is not None and (step := _of_trashed(head.entry, actor, since)):
            yield head, step
    for row in _rows(lambda before: reads.page(visible, None, before, SCAN)):
        if row.updated_us < since:
            break  # newest change first
        head = engine.sealed.head(keys, row)
        if head.entry is not None and (step := _of_live(engine, reads, visible, head.entry, actor, since)):
            yield head, step


def _rows(read: Callable[[int | None], list[EntryRow]]) -> Iterator[EntryRow]:
    before = None
    while rows := read(before):
        yield from rows
        before = rows[-1].seq


def _of_trashed(entry: Entry, actor: str, since: int) -> Reversal | None:
    who, _, run = entry.content.removed_by.partition(" ")
    if (entry.trashed_us or 0) < since or actor not in (who, run):
        return None
    return _step(entry, "restore", entry.revision, entry.content)


def _of_live(
    engine: Engine, reads: EntryReads, visible: Visible, entry: Entry, actor: str, since: int
) -> Reversal | None:
    if not _is_by(entry.provenance, actor):
        older = _revisions(engine, reads, visible, entry, since)
        touched = any(each.content and _is_by(each.content.provenance, actor) for each in older)
        return _step(entry, "keep", entry.revision, entry.content) if touched else None
    for each in _revisions(engine, reads, visible, entry, 0):
        if each.updated_us < since or (each.content and not _is_by(each.content.provenance, actor)):
            return _step(entry, "revert", each.revision, each.content)
    return _step(entry, "trash", entry.revision, entry.content)


def _revisions(
    engine: Engine, reads: EntryReads, visible: Visible, entry: Entry, since: int
) -> Iterator[Revision]:
    before = entry.revision
    while rows := reads.history(visible, entry.number, before, SCAN):
        for row in rows:
            if row.updated_us < since:
                return
            yield engine.sealed.revision(entry.space, row)
        before = rows[-1].revision


def _is_by(provenance: Provenance, actor: str) -> bool:
    return actor in (provenance.by, provenance.run)


def _step(entry: Entry, step: str, revision: int, content: Content | None) -> Reversal:
    text = content.text if content is not None and content.is_text and not entry.encrypted else None
    return Reversal(entry.id, entry.space, entry.key, step, revision, text)


def _reverse(
    engine: Engine, tx: SealedTransaction, entered: Entered, place: Place, head: Head, step: Reversal
) -> None:
    match step.step:
        case "trash":
            tx.trash(place, head, removed_by(entered.caller))
        case "restore":
            entry = head.entry
            assert entry is not None
            tx.free_expired(place, entry.partition, entry.owner, entry.namespace, entry.key)
            tx.restore(place, head)
        case "revert":
            _revert(engine, tx, entered, place, head, step.revision)
        case _:
            return
    tx.audit(f"undo by actor: {step.step}", entered.caller.principal, step.space, step.id, head.row.revision)


def _revert(
    engine: Engine, tx: SealedTransaction, entered: Entered, place: Place, head: Head, revision: int
) -> None:
    entry = head.entry
    assert entry is not None
    visible = visible_to(engine, entered, MODEL_VISIBLE, tx.now)
    [row] = tx.tx.entries.history(visible, entry.number, revision + 1, 1)
    earlier = engine.sealed.revision(entry.space, row)
    if earlier.content is None:
        return
    content = earlier.content._replace(
        change=Change.UNDONE, restores=revision, provenance=provenance_after(entered.caller, earlier.content)
    )
    expired = earlier.expires_us is not None and earlier.expires_us <= tx.now
    tx.revise(
        place,
        head,
        content,
        State(
            entry.expires_us if expired else earlier.expires_us,
            earlier.always_inject,
            earlier.encrypted,
            entry.quarantined or earlier.quarantined,
        ),
        indexed=PROFILES[entry.partition].indexed and not earlier.encrypted,
        history=True,
        keep=engine.limits.revisions,
    )
