"""The settings of an agent's memory, made by its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class AgentSettings(NamedTuple):
    enabled: bool = True
    """The master switch: off, the agent has no memory at all."""
    own: bool = True
    """Its own store; `self` on the wire."""
    chat: bool = True
    """Stores of chats it takes part in."""
    user: bool = True
    """The store of the user it works for."""
    default_ttl: int = 0
    """Default seconds to live of an entry in a store; 0: for ever."""


ALL_ON = AgentSettings()
ALL_OFF = AgentSettings(enabled=False)


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """The settings of one agent, and its owner."""

    agent: str
    owner: str | None
    settings: AgentSettings
