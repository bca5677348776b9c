"""Edit fields of an entry, replace a passage of its text, rename it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import Op, may_flag
from holdfast.domain.entry import TEXT, Change, Content, Entry
from holdfast.domain.errors import AccessDenied, Conflict, EditNoMatch, InvalidField, MissingField, NotText
from holdfast.domain.file import check_description, check_name, check_type
from holdfast.domain.key import refuse_reserved
from holdfast.domain.limits import check_hint, check_key, check_label, check_tags, check_text
from holdfast.domain.principal import Caller
from holdfast.domain.profile import PROFILES
from holdfast.domain.retention import ENDLESS, Ttl
from holdfast.operations.authorize import (
    Access,
    EntryName,
    SpaceRef,
    enter,
    look_up_in,
    opened,
    require_creator,
    require_delete,
    require_flagging,
    seek,
)
from holdfast.operations.engine import Engine
from holdfast.operations.judge import NO_ADVICE, judged, provenance_after, scrubbed, weighed
from holdfast.operations.remember import check_expected
from holdfast.operations.results import NOTHING_TAKEN_OUT, Redactions
from holdfast.safety.advice import Advice
from holdfast.storage.row_codec import State
from holdfast.storage.sealed_store import OpenedRow, WriteTarget
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
    """An entry as a change of its words left it."""

    advice: tuple[Advice, ...] = ()
    """What the save coach says about the words; no part of the entry itself."""
    redactions: Redactions = ()
    """Which secrets were taken out of them."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What replacing a passage did: the entry, and how often the passage had occurred."""

    entry: Edited
    occurrences: int
    before: str = ""
    """The text as it was; what it is now may have secrets taken out anywhere."""


def edit(engine: Engine, caller: Caller, target: EntryName, changes: Changes) -> Job[Edited]:
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    if changes.always_inject is not None:
        _require_flag(sought.entered)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Edited:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(changes.expected_revision, head.row.revision)
        entry = opened(head)
        return _revise(
            engine, sealed, sought.entered, place, head, _changed(engine, entry, changes), changes, "edit"
        )

    return write


def renew(engine: Engine, caller: Caller, target: EntryName, ttl: Ttl, expected: int | None) -> Job[Entry]:
    """A new time to live, counted from now; without one the span that the last write gave."""
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(expected, head.row.revision)
        entry = opened(head)
        changes = Changes(ttl=_span(entry) if ttl is None else ttl)
        return _revise(engine, sealed, sought.entered, place, head, entry.content, changes, "renew")

    return write


def _span(entry: Entry) -> timedelta:
    if entry.expires_us is None:
        endless = PROFILES[entry.partition].retention.endless
        raise InvalidField(
            ENDLESS if endless else "This memory has no time to live; say `ttl` to give it one."
        )
    return timedelta(microseconds=entry.expires_us - entry.updated_us)


def replace_text(
    engine: Engine, caller: Caller, target: EntryName, old: str, new: str, expected: int | None
) -> Job[Replaced]:
    """Replaces the first occurrence, literally, and says how many there were."""
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise MissingField("Say which text to replace (`old`, not empty) and what to put there (`new`).")
    place = engine.sealed.place(sought.entered.space, now)

    def write(tx: Transaction) -> Replaced:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(expected, head.row.revision)
        if opened(head).content.media_type != TEXT:
            raise NotText
        text = opened(head).text
        occurrences = text.count(old)
        if not occurrences:
            raise EditNoMatch
        changes = Changes(text=text.replace(old, new, 1))
        content = _changed(engine, opened(head), changes)
        revised = _revise(engine, sealed, sought.entered, place, head, content, changes, "edit")
        return Replaced(revised, occurrences, text)

    return write


