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
    """The handle of a file, which is made for its owner alone if it is not there. To be given back when everything else
    that this opening has of the file is closed."""
    with _lock:
        file = _file(path.stat()) if path.exists() else None
        if file in _inherited:
            raise Unavailable(FORKED)
        handle = _open[file][0] if file in _open else FileIO(str(path), "r+", opener=_open_or_make)
        _open.setdefault(_file(os.fstat(handle.fileno())), []).append(handle)
        return handle


def give_back(handle: FileIO) -> None:
    with _lock:
        file = _file(os.fstat(handle.fileno()))
        _open[file].pop()
        if not _open[file]:
            del _open[file]
            handle.close()


def abandon() -> None:
    """In a forked child."""
    global _lock
    _lock = Lock()
    _inherited.update(_open)
    _open.clear()


def _file(about: os.stat_result) -> _File:
    return about.st_dev, about.st_ino


def _open_or_make(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o600)
