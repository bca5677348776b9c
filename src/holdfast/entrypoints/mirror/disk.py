"""Files, taken with care: nothing but plain files is read, nothing is half written, nothing is overwritten unseen."""

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
_LINK = (errno.ELOOP, errno.EMLINK)
"""What opening a link without following it fails with."""
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What says that the file system cannot do this."""


class Stamp(NamedTuple):
    """While it stands still, a file is taken to be the same."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int


class Read(NamedTuple):
    data: bytes
    digest: str


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def read_plain(path: Path, cap: int) -> Read:
    """The bytes of a plain file; FileNotFoundError when it is gone."""
    try:
        file = os.open(path, _READ)
    except OSError as error:
        if error.errno in _LINK:
            raise Unreadable("is a symbolic link, which is never followed") from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise Unreadable("may not be read by the server") from None
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("is not a plain file")
        if found.st_nlink > 1:
            raise Unreadable("is linked from elsewhere too (a hard link)")
        if found.st_size > cap:
            raise Unreadable(f"is too large: {found.st_size:,} bytes of at most {cap:,}")
        parts: list[bytes] = []
        while part := os.read(file, _CHUNK):
            parts.append(part)
            if sum(map(len, parts)) > cap:
                raise Unreadable(f"is too large: more than {cap:,} bytes")
    finally:
        os.close(file)
    data = b"".join(parts)
    return Read(data, digest_of(data))


def make_folder(path: Path) -> None:
    """For its owner alone. A link in its place is never followed."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise Unreadable("is not a folder") from None


def write_aside(path: Path, data: bytes) -> None:
    """A new file for its owner alone, on disk when this returns."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)


def open_to_append(path: Path) -> TextIO:
    """A file of the mirror itself, for its owner alone. A link in its place is never followed."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in _LINK:
            raise Unreadable(f"{path.name} is a symbolic link, which is never followed") from None
        raise
    return os.fdopen(file, "a", encoding="utf-8")


def put_in_place(path: Path, data: bytes, aside: Path) -> None:
    """Replaces a file that is ours alone: the index, a report, a state."""
    aside.unlink(missing_ok=True)
    write_aside(aside, data)
    aside.replace(path)


def move_new(source: Path, target: Path) -> None:
    """FileExistsError when there is something at the target already."""
    if _rename2(source, target, _NOREPLACE):
        return
    os.link(source, target, follow_symlinks=False)
    source.unlink()


def exchange(source: Path, target: Path) -> None:
    """The file at `target` becomes that at `source` in one step, and what was at `target` is at `source` then: whoever
    wrote there a moment ago has lost nothing. FileNotFoundError when there is nothing at the target."""
    if _rename2(source, target, _EXCHANGE):
        return
    old = source.with_name(source.name + ".old")
    os.link(target, old, follow_symlinks=False)
    source.replace(target)
    old.replace(source)


def sync_folder(path: Path) -> None:
    """Names in a folder are on disk when this returns, where the system can say so."""
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
    """Linux's renameat2; False where there is none."""
    library = _libc()
    if library is None:
        return False
    names = os.fsencode(source), os.fsencode(target)
    if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_THERE:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))