def rename(
    engine: Engine,
    caller: Caller,
    target: EntryName,
    new_key: str,
    to_space: SpaceRef,
    expected: int | None = None,
    *,
    creator_only: bool = False,
) -> Job[Entry]:
    """One transaction: the entry has its new name, or everything is as before. Moving it needs write on both sides."""
    now = engine.clock()
    sought = seek(engine, caller, target, Op.CHANGE, now)
    key = engine.scrub(check_key(new_key, engine.limits)).text
    place = engine.sealed.place(sought.entered.space, now)
    there = sought.entered if to_space is None else enter(engine, caller, to_space, Op.WRITE, now)
    target_place = (
        place if there.space.id == sought.entered.space.id else engine.sealed.place(there.space, now)
    )

    def write(tx: Transaction) -> Entry:
        sealed = SealedTransaction(engine.sealed, tx, now)
        head = look_up_in(sealed, place, sought)
        check_expected(expected, head.row.revision)
        entry = opened(head)
        if creator_only:
            require_creator(engine, sought.entered, head)
        profile = PROFILES[entry.partition]
        refuse_reserved(key, entry.category, profile.reserved_heads)
        if profile.of_files:
            check_name(key)
            if target_place is not place:
                raise InvalidField("A file memory stays in its user's own space.")
            sealed.refuse_twin(place, entry.owner, key, entry.number)
        content = entry.content._replace(
            key=key,
            change=Change.RENAMED,
            restores=None,
            provenance=provenance_after(caller, entry.content),
            removed_by="",
        )
        if target_place is not place:
            require_delete(engine, sought.entered, head)
            if entry.always_inject:
                _require_flag(there)
            sealed.settle(target_place)
        elif key == entry.key:
            return entry
        elif entry.always_inject:
            require_flagging(sought.entered)
        sealed.free_expired(target_place, entry.partition, entry.owner, entry.namespace, key)
        if sealed.own(target_place, entry.partition, entry.owner, entry.namespace, key):
            raise Conflict(f"There is an entry `{key}` already; rename or remove it first.")
        indexed, state = profile.indexed and not entry.encrypted, State.of(entry)
        if profile.scrubbed and not entry.encrypted:
            _, held_back = weighed(profile, content)
            state = state._replace(quarantined=state.quarantined or held_back)
        if target_place is not place:
            leaves = OpenedRow(head.row, entry._replace(quarantined=state.quarantined))
            moved = sealed.carry(
                place, leaves, target_place, content, indexed=indexed, cap=engine.limits.entries
            )
            sealed.audit("rename", caller.principal, moved.space, moved.id, moved.revision)
            return moved
        renamed = sealed.revise(
            place, head, content, state, indexed=indexed, history=True, keep=engine.limits.revisions
        )
        sealed.audit("rename", caller.principal, renamed.space, renamed.id, renamed.revision)
        return renamed

    return write


def _require_flag(entered: Access) -> None:
    if not may_flag(entered.caller, entered.space, entered.level):
        raise AccessDenied("Always-apply needs a person who manages this space.")


def _changed(engine: Engine, entry: Entry, changes: Changes) -> Content:
    limits, content, profile = engine.limits, entry.content, PROFILES[entry.partition]
    if changes.text is not None:
        if entry.encrypted:
            raise NotText("The entry is encrypted by its client; write it anew.")
        content = content._replace(
            body=check_text(changes.text, limits.body_bytes, blank=PROFILES[entry.partition].allows_blank),
            media_type=TEXT,
        )
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
    engine: Engine,
    tx: SealedTransaction,
    entered: Access,
    place: WriteTarget,
    head: OpenedRow,
    content: Content,
    changes: Changes,
    operation: str,
) -> Edited:
    entry, profile = opened(head), PROFILES[opened(head).partition]
    if entry.always_inject and (changes.text, changes.hint) != (None, None):
        require_flagging(entered)
    state, advice, redactions = State.of(entry), NO_ADVICE, NOTHING_TAKEN_OUT
    content = content._replace(
        change=Change.EDITED,
        restores=None,
        provenance=provenance_after(entered.caller, entry.content),
        removed_by="",
    )
    if profile.scrubbed and not entry.encrypted:
        content, redactions = scrubbed(engine, content)
        content, advice, held_back = judged(engine, entered.caller, profile, content, tx.now)
        state = state._replace(quarantined=state.quarantined or held_back)
    if changes.no_expiry:
        state = state._replace(expires_us=profile.retention.expires_us(None, tx.now))
    elif changes.ttl is not None:
        state = state._replace(expires_us=profile.retention.expires_us(changes.ttl, tx.now))
    if changes.always_inject is not None:
        state = state._replace(always_inject=changes.always_inject)
    revised = tx.revise(
        place,
        head,
        content,
        state,
        indexed=profile.indexed and not entry.encrypted,
        history=profile.keeps_history,
        keep=engine.limits.revisions,
    )
    tx.audit(operation, entered.caller.principal, revised.space, revised.id, revised.revision)
    edited = Edited(*revised)
    edited.redactions = redactions
    if any(said is not None for said in (changes.text, changes.hint, changes.tags)):
        edited.advice = advice
    return edited
