"""The rows of agents' memory settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from holdfast.domain.agent import AgentMemory, AgentSettings
from holdfast.domain.errors import MissingField
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.vocabularies.agents import AgentCalls
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Kind
from holdfast.vocabularies.wire.shape import MAYBE_TEXT, SWITCH, TEXT, WHOLE, Json, Part, Shape
from holdfast.vocabularies.wire.words import SUBJECT, field


def _read(shown: Json) -> AgentMemory:
    said = (shown["enabled"], shown["self"], shown["chat"], shown["user"], shown["default_ttl"])
    return AgentMemory(shown["agent"], shown["owner"], AgentSettings(*said))


SETTINGS: Shape[Any] = Shape(
    "MemorySettings",
    (
        Part("agent", TEXT, lambda memory: memory.agent),
        Part("owner", MAYBE_TEXT, lambda memory: memory.owner),
        Part("enabled", SWITCH, lambda memory: memory.settings.enabled),
        Part("self", SWITCH, lambda memory: memory.settings.own),
        Part("chat", SWITCH, lambda memory: memory.settings.chat),
        Part("user", SWITCH, lambda memory: memory.settings.user),
        Part("default_ttl", WHOLE, lambda memory: memory.settings.default_ttl),
    ),
    _read,
)
_ID = field("id", Kind.TEXT, "The agent's id.", "my-agent", missing=MissingField, bounds=SUBJECT)
MEMORY_SETTINGS = Call(AgentCalls, AgentCalls.memory_settings, (_ID,), SETTINGS)
SET_MEMORY_SETTINGS = Call(
    AgentCalls,
    AgentCalls.set_memory_settings,
    (
        _ID,
        field("enabled", Kind.SWITCH, "False: no memory at all.", True),
        field("self", Kind.SWITCH, "Its own store.", True, into="own"),
        field("chat", Kind.SWITCH, "Stores of chats it takes part in.", True),
        field("user", Kind.SWITCH, "The store of the user it works for.", False),
        field(
            "default_ttl",
            Kind.WHOLE,
            "Seconds that entries of stores live unless told otherwise; 0: for ever.",
            0,
            also=(timedelta,),
            bounds={"minimum": 0, "maximum": CENTURY_SECONDS},
        ),
        field("owner", Kind.TEXT, "Whose agent it is; for administrators.", bounds=SUBJECT),
    ),
    SETTINGS,
    writes=True,
)
