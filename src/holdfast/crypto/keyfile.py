"""Master keys from settings and from the key file beside the store."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.crypto.keys import KEY_BYTES, Master, new_secret
from holdfast.disk import on_disk, sync_folder, write_atomically
from holdfast.domain.errors import InvalidField

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("holdfast")

EPHEMERAL = "ephemeral"
OFF = "off"
SUFFIX = ".key"
ENDING = "-key"
"""The style of SQLite's names for files beside a database, such as `-wal` and `-shm`."""


@dataclass(frozen=True, slots=True)
class Masters:
    """The current master first, then those still accepted for reading."""

    all: tuple[Master, ...]
    ephemeral: bool = False
    file: Path | None = None
    """The file that the current master was read from, if any."""


def key_file_of(database: Path) -> Path:
    """The key file of one database: `notes.key` for `notes.db`, else the whole name and `-key`. Not always `.key`, or
    `notes.sqlite` would share the file of `notes.sqlite.db`."""
    if database.suffix == ".db":
        return database.with_suffix(SUFFIX)
    return database.with_name(database.name + ENDING)


def is_made(database: Path) -> bool:
    """Returns True when the database holds anything that a key may have sealed."""
    return database.exists() and database.stat().st_size > 0


def masters(configured: str | None, old: tuple[str, ...], key_file: Path | None) -> Masters:
    accepted = tuple(Master(parse_key(key)) for key in old)
    if configured == EPHEMERAL:
        log.warning(
            "HOLDFAST_MEMORY_KEY=ephemeral: what is remembered now cannot be read after this process ends"
        )
        return Masters((Master(new_secret()), *accepted), ephemeral=True)
    if configured is not None:
        return Masters((Master(parse_key(configured)), *accepted))
    if key_file is None:
        return Masters((Master(new_secret()), *accepted))
    return Masters((*_from_file(key_file), *accepted), file=key_file)


def parse_key(text: str) -> bytes:
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise InvalidField("A memory key is 64 hex characters; make one with: openssl rand -hex 32")
    return secret


def _from_file(path: Path) -> tuple[Master, ...]:
    """The key in the file, which is made on first use, and the key that an unfinished rotation left."""
    if not path.exists():
        _create(path, new_secret())
        log.warning(
            "made the memory key %s; keep a copy of it in a safe place: without it nothing can be read",
            path.name,
        )
    keys = [master_in(path)]
    if (waiting := next_key_file(path)).exists():
        keys.append(master_in(waiting))
    return tuple(keys)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidField(f"The key file {path.name} cannot be read: {error}.") from error


def next_key_file(path: Path) -> Path:
    return path.with_name(path.name + ".next")


@contextlib.contextmanager
def rotating(path: Path) -> Iterator[None]:
    """Lets one process at a time replace a key file. The lock file stays: removing it would let two in at once."""
    file = path.with_name(path.name + ".lock")
    with on_disk(file):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def master_in(path: Path) -> Master:
    return Master(parse_key(_read(path)))


def stage_next_key(path: Path) -> Master:
    """Writes the next key durably, before any data key is wrapped with it."""
    waiting = next_key_file(path)
    if not waiting.exists():
        _create(waiting, new_secret())
    return master_in(waiting)


def adopt_next_key(path: Path) -> None:
    """Replaces the key by the staged one in one step, unless another process has done it already."""
    with on_disk(path):
        with contextlib.suppress(FileNotFoundError):
            next_key_file(path).replace(path)
        sync_folder(path.parent)


def copy_key_file(source: Path, target: Path) -> None:
    """Puts a copy of a key beside another store, unless a key is there."""
    _create(target, parse_key(_read(source)))


def _create(path: Path, secret: bytes) -> None:
    with on_disk(path):
        write_atomically(path, f"{secret.hex()}\n".encode(), replace=False)
