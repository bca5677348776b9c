"""Handles on database files beside SQLite's own, one a file for the whole process.

POSIX drops every lock a process holds on a file as soon as it closes any handle on it, SQLite's locks too: others would
then take the log away from under those who still write to it. So a handle is shared by all openings of a file in this
process, taken before the first of them and closed after the last."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from threading import Lock

import apsw

from holdfast.domain.errors import Unavailable
from holdfast.storage.forks import FORKED

_File = tuple[int, int]
"""Device and number: however a path is spelt, they name the file."""

_lock = Lock()
_open: dict[_File, list[FileIO]] = {}
"""The handle of each file, once for every opening that has it."""
_inherited: dict[_File, list[FileIO]] = {}
"""Of files that the parent had open when it forked. SQLite would take the parent's locks on them for those of this
process, which therefore never opens them."""


def take(path: Path) -> FileIO:
    """The handle of a file, which is made for its owner alone if it is not there. To be given back when everything else
    that this opening has of the file is closed."""
    with _lock:
        file = _file(path.stat()) if path.exists() else None
        if file in _inherited:
            raise Unavailable(FORKED)
        if file in _open:
            handle = _open[file][0]
            _refuse_other_name(path, Path(os.fsdecode(handle.name)))
        else:
            handle = FileIO(os.path.realpath(path), "r+", opener=_open_or_make)
        _open.setdefault(_file(os.fstat(handle.fileno())), []).append(handle)
        return handle


def give_back(handle: FileIO) -> None:
    with _lock:
        file = _file(os.fstat(handle.fileno()))
        _open[file].pop()
        if not _open[file]:
            del _open[file]
            handle.close()


def never_close(connections: Iterable[apsw.Connection | None]) -> None:
    """For a forked child. Connections that came over must not be closed there, or a log goes that others write to. They
    are closed when nobody has them any more, and all of them when the driver is unloaded at the end: so neither is."""
    for kept in (apsw, *connections):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _refuse_other_name(path: Path, first: Path) -> None:
    """By a hard link a file would get a second log, and each opening would miss what the other wrote. A folder may have
    been renamed since: its files have no second name by that."""
    named = Path(os.path.realpath(path))
    elsewhere = first.parent.exists() and not named.parent.samefile(first.parent)
    if named.name != first.name or elsewhere:
        raise Unavailable(
            f"{path} is open as {first} already, and SQLite keeps a log for each name; use one name."
        )


def _file(about: os.stat_result) -> _File:
    return about.st_dev, about.st_ino


def _open_or_make(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o600)


def _leave_to_parent() -> None:
    """In a forked child."""
    global _lock
    _lock = Lock()
    _inherited.update(_open)
    _open.clear()
    never_close([])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
