"""Careful file operations: only plain files are read, writes are atomic, and unseen content is never overwritten."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TextIO

from holdfast.entrypoints.mirror.frontmatter import Unreadable

ANY_SIZE = 1 << 40
_CHUNK = 1 << 16
_NOREPLACE = 1
_EXCHANGE = 2
_AT_FDCWD = -100
_READ = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_LINK_ERRORS = (errno.ELOOP, errno.EMLINK)
"""Errors of opening a symbolic link with O_NOFOLLOW."""
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""Errors of a file system without renameat2."""


class Stamp(NamedTuple):
    """The stat of a file; a file with the same stamp is taken as unchanged."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int


class FileContent(NamedTuple):
    data: bytes
    digest: str


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def read_plain(path: Path, max_bytes: int) -> FileContent:
    """Returns the bytes of a plain file. FileNotFoundError when it is gone."""
    try:
        file = os.open(path, _READ)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            raise Unreadable("is a symbolic link, which is never followed") from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise Unreadable("cannot be read by the server") from None
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("is not a plain file")
        if found.st_nlink > 1:
            raise Unreadable("is linked from elsewhere too (a hard link)")
        if found.st_size > max_bytes:
            raise Unreadable(f"is too large: {found.st_size:,} bytes of at most {max_bytes:,}")
        parts: list[bytes] = []
        while part := os.read(file, _CHUNK):
            parts.append(part)
            if sum(map(len, parts)) > max_bytes:
                raise Unreadable(f"is too large: more than {max_bytes:,} bytes")
    finally:
        os.close(file)
    data = b"".join(parts)
    return FileContent(data, digest_of(data))


def make_folder(path: Path) -> None:
    """Makes a folder for its owner alone. Never follows a link in its place."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise Unreadable("is not a folder") from None


def write_aside(path: Path, data: bytes) -> None:
    """Writes and syncs a new file for its owner alone."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)


def open_to_append(path: Path) -> TextIO:
    """Opens one of the mirror's own files, for its owner alone. Never follows a link in its place."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in _LINK_ERRORS:
            raise Unreadable(f"{path.name} is a symbolic link, which is never followed") from None
        raise
    return os.fdopen(file, "a", encoding="utf-8")


def put_in_place(path: Path, data: bytes, aside: Path) -> None:
    """Replaces one of the mirror's own files: the index, a report, its state."""
    aside.unlink(missing_ok=True)
    write_aside(aside, data)
    aside.replace(path)


def move_new(source: Path, target: Path) -> None:
    """Moves a file. FileExistsError when the target exists."""
    if _rename2(source, target, _NOREPLACE):
        return
    os.link(source, target, follow_symlinks=False)
    source.unlink()


def exchange(source: Path, target: Path) -> None:
    """Swaps two files in one step, so no concurrent write to `target` is lost. FileNotFoundError without a target."""
    if _rename2(source, target, _EXCHANGE):
        return
    old = source.with_name(source.name + ".old")
    os.link(target, old, follow_symlinks=False)
    source.replace(target)
    old.replace(source)


def sync_folder(path: Path) -> None:
    """Syncs the names in a folder, where the system can do so."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return library if hasattr(library, "renameat2") else None
    except (OSError, TypeError):
        return None


def _rename2(source: Path, target: Path, flag: int) -> bool:
    """Calls renameat2 of Linux. Returns False where there is none."""
    library = _libc()
    if library is None:
        return False
    names = os.fsencode(source), os.fsencode(target)
    if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))
