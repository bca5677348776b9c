"""What a person should know of their folder: files that cannot be taken over, and what the mirror did about a conflict.
In PROBLEMS.md beside the memories, and in the log."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime

from holdfast.domain.context import seen

NOTES = 20

log = logging.getLogger("holdfast")


class Report:
    def __init__(self, user: str) -> None:
        self._user = user
        self._before: dict[str, str] = {}
        self._troubles: dict[str, str] = {}
        self._notes: deque[str] = deque(maxlen=NOTES)

    def begin(self) -> None:
        """A new look: what was in the way may have passed."""
        self._before, self._troubles = self._troubles, {}

    def trouble(self, name: str, reason: str) -> None:
        """Logged when the look before did not find it."""
        if self._before.get(name) != reason:
            log.warning("the mirror of user %s: `%s` %s", seen(self._user), seen(name), reason)
        self._troubles[name] = reason

    def note(self, sentence: str) -> None:
        log.warning("the mirror of user %s: %s", seen(self._user), sentence)
        self._notes.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {sentence}")

    def text(self) -> str | None:
        """None when there is nothing to tell."""
        lines: list[str] = []
        if self._troubles:
            lines += ["# Files that are not memories", ""]
            lines += [f"- `{seen(name)}` {reason}." for name, reason in sorted(self._troubles.items())]
        if self._notes:
            lines += [
                *([""] if lines else []),
                "# What the mirror did",
                "",
                *(f"- {note}" for note in self._notes),
            ]
        return "\n".join(lines) + "\n" if lines else None
