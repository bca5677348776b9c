"""The rows of the assistant vocabulary, in the words of its tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from holdfast.domain.errors import MissingField
from holdfast.operations.save_memory import Near, Saved
from holdfast.vocabularies.assistant import (
    SCOPES,
    SYSTEM,
    USER,
    AssistantCalls,
    AssistantMemories,
    AssistantMemory,
    MemoryDeleted,
    Toggled,
)
from holdfast.vocabularies.wire.answers import ADVISED, TAKEN_OUT, read_advice, read_redactions
from holdfast.vocabularies.wire.call import NO_VALUE, Call
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import (
    ID,
    MAYBE_ID,
    MAYBE_TEXT,
    MOMENT,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    Json,
    Part,
    Shape,
    many,
    micros,
    moment,
)
from holdfast.vocabularies.wire.words import CURSOR, LIMIT, NAME, NOT_BLANK, TAG, TAGS, field


def assistant(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(AssistantCalls, run, fields, answer, **more)


def _read_memory(shown: Json) -> AssistantMemory:
    return AssistantMemory(
        UUID(shown["id"]),
        shown["scope"],
        shown["systemId"],
        shown["recallHint"],
        shown["content"],
        tuple(shown["tags"]),
        shown["alwaysInject"],
        micros(shown["savedAt"]) or 0,
        shown["sourceConversationId"],
    )


SCOPE_WORDS = {"type": "string", "enum": list(SCOPES)}
ASSISTANT_MEMORY = Shape(
    "AssistantMemory",
    (
        Part("id", ID, lambda memory: str(memory.id)),
        Part("scope", SCOPE_WORDS, lambda memory: memory.scope),
        Part("systemId", MAYBE_TEXT, lambda memory: memory.system_id),
        Part("recallHint", TEXT, lambda memory: memory.recall_hint),
        Part("content", TEXT, lambda memory: memory.content),
        Part("tags", TEXTS, lambda memory: memory.tags),
        Part("alwaysInject", SWITCH, lambda memory: memory.always_inject),
        Part("savedAt", MOMENT, lambda memory: moment(memory.saved_us)),
        Part("sourceConversationId", MAYBE_TEXT, lambda memory: memory.source_conversation_id),
    ),
    _read_memory,
)
_MEMORIES = Part(
    "memories",
    many(ASSISTANT_MEMORY),
    lambda memories: [ASSISTANT_MEMORY.show(memory) for memory in memories],
    shapes=(ASSISTANT_MEMORY,),
)
_NOTE = Part("note", TEXT, lambda value: value.note, optional=True)


def _read_memories(shown: Json) -> AssistantMemories:
    found = [ASSISTANT_MEMORY.read(memory) for memory in shown["memories"]]
    return AssistantMemories(found, shown.get("cursor"), shown.get("note"))


FOUND = Shape("AssistantMemoriesFound", (_MEMORIES, _NOTE), _read_memories)
LISTED = Shape(
    "AssistantMemories",
    (_MEMORIES, Part("cursor", MAYBE_TEXT, lambda memories: memories.cursor), _NOTE),
    _read_memories,
)
_NEAR = {
    "type": "array",
    "description": "Memories whose hint says nearly the same, and what keeps them apart.",
    "items": {
        "type": "object",
        "properties": {"id": ID, "recallHint": TEXT, "guard": MAYBE_TEXT},
        "required": ["id", "recallHint", "guard"],
    },
}
_PROPOSAL = Part("proposal", ID, lambda done: done.proposal, optional=True)


def _read_saved(shown: Json) -> Saved:
    near = [Near(UUID(one["id"]), one["recallHint"], one["guard"]) for one in shown.get("similar", [])]
    return Saved(
        None if shown["id"] is None else UUID(shown["id"]),
        shown["updated"],
        shown.get("proposal"),
        tuple(near),
        read_advice(shown),
        shown.get("redacted", 0),
        shown.get("note"),
        read_redactions(shown),
    )


SAVED = Shape(
    "Saved",
    (
        Part("id", MAYBE_ID, lambda done: None if done.id is None else str(done.id)),
        Part("updated", SWITCH, lambda done: done.updated),
        _PROPOSAL,
        Part(
            "similar",
            _NEAR,
            lambda done: (
                [{"id": str(one.id), "recallHint": one.hint, "guard": one.guard} for one in done.similar]
                or None
            ),
            optional=True,
        ),
        ADVISED,
        Part("redacted", WHOLE, lambda done: done.redacted or None, optional=True),
        TAKEN_OUT,
        _NOTE,
    ),
    _read_saved,
)
MEMORY_DELETED = Shape(
    "MemoryDeleted",
    (Part("deleted", SWITCH, lambda done: done.deleted), _PROPOSAL, _NOTE),
    lambda shown: MemoryDeleted(**shown),
)
TOGGLED = Shape(
    "Toggled",
    (Part("updated", SWITCH, lambda done: done.updated), _PROPOSAL),
    lambda shown: Toggled(**shown),
)

SYSTEM_ID = field(
    "systemId", Kind.TEXT, "The system, with the scope `system` alone.", into="system_id", bounds=NAME
)
_BY_SCOPE = {
    "oneOf": [
        {"title": "user", "properties": {"scope": {"const": USER}, "systemId": NO_VALUE}},
        {
            "title": "system",
            "properties": {"scope": {"const": SYSTEM}, "systemId": {"type": "string"}},
            "required": ["systemId"],
        },
    ]
}
MEMORY_ID = field("id", Kind.ID, "The memory.", "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c", missing=MissingField)

SEARCH_MEMORY = assistant(
    AssistantCalls.search_memory,
    (
        field(
            "query",
            Kind.TEXT,
            "What to look for.",
            "where do tickets go?",
            missing=MissingField,
            bounds=NOT_BLANK,
        ),
        LIMIT,
    ),
    FOUND,
    aside=True,
)
SAVE_MEMORY = assistant(
    AssistantCalls.save_memory,
    (
        field(
            "scope",
            Kind.TEXT,
            "`user`: private; `system`: for everybody who can read the system.",
            "user",
            missing=MissingField,
            bounds={"enum": list(SCOPES)},
        ),
        SYSTEM_ID,
        field(
            "recallHint",
            Kind.TEXT,
            "What this is and when to recall it, on one line.",
            "where to file infra tickets",
            into="recall_hint",
            missing=MissingField,
            bounds=TAG,
        ),
        field(
            "content",
            Kind.TEXT,
            "The note itself.",
            "File infra tickets in OPS",
            missing=MissingField,
            bounds=NOT_BLANK,
        ),
        TAGS,
        field(
            "alwaysInject",
            Kind.SWITCH,
            "True for style, tone and defaults; false for facts.",
            into="always_inject",
        ),
        field("supersedes", Kind.ID, "A memory that this one takes the place of; it goes to the trash."),
    ),
    SAVED,
    writes=True,
    rules=_BY_SCOPE,
)
DELETE_MEMORY = assistant(AssistantCalls.delete_memory, (MEMORY_ID,), MEMORY_DELETED, writes=True)
SET_ALWAYS_INJECT = assistant(
    AssistantCalls.set_memory_always_inject,
    (
        MEMORY_ID,
        field(
            "alwaysInject",
            Kind.SWITCH,
            "Whether every context holds it.",
            True,
            into="always_inject",
            missing=MissingField,
        ),
    ),
    TOGGLED,
    writes=True,
)
LIST_MEMORIES = assistant(AssistantCalls.list, (SYSTEM_ID, LIMIT, CURSOR), LISTED)
