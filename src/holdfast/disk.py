"""What the file system refuses, in the product's errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.domain.errors import HoldfastError, StorageFull, Unavailable

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """While this file is looked at, made, read or written."""
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: Path) -> HoldfastError:
    if error.errno in FULL:
        return StorageFull(f"The disk is full: {path} cannot be written. Free some space and try again.")
    return Unavailable(
        f"{path} cannot be read or written ({error.strerror or error}); check its permissions and those of its folder."
    )
