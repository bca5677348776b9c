"""What agents' memories may be used for, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.agents import AgentCalls


class RemoteAgents(Remote):
    memory_settings = sending(AgentCalls.memory_settings)
    set_memory_settings = sending_work(AgentCalls.set_memory_settings)


class AsyncRemoteAgents(AsyncRemote):
    memory_settings = sending_later(AgentCalls.memory_settings)
    set_memory_settings = sending_work_later(AgentCalls.set_memory_settings)
