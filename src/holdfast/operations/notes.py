"""Notes before they are stored: the arguments of remember(), their provenance, and the result of every check."""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import MODEL_DOORS, Op, is_person
from holdfast.domain.entry import BYTES, Content, Provenance, Source, least_trusted
from holdfast.domain.errors import InvalidField, MissingKey, NotFound
from holdfast.domain.ids import made_key
from holdfast.domain.limits import (
    Limits,
    check_bytes,
    check_flag,
    check_hint,
    check_idempotency_key,
    check_key,
    check_label,
    check_list,
    check_revision,
    check_tags,
    check_text,
    refuse_reserved,
)
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.profile import KeyRule, Profile
from holdfast.domain.retention import Ttl
from holdfast.domain.times import check_moment
from holdfast.operations.authorize import (
    Access,
    EntryChange,
    EntryName,
    find_ref,
    look_up,
    opened,
    prepare_change,
    require_flag,
)
from holdfast.operations.session import Session
from holdfast.safety.advice import LESS_TRUSTED, Advice
from holdfast.safety.review import NO_ADVICE, judge_words, scrub_content, words_of
from holdfast.safety.scrub import Redactions
from holdfast.storage.index_terms import Words, index_text
from holdfast.storage.sealed_store import WriteTarget

SOURCES_AT_MOST = 32
_KNOWN_WRITERS = 1_024
_MACHINE_INTERFACES = frozenset({*MODEL_DOORS, "handler"})
_LOWERED_TO = {"tool": Source.TOOL, "import": Source.IMPORT}


def provenance_of(caller: Caller, source: Source | None = None) -> Provenance:
    """The provenance of a new note. What a model or tool code sends is an agent's, whomever it works for."""
    if source is None:
        by_user = caller.principal.kind is PrincipalKind.USER and caller.door not in _MACHINE_INTERFACES
        source = Source.USER if by_user else Source.AGENT
    return _provenance(caller.principal, caller.door, source, caller.conversation, caller.run)


@lru_cache(_KNOWN_WRITERS)
def _provenance(
    principal: Principal, door: str, source: Source, conversation: str | None, run: str | None
) -> Provenance:
    return Provenance(str(principal), door, source, conversation, run)


def provenance_after(caller: Caller, before: Content) -> Provenance:
    """The provenance of a change. Changing a part of less trusted words does not vouch for the rest."""
    own, old = provenance_of(caller), before.provenance.source
    return own if old not in LESS_TRUSTED else provenance_of(caller, least_trusted(own.source, old))


def removed_by(caller: Caller) -> str:
    """One line for the principal and one for the run; no id has line breaks."""
    return f"{caller.principal}\n{caller.run}" if caller.run else str(caller.principal)


def removers(removed_by: str) -> list[str]:
    return removed_by.split("\n")


def trace_sources(
    session: Session, content: Content, source: str | None, derived_from: object, now: int
) -> tuple[Content, bool]:
    """Returns the content with the least trusted of its sources, and if one of them is quarantined."""
    origins = [content.provenance.source]
    if source is not None:
        if source not in _LOWERED_TO:
            raise InvalidField("A source is `tool` or `import`; who writes is known.")
        origins.append(_LOWERED_TO[source])
    ids = () if derived_from is None else check_list("derived_from", derived_from)
    if len(ids) > SOURCES_AT_MOST:
        raise InvalidField(f"An entry is derived from at most {SOURCES_AT_MOST} others.")
    held_back = False
    for id in ids:
        entry = opened(look_up(find_ref(session, EntryName(id=id, partitions=MODEL_VISIBLE), Op.READ, now)))
        if entry.quarantined and not is_person(session.caller):
            raise NotFound
        origins.append(entry.provenance.source)
        held_back |= entry.quarantined
    provenance = provenance_of(session.caller, least_trusted(*origins))
    return content._replace(provenance=provenance, derived_from=tuple(map(str, ids))), held_back


class NoteInput(NamedTuple):
    """The arguments of remember(); None means not given."""

    text: str | bytes
    key: str | None = None
    hint: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    ttl: Ttl = None
    always_inject: bool | None = None
    encrypted: bool = False
    namespace: str = ""
    conversation: str | None = None
    speaker: str | None = None
    at: datetime | str | None = None
    expected_revision: int | None = None
    idempotency_key: str | None = None
    supersedes: str | UUID | None = None
    """The id of an entry that goes to the trash in the same transaction."""
    source: str | None = None
    """`tool` or `import`: can only lower the trust in the words."""
    derived_from: tuple[str, ...] | None = None
    """Ids of entries it was made from: it is trusted no more than the least of them."""


