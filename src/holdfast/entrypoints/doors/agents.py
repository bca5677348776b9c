"""What agents' memories may be used for, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking, reading_later, reading_there
from holdfast.surfaces.agents import AgentCalls


class Agents(Door):
    memory_settings = reading_there(AgentCalls.memory_settings)
    set_memory_settings = blocking(AgentCalls.set_memory_settings)


class AsyncAgents(Door):
    memory_settings = reading_later(AgentCalls.memory_settings)
    set_memory_settings = awaiting(AgentCalls.set_memory_settings)
