"""What several test folders share."""

import os
import re
from pathlib import Path

import pytest

from holdfast.domain.times import SECOND

NOON = 1_780_000_000 * SECOND
"""A moment in 2026, in microseconds."""


class FixedClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, *, days: int = 0, hours: int = 0, seconds: int = 0, us: int = 0) -> int:
        self.now += ((days * 24 + hours) * 3_600 + seconds) * SECOND + us
        return self.now


def move_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have settings, and folders for programs that lie elsewhere: none of them count."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_") or _FOLDER.match(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))


_FOLDER = re.compile("XDG_[A-Z]+_HOME")
