"""A store that was open when its process was forked, or is opened twice in one: nobody loses a lock or a write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.domain.errors import Unavailable
from holdfast.storage.fork_guard import FORKED
from holdfast.storage.sqlite import connections
from holdfast.storage.sqlite.connections import FileConnections
from holdfast.storage.sqlite.writer import Writer
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
    child, parent = _run(where, "in use")
    return child, parent


def _run(*said: str) -> list[Any]:
    command = [sys.executable, "-m", "tests.faults.forking", *said]
    env = os.environ | {"HOLDFAST_EMBEDDER": "none"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True, env=env)
    return [json.loads(line) for line in ran.stdout.splitlines()]


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


def test_a_child_that_ends_takes_no_log_away_from_who_writes_after_its_parent(tmp_path: Path) -> None:
    """At its end the driver closes every connection it still has, and the last one removes the log."""
    _run(str(tmp_path / "held"), "outlived")
    with holdfast.open(tmp_path / "held", sweep_seconds=0) as memory:
        assert sorted(entry.key for entry in memory.user("ada").list()) == ["after", "before"]


def test_a_child_may_not_open_what_another_thread_was_opening_when_it_was_forked(tmp_path: Path) -> None:
    assert _run(str(tmp_path), "while opening") == ["unavailable"]


def test_a_file_that_is_open_is_not_opened_by_a_second_name(tmp_path: Path) -> None:
    """SQLite would keep a second log for it, and each would miss what the other wrote."""
    with holdfast.open(tmp_path / "one.db", sweep_seconds=0) as memory:
        memory.user("ada").remember("one", key="one")
        (tmp_path / "two.db").hardlink_to(tmp_path / "one.db")
        (tmp_path / "link.db").symlink_to(tmp_path / "one.db")
        with pytest.raises(Unavailable, match="one name"):
            holdfast.open(tmp_path / "two.db", key=(tmp_path / "one.key").read_text(), sweep_seconds=0)
        with holdfast.open(tmp_path / "link.db", sweep_seconds=0) as again:
            again.user("ada").remember("two", key="two")
        assert sorted(entry.key for entry in memory.user("ada").list()) == ["one", "two"]


def test_the_locks_stay_while_somebody_still_reads(tmp_path: Path) -> None:
    connections = FileConnections(tmp_path / DATABASE, durable=False)
    reading, go = Event(), Event()

    def hold(*said: Any) -> Any:
        reading.set()
        assert go.wait(SECONDS)
        return said[0]

    def register(db: apsw.Connection) -> None:
        db.create_scalar_function("hold", hold, 1)

    apsw.connection_hooks.append(register)
    try:
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(connections.rows, "SELECT hold(7)")
            assert reading.wait(SECONDS)
            connections.close()
            assert _take_lock(tmp_path / DATABASE) == "refused"
            go.set()
            assert read.result(SECONDS) == [(7,)]
    finally:
        apsw.connection_hooks.remove(register)
    assert _take_lock(tmp_path / DATABASE) == "taken"


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
    assert connections._open == {}


def test_an_opening_whose_writer_cannot_start_leaves_no_handle_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_writer: Any, _connections: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as broken:
        broken.setattr(Writer, "__init__", fail)
        with pytest.raises(RuntimeError):
            holdfast.open(tmp_path, sweep_seconds=0)
    assert connections._open == {}
    assert _take_lock(tmp_path / DATABASE) == "taken"


def test_a_folder_that_was_renamed_is_opened_by_its_new_name(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "one", sweep_seconds=0) as first:
        first.user("ada").remember("one", key="one")
        (tmp_path / "one").rename(tmp_path / "two")
        with holdfast.open(tmp_path / "two", sweep_seconds=0) as second:
            assert second.user("ada").get("one").text == "one"


def _take_lock(file: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", _TAKE_LOCK, str(file)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return ran.stdout.strip()
