"""What a caller asks to be remembered, and every check of it that needs no store."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.entry import BYTES, Change, Content
from holdfast.domain.errors import MissingKey
from holdfast.domain.key import refuse_reserved
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
from holdfast.operations.authorize import SpaceRef
from holdfast.operations.judge import provenance_of

_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""


class NoteInput(NamedTuple):
    """What a caller asks to be remembered; None means: not said."""

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
    """The id of an entry that this one takes the place of: it goes to the trash in the same step."""
    source: str | None = None
    """`tool` or `import`, for words that nobody stands behind; it can only lower the trust in them."""
    derived_from: tuple[str, ...] | None = None
    """Ids of entries it was made from: it is trusted no more than the least of them."""


class Asked(NamedTuple):
    """A draft, and where it is to go under which policy."""

    profile: Profile
    space: SpaceRef
    draft: NoteInput


def check_note(limits: Limits, caller: Caller, profile: Profile, draft: NoteInput) -> Content:
    """Every check that needs no store; an empty key is still to be made."""
    (
        text, _, hint, category, tags, _, always_inject, encrypted, namespace, conversation, speaker, at,
        expected_revision, idempotency_key, *_,
    ) = draft  # fmt: skip
    key = _key(limits, profile, draft)
    category = _label("category", category, limits) or profile.default_category
    if profile.reserved_heads:
        refuse_reserved(key, category, profile.reserved_heads)
    if encrypted is not False:
        check_flag("encrypted", encrypted)
    if always_inject is not None:
        check_flag("always_inject", always_inject)
    if expected_revision is not None:
        check_revision(expected_revision)
    if idempotency_key is not None:
        check_idempotency_key(idempotency_key)
    body = _body(limits, profile, draft)
    namespace = "" if namespace == "" else _label("namespace", namespace, limits)
    hint = "" if hint is None else check_hint(hint, limits).strip()
    media_type = profile.media_type if isinstance(text, str) else BYTES
    labels = () if tags is None else check_tags(tags, limits)
    conversation = None if conversation is None else _label("conversation", conversation, limits)
    speaker = None if speaker is None else _label("speaker", speaker, limits)
    at_us = None if at is None else check_moment("at", at)
    who, restores = provenance_of(caller), None
    columns = (
        key, body, who, namespace, hint, media_type, category, labels, conversation or None, speaker or None, at_us,
        _CREATED, restores, _NO_SOURCES, _NOT_REMOVED,
    )  # fmt: skip
    content: Content = _tuple(Content, columns)
    return content


_CREATED = Change.CREATED
_NO_SOURCES: tuple[str, ...] = ()
_NOT_REMOVED = ""


def _label(what: str, label: str | None, limits: Limits) -> str:
    """Only None means: not said. Other empty values are checked like any."""
    return "" if label is None else check_label(what, label, limits)


def _key(limits: Limits, profile: Profile, draft: NoteInput) -> str:
    if draft.key is None or profile.key is KeyRule.MADE:
        if profile.key is KeyRule.GIVEN:
            raise MissingKey
        return ""
    if profile.key is KeyRule.GIVEN and isinstance(draft.key, str) and not draft.key.strip():
        raise MissingKey
    return check_key(draft.key, limits)


def _body(limits: Limits, profile: Profile, draft: NoteInput) -> bytes:
    if not profile.text_only or draft.encrypted:
        return check_bytes(draft.text, limits.body_bytes if profile.text_only else limits.value_bytes)
    text = draft.text.strip() if profile.trims_text and isinstance(draft.text, str) else draft.text
    return check_text(text, limits.body_bytes, blank=profile.allows_blank)
