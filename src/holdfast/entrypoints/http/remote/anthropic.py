"""The tool memory_20250818, over HTTP."""

from __future__ import annotations

from holdfast.entrypoints.http.asking import sending_work, sending_work_later
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.surfaces.anthropic import AnthropicCalls


class RemoteAnthropicMemory(Remote):
    memory = sending_work(AnthropicCalls.memory)


class AsyncRemoteAnthropicMemory(AsyncRemote):
    memory = sending_work_later(AnthropicCalls.memory)
