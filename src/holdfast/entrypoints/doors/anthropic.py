"""The tool memory_20250818, through the Python door."""

from __future__ import annotations

from holdfast.entrypoints.waiting import Door, awaiting, blocking
from holdfast.surfaces.anthropic import AnthropicCalls


class AnthropicMemory(Door):
    memory = blocking(AnthropicCalls.memory)


class AsyncAnthropicMemory(Door):
    memory = awaiting(AnthropicCalls.memory)
