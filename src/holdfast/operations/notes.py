"""Notes on their way into the store: the arguments of remember(), and what is left of them after every check."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.crypto.blind import fingerprint
from holdfast.domain.access import Op
from holdfast.domain.entry import BYTES, Content
from holdfast.domain.errors import MissingKey
from holdfast.domain.key import made_key, refuse_reserved
from holdfast.domain.limits import (
    Limits,
    check_bytes,
    check_flag,
    check_hint,
    check_idempotency_key,
    check_key,
    check_label,
    check_revision,
    check_tags,
    check_text,
)
from holdfast.domain.principal import Caller
from holdfast.domain.profile import KeyRule, Profile
from holdfast.domain.retention import Ttl
from holdfast.domain.times import check_moment
from holdfast.operations.authorize import Access, EntryChange, EntryName, prepare_change, require_flag
from holdfast.operations.provenance import provenance_of, trace_sources
from holdfast.safety.advice import Advice
from holdfast.safety.review import NO_ADVICE, judge_words, scrub_content, words_of
from holdfast.safety.scrub import Redactions
from holdfast.storage.index_terms import Words, index_text
from holdfast.storage.sealed_store import WriteTarget


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
    given: NoteInput
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
        return self.given.key is None or self.profile.key is KeyRule.MADE


def review(access: Access, target: WriteTarget, profile: Profile, given: NoteInput, now: int) -> Note:
    """Checks, scrubs and judges a note."""
    session = access.session
    content = check_note(session.limits, session.caller, profile, given)
    if not content.key:
        content = content._replace(key=_made_key(access, given))
    if given.always_inject:
        require_flag(access)
    redactions: Redactions = ()
    advice, quarantined = NO_ADVICE, False
    if profile.scrubbed and not given.encrypted:
        words: str | None = words_of(content)
        content, redactions = scrub_content(session.engine.scrub, content, words)
        if given.source is not None or given.derived_from is not None:
            content, quarantined = trace_sources(session, content, given.source, given.derived_from, now)
        advice, held_back = judge_words(profile, content, None if redactions else words)
        quarantined = quarantined or held_back
    supersedes = None
    if given.supersedes is not None:
        old = EntryName(id=given.supersedes, partitions=(profile.partition,))
        supersedes = prepare_change(session, old, Op.WRITE)
    return Note(
        access=access,
        target=target,
        profile=profile,
        given=given,
        content=content,
        expires_us=profile.retention.expires_us(given.ttl, now),
        redactions=redactions,
        advice=advice,
        quarantined=quarantined,
        words=index_text(target.key, content) if profile.indexed and not given.encrypted else None,
        request=b"" if given.idempotency_key is None else _request(access, profile, given),
        supersedes=supersedes,
    )


def check_note(limits: Limits, caller: Caller, profile: Profile, given: NoteInput) -> Content:
    """Makes every check that needs no store; an empty key is still to be made."""
    key = _key(limits, profile, given)
    category = _label("category", given.category, limits) or profile.default_category
    if profile.reserved_heads:
        refuse_reserved(key, category, profile.reserved_heads)
    check_flag("encrypted", given.encrypted)
    if given.always_inject is not None:
        check_flag("always_inject", given.always_inject)
    if given.expected_revision is not None:
        check_revision(given.expected_revision)
    if given.idempotency_key is not None:
        check_idempotency_key(given.idempotency_key)
    return Content(
        key=key,
        body=_body(limits, profile, given),
        provenance=provenance_of(caller),
        namespace="" if given.namespace == "" else _label("namespace", given.namespace, limits),
        hint="" if given.hint is None else check_hint(given.hint, limits).strip(),
        media_type=profile.media_type if isinstance(given.text, str) else BYTES,
        category=category,
        tags=() if given.tags is None else check_tags(given.tags, limits),
        conversation=_label("conversation", given.conversation, limits) or None,
        speaker=_label("speaker", given.speaker, limits) or None,
        at_us=None if given.at is None else check_moment("at", given.at),
    )


def _label(field: str, label: str | None, limits: Limits) -> str:
    """Only None means not given. Other empty values are checked like any."""
    return "" if label is None else check_label(field, label, limits)


def _key(limits: Limits, profile: Profile, given: NoteInput) -> str:
    if given.key is None or profile.key is KeyRule.MADE:
        if profile.key is KeyRule.GIVEN:
            raise MissingKey
        return ""
    if profile.key is KeyRule.GIVEN and isinstance(given.key, str) and not given.key.strip():
        raise MissingKey
    return check_key(given.key, limits)


def _body(limits: Limits, profile: Profile, given: NoteInput) -> bytes:
    if not profile.text_only or given.encrypted:
        return check_bytes(given.text, limits.body_bytes if profile.text_only else limits.value_bytes)
    text = given.text.strip() if profile.trims_text and isinstance(given.text, str) else given.text
    return check_text(text, limits.body_bytes, blank=profile.allows_blank)


def _made_key(access: Access, given: NoteInput) -> str:
    """With an idempotency key the made key follows from it, so that a repeated request gets the same answer."""
    if given.idempotency_key is None:
        return made_key()
    return made_key(fingerprint(access.session.sealed.store_key, given.idempotency_key.encode()))


def _request(access: Access, profile: Profile, given: NoteInput) -> bytes:
    parts = [profile.name, str(access.space.name.parts()), given._asdict()]
    encoded = json.dumps(parts, default=repr, sort_keys=True).encode("utf-8", "surrogatepass")
    return fingerprint(access.session.sealed.store_key, encoded)
