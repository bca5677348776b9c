"""Saving an assistant memory. A near-duplicate of its hint is updated in place, as a revision. A model that wants an
entry always applied waits for a person. An unattended run saves at most three."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from holdfast.contracts.rows import EntryRow, Visible
from holdfast.contracts.storage import EntryReads, Job, Transaction
from holdfast.domain.access import Op, is_person, is_unattended, may_flag, sees
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, RunCap
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller
from holdfast.domain.profile import ASSISTANT
from holdfast.operations import edit
from holdfast.operations.authorize import Access, EntryName, SpaceRef, authorize, visible_to
from holdfast.operations.edit import Changes
from holdfast.operations.notes import NoteInput
from holdfast.operations.proposals import ProposalRequest, propose
from holdfast.operations.remember import remember
from holdfast.operations.session import Session
from holdfast.safety.advice import Advice
from holdfast.safety.scrub import Redactions
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.sealed_transaction import SealedTransaction
from holdfast.text.duplicates import Verdict, compare

RUN_SAVES = 3
PARTITIONS = (Partition.ASSISTANT,)
SCAN = 256
COMPARED = 5_000
"""The newest memories of a scope whose hints are compared."""
SHOWN = 5
_SAVES = b"saves of a run"
_MERGES = (Verdict.SAME, Verdict.MERGE)


@dataclass(frozen=True, slots=True)
class Saving:
    """The memory to save; None leaves a field out."""

    space: SpaceRef
    hint: str
    content: str
    tags: tuple[str, ...] | None = None
    always_inject: bool | None = None
    supersedes: str | UUID | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """A memory whose hint says nearly the same, and what keeps the two apart."""

    id: UUID
    hint: str
    guard: str | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    id: UUID | None
    updated: bool
    proposal: str | None = None
    """The id of the proposal a person must approve first; nothing is saved until then."""
    similar: tuple[Near, ...] = ()
    advice: tuple[Advice, ...] = ()
    redacted: int = 0
    note: str | None = None
    """Why nothing was saved, when memory is off."""
    redactions: Redactions = ()


@dataclass(frozen=True, slots=True)
class _Matches:
    same: Entry | None
    similar: tuple[Near, ...]
    seq: int
    """Newest change that was looked at."""


def save(session: Session, saving: Saving, as_proposed: dict[str, object]) -> Job[Saved]:
    """`as_proposed` are the arguments with which the call is made again once a person has said yes."""
    now = session.clock()
    access = authorize(session, saving.space, Op.WRITE, now)
    if is_unattended(session.caller) and saving.supersedes is not None:
        raise AccessDenied("An unattended run may save, but removes nothing.")
    secrets: Counter[str] = Counter()
    for text in (saving.hint, saving.content, *(saving.tags or ())):
        secrets.update(dict(session.engine.scrub(text).found))
    redactions = tuple(sorted(secrets.items()))
    saving = replace(saving, hint=session.engine.scrub(saving.hint).text)
    matches = _near(access, saving, now)
    if _needs_a_person(session.caller, access, saving, matches.same):
        return _propose(session, saving, matches, as_proposed, now)
    job = _written(session, saving, matches)

    def write(tx: Transaction) -> Saved:
        _count(session, tx, now)
        _look_again(tx, access, saving, matches, now)
        return replace(job.run(tx), redacted=secrets.total(), redactions=redactions)

    return Job(write)


def _propose(
    session: Session, saving: Saving, matches: _Matches, as_proposed: dict[str, object], now: int
) -> Job[Saved]:
    # What would be refused after approval is refused at once.
    person = session.caller.confirmed_by or session.principal
    _written(session.acting_as(replace(session.caller, confirmed_by=person)), saving, matches)
    entry = None if matches.same is None else matches.same.id
    shown = _shown(saving, matches.same)
    call = ProposalRequest("assistant.save_memory", as_proposed, shown, saving.space, entry)
    asking = propose(session, call)

    def write(tx: Transaction) -> Saved:
        _count(session, tx, now)
        return Saved(None, False, str(asking.run(tx).id), matches.similar)

    return Job(write)


def _written(session: Session, saving: Saving, matches: _Matches) -> Job[Saved]:
    before = matches.same is not None and matches.same.always_inject
    flag = None if saving.always_inject == before else saving.always_inject  # changing it needs manage
    if matches.same is None:
        arguments = NoteInput(
            saving.content,
            hint=saving.hint,
            tags=saving.tags,
            always_inject=flag,
            supersedes=saving.supersedes,
        )
        return remember(session, ASSISTANT, saving.space, arguments).then(
            lambda kept: Saved(kept.id, False, None, matches.similar, kept.advised)
        )
    changes = Changes(text=saving.content, hint=saving.hint, tags=saving.tags, always_inject=flag)
    return edit.edit(session, EntryName(id=matches.same.id, partitions=PARTITIONS), changes).then(
        lambda edited: Saved(edited.id, True, None, matches.similar, edited.advice)
    )


def asks_for_another(caller: Caller) -> bool:
    """True when a machine asks and no person has confirmed yet."""
    return caller.confirmed_by is None and not is_person(caller)


def _needs_a_person(caller: Caller, access: Access, saving: Saving, same: Entry | None) -> bool:
    """True for a save that needs a person: an entry that always applies, or keeps doing so with other words, steers
    every later turn."""
    if caller.confirmed_by is not None:
        return False
    before = same is not None and same.always_inject
    applies = before if saving.always_inject is None else saving.always_inject
    return (applies or before) and (
        asks_for_another(caller) or not may_flag(caller, access.space, access.level)
    )


def _shown(saving: Saving, same: Entry | None) -> str:
    what = "Save" if same is None else f"Update `{same.hint}`"
    applied = "recalled when relevant" if saving.always_inject is False else "always applied"
    tags = f"\nTags: {', '.join(saving.tags)}" if saving.tags else ""
    return f"{what}, {applied}:\n{saving.hint}\n\n{saving.content}{tags}"


# Near-duplicates


def _near(access: Access, saving: Saving, now: int) -> _Matches:
    """The best match that may be merged, and what is merely similar. What the save supersedes merges with nothing."""
    if not access.space.stored:
        return _Matches(None, (), 0)
    counts = access.session.sealed.store.spaces.counts(access.space.id)
    best: tuple[float, Entry] | None = None
    similar: list[tuple[float, Near]] = []
    for entry in _entries(access, access.session.sealed.store.entries, 0, now):
        likeness = compare(saving.hint, entry.hint)
        if likeness.verdict in _MERGES:
            if best is None or likeness.jaccard > best[0]:
                best = likeness.jaccard, entry
        elif likeness.verdict is Verdict.SIMILAR:
            similar.append((likeness.jaccard, Near(entry.id, entry.hint, likeness.guard)))
    similar.sort(key=lambda one: -one[0])
    same = None if best is None or saving.supersedes is not None else best[1]
    return _Matches(same, tuple(near for _, near in similar[:SHOWN]), counts.seq if counts else 0)


def _look_again(tx: Transaction, access: Access, saving: Saving, matches: _Matches, now: int) -> None:
    """Two who save the same at once must not make two of it: what came meanwhile is looked at before writing."""
    if matches.same is not None or saving.supersedes is not None:
        return
    if not access.space.stored:
        if tx.spaces.by_name(access.session.sealed.blind_space(access.space.name)) is not None:
            raise StaleKeys(access.space.id)
        return
    for entry in _entries(access, tx.entries, matches.seq, now):
        if compare(saving.hint, entry.hint).verdict in _MERGES:
            raise StaleKeys(access.space.id)


def _entries(access: Access, reads: EntryReads, after: int, now: int) -> Iterator[Entry]:
    """Memories of the scope that changed after a sequence number: in a user's own space the caller's own."""
    visible = visible_to(access, PARTITIONS, now)
    keys = access.session.sealed.keyring.of(access.space.id)
    for row in _rows(reads, visible):
        if row.seq <= after:
            return
        entry = access.session.sealed.open_row(keys, row).entry
        if entry is not None and not entry.encrypted and sees(access.caller, access.space, entry, now):
            yield entry


def _rows(reads: EntryReads, visible: Visible) -> Iterator[EntryRow]:
    before: int | None = None
    for _ in range(0, COMPARED, SCAN):
        rows: Sequence[EntryRow] = reads.page(visible, None, before, SCAN)
        yield from rows
        if len(rows) < SCAN:
            return
        before = rows[-1].seq


# Runs that nobody watches


def _count(session: Session, tx: Transaction, now: int) -> None:
    """Kept with the answers to idempotency keys, for a day: a retry that is answered from there counts no more."""
    if not is_unattended(session.caller) or session.caller.confirmed_by is not None:
        return
    sealed = SealedTransaction(session.sealed, tx, now)
    run = f"\0saves of the run {session.caller.run or ''}"
    known = sealed.answered(session.principal, run, _SAVES)
    saves = 0 if known is None else int(json.loads(known))
    if saves >= RUN_SAVES:
        raise RunCap
    sealed.keep_answer(session.principal, run, _SAVES, json.dumps(saves + 1).encode())
