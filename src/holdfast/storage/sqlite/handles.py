"""Handles on database files beside SQLite's own, one a file for the whole process.

POSIX drops every lock a process holds on a file as soon as it closes any handle on it, SQLite's locks too: others would
then take the log away from under those who still write to it. So a handle is shared by all openings of a file in this
process, taken before the first of them and closed after the last."""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path
from threading import Lock

from holdfast.domain.errors import Unavailable
from holdfast.storage.forks import FORKED

_File = tuple[int, int]
"""Device and number: however a path is spelt, they name the file."""

_lock = Lock()
_open: dict[_File, list[FileIO]] = {}
"""The handle of each file, once for every opening that has it."""
_inherited: dict[_File, list[FileIO]] = {}
"""Of files that the parent had open when it forked. SQLite takes its locks on them for this process's own, which they
are not, so they can be opened neither by this process nor again."""


def take(path: Path) -> FileIO:
    """To be given back when everything else that this opening has of the file is closed."""
    with _lock:
        about = path.stat()
        if (about.st_dev, about.st_ino) in _inherited:
            raise Unavailable(FORKED)
        holders = _open.setdefault((about.st_dev, about.st_ino), [])
        try:
            holders.append(holders[0] if holders else FileIO(str(path), "r+"))
        finally:
            if not holders:
                del _open[about.st_dev, about.st_ino]
        return holders[0]


def abandon() -> None:
    """In a forked child."""
    global _lock
    _lock = Lock()
    _inherited.update(_open)
    _open.clear()


def give_back(handle: FileIO) -> None:
    with _lock:
        about = os.fstat(handle.fileno())
        holders = _open[about.st_dev, about.st_ino]
        holders.pop()
        if not holders:
            del _open[about.st_dev, about.st_ino]
            handle.close()
