"""The table of calls: which function of a vocabulary, what it may be told, what it answers. REST routes, tools and
clients all point here, so none of them can drift from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from holdfast.domain.errors import (
    InvalidKey,
    InvalidLevel,
    InvalidScope,
    MissingField,
    MissingKey,
    MissingValue,
)
from holdfast.surfaces.administration import AdministrationCalls
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.seat import Seat
from holdfast.surfaces.wire import answers, entries
from holdfast.surfaces.wire.fields import Field, Kind
from holdfast.surfaces.wire.shape import Shape


@dataclass(frozen=True, slots=True)
class Call:
    surface: Callable[[Seat], Any]
    run: Callable[..., Any]
    fields: tuple[Field, ...]
    answer: Shape[Any]
    writes: bool = False
    aside: bool = False
    """Whether it computes for milliseconds, so that a loop must not wait for it."""
    repeat: Callable[[dict[str, Any], str], None] | None = None
    """Puts an idempotency key among the arguments, where the call takes care of it itself."""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def sentence(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


def field(name: str, kind: Kind, sentence: str, example: Any = None, **more: Any) -> Field:
    return Field(name, kind, sentence, example, **more)


KEY = field(
    "key", Kind.TEXT, "The memory's name; slashes make a hierarchy.", "konflux/deploy", wrong=InvalidKey
)
ID = field("id", Kind.ID, "The memory's id.")
SPACE = field(
    "space", Kind.TEXT, "A space's id, reference or kind:reference; default: the caller's own.", "user:alice"
)
REVISION = field(
    "expected_revision",
    Kind.WHOLE,
    "Refused with 412 unless the memory is at this revision.",
    3,
    bounds={"minimum": 0},
)
TTL = field("ttl_seconds", Kind.WHOLE, "How long it lives, in seconds.", 7_776_000, into="ttl")
LIMIT = field("limit", Kind.WHOLE, "At most so many.", 10, bounds={"minimum": 1})
CURSOR = field("cursor", Kind.TEXT, "Of the page before: gives the next.")
CATEGORY = field("category", Kind.TEXT, "A word to sort by.", "preferences")
TAGS = field("tags", Kind.TEXTS, "Words to filter by.", ["deploy"])
HINT = field("hint", Kind.TEXT, "One line on what it is good for; weighs more than the text.")
ALWAYS = field("always_inject", Kind.SWITCH, "Whether every context holds it.")
IN_CONTEXT = field("in_context", Kind.SWITCH, "False: kept from models.")
QUERY = field("query", Kind.TEXT, "A question, in words.", "how do we deploy?", missing=MissingField)
SCOPE = field(
    "scope",
    Kind.TEXT,
    "`all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`.",
    "key:konflux/deploy",
    missing=InvalidScope,
    wrong=InvalidScope,
)
LEVELS = ["search", "read", "readwrite", "manage"]

ADDRESS = (KEY, ID, SPACE)
FILTERS = (
    field("spaces", Kind.TEXTS, "Only these spaces."),
    CATEGORY,
    TAGS,
    field("since", Kind.MOMENT, "Said or written at this moment or later."),
    field("until", Kind.MOMENT, "Said or written before this moment."),
)


def core(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(CoreCalls, run, fields, answer, **more)


def with_key(given: dict[str, Any], key: str) -> None:
    given["idempotency_key"] = key


def with_key_each(given: dict[str, Any], key: str) -> None:
    """Each row has a key of its own, made from the one of all."""
    for place, row in enumerate(given["entries"] if isinstance(given["entries"], list) else ()):
        if isinstance(row, dict):
            row.setdefault("idempotency_key", f"{sha256(key.encode()).hexdigest()}/{place}")


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
    field("supersedes", Kind.ID, "The id of a memory that goes to the trash with this write."),
    field("conversation", Kind.TEXT, "Where it was said.", "standup-2026-05-08"),
    field("speaker", Kind.TEXT, "Who said it.", "Alice"),
    field("at", Kind.MOMENT, "When it was said.", "2026-05-08T14:00:00Z"),
    REVISION,
)
REMEMBER = core(CoreCalls.remember, REMEMBER_FIELDS, answers.REMEMBERED, writes=True, repeat=with_key)
REMEMBER_MANY = core(
    CoreCalls.remember_many,
    (
        field(
            "entries",
            Kind.ROWS,
            "What `remember` takes, once for each memory; a row may have an `idempotency_key`.",
            [{"text": "Deploys go through Konflux"}],
            missing=MissingField,
            of=(
                *REMEMBER_FIELDS,
                field("idempotency_key", Kind.TEXT, "This row is done once, however often it is sent."),
            ),
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
    (QUERY, field("id", Kind.ID, "The memory that was not shown.", missing=MissingField), LIMIT, *FILTERS),
    answers.WHY_NOT,
    aside=True,
)
GET = core(CoreCalls.get, (*ADDRESS, IN_CONTEXT), entries.ENTRY)
SIMILAR = core(CoreCalls.similar, (*ADDRESS, LIMIT), entries.SIMILARS, aside=True)
LIST = core(
    CoreCalls.list,
    (
        SPACE,
        field("partition", Kind.TEXT, "One room: notes, facts, stores, files or assistant.", "notes"),
        field("prefix", Kind.TEXT, "What keys begin with, literally.", "konflux/"),
        CATEGORY,
        field("tag", Kind.TEXT, "One tag.", "deploy"),
        field("expiring_within", Kind.WHOLE, "Only what expires within so many seconds.", 86_400),
        LIMIT,
        CURSOR,
    ),
    entries.PAGE,
)
HISTORY = core(
    CoreCalls.history,
    (*ADDRESS, LIMIT, field("before", Kind.WHOLE, "Revisions before this one.", bounds={"minimum": 0})),
    entries.REVISIONS,
)
EDIT = core(
    CoreCalls.edit,
    (
        *ADDRESS,
        field("text", Kind.TEXT, "The new text."),
        HINT,
        CATEGORY,
        TAGS,
        TTL,
        field("no_expiry", Kind.SWITCH, "True takes the time to live away."),
        ALWAYS,
        REVISION,
    ),
    entries.ENTRY,
    writes=True,
)
REPLACE = core(
    CoreCalls.replace,
    (
        *ADDRESS,
        field("old", Kind.TEXT, "A passage, exactly as it stands.", "Konflux", missing=MissingField),
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
        field("new_key", Kind.TEXT, "The new name.", "deploy/konflux", missing=InvalidKey, wrong=InvalidKey),
        field("to_space", Kind.TEXT, "Another space to move it to."),
        REVISION,
    ),
    entries.ENTRY,
    writes=True,
)
RENEW = core(CoreCalls.renew, (*ADDRESS, TTL, REVISION), entries.ENTRY, writes=True)
UNDO = core(
    CoreCalls.undo,
    (*ADDRESS, field("to_revision", Kind.WHOLE, "Bring back this one.", 2, bounds={"minimum": 0}), REVISION),
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
        TTL,
    ),
    answers.GRANT,
    writes=True,
)
UNSHARE = core(CoreCalls.unshare, (GRANTEE, SPACE), answers.UNSHARED, writes=True)
GRANTS = core(CoreCalls.grants, (SPACE,), answers.GRANTS)
SPACES = core(CoreCalls.spaces, (), answers.SPACES)
CREATE_SPACE = core(
    CoreCalls.create_space,
    (field("ref", Kind.TEXT, "What to call it.", "team-notes", missing=MissingKey),),
    answers.SPACE,
    writes=True,
)
CONTEXT = core(
    CoreCalls.context,
    (field("budget", Kind.WHOLE, "At most so many tokens.", 2_000),),
    answers.CONTEXT,
    aside=True,
)
INDEX = core(CoreCalls.index, (), answers.INDEX)

# Facts

VALUE_KEY = field(
    "key", Kind.TEXT, "The fact's name.", "preferences/editor", missing=MissingKey, wrong=InvalidKey
)


def facts(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(FactCalls, run, fields, answer, **more)


FACT_STORE = facts(
    FactCalls.store,
    (
        VALUE_KEY,
        field("value", Kind.TEXT, "The fact.", "neovim", missing=MissingValue),
        CATEGORY,
        TAGS,
        field("ttl_seconds", Kind.WHOLE, "1 hour to 365 days; 0 or none: 90 days.", 7_776_000),
    ),
    answers.STORED,
    writes=True,
    repeat=with_key,
)
FACT_RECALL = facts(
    FactCalls.recall,
    (
        field("key", Kind.TEXT, "The exact name.", "preferences/editor"),
        field("prefix", Kind.TEXT, "What names begin with, literally.", "preferences/"),
        field("query", Kind.TEXT, "A question, in words.", "which editor?"),
        LIMIT,
    ),
    entries.FACTS,
    aside=True,
)
FACT_GET = facts(FactCalls.get, (VALUE_KEY,), entries.FACT)
FACT_LIST = facts(
    FactCalls.list, (field("prefix", Kind.TEXT, "What names begin with."), LIMIT, CURSOR), entries.FACT_PAGE
)
FACT_HISTORY = facts(FactCalls.history, (VALUE_KEY, LIMIT), entries.REVISIONS)
FACT_FORGET = facts(FactCalls.forget, (SCOPE,), answers.FORGOTTEN, writes=True)
MY_MEMORY = facts(FactCalls.my_memory, (), answers.MY_MEMORY)

# Administration


def administration(
    run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], *, writes: bool = False
) -> Call:
    return Call(AdministrationCalls, run, fields, answer, writes)


SET_PARTICIPANTS = administration(
    AdministrationCalls.set_participants,
    (
        field("chat", Kind.TEXT, "The chat's id."),
        field(
            "participants",
            Kind.TEXTS,
            "Each as kind:id.",
            ["user:alice", "agent:helper"],
            missing=MissingField,
        ),
    ),
    answers.CHANGED,
    writes=True,
)
SET_SYSTEM_ACCESS = administration(
    AdministrationCalls.set_system_access,
    (
        field("system", Kind.TEXT, "The system's id."),
        field(
            "access",
            Kind.TABLE,
            "Who may `read` or `manage`.",
            {"team:platform": "manage", "user:alice": "read"},
            missing=MissingField,
        ),
    ),
    answers.CHANGED,
    writes=True,
)
SET_RULES = administration(
    AdministrationCalls.set_rules,
    (
        field("role", Kind.TEXT, "The role."),
        field(
            "rules",
            Kind.TABLE,
            "What it may do; what is not named stays on.",
            {"ai.memory.read": True, "ai.memory.manage": False},
            missing=MissingField,
        ),
    ),
    answers.DONE,
    writes=True,
)
STATS = administration(AdministrationCalls.stats, (), answers.STATS)
AUDIT = administration(
    AdministrationCalls.audit,
    (field("after", Kind.WHOLE, "Lines after this position.", 0, bounds={"minimum": 0}), LIMIT),
    answers.AUDIT,
)
