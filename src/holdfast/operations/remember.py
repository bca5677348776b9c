"""Remember: check, scrub, seal, and append a revision; one row or many."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import Op, may_flag
from holdfast.domain.entry import Change, Content, Entry
from holdfast.domain.errors import (
    AccessDenied,
    HoldfastError,
    PreconditionFailed,
)
from holdfast.domain.ids import entry_id
from holdfast.domain.key import made_key
from holdfast.domain.limits import (
    Limits,
    check_revision,
)
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, Principal
from holdfast.domain.profile import KeyRule, Profile
from holdfast.domain.space import SpaceName
from holdfast.operations.authorize import (
    Access,
    EntryName,
    EntryRef,
    SpaceRef,
    enter,
    look_up_in,
    opened,
    require_delete,
    require_flagging,
    seek,
    seen,
)
from holdfast.operations.engine import Engine
from holdfast.operations.judge import (
    NO_ADVICE,
    NO_REDACTIONS,
    judged,
    removed_by,
    scrubbed,
    weighed,
    words_of,
)
from holdfast.operations.notes import Asked, NoteInput, check_note
from holdfast.operations.results import Outcome, Redactions, Remembered, Similar
from holdfast.safety.advice import Advice
from holdfast.storage.index_terms import Words, index_text
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
from holdfast.storage.sealed_transaction import SealedTransaction

_PERSISTED, _NO_NOTE = True, None
_FLAG_NEEDS_MANAGE = "Always-apply needs a person who manages this space."

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""

MANY = 128
"""Rows of a batch in one transaction, so that other writers get their turn."""


class _Ready(NamedTuple):
    """A draft after all that can be done before the transaction."""

    entered: Access
    place: WriteTarget
    profile: Profile
    draft: NoteInput
    content: Content
    expires_us: int | None
    redactions: Redactions
    request: bytes
    indexed: bool
    words: Words | None
    superseded: tuple[EntryRef, WriteTarget] | None
    advice: tuple[Advice, ...]
    quarantined: bool


def remember(
    engine: Engine,
    caller: Caller,
    asked: Asked,
    similar: Callable[[UUID], list[Similar]] | None = None,
) -> Job[Remembered]:
    """With `similar` the answer can be asked for entries that say nearly the same."""
    now = engine.clock()
    # Not closures: of the many writes that wait for one commit each would hold a dozen small things for them.
    return partial(_remember, engine, now, _ready(engine, caller, asked, now), similar)


def _remember(
    engine: Engine,
    now: int,
    ready: _Ready,
    similar: Callable[[UUID], list[Similar]] | None,
    tx: Transaction,
) -> Remembered:
    kept = _write(engine, SealedTransaction(engine.sealed, tx, now), ready)
    if similar is not None and kept.id is not None:
        kept.look = partial(similar, kept.id)
    return kept


class Kept(NamedTuple):
    """An entry as it was written, and the keyed fingerprint of its value."""

    entry: Entry
    fingerprint: bytes


def keep(engine: Engine, caller: Caller, asked: Asked) -> Job[Kept]:
    """Remember, for vocabularies that answer with the entry itself and cannot repeat a request."""
    now = engine.clock()
    return partial(_keep, engine, now, _ready(engine, caller, asked, now))


def _keep(engine: Engine, now: int, ready: _Ready, tx: Transaction) -> Kept:
    entry, _, _ = _put(engine, SealedTransaction(engine.sealed, tx, now), ready)
    return Kept(entry, fingerprint(ready.place.key, entry.value))


def not_kept(limits: Limits, caller: Caller, asked: Asked, reason: str, now: int) -> Remembered:
    """The answer while memory is off: what would be refused is refused all the same."""
    content = check_note(limits, caller, asked.profile, asked.draft)
    expires = asked.profile.retention.expires_us(asked.draft.ttl, now)
    advice = NO_ADVICE
    if asked.profile.scrubbed and not asked.draft.encrypted:
        advice, _ = weighed(asked.profile, content)
    kept = Remembered(None, content.key, None, 0, False, expires, persisted=False, note=reason)
    return kept._replace(category=content.category, advised=advice)


def remember_many(
    engine: Engine, caller: Caller, rows: Sequence[Asked | HoldfastError]
) -> Job[list[Outcome]]:
    """One transaction, one outcome a row: a row that is refused, now or before, takes nothing from the others."""
    now = engine.clock()
    said: dict[SpaceRef, tuple[Access, WriteTarget]] = {}
    meant: dict[SpaceName, tuple[Access, WriteTarget]] = {}
    prepared: list[_Ready | HoldfastError] = []
    for row in rows:
        try:
            if isinstance(row, HoldfastError):
                raise row
            if row.space not in said:
                entered, place = _enter(engine, caller, row.space, now)
                # Two ways of naming a space that is still to be made mean one space.
                said[row.space] = meant.setdefault(entered.space.name, (entered, place))
            prepared.append(_prepare(engine, row, *said[row.space], now))
        except HoldfastError as refusal:
            prepared.append(refusal)

    def write(tx: Transaction) -> list[Outcome]:
        sealed = SealedTransaction(engine.sealed, tx, now)
        for place in {
            id(ready.place): ready.place for ready in prepared if isinstance(ready, _Ready)
        }.values():
            sealed.settle(place)
        _look_ahead(sealed, [ready for ready in prepared if isinstance(ready, _Ready)])
        return [_outcome(engine, sealed, ready) for ready in prepared]

    return write


def _look_ahead(tx: SealedTransaction, rows: list[_Ready]) -> None:
    """Finds what the rows will revise, all of one space and room at once."""
    asked: dict[tuple[int, Partition, Principal], tuple[WriteTarget, list[tuple[str, str]]]] = {}
    for row in rows:
        if _has_fresh_key(row):
            continue
        owner, content = row.entered.caller.principal, row.content
        group = (id(row.place), row.profile.partition, owner)
        asked.setdefault(group, (row.place, []))[1].append((content.namespace, content.key))
    for (_, partition, owner), (place, names) in asked.items():
        tx.look_ahead(place, partition, owner, names)


def _ready(engine: Engine, caller: Caller, asked: Asked, now: int) -> _Ready:
    return _prepare(engine, asked, *_enter(engine, caller, asked.space, now), now)


def _enter(engine: Engine, caller: Caller, space: SpaceRef, now: int) -> tuple[Access, WriteTarget]:
    entered = enter(engine, caller, space, Op.WRITE, now)
    return entered, engine.sealed.place(entered.space, now)


def _prepare(engine: Engine, asked: Asked, entered: Access, place: WriteTarget, now: int) -> _Ready:
    profile, draft = asked.profile, asked.draft
    content = _checked(engine, entered, profile, draft)
    redactions, advice, quarantined = NO_REDACTIONS, NO_ADVICE, False
    if profile.scrubbed and not draft.encrypted:
        words: str | None = words_of(content)
        content, redactions = scrubbed(engine, content, words)
        if redactions:
            words = None  # they are others now
        content, advice, quarantined = judged(
            engine, entered.caller, profile, content, now, draft.source, draft.derived_from, words
        )
    expires_us = profile.retention.expires_us(draft.ttl, now)
    request = b"" if draft.idempotency_key is None else _request(engine, entered, profile, draft)
    indexed = profile.indexed and not draft.encrypted
    terms = index_text(place.key, content) if indexed else None
    superseded = None if draft.supersedes is None else _sought(engine, asked, entered.caller, now)
    columns = (
        entered, place, profile, draft, content, expires_us, redactions, request, indexed, terms, superseded,
        advice, quarantined,
    )  # fmt: skip
    ready: _Ready = _tuple(_Ready, columns)
    return ready


def _sought(engine: Engine, asked: Asked, caller: Caller, now: int) -> tuple[EntryRef, WriteTarget]:
    """The entry to be superseded, and where it lies."""
    old = EntryName(id=asked.draft.supersedes, partitions=(asked.profile.partition,))
    sought = seek(engine, caller, old, Op.WRITE, now)
    return sought, engine.sealed.place(sought.entered.space, now)


def _outcome(engine: Engine, tx: SealedTransaction, ready: _Ready | HoldfastError) -> Outcome:
    if isinstance(ready, HoldfastError):
        return Outcome(error=ready)
    try:
        return Outcome(_write(engine, tx, ready))
    except HoldfastError as refusal:
        return Outcome(error=refusal)


def check_expected(expected: int | None, actual: int) -> None:
    if expected is not None and check_revision(expected) != actual:
        raise PreconditionFailed(f"The entry is at revision {actual}, not {expected}; read it again.")


def _checked(engine: Engine, entered: Access, profile: Profile, draft: NoteInput) -> Content:
    """What is to be written, as it was said."""
    content = check_note(engine.limits, entered.caller, profile, draft)
    if not content.key:
        content = _tuple(Content, (_made_key(engine, draft), *content[1:]))
    if draft.always_inject and not may_flag(entered.caller, entered.space, entered.level):
        raise AccessDenied(_FLAG_NEEDS_MANAGE)
    return content


def _write(engine: Engine, tx: SealedTransaction, ready: _Ready) -> Remembered:
    caller, repeatable = ready.entered.caller.principal, ready.draft.idempotency_key
    if repeatable is not None and (replayed := _replay(tx, ready, repeatable)):
        return replayed
    superseded = None if ready.superseded is None else _superseded(engine, tx, *ready.superseded)
    entry, id, created = _put(engine, tx, ready)
    if ready.superseded is not None and superseded is not None and superseded.id != id:
        _supersede(tx, ready.entered.caller, *ready.superseded)
    if repeatable is not None:
        answer = json.dumps(
            [
                entry.space.hex, entry.number, entry.revision, created, entry.expires_us, ready.redactions,
                entry.content.key,
            ]
        )  # fmt: skip
        tx.keep_answer(caller, repeatable, ready.request, answer.encode(), id)
    redacted = sum([count for _, count in ready.redactions]) if ready.redactions else 0
    answered = (
        id, entry.content.key, entry.space, entry.revision, created, entry.expires_us, redacted, _PERSISTED, _NO_NOTE,
        ready.content.category, ready.redactions, ready.advice, ready.quarantined,
    )  # fmt: skip
    kept: Remembered = _tuple(Remembered, answered)
    return kept


def _superseded(engine: Engine, tx: SealedTransaction, sought: EntryRef, place: WriteTarget) -> Entry:
    """The entry to be superseded, which the caller must be allowed to remove."""
    head = look_up_in(tx, place, sought)
    require_delete(engine, sought.entered, head)
    return opened(head)


def _supersede(tx: SealedTransaction, caller: Caller, sought: EntryRef, place: WriteTarget) -> None:
    trashed = tx.trash(place, look_up_in(tx, place, sought), removed_by(caller))
    tx.audit("supersede", caller.principal, trashed.space, trashed.id, trashed.revision)


def _put(engine: Engine, tx: SealedTransaction, ready: _Ready) -> tuple[Entry, UUID, bool]:
    """The entry, its id, and whether it is new. Every refusal comes before the first change, so that a row of many can
    fail alone."""
    caller, content, expected = ready.entered.caller.principal, ready.content, ready.draft.expected_revision
    head = None
    if not _has_fresh_key(ready):
        head = tx.own(ready.place, ready.profile.partition, caller, content.namespace, content.key)
        if head is not None and _has_made_key(ready):
            # It was made for a request that is forgotten by now; this one is another that has the same idempotency key.
            ready, head = ready._replace(content=content._replace(key=made_key())), None
    gone = head is None or (head.row.expires_us is not None and head.row.expires_us <= tx.now)
    if expected is not None:
        check_expected(expected, 0 if gone or head is None else head.row.revision)
    if head is not None and gone and ready.profile.keeps_history:
        tx.purge(ready.place.space.id, [head.row], erase=False)
        head = None
    if head is None and ready.profile.of_files:
        tx.refuse_twin(ready.place, caller, content.key)
    entry = _create(engine, tx, ready) if head is None else _revise(engine, tx, ready, head)
    id = entry.id
    tx.audit("remember", caller, entry.space, id, entry.revision)
    return entry, id, gone


def _has_fresh_key(ready: _Ready) -> bool:
    """Whether the key was just drawn, so that no entry can have it yet."""
    return ready.draft.idempotency_key is None and _has_made_key(ready)


def _has_made_key(ready: _Ready) -> bool:
    return ready.draft.key is None or ready.profile.key is KeyRule.MADE


def _create(engine: Engine, tx: SealedTransaction, ready: _Ready) -> Entry:
    return tx.create(
        ready.place,
        ready.profile.partition,
        ready.entered.caller.principal,
        ready.content,
        _tuple(
            State,
            (ready.expires_us, bool(ready.draft.always_inject), ready.draft.encrypted, ready.quarantined),
        ),
        indexed=ready.indexed,
        words=ready.words,
        cap=engine.limits.entries if ready.profile.may_crowd else engine.limits.entries // 2,
    )


def _revise(engine: Engine, tx: SealedTransaction, ready: _Ready, head: OpenedRow) -> Entry:
    before = seen(ready.entered, head, tx.now)  # nothing else comes along with new words
    content, always = ready.content, _always_inject(ready, before)
    if before is not None and ready.profile.keeps_omitted:
        content = _keep_omitted(content, before.content, ready.draft)
    says_the_same = (content.hint, content.tags) == (ready.content.hint, ready.content.tags)
    return tx.revise(
        ready.place,
        head,
        content._replace(change=Change.REPLACED),
        State(ready.expires_us, always, ready.draft.encrypted, ready.quarantined),
        indexed=ready.indexed,
        history=ready.profile.keeps_history,
        keep=engine.limits.revisions,
        words=ready.words if says_the_same else None,
    )


def _always_inject(ready: _Ready, before: Entry | None) -> bool:
    """Who may not flag changes nothing about it, neither by saying so nor by leaving it out."""
    flagged = before is not None and before.always_inject
    said = ready.draft.always_inject
    if may_flag(ready.entered.caller, ready.entered.space, ready.entered.level):
        left_out = flagged and ready.profile.keeps_omitted
        return left_out if said is None else said
    if said is not None and said != flagged:
        raise AccessDenied(_FLAG_NEEDS_MANAGE)
    if flagged:
        require_flagging(ready.entered)
    return flagged


def _keep_omitted(content: Content, old: Content, draft: NoteInput) -> Content:
    return content._replace(
        hint=old.hint if draft.hint is None else content.hint,
        category=old.category if draft.category is None else content.category,
        tags=old.tags if draft.tags is None else content.tags,
        conversation=old.conversation if draft.conversation is None else content.conversation,
        speaker=old.speaker if draft.speaker is None else content.speaker,
        at_us=old.at_us if draft.at is None else content.at_us,
    )


def _replay(tx: SealedTransaction, ready: _Ready, repeatable: str) -> Remembered | None:
    answer = tx.answered(ready.entered.caller.principal, repeatable, ready.request)
    if answer is None:
        return None
    space, number, revision, created, expires_us, redactions, key = json.loads(answer)
    return Remembered(
        entry_id(UUID(space), number),
        key,
        UUID(space),
        revision,
        created,
        expires_us,
        sum(count for _, count in redactions),
        category=ready.content.category,
        redactions=tuple((kind, count) for kind, count in redactions),
        advised=ready.advice,
        quarantined=ready.quarantined,
    )


def _made_key(engine: Engine, draft: NoteInput) -> str:
    """With an idempotency key the made key follows from it, so that a repeated request gets the same answer."""
    if draft.idempotency_key is None:
        return made_key()
    return made_key(fingerprint(engine.sealed.store_key, draft.idempotency_key.encode()))


def _request(engine: Engine, entered: Access, profile: Profile, draft: NoteInput) -> bytes:
    """A keyed fingerprint of everything that was asked, to tell a repeated request from another one."""
    asked = json.dumps(
        [profile.name, str(entered.space.name.parts()), draft._asdict()], default=repr, sort_keys=True
    )
    return fingerprint(engine.sealed.store_key, asked.encode("utf-8", "surrogatepass"))
