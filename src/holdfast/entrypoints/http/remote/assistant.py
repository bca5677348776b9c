"""Assistant memories, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending, sending_later, sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.assistant import AssistantCalls


class RemoteAssistant(Remote):
    search_memory = sending(AssistantCalls.search_memory)
    save_memory = sending_work(AssistantCalls.save_memory)
    delete_memory = sending_work(AssistantCalls.delete_memory)
    set_memory_always_inject = sending_work(AssistantCalls.set_memory_always_inject)
    list = sending(AssistantCalls.list)


class AsyncRemoteAssistant(AsyncRemote):
    search_memory = sending_later(AssistantCalls.search_memory)
    save_memory = sending_work_later(AssistantCalls.save_memory)
    delete_memory = sending_work_later(AssistantCalls.delete_memory)
    set_memory_always_inject = sending_work_later(AssistantCalls.set_memory_always_inject)
    list = sending_later(AssistantCalls.list)
