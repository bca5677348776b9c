"""Files: one way to write them whole, and the refusals of the file system as errors of the product."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.domain.errors import StorageFull, Unavailable

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Translates an OSError that this file causes while the block runs."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull(
                f"The disk is full: {path} cannot be written. Free some space and try again."
            ) from error
        raise Unavailable(
            f"{path} cannot be read or written ({error.strerror or error}); check its permissions and those of its "
            "folder."
        ) from error


def write_atomically(path: Path, content: bytes, *, replace: bool = True, mode: int = 0o600) -> None:
    """Writes a file that appears whole or not at all, and is on disk when this returns. Makes its folder (0700).
    Without `replace` a file that is there stays, also one that another process made meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode != 0o600:
            draft.chmod(mode)
        if replace:
            draft.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
