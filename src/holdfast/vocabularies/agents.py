"""What the owner of an agent lets its memory be used for."""

from __future__ import annotations

from holdfast.domain.agent import AgentMemory
from holdfast.domain.principal import PrincipalKind
from holdfast.domain.retention import Ttl
from holdfast.operations import agents
from holdfast.operations.agents import Changes
from holdfast.operations.notes import Asked
from holdfast.operations.work import Write
from holdfast.vocabularies.session import Session


class AgentCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def memory_settings(self, id: str) -> AgentMemory:
        """What an agent's memory may be used for: for the agent, its owner and administrators."""
        return agents.memory_settings(self._session.engine, self._session.caller, id)

    def set_memory_settings(
        self,
        id: str,
        *,
        enabled: bool | None = None,
        own: bool | None = None,
        chat: bool | None = None,
        user: bool | None = None,
        default_ttl: Ttl = None,
        owner: str | None = None,
    ) -> Write[AgentMemory]:
        """Switches an agent's memory on or off: all of it, its own store, those of chats, that of the user it works
        for; and says how long entries of its stores live unless told otherwise. For the agent's owner and
        administrators; what is left out stays. Whose an agent is, an administrator may say."""
        session, changes = self._session, Changes(enabled, own, chat, user, default_ttl, owner)
        return Write(lambda: agents.set_memory_settings(session.engine, session.caller, id, changes))


def with_default_ttl(session: Session, asked: Asked) -> Asked:
    """An entry of a store lives as long as its agent's owner has set, unless it was told."""
    if asked.draft.ttl is not None or session.caller.principal.kind is not PrincipalKind.AGENT:
        return asked
    default = session.engine.agents.of(session.caller.principal).default_ttl
    return asked._replace(draft=asked.draft._replace(ttl=default)) if default else asked
