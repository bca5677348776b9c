"""Master keys from settings and from the key file beside the store."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.crypto.keys import KEY_BYTES, Master, new_secret
from holdfast.disk import on_disk
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
"""As SQLite names what lies beside a database: `-wal`, `-shm`."""


@dataclass(frozen=True, slots=True)
class Masters:
    """The current master first, then those still accepted for reading."""

    all: tuple[Master, ...]
    ephemeral: bool = False
    file: Path | None = None
    """Where the first of them was read."""


def own_key_file(database: Path) -> Path:
    """Of one database alone: `notes.key` for `notes.db`, else the whole name and `-key`. Not `.key`, or `notes.sqlite`
    would have the file of `notes.sqlite.db`."""
    if database.suffix == ".db":
        return database.with_suffix(SUFFIX)
    return database.with_name(database.name + ENDING)


def shared_key_file(database: Path) -> Path:
    """Where earlier versions kept the key, the same file for all databases that differ in their suffix alone."""
    return database.with_suffix(SUFFIX)


def key_file_of(database: Path) -> Path:
    """Where the key of a store lies, or will be made. A store that was made with a shared file goes on with it; a new
    one never joins."""
    own, shared = own_key_file(database), shared_key_file(database)
    with on_disk(own):
        goes_on = not own.exists() and shared not in (own, database) and shared.exists() and is_made(database)
    return shared if goes_on else own


def is_made(database: Path) -> bool:
    """Whether there is anything that a key may have sealed."""
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
    """The key; made on first use. A key left by an unfinished rotation is accepted too."""
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
    """One process at a time replaces a key file. The lock file stays: removing it would let two in at once."""
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
    """Writes the key that is to replace the current one, durably, before anything is wrapped with it."""
    waiting = next_key_file(path)
    if not waiting.exists():
        _create(waiting, new_secret())
    return master_in(waiting)


def adopt_next_key(path: Path) -> None:
    """The staged key becomes the key, in one step; another process may have done it already."""
    with on_disk(path):
        with contextlib.suppress(FileNotFoundError):
            next_key_file(path).replace(path)
        _sync_directory(path.parent)


def copy_key_file(source: Path, target: Path) -> None:
    """The same key beside another store; one that is there stays."""
    _create(target, parse_key(_read(source)))


def _create(path: Path, secret: bytes) -> None:
    with on_disk(path):
        _write(path, secret)


def _write(path: Path, secret: bytes) -> None:
    """Appears whole or not at all, 0600; when another process was quicker, its key stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, draft = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secret.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        _sync_directory(path.parent)
    finally:
        Path(draft).unlink()


def _sync_directory(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
