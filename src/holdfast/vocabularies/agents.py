"""What the owner of an agent lets its memory be used for."""

from __future__ import annotations

from typing import Annotated

from holdfast.contracts.storage import Job
from holdfast.domain.agent import AgentMemory, AgentSettings
from holdfast.domain.errors import MissingField
from holdfast.domain.principal import PrincipalKind
from holdfast.domain.retention import CENTURY_SECONDS, Ttl
from holdfast.operations import agents
from holdfast.operations.agents import Changes
from holdfast.operations.notes import NoteInput
from holdfast.operations.session import Session
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import MAYBE_TEXT, SWITCH, TEXT, WHOLE, Answer, Codec, Json, Part
from holdfast.vocabularies.fields import SUBJECT, Field

AGENT = Field("The agent's id.", "my-agent", missing=MissingField, bounds=SUBJECT)


def _settings() -> Codec[AgentMemory]:
    names = {
        "enabled": "enabled",
        "self": "own",
        "chat": "chat",
        "user": "user",
        "default_ttl": "default_ttl",
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
        """What an agent's memory may be used for: for the agent, its owner and administrators."""
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
        """Switches an agent's memory on or off: all of it, its own store, those of chats, that of the user it works
        for; and says how long entries of its stores live unless told otherwise. For the agent's owner and
        administrators; what is left out stays. Whose an agent is, an administrator may say."""
        changes = Changes(enabled, own, chat, user, default_ttl, owner)
        return agents.set_memory_settings(self._session, id, changes)


def with_default_ttl(session: Session, given: NoteInput) -> NoteInput:
    """Entries of a store live as long as its agent's owner has set, unless a ttl was given."""
    if given.ttl is not None or session.principal.kind is not PrincipalKind.AGENT:
        return given
    default = session.engine.agents.of(session.principal).default_ttl
    return given._replace(ttl=default) if default else given