class Note(NamedTuple):
    """A note after every check that can be made before the transaction."""

    access: Access
    target: WriteTarget
    profile: Profile
    arguments: NoteInput
    content: Content
    expires_us: int | None
    redactions: Redactions
    advice: tuple[Advice, ...]
    quarantined: bool
    words: Words | None
    """Its index terms; None when it is not indexed."""
    request: bytes
    """A keyed fingerprint of the arguments, when they have an idempotency key."""
    supersedes: EntryChange | None

    @property
    def has_made_key(self) -> bool:
        return self.arguments.key is None or self.profile.key is KeyRule.MADE


def review(access: Access, target: WriteTarget, profile: Profile, arguments: NoteInput, now: int) -> Note:
    """Checks, scrubs and judges a note."""
    session = access.session
    content = check_note(session.limits, session.caller, profile, arguments)
    if not content.key:
        # With an idempotency key the made key follows from it: a repeated request gets the same answer.
        repeat = arguments.idempotency_key
        made = made_key(None if repeat is None else fingerprint(session.sealed.store_key, repeat.encode()))
        content = content._replace(key=made)
    if arguments.always_inject:
        require_flag(access)
    redactions: Redactions = ()
    advice, quarantined = NO_ADVICE, False
    if profile.scrubbed and not arguments.encrypted:
        words: str | None = words_of(content)
        content, redactions = scrub_content(session.engine.scrub, content, words)
        if arguments.source is not None or arguments.derived_from is not None:
            content, quarantined = trace_sources(
                session, content, arguments.source, arguments.derived_from, now
            )
        advice, held_back = judge_words(profile, content, None if redactions else words)
        quarantined = quarantined or held_back
    supersedes = None
    if arguments.supersedes is not None:
        old = EntryName(id=arguments.supersedes, partitions=(profile.partition,))
        supersedes = prepare_change(session, old, Op.WRITE)
    return Note(
        access=access,
        target=target,
        profile=profile,
        arguments=arguments,
        content=content,
        expires_us=profile.retention.expires_us(arguments.ttl, now),
        redactions=redactions,
        advice=advice,
        quarantined=quarantined,
        words=index_text(target.key, content) if profile.indexed and not arguments.encrypted else None,
        request=b"" if arguments.idempotency_key is None else _request(access, profile, arguments),
        supersedes=supersedes,
    )


def check_note(limits: Limits, caller: Caller, profile: Profile, arguments: NoteInput) -> Content:
    """Makes every check that needs no store; an empty key is still to be made."""
    key = _key(limits, profile, arguments)
    category = _label("category", arguments.category, limits) or profile.default_category
    if profile.reserved_heads:
        refuse_reserved(key, category, profile.reserved_heads)
    check_flag("encrypted", arguments.encrypted)
    if arguments.always_inject is not None:
        check_flag("always_inject", arguments.always_inject)
    if arguments.expected_revision is not None:
        check_revision(arguments.expected_revision)
    if arguments.idempotency_key is not None:
        check_idempotency_key(arguments.idempotency_key)
    if not profile.text_only or arguments.encrypted:
        body = check_bytes(arguments.text, limits.body_bytes if profile.text_only else limits.value_bytes)
    else:
        text = (
            arguments.text.strip()
            if profile.trims_text and isinstance(arguments.text, str)
            else arguments.text
        )
        body = check_text(text, limits.body_bytes, blank=profile.allows_blank)
    return Content(
        key=key,
        body=body,
        provenance=provenance_of(caller),
        namespace="" if arguments.namespace == "" else check_label("namespace", arguments.namespace, limits),
        hint="" if arguments.hint is None else check_hint(arguments.hint, limits).strip(),
        media_type=profile.media_type if isinstance(arguments.text, str) else BYTES,
        category=category,
        tags=() if arguments.tags is None else check_tags(arguments.tags, limits),
        conversation=_label("conversation", arguments.conversation, limits) or None,
        speaker=_label("speaker", arguments.speaker, limits) or None,
        at_us=None if arguments.at is None else check_moment("at", arguments.at),
    )


def _label(field: str, label: str | None, limits: Limits) -> str:
    """Only None means not given. Other empty values are checked like any."""
    return "" if label is None else check_label(field, label, limits)


def _key(limits: Limits, profile: Profile, arguments: NoteInput) -> str:
    if arguments.key is None or profile.key is KeyRule.MADE:
        if profile.key is KeyRule.GIVEN:
            raise MissingKey
        return ""
    if profile.key is KeyRule.GIVEN and isinstance(arguments.key, str) and not arguments.key.strip():
        raise MissingKey
    return check_key(arguments.key, limits)


def _request(access: Access, profile: Profile, arguments: NoteInput) -> bytes:
    parts = [profile.name, str(access.space.name.parts()), arguments._asdict()]
    encoded = json.dumps(parts, default=repr, sort_keys=True).encode("utf-8", "surrogatepass")
    return fingerprint(access.session.sealed.store_key, encoded)
