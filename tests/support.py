"""What several test folders share."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread, main_thread

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


def until(condition: Callable[[], object], what: str = "the condition", seconds: float = 60) -> None:
    """Waits for a condition. The deadline is generous: only a test that fails reaches it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


def until_blocked(threads: Iterable[Thread]) -> None:
    """Waits until each of these threads has stood at one instruction for ten looks in a row: it waits for somebody."""
    watched = [thread.ident for thread in threads]
    looks: list[object] = []

    def stand_still() -> bool:
        frames = sys._current_frames()
        looks.append([(id(frames[one]), frames[one].f_lasti) for one in watched if one in frames])
        return len(looks) >= 10 and all(look == looks[-1] for look in looks[-10:])

    until(stand_still, "all of them to wait")


def interrupt_once_blocked() -> None:
    """Sends the main thread a SIGINT as soon as it waits. A real signal: what `_thread.interrupt_main` does is not
    noticed by a thread that waits."""

    def interrupt() -> None:
        until_blocked([main_thread()])
        signal.pthread_kill(int(main_thread().ident or 0), signal.SIGINT)

    Thread(target=interrupt).start()


def move_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have settings, and folders for programs that lie elsewhere: none of them count."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_") or _FOLDER.match(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))


_FOLDER = re.compile("XDG_[A-Z]+_HOME")
