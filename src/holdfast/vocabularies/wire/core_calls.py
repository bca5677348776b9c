"""The rows of the core vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from holdfast.domain.context import LARGEST_BUDGET, SMALLEST_BUDGET
from holdfast.domain.errors import InvalidKey, InvalidLevel, MissingField, MissingKey, MissingValue, NotFound
from holdfast.domain.partition import MODEL_VISIBLE
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.wire import answers, entries
from holdfast.vocabularies.wire.call import NO_VALUE, Call, with_key, with_key_each
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import Shape
from holdfast.vocabularies.wire.words import (
    ADDRESS,
    ALWAYS,
    CATEGORY,
    CURSOR,
    FILTERS,
    HINT,
    IN_CATEGORY,
    IN_CONTEXT,
    KEY,
    LEVELS,
    LIMIT,
    LINE,
    LONGEST_TTL,
    NAME,
    NOT_BLANK,
    QUERY,
    REVISION,
    REVISIONS,
    SCOPE,
    SPACE,
    TAGS,
    TTL,
    field,
)


def core(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(CoreCalls, run, fields, answer, **more)


REMEMBER_FIELDS = (
    field("data", Kind.DATA, "Bytes in place of `text`, for what a client encrypted.", into="text"),
    field("text", Kind.TEXT, "What to remember.", "Deploys go through Konflux", missing=MissingValue),
    KEY,
    HINT,
    SPACE,
    CATEGORY,
    TAGS,
    TTL,
    ALWAYS,
    IN_CONTEXT,
    field("encrypted", Kind.SWITCH, "The client encrypted it: kept as it is, never indexed."),
    field(
        "supersedes", Kind.ID, "The id of a memory that goes to the trash with this write.", wrong=NotFound
    ),
    field(
        "source",
        Kind.TEXT,
        "For words that nobody stands behind: it can only lower the trust in them.",
        "tool",
        bounds={"enum": ["tool", "import"]},
    ),
    field(
        "derived_from",
        Kind.TEXTS,
        "Ids of memories it was made from; it is trusted no more than they are.",
        wrong=NotFound,
        also=(UUID,),
    ),
    field("conversation", Kind.TEXT, "Where it was said.", "standup-2026-05-08", bounds=LINE),
    field("speaker", Kind.TEXT, "Who said it.", "Alice", bounds=LINE),
    field("at", Kind.MOMENT, "When it was said.", "2026-05-08T14:00:00Z"),
    REVISION,
)
ROW_FIELDS = (
    *REMEMBER_FIELDS,
    field("idempotency_key", Kind.TEXT, "This row is done once, however often it is sent."),
)
_TEXT_OR_DATA = {
    "oneOf": [
        {
            "title": "text",
            "required": ["text"],
            "properties": {
                "text": {"type": "string"} | NOT_BLANK,
                "data": NO_VALUE,
                "encrypted": {"enum": [False, None]},
            },
        },
        {
            "title": "text that a client encrypted",
            "required": ["text", "encrypted"],
            "properties": {"text": {"type": "string"}, "data": NO_VALUE, "encrypted": {"const": True}},
        },
        {
            "title": "bytes that a client encrypted",
            "required": ["data", "encrypted"],
            "properties": {"text": NO_VALUE, "data": {"type": "string"}, "encrypted": {"const": True}},
        },
    ]
}
REMEMBER = core(
    CoreCalls.remember,
    REMEMBER_FIELDS,
    answers.REMEMBERED,
    writes=True,
    rules=_TEXT_OR_DATA,
    repeat=with_key,
)
REMEMBER_MANY = core(
    CoreCalls.remember_many,
    (
        field(
            "entries",
            Kind.ROWS,
            "What `remember` takes, once for each memory; a row may have an `idempotency_key`.",
            [{"text": "Deploys go through Konflux"}],
            missing=MissingField,
            of=ROW_FIELDS,
        ),
    ),
    answers.OUTCOMES,
    writes=True,
    repeat=with_key_each,
)
RECALL = core(
    CoreCalls.recall,
    (QUERY, LIMIT, *FILTERS, field("explain", Kind.SWITCH, "Add every part of each score.")),
    entries.HITS,
    aside=True,
)
WHY_NOT = core(
    CoreCalls.why_not,
    (
        QUERY,
        field(
            "id",
            Kind.ID,
            "The memory that was not shown.",
            "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c",
            missing=MissingField,
        ),
        LIMIT,
        *FILTERS,
    ),
    answers.WHY_NOT,
    aside=True,
)
GET = core(CoreCalls.get, (*ADDRESS, IN_CONTEXT), entries.ENTRY)
SIMILAR = core(CoreCalls.similar, (*ADDRESS, LIMIT), entries.SIMILARS, aside=True)
LIST = core(
    CoreCalls.list,
    (
        SPACE,
        field(
            "partition",
            Kind.TEXT,
            "One room: notes, facts, stores, files or assistant.",
            "notes",
            bounds={"enum": [partition.label for partition in MODEL_VISIBLE]},
        ),
        field("prefix", Kind.TEXT, "What keys begin with, literally.", "konflux/"),
        IN_CATEGORY,
        field("tag", Kind.TEXT, "One tag.", "deploy"),
        field(
            "expiring_within",
            Kind.WHOLE,
            "Only what expires within so many seconds.",
            86_400,
            also=(timedelta,),
            bounds={"minimum": 0},
        ),
        LIMIT,
        CURSOR,
    ),
    entries.PAGE,
)
HISTORY = core(
    CoreCalls.history,
    (*ADDRESS, LIMIT, field("before", Kind.WHOLE, "Revisions before this one.", bounds=REVISIONS)),
    entries.REVISIONS,
)
READERS = core(CoreCalls.readers, (*ADDRESS, LIMIT), answers.READINGS)
EDIT = core(
    CoreCalls.edit,
    (
        *ADDRESS,
        field("text", Kind.TEXT, "The new text.", "Deploys go through Tekton", bounds=NOT_BLANK),
        HINT,
        CATEGORY,
        TAGS,
        TTL,
        field("no_expiry", Kind.SWITCH, "True takes the time to live away."),
        ALWAYS,
        REVISION,
    ),
    answers.EDITED,
    writes=True,
)
REPLACE = core(
    CoreCalls.replace,
    (
        *ADDRESS,
        field(
            "old",
            Kind.TEXT,
            "A passage, exactly as it stands.",
            "Konflux",
            missing=MissingField,
            bounds={"minLength": 1},
        ),
        field("new", Kind.TEXT, "What to put there.", "Tekton", missing=MissingField),
        REVISION,
    ),
    answers.REPLACED,
    writes=True,
)
RENAME = core(
    CoreCalls.rename,
    (
        *ADDRESS,
        field(
            "new_key",
            Kind.TEXT,
            "The new name.",
            "deploy/konflux",
            missing=InvalidKey,
            wrong=InvalidKey,
            bounds=NAME,
        ),
        field("to_space", Kind.TEXT, "Another space to move it to.", also=(UUID,)),
        REVISION,
    ),
    entries.ENTRY,
    writes=True,
)
RENEW = core(CoreCalls.renew, (*ADDRESS, TTL, REVISION), entries.ENTRY, writes=True)
UNDO = core(
    CoreCalls.undo,
    (*ADDRESS, field("to_revision", Kind.WHOLE, "Bring back this one.", 2, bounds={"minimum": 1}), REVISION),
    entries.ENTRY,
    writes=True,
)
TRASH = core(CoreCalls.trash, (*ADDRESS, REVISION), entries.ENTRY, writes=True)
PURGE = core(CoreCalls.purge, (*ADDRESS, REVISION), answers.DELETED, writes=True)
TRASHED = core(CoreCalls.trashed, (SPACE, LIMIT, CURSOR), entries.PAGE)
LOCKED = core(CoreCalls.locked, (SPACE,), answers.IDS)
RESTORE = core(CoreCalls.restore, ADDRESS, entries.ENTRY, writes=True)
FORGET = core(CoreCalls.forget, (SCOPE,), answers.FORGOTTEN, writes=True)
GRANTEE = field(
    "grantee", Kind.TEXT, "Whom: kind:id; a bare id is an agent.", "agent:reviewer", missing=MissingField
)
SHARE = core(
    CoreCalls.share,
    (
        GRANTEE,
        SPACE,
        field(
            "level",
            Kind.TEXT,
            "How far in; default: read.",
            "read",
            wrong=InvalidLevel,
            bounds={"enum": LEVELS},
        ),
        field(
            "ttl_seconds",
            Kind.WHOLE,
            "How long it holds, in seconds; 0 or none: until it is taken back.",
            7_776_000,
            into="ttl",
            also=(timedelta,),
            bounds=LONGEST_TTL | {"minimum": 0},
        ),
    ),
    answers.GRANT,
    writes=True,
)
UNSHARE = core(CoreCalls.unshare, (GRANTEE, SPACE), answers.UNSHARED, writes=True)
GRANTS = core(CoreCalls.grants, (SPACE,), answers.GRANTS)
SPACES = core(CoreCalls.spaces, (), answers.SPACES)
CREATE_SPACE = core(
    CoreCalls.create_space,
    (field("ref", Kind.TEXT, "What to call it.", "team-notes", missing=MissingKey, bounds=NAME),),
    answers.SPACE,
    writes=True,
)
CONTEXT = core(
    CoreCalls.context,
    (
        field(
            "budget",
            Kind.WHOLE,
            "At most so many tokens.",
            2_000,
            bounds={"minimum": SMALLEST_BUDGET, "maximum": LARGEST_BUDGET},
        ),
    ),
    answers.CONTEXT,
    aside=True,
)
INDEX = core(CoreCalls.index, (), answers.INDEX)
