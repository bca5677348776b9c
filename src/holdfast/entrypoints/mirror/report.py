"""The report to the owner of a folder: files that cannot become memories, and conflicts. Written to PROBLEMS.md and to
the log."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime

from holdfast.domain.context import seen

MAX_NOTES = 20

log = logging.getLogger("holdfast")


class Report:
    def __init__(self, user: str) -> None:
        self._user = user
        self._before: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._notes: deque[str] = deque(maxlen=MAX_NOTES)

    def begin(self) -> None:
        """Starts a pass without problems."""
        self._before, self._problems = self._problems, {}

    def problem(self, name: str, reason: str) -> None:
        """Reports a problem; logs it unless the last pass found it, too."""
        if self._before.get(name) != reason:
            log.warning("the mirror of user %s: `%s` %s", seen(self._user), seen(name), reason)
        self._problems[name] = reason

    def note(self, sentence: str) -> None:
        log.warning("the mirror of user %s: %s", seen(self._user), sentence)
        self._notes.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {sentence}")

    def text(self) -> str | None:
        """Returns the content of PROBLEMS.md, or None without any."""
        lines: list[str] = []
        if self._problems:
            lines += ["# Files that are not memories", ""]
            lines += [f"- `{seen(name)}` {reason}." for name, reason in sorted(self._problems.items())]
        if self._notes:
            lines += [
                *([""] if lines else []),
                "# What the mirror did",
                "",
                *(f"- {note}" for note in self._notes),
            ]
        return "\n".join(lines) + "\n" if lines else None
