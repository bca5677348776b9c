"""Numbered steps from an empty file to today's schema; `steps()` reads them in order. Never edit a released one."""

from __future__ import annotations

from holdfast.storage.migrations import Step, read_steps

__all__ = ["Step", "steps"]


def steps() -> list[Step]:
    return read_steps(__name__)
