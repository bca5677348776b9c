"""The rows of administration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.domain.errors import MissingField
from holdfast.operations.administer import RULES
from holdfast.vocabularies.administration import AdministrationCalls
from holdfast.vocabularies.wire import answers
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import Shape
from holdfast.vocabularies.wire.words import LIMIT, NAME, REVISIONS, field


def administration(
    run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], *, writes: bool = False
) -> Call:
    return Call(AdministrationCalls, run, fields, answer, writes)


SET_PARTICIPANTS = administration(
    AdministrationCalls.set_participants,
    (
        field("chat", Kind.TEXT, "The chat's id.", "standup", bounds=NAME),
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
        field("system", Kind.TEXT, "The system's id.", "crm", bounds=NAME),
        field(
            "access",
            Kind.TABLE,
            "Who may `read` or `manage`.",
            {"team:platform": "manage", "user:alice": "read"},
            missing=MissingField,
            bounds={"additionalProperties": {"type": "string", "enum": ["read", "manage"]}},
        ),
    ),
    answers.CHANGED,
    writes=True,
)
SET_RULES = administration(
    AdministrationCalls.set_rules,
    (
        field("role", Kind.TEXT, "The role.", "guest", bounds=NAME),
        field(
            "rules",
            Kind.TABLE,
            "What it may do; what is not named stays on.",
            {"ai.memory.read": True, "ai.memory.manage": False},
            missing=MissingField,
            bounds={
                "properties": {rule: {"type": "boolean"} for rule in RULES},
                "additionalProperties": False,
            },
        ),
    ),
    answers.DONE,
    writes=True,
)
STATS = administration(AdministrationCalls.stats, (), answers.STATS)
AUDIT = administration(
    AdministrationCalls.audit,
    (field("after", Kind.WHOLE, "Lines after this position.", 0, bounds=REVISIONS), LIMIT),
    answers.AUDIT,
)
