"""Assistant memories, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import (
    Door,
    awaiting,
    blocking,
    reading_aside,
    reading_later,
    reading_there,
)
from holdfast.surfaces.assistant import AssistantCalls


class Assistant(Door):
    search_memory = reading_there(AssistantCalls.search_memory)
    save_memory = blocking(AssistantCalls.save_memory)
    delete_memory = blocking(AssistantCalls.delete_memory)
    set_memory_always_inject = blocking(AssistantCalls.set_memory_always_inject)
    list = reading_there(AssistantCalls.list)


class AsyncAssistant(Door):
    search_memory = reading_aside(AssistantCalls.search_memory)
    save_memory = awaiting(AssistantCalls.save_memory)
    delete_memory = awaiting(AssistantCalls.delete_memory)
    set_memory_always_inject = awaiting(AssistantCalls.set_memory_always_inject)
    list = reading_later(AssistantCalls.list)
