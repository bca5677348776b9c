"""What the owner of an agent lets its memory be used for."""

from __future__ import annotations

from holdfast.domain.agent import AgentMemory
from holdfast.domain.principal import PrincipalKind
from holdfast.domain.retention import Ttl
from holdfast.operations import agents
from holdfast.operations.agents import Changes
from holdfast.operations.draft import Asked
from holdfast.operations.work import Write
from holdfast.surfaces.seat import Seat


class AgentCalls:
    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def memory_settings(self, id: str) -> AgentMemory:
        """What an agent's memory may be used for: for the agent, its owner and administrators."""
        return agents.memory_settings(self._seat.engine, self._seat.caller, id)

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
        seat, changes = self._seat, Changes(enabled, own, chat, user, default_ttl, owner)
        return Write(lambda: agents.set_memory_settings(seat.engine, seat.caller, id, changes))


def with_default_ttl(seat: Seat, asked: Asked) -> Asked:
    """An entry of a store lives as long as its agent's owner has set, unless it was told."""
    if asked.draft.ttl is not None or seat.caller.principal.kind is not PrincipalKind.AGENT:
        return asked
    default = seat.engine.agents.of(seat.caller.principal).default_ttl
    return asked._replace(draft=asked.draft._replace(ttl=default)) if default else asked
