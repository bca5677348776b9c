"""Where time comes from."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def __call__(self) -> int:
        """Now, in microseconds since the epoch."""
        ...
