"""Undo by actor: everything one agent, user, service or run wrote, edited or trashed since a moment, shown first, then
reversed in one transaction. A reversal is a run of its own and can be undone like any: what was new lies in the trash,
what was edited has its history, and what came back from the trash says who had put it there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from holdfast.contracts.rows import EntryRow
from holdfast.contracts.storage import EntryReads, Job, Transaction
from holdfast.domain.access import Op, is_person
from holdfast.domain.entry import Change, Content, Entry, Revision
from holdfast.domain.errors import AccessDenied, InvalidField
from holdfast.domain.grant import Level
from holdfast.domain.key import made_key
from holdfast.domain.partition import MODEL_VISIBLE, Partition
from holdfast.domain.principal import Caller, Principal, check_subject
from holdfast.domain.profile import PROFILES
from holdfast.domain.times import check_moment, to_datetime
from holdfast.operations.authorize import Access, visible_to
from holdfast.operations.engine import Engine
from holdfast.operations.provenance import provenance_after, removed_by, removers
from holdfast.operations.session import Session
from holdfast.operations.spaces import accessible
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

SCAN = 256


@dataclass(frozen=True, slots=True)
class Reversal:
    """What becomes of one entry."""

    id: UUID
    space: UUID
    key: str
    step: str
    """`trash` (it was new, or was brought back), `revert` (to `revision`), `restore` (it was trashed), `keep` (others
    changed it since, or have its name now)."""
    revision: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Undone:
    actor: str
    since_us: int
    applied: bool
    changes: tuple[Reversal, ...]
    run: str | None = None
    """What the reversal is known by: as an actor it can be undone in turn."""

    @property
    def since(self) -> datetime:
        return to_datetime(self.since_us)


Name = tuple[Partition, Principal, str, str]
"""Partition, owner, namespace and key: no two live entries of a space have all of them in common."""


class _Planned(NamedTuple):
    head: OpenedRow
    step: Reversal
    to: Revision | None = None
    """The state it goes back to; none when it is the one it is in."""
    had_removed: str = ""
    """Who had put it into the trash from which the actor brought it back."""

    @property
    def entry(self) -> Entry:
        assert self.head.entry is not None
        return self.head.entry

    @property
    def now(self) -> Name:
        return _name(self.entry, self.entry.content)

    @property
    def then(self) -> Name:
        content = None if self.to is None else self.to.content
        return self.now if content is None else _name(self.entry, content)

    @property
    def needs(self) -> tuple[Name, ...]:
        """Names that must be free for it."""
        match self.step.step:
            case "restore":
                return (self.then,)
            case "revert" if self.now != self.then:
                return (self.then,)
            case _:
                return ()

    @property
    def leaves(self) -> bool:
        """Whether the name it has becomes free."""
        return self.step.step == "trash" or (self.step.step == "revert" and self.now != self.then)


def _name(entry: Entry, content: Content) -> Name:
    return (entry.partition, entry.owner, content.namespace, content.key)


def preview(session: Session, actor: str, since: datetime | str) -> Undone:
    """What undoing would do, in every space the caller manages."""
    actor, since_us = _asked(session.caller, actor, since)
    now = session.clock()
    changes = [
        planned.step
        for access in _managed(session, now)
        for planned in _plan(access, session.sealed.store.entries, actor, since_us, now)
    ]
    return Undone(actor, since_us, False, tuple(changes))


def undo_by(session: Session, actor: str, since: datetime | str) -> Job[Undone]:
    actor, since_us = _asked(session.caller, actor, since)
    now = session.clock()
    session.caller = replace(session.caller, run=f"undo-{uuid4().hex}")
    places = [(access, session.sealed.write_target(access.space, now)) for access in _managed(session, now)]

    def write(tx: Transaction) -> Undone:
        sealed = SealedTransaction(session.sealed, tx, now)
        done: list[Reversal] = []
        for access, place in places:
            plan = _plan(access, tx.entries, actor, since_us, now)
            _Space(session.engine, sealed, access, place).reverse(plan)
            done += [planned.step for planned in plan]
        sealed.audit("undo by actor", session.principal)
        return Undone(actor, since_us, True, tuple(done), session.caller.run)

    return Job(write)


def _asked(caller: Caller, actor: object, since: datetime | str) -> tuple[str, int]:
    if not is_person(caller):
        raise AccessDenied("Only a person may undo what another did.")
    name = check_subject("actor", actor)
    if not name:
        raise InvalidField("Name the actor as kind:id, for example agent:helper, or a run by its id.")
    return name, check_moment("since", since)


def _managed(session: Session, now: int) -> list[Access]:
    found = accessible(session, Op.CHANGE, now)
    return [access for access in found if access.level is Level.MANAGE and access.space.stored]


# What is to be done


def _plan(access: Access, reads: EntryReads, actor: str, since: int, now: int) -> list[_Planned]:
    visible = visible_to(access, MODEL_VISIBLE, now)
    keys = access.session.sealed.keyring.of(access.space.id)
    past = _Past(access.session.engine, reads, actor, since)
    trashed: list[_Planned] = []
    for row in _rows(lambda before: reads.trash(visible, before, SCAN)):
        head = access.session.sealed.open_row(keys, row)
        if head.entry is not None and (planned := past.of_trashed(head, head.entry)):
            trashed.append(planned)
    trashed.sort(key=lambda planned: -(planned.head.row.trashed_us or 0))
    live: list[_Planned] = []
    for row in _rows(lambda before: reads.page(visible, None, before, SCAN)):
        if row.updated_us < since:
            break  # newest change first
        head = access.session.sealed.open_row(keys, row)
        if head.entry is not None and (planned := past.of_live(head, head.entry)):
            live.append(planned)

    def is_held(name: Name) -> bool:
        partition, owner, namespace, key = name
        found = access.session.sealed.rows_by_key(reads, keys, visible, namespace, key)
        return any(
            head.row.partition == partition and head.row.owner == access.session.sealed.blind(owner)
            for head in found
        )

    return _with_free_names([*trashed, *live], is_held)


def _rows(read: Callable[[int | None], list[EntryRow]]) -> Iterator[EntryRow]:
    before = None
    while rows := read(before):
        yield from rows
        before = rows[-1].seq


def _with_free_names(plan: list[_Planned], is_held: Callable[[Name], bool]) -> list[_Planned]:
    """What would need a name that another keeps is left as it is. That may keep a name from a third: looked at again
    until nothing changes."""
    held = {name: is_held(name) for planned in plan for name in planned.needs}
    while True:
        free = {planned.now for planned in plan if planned.leaves}
        free |= {name for name, taken in held.items() if not taken}
        settled: list[_Planned] = []
        for planned in plan:
            if all(name in free for name in planned.needs):
                free -= set(planned.needs)
                settled.append(planned)
            else:
                settled.append(_kept(planned.head, planned.entry))
        if settled == plan:
            return plan
        plan = settled


class _Past:
    """What an actor found before it began, entry by entry."""

    def __init__(self, engine: Engine, reads: EntryReads, actor: str, since: int) -> None:
        self._engine = engine
        self._reads = reads
        self._actor = actor
        self._since = since

    def of_trashed(self, head: OpenedRow, entry: Entry) -> _Planned | None:
        if (entry.trashed_us or 0) < self._since or self._actor not in removers(entry.content.removed_by):
            return None
        if entry.updated_us < self._since or not self._is_by(entry.content):
            return _Planned(head, _step(entry, "restore", entry.revision, entry.content))
        before, _ = self._before(entry)
        if before is None:
            return None  # it was new, and is gone again; or what it was is no longer kept
        return _Planned(head, _step(entry, "restore", before.revision, before.content), before)

    def of_live(self, head: OpenedRow, entry: Entry) -> _Planned | None:
        if not self._is_by(entry.content):
            return _kept(head, entry) if self._touched(entry) else None
        before, had_removed = self._before(entry)
        if had_removed:
            gone, at = (before.content, before.revision) if before else (entry.content, entry.revision)
            return _Planned(head, _step(entry, "trash", at, gone), before, had_removed)
        if before is not None:
            return _Planned(head, _step(entry, "revert", before.revision, before.content), before)
        if entry.created_us < self._since:
            return _kept(head, entry)  # what it was before is no longer kept
        return _Planned(head, _step(entry, "trash", entry.revision, entry.content))

    def _before(self, entry: Entry) -> tuple[Revision | None, str]:
        """The newest state that is not the actor's, or is older; and, when the actor brought the entry back from the
        trash since then, who had put it there."""
        had_removed = _marked(entry.content)
        for each in self._revisions(entry):
            if each.updated_us < self._since or (each.content and not self._is_by(each.content)):
                return each, had_removed
            had_removed = _marked(each.content) or had_removed
        return None, had_removed

    def _touched(self, entry: Entry) -> bool:
        for each in self._revisions(entry):
            if each.updated_us < self._since:
                return False
            if each.content and self._is_by(each.content):
                return True
        return False

    def _revisions(self, entry: Entry) -> Iterator[Revision]:
        for row in reversed(self._reads.revisions_of(entry.space, entry.number)):
            yield self._engine.sealed.revision(entry.space, row)

    def _is_by(self, content: Content) -> bool:
        return self._actor in (content.provenance.by, content.provenance.run)


def _marked(content: Content | None) -> str:
    return content.removed_by if content is not None and content.change is Change.RESTORED else ""


def _kept(head: OpenedRow, entry: Entry) -> _Planned:
    return _Planned(head, _step(entry, "keep", entry.revision, entry.content))


def _step(entry: Entry, step: str, revision: int, content: Content | None) -> Reversal:
    text = content.text if content is not None and content.is_text and not entry.encrypted else None
    return Reversal(entry.id, entry.space, entry.key, step, revision, text)


# How it is done


class _Space:
    """One space whose entries are put back, in the transaction."""

    def __init__(self, engine: Engine, tx: SealedTransaction, access: Access, place: WriteTarget) -> None:
        self._engine = engine
        self._tx = tx
        self._entered = access
        self._place = place

    def reverse(self, plan: list[_Planned]) -> None:
        """What goes frees its name before others take it."""
        for planned in plan:
            if planned.step.step == "trash":
                self._trash(planned)
        self._revert([planned for planned in plan if planned.step.step == "revert"])
        for planned in plan:
            if planned.step.step == "restore":
                self._restore(planned)

    def _trash(self, planned: _Planned) -> None:
        head, to = planned.head, planned.to
        taken = planned.then != planned.now and self._tx.own(self._place, *planned.then) is not None
        if to is not None and to.content is not None:
            content = to.content._replace(key=made_key()) if taken else to.content
            head = self._become(head, content, to, Change.UNDONE)
        by = "\n".join(filter(None, (planned.had_removed, removed_by(self._entered.caller))))
        self._tx.trash(self._place, head, by)
        if taken:
            self._tx.rename_trashed(self._place, self._head(planned.entry, trashed=True), planned.then[-1])
        self._audit(planned)

    def _revert(self, plan: list[_Planned]) -> None:
        """Names that were passed round are given back in turn; where they went in a circle, one goes a long way."""
        waiting = {planned.now: planned for planned in plan if planned.leaves}
        for planned in plan:
            if not planned.leaves:
                self._put_back(planned, planned.head)
        while waiting:
            ready = [planned for planned in waiting.values() if planned.then not in waiting]
            for planned in ready:
                del waiting[planned.now]
                self._put_back(planned, planned.head)
            if not ready:
                name, planned = waiting.popitem()
                aside = planned.entry.content._replace(key=made_key())
                head = self._become(planned.head, aside, planned.entry, Change.RENAMED)
                waiting[(*name[:3], aside.key)] = planned._replace(head=head)

    def _put_back(self, planned: _Planned, head: OpenedRow) -> None:
        assert planned.to is not None
        if planned.to.content is None:
            return
        self._free(planned.then)
        self._become(head, planned.to.content, planned.to, Change.UNDONE)
        self._audit(planned)

    def _restore(self, planned: _Planned) -> None:
        """As a new revision, which says that it came back from the trash, and who had put it there. The name it had
        there may be another's by now: it comes back without."""
        head, entry, to = planned.head, planned.entry, planned.to
        self._free(planned.then)
        if planned.then != planned.now:
            head = self._tx.rename_trashed(self._place, head, made_key())
        self._tx.restore(self._place, head)
        row = self._head(entry).row._replace(key=planned.head.row.key)
        head = OpenedRow(row, entry._replace(content=entry.content._replace(removed_by="")))
        content = entry.content if to is None or to.content is None else to.content
        state = entry if to is None else to
        self._become(head, content, state, Change.RESTORED, entry.content.removed_by)
        self._audit(planned)

    def _become(
        self,
        head: OpenedRow,
        content: Content,
        state: Revision | Entry,
        change: Change,
        had_removed: str = "",
    ) -> OpenedRow:
        entry = head.entry
        assert entry is not None
        expired = state.expires_us is not None and state.expires_us <= self._tx.now
        revised = content._replace(
            change=change,
            restores=state.revision,
            removed_by=had_removed,
            provenance=provenance_after(self._entered.caller, content),
        )
        self._tx.revise(
            self._place,
            head,
            revised,
            State(
                entry.expires_us if expired else state.expires_us,
                state.always_inject,
                state.encrypted,
                state.quarantined,
            ),
            indexed=PROFILES[entry.partition].indexed and not state.encrypted,
            history=True,
            keep=self._engine.limits.revisions,
        )
        return self._head(entry)

    def _head(self, entry: Entry, *, trashed: bool = False) -> OpenedRow:
        visible = visible_to(self._entered, MODEL_VISIBLE, self._tx.now)
        head = self._tx.by_number(self._place, visible, entry.number, trashed=trashed)
        assert head is not None, "an entry that was just written is seen by who manages its space"
        return head

    def _free(self, name: Name) -> None:
        self._tx.free_expired(self._place, *name)

    def _audit(self, planned: _Planned) -> None:
        step, who = planned.step, self._entered.caller.principal
        self._tx.audit(f"undo by actor: {step.step}", who, step.space, step.id, planned.head.row.revision)
