"""Administration: participants, access to systems, rules of roles, and settings of agents' memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from holdfast.contracts.storage import Job
from holdfast.domain.access import AgentMemory, AgentSettings
from holdfast.domain.errors import MissingField
from holdfast.domain.limits import check_list, check_mapping
from holdfast.domain.principal import PrincipalKind
from holdfast.domain.retention import CENTURY_SECONDS, Ttl
from holdfast.operations import administer, agents
from holdfast.operations.administer import RULES, AuditLine, Stats
from holdfast.operations.agents import SettingsChange
from holdfast.operations.notes import NoteInput
from holdfast.operations.session import Session
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import (
    MAYBE_TEXT,
    SWITCH,
    TEXT,
    WHOLE,
    Answer,
    Codec,
    Json,
    Part,
    record,
    rows,
    single,
)
from holdfast.vocabularies.fields import LIMIT, NAME, REVISION_NUMBERS, SUBJECT, Field

CHANGED = single("Changed", "changed", int)
DONE: Answer[None] = Answer(
    "Done", lambda: Codec((Part("done", SWITCH),), lambda _: {"done": True}, lambda _: None)
)
ACCESS_WORDS = {"additionalProperties": {"type": "string", "enum": ["read", "manage"]}}
RULE_SWITCHES = {
    "properties": {rule: {"type": "boolean"} for rule in RULES},
    "additionalProperties": False,
}


class AdministrationCalls(Vocabulary):
    @call(CHANGED, writes=True)
    def set_participants(
        self,
        chat: Annotated[str, Field("The chat's id.", "standup", bounds=NAME)],
        participants: Annotated[
            Iterable[str], Field("Each as kind:id.", ["user:alice", "agent:helper"], missing=MissingField)
        ],
    ) -> Job[int]:
        """Sets the participants of a chat, as kind:id; from now on this list alone counts."""
        return administer.set_participants(self._session, chat, check_list("participants", participants))

    @call(CHANGED, writes=True)
    def set_system_access(
        self,
        system: Annotated[str, Field("The system's id.", "crm", bounds=NAME)],
        access: Annotated[
            Mapping[str, str],
            Field(
                "Who may `read` or `manage`.",
                {"team:platform": "manage", "user:alice": "read"},
                missing=MissingField,
                bounds=ACCESS_WORDS,
            ),
        ],
    ) -> Job[int]:
        """Sets access to a system: `{"team:platform": "manage", "user:alice": "read"}`."""
        return administer.set_system_access(self._session, system, check_mapping("access", access))

    @call(DONE, writes=True)
    def set_rules(
        self,
        role: Annotated[str, Field("The role.", "guest", bounds=NAME)],
        rules: Annotated[
            Mapping[str, bool],
            Field(
                "What it may do; what is not named stays on.",
                {"ai.memory.read": True, "ai.memory.manage": False},
                missing=MissingField,
                bounds=RULE_SWITCHES,
            ),
        ],
    ) -> Job[None]:
        """Revokes or gives back `ai.memory.read` and `ai.memory.manage` for a role."""
        return administer.set_rules(self._session, role, check_mapping("rules", rules))

    @call(record(Stats))
    def stats(self) -> Stats:
        """Counts the spaces and entries of the store."""
        return administer.stats(self._session)

    @call(rows("AuditLines", "lines", record(AuditLine)))
    def audit(
        self,
        after: Annotated[int, Field("Lines after this position.", 0, bounds=REVISION_NUMBERS)] = 0,
        *,
        limit: Annotated[int, LIMIT] = 100,
    ) -> AuditLines:
        """The log of what was done, in keyed ids, from a position on."""
        return administer.audit_lines(self._session, after, limit)


AuditLines = list[AuditLine]
AGENT = Field("The agent's id.", "my-agent", missing=MissingField, bounds=SUBJECT)


def _settings() -> Codec[AgentMemory]:
    names = {
        name: "own" if name == "self" else name for name in ("enabled", "self", "chat", "user", "default_ttl")
    }
    parts = (
        Part("agent", TEXT),
        Part("owner", MAYBE_TEXT),
        *(Part(name, WHOLE if name == "default_ttl" else SWITCH) for name in names),
    )

    def encode(memory: AgentMemory) -> Json:
        settings = {name: getattr(memory.settings, attribute) for name, attribute in names.items()}
        return {"agent": memory.agent, "owner": memory.owner} | settings

    def decode(encoded: Json) -> AgentMemory:
        settings = AgentSettings(**{attribute: encoded[name] for name, attribute in names.items()})
        return AgentMemory(encoded["agent"], encoded["owner"], settings)

    return Codec(parts, encode, decode)


SETTINGS = Answer("MemorySettings", _settings)


class AgentCalls(Vocabulary):
    @call(SETTINGS)
    def memory_settings(self, id: Annotated[str, AGENT]) -> AgentMemory:
        """Settings of an agent's memory: for the agent, its owner and administrators."""
        return agents.memory_settings(self._session, id)

    @call(SETTINGS, writes=True)
    def set_memory_settings(
        self,
        id: Annotated[str, AGENT],
        *,
        enabled: Annotated[bool | None, Field("False: no memory at all.", True)] = None,
        own: Annotated[bool | None, Field("Its own store.", True, name="self")] = None,
        chat: Annotated[bool | None, Field("Stores of chats it takes part in.", True)] = None,
        user: Annotated[bool | None, Field("The store of the user it works for.", False)] = None,
        default_ttl: Annotated[
            Ttl,
            Field(
                "Seconds that entries of stores live unless told otherwise; 0: for ever.",
                0,
                bounds={"minimum": 0, "maximum": CENTURY_SECONDS},
            ),
        ] = None,
        owner: Annotated[str | None, Field("Whose agent it is; for administrators.", bounds=SUBJECT)] = None,
    ) -> Job[AgentMemory]:
        """Switches an agent's memory on or off: all of it, its own store, those of chats, that of its user. Also sets
        how long entries of its stores live by default. For the agent's owner and administrators; what is left out
        stays. Only an administrator may set the owner."""
        changes = SettingsChange(enabled, own, chat, user, default_ttl, owner)
        return agents.set_memory_settings(self._session, id, changes)


def with_default_ttl(session: Session, arguments: NoteInput) -> NoteInput:
    """Entries of a store live as long as its agent's owner has set, unless a ttl was given."""
    if arguments.ttl is not None or session.principal.kind is not PrincipalKind.AGENT:
        return arguments
    default = session.engine.agent_settings(session.principal).default_ttl
    return arguments._replace(ttl=default) if default else arguments
