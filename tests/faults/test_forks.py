"""A store that was open when its process was forked, or is opened twice in one: nobody loses a lock or a write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.storage.forks import FORKED
from holdfast.storage.sqlite import connections, handles
from tests.security.raw import DATABASE

pytestmark = pytest.mark.faults

SECONDS = 60
_TAKE_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        print("refused")
    else:
        print("taken")
"""
"""SQLite shares a lock on these bytes for as long as it has a file open; who gets them alone takes the log away."""


def forked(where: str) -> tuple[dict[str, str], list[str]]:
    """What the child was answered, and what is there after all."""
    command = [sys.executable, "-m", "tests.faults.forking", where]
    env = os.environ | {"HOLDFAST_EMBEDDER": "none"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True, env=env)
    child, parent = map(json.loads, ran.stdout.splitlines())
    return child, parent


def test_a_child_is_refused_at_once_whatever_it_asks_and_the_parent_goes_on(tmp_path: Path) -> None:
    child, kept = forked(str(tmp_path))
    assert child == {
        "remember": "unavailable",
        "get": "unavailable",
        "list": "unavailable",
        "purge": "unavailable",
        "open again": "unavailable",
        "open, not required": FORKED,
        "close": "None",
    }
    assert kept == ["after", "before"]


def test_closing_a_second_opening_leaves_the_first_its_locks(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, sweep_seconds=0) as first:
        first.user("ada").remember("one", key="one")
        holdfast.open(tmp_path, sweep_seconds=0).close()
        assert _take_lock(tmp_path / DATABASE) == "refused"
    assert _take_lock(tmp_path / DATABASE) == "taken"


def test_an_opening_that_fails_leaves_another_its_locks_and_no_handle_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_db: Any) -> None:
        raise MemoryError

    with holdfast.open(tmp_path, sweep_seconds=0):
        with monkeypatch.context() as broken:
            broken.setattr(connections, "_use_wal", fail)
            with pytest.raises(MemoryError):
                holdfast.open(tmp_path, sweep_seconds=0)
        assert _take_lock(tmp_path / DATABASE) == "refused"
    assert handles._open == {}


def _take_lock(file: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", _TAKE_LOCK, str(file)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return ran.stdout.strip()
