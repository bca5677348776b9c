"""Remembers notes: one, or many in one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import Op, may_flag
from holdfast.domain.entry import Change, Content, Entry
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import entry_id, made_key
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.domain.profile import Profile
from holdfast.domain.space import SpaceName
from holdfast.operations.authorize import (
    Access,
    SpaceRef,
    authorize,
    check_expected,
    look_up_in,
    opened,
    require_delete,
    require_flag,
    require_flagging,
    seen,
)
from holdfast.operations.notes import Note, NoteInput, check_note, removed_by, review
from holdfast.operations.results import Outcome, Remembered, Similar
from holdfast.operations.session import Session
from holdfast.safety.review import NO_ADVICE, judge_words
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

MANY = 128
"""Rows of a batch in one transaction, so that other writers get their turn."""


def remember(
    session: Session, profile: Profile, space: SpaceRef, arguments: NoteInput, *, similar: bool = False
) -> Job[Remembered]:
    now = session.clock()
    access = authorize(session, space, Op.WRITE, now)
    note = review(access, session.sealed.write_target(access.space, now), profile, arguments, now)
    near: list[Similar] | None = None
    if similar:
        from holdfast.operations.recall import similar_to_note  # numpy, which writing need not wait for

        near = similar_to_note(note, now)
    return Job(lambda tx: _write(SealedTransaction(session.sealed, tx, now), note, near))


class WrittenEntry(NamedTuple):
    """An entry as it was written, and the keyed fingerprint of its value."""

    entry: Entry
    fingerprint: bytes


def keep(session: Session, profile: Profile, space: SpaceRef, arguments: NoteInput) -> Job[WrittenEntry]:
    """Remembers, for vocabularies that answer with the entry itself and cannot repeat a request."""
    now = session.clock()
    access = authorize(session, space, Op.WRITE, now)
    note = review(access, session.sealed.write_target(access.space, now), profile, arguments, now)

    def write(tx: Transaction) -> WrittenEntry:
        entry, _ = _put(SealedTransaction(session.sealed, tx, now), note)
        return WrittenEntry(entry, fingerprint(note.target.key, entry.value))

    return Job(write)


def not_kept(session: Session, profile: Profile, arguments: NoteInput) -> Remembered:
    """The answer while memory is off. Bad arguments are refused all the same."""
    content = check_note(session.limits, session.caller, profile, arguments)
    advice = NO_ADVICE
    if profile.scrubbed and not arguments.encrypted:
        advice, _ = judge_words(profile, content)
    return Remembered(
        id=None,
        key=content.key,
        space=None,
        revision=0,
        created=False,
        expires_us=profile.retention.expires_us(arguments.ttl, session.clock()),
        persisted=False,
        note=session.reason,
        category=content.category,
        advised=advice,
    )


class Row(NamedTuple):
    """One of many notes, and where it goes."""

    profile: Profile
    space: SpaceRef
    arguments: NoteInput


def remember_many(session: Session, rows: Sequence[Row | HoldfastError]) -> Job[list[Outcome]]:
    """One transaction, one outcome per row, in order. A refused row takes nothing from the others."""
    now = session.clock()
    targets: dict[SpaceRef, tuple[Access, WriteTarget]] = {}
    by_name: dict[SpaceName, tuple[Access, WriteTarget]] = {}
    notes: list[Note | HoldfastError] = []
    for row in rows:
        if isinstance(row, HoldfastError):
            notes.append(row)
            continue
        try:
            if row.space not in targets:
                access = authorize(session, row.space, Op.WRITE, now)
                target = access, session.sealed.write_target(access.space, now)
                # Two references to a space that is still to be made are one space.
                targets[row.space] = by_name.setdefault(access.space.name, target)
            notes.append(review(*targets[row.space], row.profile, row.arguments, now))
        except HoldfastError as refusal:
            notes.append(refusal)

    def write(tx: Transaction) -> list[Outcome]:
        sealed = SealedTransaction(session.sealed, tx, now)
        reviewed = [note for note in notes if isinstance(note, Note)]
        for target in {id(note.target): note.target for note in reviewed}.values():
            sealed.insert_new(target)
        _look_ahead(sealed, reviewed)
        return [_outcome(sealed, note) for note in notes]

    return Job(write)


def _look_ahead(tx: SealedTransaction, notes: list[Note]) -> None:
    """Finds what the notes will revise, one query per space and partition."""
    groups: dict[tuple[int, Partition, Principal], tuple[WriteTarget, list[tuple[str, str]]]] = {}
    for note in notes:
        if note.has_made_key and note.arguments.idempotency_key is None:
            continue
        group = (id(note.target), note.profile.partition, note.access.caller.principal)
        names = groups.setdefault(group, (note.target, []))[1]
        names.append((note.content.namespace, note.content.key))
    for (_, partition, owner), (target, names) in groups.items():
        tx.look_ahead(target, partition, owner, names)


def _outcome(tx: SealedTransaction, note: Note | HoldfastError) -> Outcome:
    if isinstance(note, HoldfastError):
        return Outcome(error=note)
    try:
        return Outcome(_write(tx, note))
    except HoldfastError as refusal:
        return Outcome(error=refusal)


def _write(tx: SealedTransaction, note: Note, similar: list[Similar] | None = None) -> Remembered:
    caller, repeat = note.access.caller, note.arguments.idempotency_key
    if repeat is not None and (answered := _answered(tx, note, repeat, similar)):
        return answered
    old = None
    if note.supersedes is not None:
        head = look_up_in(tx, note.supersedes.target, note.supersedes.ref)
        require_delete(note.supersedes.access, head)
        old = opened(head)
    entry, created = _put(tx, note)
    if note.supersedes is not None and old is not None and old.id != entry.id:
        head = look_up_in(tx, note.supersedes.target, note.supersedes.ref)
        trashed = tx.trash(note.supersedes.target, head, removed_by(caller))
        tx.audit("supersede", caller.principal, trashed.space, trashed.id, trashed.revision)
    if repeat is not None:
        answer = [entry.space.hex, entry.number, entry.revision, created, entry.expires_us]
        answer += [note.redactions, entry.key]
        tx.keep_answer(caller.principal, repeat, note.request, json.dumps(answer).encode(), entry.id)
    return _remembered(
        note, similar, entry.id, entry.key, entry.space, entry.revision, created, entry.expires_us
    )


def _answered(
    tx: SealedTransaction, note: Note, repeat: str, similar: list[Similar] | None
) -> Remembered | None:
    """The answer an earlier request with this idempotency key got."""
    answer = tx.answered(note.access.caller.principal, repeat, note.request)
    if answer is None:
        return None
    space, number, revision, created, expires_us, redactions, key = json.loads(answer)
    note = note._replace(redactions=tuple((kind, count) for kind, count in redactions))
    id = entry_id(UUID(space), number)
    return _remembered(note, similar, id, key, UUID(space), revision, created, expires_us)


def _remembered(
    note: Note,
    similar: list[Similar] | None,
    id: UUID,
    key: str,
    space: UUID,
    revision: int,
    created: bool,
    expires_us: int | None,
) -> Remembered:
    return Remembered(
        id=id,
        key=key,
        space=space,
        revision=revision,
        created=created,
        expires_us=expires_us,
        redacted=sum(count for _, count in note.redactions),
        category=note.content.category,
        redactions=note.redactions,
        advised=note.advice,
        quarantined=note.quarantined,
        similar=similar,
    )


def _put(tx: SealedTransaction, note: Note) -> tuple[Entry, bool]:
    """Returns the entry and whether it is new. Every refusal comes before the first change, so that one row of many
    can fail alone."""
    owner, content, profile = note.access.caller.principal, note.content, note.profile
    head = None
    if not note.has_made_key or note.arguments.idempotency_key is not None:
        head = tx.own(note.target, profile.partition, owner, content.namespace, content.key)
        if head is not None and note.has_made_key:
            # Made for an earlier request that is forgotten by now; this one happens to have its idempotency key.
            note, head = note._replace(content=content._replace(key=made_key())), None
    is_new = head is None or (head.row.expires_us is not None and head.row.expires_us <= tx.now)
    check_expected(note.arguments.expected_revision, 0 if is_new or head is None else head.row.revision)
    if head is not None and is_new and profile.keeps_history:
        tx.purge(note.target.space.id, [head.row], erase=False)
        head = None
    if head is None and profile.of_files:
        tx.refuse_twin(note.target, owner, content.key)
    if head is not None:
        entry = _revise(tx, note, head)
    else:
        most = note.access.session.limits.entries
        entry = tx.create(
            note.target,
            profile.partition,
            owner,
            note.content,
            State(
                note.expires_us,
                bool(note.arguments.always_inject),
                note.arguments.encrypted,
                note.quarantined,
            ),
            indexed=note.words is not None,
            words=note.words,
            cap=most if profile.may_crowd else most // 2,
        )
    tx.audit("remember", owner, entry.space, entry.id, entry.revision)
    return entry, is_new


def _revise(tx: SealedTransaction, note: Note, head: OpenedRow) -> Entry:
    before = seen(note.access, head, tx.now)  # nothing else comes along with new words
    content, always = note.content, _always_inject(note, before)
    if before is not None and note.profile.keeps_omitted:
        content = _keep_omitted(content, before.content, note.arguments)
    same_words = (content.hint, content.tags) == (note.content.hint, note.content.tags)
    return tx.revise(
        note.target,
        head,
        content._replace(change=Change.REPLACED),
        State(note.expires_us, always, note.arguments.encrypted, note.quarantined),
        indexed=note.words is not None,
        history=note.profile.keeps_history,
        keep=note.access.session.limits.revisions,
        words=note.words if same_words else None,
    )


def _always_inject(note: Note, before: Entry | None) -> bool:
    """The flag after this write. Callers who may not pin change nothing about it, by giving it or by omitting it."""
    access, flag = note.access, note.arguments.always_inject
    flagged = before is not None and before.always_inject
    if may_flag(access.caller, access.space, access.level):
        return (flagged and note.profile.keeps_omitted) if flag is None else flag
    if flag is not None and flag != flagged:
        require_flag(access)
    if flagged:
        require_flagging(access)
    return flagged


def _keep_omitted(content: Content, old: Content, arguments: NoteInput) -> Content:
    return content._replace(
        hint=old.hint if arguments.hint is None else content.hint,
        category=old.category if arguments.category is None else content.category,
        tags=old.tags if arguments.tags is None else content.tags,
        conversation=old.conversation if arguments.conversation is None else content.conversation,
        speaker=old.speaker if arguments.speaker is None else content.speaker,
        at_us=old.at_us if arguments.at is None else content.at_us,
    )
