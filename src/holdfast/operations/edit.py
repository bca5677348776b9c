"""Edit fields of an entry, replace a passage of its text, rename it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op
from holdfast.domain.entry import TEXT, Change, Content, Entry
from holdfast.domain.errors import Conflict, EditNoMatch, InvalidField, MissingField, NotText
from holdfast.domain.file import check_description, check_name, check_type
from holdfast.domain.limits import (
    Limits,
    check_hint,
    check_key,
    check_label,
    check_tags,
    check_text,
    refuse_reserved,
)
from holdfast.domain.profile import PROFILES
from holdfast.domain.retention import ENDLESS, Ttl
from holdfast.operations.authorize import (
    EntryChange,
    EntryName,
    SpaceRef,
    authorize,
    opened,
    prepare_change,
    require_creator,
    require_delete,
    require_flag,
    require_flagging,
)
from holdfast.operations.notes import provenance_after
from holdfast.operations.session import Session
from holdfast.safety.advice import Advice
from holdfast.safety.review import NO_ADVICE, judge_words, scrub_content
from holdfast.safety.scrub import Redactions
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow
from holdfast.storage.sealed_transaction import SealedTransaction


@dataclass(frozen=True, slots=True)
class Changes:
    """Fields to change; None leaves a field as it is."""

    text: str | None = None
    hint: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    ttl: Ttl = None
    no_expiry: bool = False
    always_inject: bool | None = None
    expected_revision: int | None = None


class Edited(Entry):
    """An entry after a change of its words."""

    advice: tuple[Advice, ...] = ()
    """Advice on the words; no part of the entry itself."""
    redactions: Redactions = ()
    """Secrets that were taken out of them, by kind."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """Result of replacing a passage: the entry, and how often the passage had occurred."""

    entry: Edited
    occurrences: int
    before: str = ""
    """The text as it was; what it is now may have secrets taken out anywhere."""


def edit(session: Session, name: EntryName, changes: Changes) -> Job[Edited]:
    change = prepare_change(session, name, Op.CHANGE, changes.expected_revision)
    if changes.always_inject is not None:
        require_flag(change.access)

    def write(tx: Transaction) -> Edited:
        sealed, head = change.begin(tx)
        content = _changed(session.limits, opened(head), changes)
        return _revise(change, sealed, head, content, changes, "edit")

    return Job(write)


def renew(session: Session, name: EntryName, ttl: Ttl, expected: int | None) -> Job[Entry]:
    """A new time to live, counted from now; without one the span that the last write gave."""
    change = prepare_change(session, name, Op.CHANGE, expected)

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        changes = Changes(ttl=_span(entry) if ttl is None else ttl)
        return _revise(change, sealed, head, entry.content, changes, "renew")

    return Job(write)


def _span(entry: Entry) -> timedelta:
    if entry.expires_us is None:
        endless = PROFILES[entry.partition].retention.endless
        raise InvalidField(
            ENDLESS if endless else "This memory has no time to live; say `ttl` to give it one."
        )
    return timedelta(microseconds=entry.expires_us - entry.updated_us)


def replace_text(
    session: Session, name: EntryName, old: str, new: str, expected: int | None
) -> Job[Replaced]:
    """Replaces the first occurrence, literally, and returns how many there were."""
    change = prepare_change(session, name, Op.CHANGE, expected)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise MissingField("Say which text to replace (`old`, not empty) and what to put there (`new`).")

    def write(tx: Transaction) -> Replaced:
        sealed, head = change.begin(tx)
        entry = opened(head)
        if entry.content.media_type != TEXT:
            raise NotText
        occurrences = entry.text.count(old)
        if not occurrences:
            raise EditNoMatch
        changes = Changes(text=entry.text.replace(old, new, 1))
        content = _changed(session.limits, entry, changes)
        return Replaced(_revise(change, sealed, head, content, changes, "edit"), occurrences, entry.text)

    return Job(write)


def rename(
    session: Session,
    name: EntryName,
    new_key: str,
    to_space: SpaceRef,
    expected: int | None = None,
    *,
    creator_only: bool = False,
) -> Job[Entry]:
    """Gives the entry a new key, or moves it to another space, in one transaction. Moving needs write on both sides."""
    change = prepare_change(session, name, Op.CHANGE, expected)
    key = session.engine.scrub(check_key(new_key, session.limits)).text
    here, there = change.target, change.access
    if to_space is not None:
        there = authorize(session, to_space, Op.WRITE, change.now)
        if there.space.id != change.access.space.id:
            here = session.sealed.write_target(there.space, change.now)
    moves = here is not change.target

    def write(tx: Transaction) -> Entry:
        sealed, head = change.begin(tx)
        entry = opened(head)
        if creator_only:
            require_creator(change.access, head)
        profile = PROFILES[entry.partition]
        refuse_reserved(key, entry.category, profile.reserved_heads)
        if profile.of_files:
            check_name(key)
            if moves:
                raise InvalidField("A file memory stays in its user's own space.")
            sealed.refuse_twin(here, entry.owner, key, entry.number)
        if moves:
            require_delete(change.access, head)
            if entry.always_inject:
                require_flag(there)
            sealed.insert_new(here)
        elif key == entry.key:
            return entry
        elif entry.always_inject:
            require_flagging(change.access)
        sealed.free_expired(here, entry.partition, entry.owner, entry.namespace, key)
        if sealed.own(here, entry.partition, entry.owner, entry.namespace, key):
            raise Conflict(f"There is an entry `{key}` already; rename or remove it first.")
        content = entry.content._replace(
            key=key,
            change=Change.RENAMED,
            restores=None,
            provenance=provenance_after(session.caller, entry.content),
            removed_by="",
        )
        state, indexed = State.of(entry), profile.indexed and not entry.encrypted
        if profile.scrubbed and not entry.encrypted:
            _, held_back = judge_words(profile, content)
            state = state._replace(quarantined=state.quarantined or held_back)
        if moves:
            leaves = OpenedRow(head.row, entry._replace(quarantined=state.quarantined))
            renamed = sealed.carry(
                change.target, leaves, here, content, indexed=indexed, cap=session.limits.entries
            )
        else:
            renamed = sealed.revise(
                here, head, content, state, indexed=indexed, history=True, keep=session.limits.revisions
            )
        sealed.audit("rename", session.principal, renamed.space, renamed.id, renamed.revision)
        return renamed

    return Job(write)


def _changed(limits: Limits, entry: Entry, changes: Changes) -> Content:
    content, profile = entry.content, PROFILES[entry.partition]
    if changes.text is not None:
        if entry.encrypted:
            raise NotText("The entry is encrypted by its client; write it again.")
        body = check_text(changes.text, limits.body_bytes, blank=profile.allows_blank)
        content = content._replace(body=body, media_type=TEXT)
    if changes.hint is not None:
        check = check_description if profile.of_files else check_hint
        content = content._replace(hint=check(changes.hint, limits).strip())
    if changes.category is not None:
        category = check_label("category", changes.category, limits)
        refuse_reserved("", category, profile.reserved_heads)
        if profile.of_files:
            check_type(category)
        content = content._replace(category=category)
    if changes.tags is not None:
        content = content._replace(tags=check_tags(changes.tags, limits))
    return content


def _revise(
    change: EntryChange,
    tx: SealedTransaction,
    head: OpenedRow,
    content: Content,
    changes: Changes,
    operation: str,
) -> Edited:
    access, entry = change.access, opened(head)
    session, profile = access.session, PROFILES[entry.partition]
    if entry.always_inject and (changes.text, changes.hint) != (None, None):
        require_flagging(access)
    state, advice = State.of(entry), NO_ADVICE
    redactions: Redactions = ()
    content = content._replace(
        change=Change.EDITED,
        restores=None,
        provenance=provenance_after(session.caller, entry.content),
        removed_by="",
    )
    if profile.scrubbed and not entry.encrypted:
        content, redactions = scrub_content(session.engine.scrub, content)
        advice, held_back = judge_words(profile, content)
        state = state._replace(quarantined=state.quarantined or held_back)
    if changes.no_expiry:
        state = state._replace(expires_us=profile.retention.expires_us(None, tx.now))
    elif changes.ttl is not None:
        state = state._replace(expires_us=profile.retention.expires_us(changes.ttl, tx.now))
    if changes.always_inject is not None:
        state = state._replace(always_inject=changes.always_inject)
    revised = tx.revise(
        change.target,
        head,
        content,
        state,
        indexed=profile.indexed and not entry.encrypted,
        history=profile.keeps_history,
        keep=session.limits.revisions,
    )
    tx.audit(operation, session.principal, revised.space, revised.id, revised.revision)
    edited = Edited(*revised)
    edited.redactions = redactions
    if any(field is not None for field in (changes.text, changes.hint, changes.tags)):
        edited.advice = advice
    return edited
