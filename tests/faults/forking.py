"""`python -m tests.faults.forking WHERE HOW`: opens a store and forks. Tells what the child and then the parent were
answered, a line of JSON each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from threading import Event, Thread
from unittest.mock import patch

import holdfast
from holdfast.domain.errors import HoldfastError
from holdfast.storage.sqlite import store
from holdfast.storage.sqlite.connections import FileConnections
from holdfast.storage.sqlite.migrate import migrate

_KILLED = """
import os, signal, sys
import holdfast
holdfast.open(sys.argv[1], sweep_seconds=0).user("ada").remember("after the parent", key="after")
os.kill(os.getpid(), signal.SIGKILL)
"""


def in_use(where: str) -> None:
    """The child asks everything; the parent goes on."""
    memory = holdfast.open(where, sweep_seconds=0)
    ada = memory.user("ada")
    ada.remember("before the fork", key="before")
    child = os.fork()
    if child == 0:
        calls: Mapping[str, Callable[[], object]] = {
            "remember": lambda: ada.remember("of the child", key="child"),
            "get": lambda: ada.get("before"),
            "list": lambda: ada.list(),
            "purge": lambda: ada.purge("before"),
            "open again": lambda: holdfast.open(where, sweep_seconds=0).close(),
            "open, not required": lambda: holdfast.open(where, required=False, sweep_seconds=0).reason,
            "close": memory.close,
        }
        _tell({name: _answer(call) for name, call in calls.items()})
        sys.exit(0)
    _wait_for(child)
    ada.remember("after the fork", key="after")
    memory.close()
    with holdfast.open(where, sweep_seconds=0) as again:
        _tell(sorted(entry.key for entry in again.user("ada").list()))


def outlived(where: str) -> None:
    """The child ends after the parent has closed and another process has written and was killed."""
    memory = holdfast.open(where, sweep_seconds=0)
    memory.user("ada").remember("before the fork", key="before")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        sys.exit(0)
    memory.close()
    killed = subprocess.run([sys.executable, "-c", _KILLED, where], stderr=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    os.close(writing)
    _wait_for(child)


def while_opening(where: str) -> None:
    """The fork comes while another thread brings the file to today's schema."""
    migrating, go = Event(), Event()

    def held(connections: FileConnections) -> None:
        migrating.set()
        go.wait()
        migrate(connections)

    patched = patch.object(store, "migrate", held)
    patched.start()
    opening = Thread(target=lambda: holdfast.open(where, sweep_seconds=0).close())
    opening.start()
    migrating.wait()
    child = os.fork()
    if child == 0:
        patched.stop()
        _tell(_answer(lambda: holdfast.open(where, sweep_seconds=0).close()))
        sys.exit(0)
    _wait_for(child)
    go.set()
    opening.join()


WAYS: Mapping[str, Callable[[str], None]] = {
    "in use": in_use,
    "outlived": outlived,
    "while opening": while_opening,
}


def _answer(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except HoldfastError as error:
        return error.code


def _wait_for(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert status == 0


def _tell(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    WAYS[sys.argv[2]](sys.argv[1])
