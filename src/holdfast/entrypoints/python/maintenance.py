"""Maintenance from Python: status, rotation and backup of keys, and a check of the audit log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.crypto.keyfile import adopt_next_key, next_key_file, rotating, stage_next_key
from holdfast.domain.errors import Conflict, InvalidField, Locked, Unavailable
from holdfast.operations.audit import Verified, verify_audit
from holdfast.operations.engine import Engine
from holdfast.operations.key_backup import (
    Drilled,
    PutBack,
    destroy_keys,
    drill,
    every_key,
    put_back,
    read_back,
    written,
)
from holdfast.operations.rotate_keys import KeyStatus, Rotated, key_status, rotate_data, rotate_master
from holdfast.wiring import Opened


class Keys:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @property
    def _engine(self) -> Engine:
        if self._opened.engine is None:
            raise Unavailable(self._opened.reason)
        return self._opened.engine

    def status(self) -> KeyStatus:
        return key_status(self._engine)

    def rotate(self) -> Rotated:
        """Wraps every data key with a new master key, and then replaces the key file. With a key from settings, wraps
        under that key the data keys that HOLDFAST_MEMORY_OLD_KEYS still opens."""
        engine, masters = self._engine, self._opened.masters
        assert masters is not None, "an open engine has its master keys"
        if masters.ephemeral:
            raise Conflict("A throw-away key is not rotated; set HOLDFAST_MEMORY_KEY to keep memories.")
        file = masters.file
        if file is None:
            return rotate_master(engine)
        with rotating(file):
            if not engine.sealed.keyring.is_configured_for(engine.sealed.store.keys.of(STORE)):
                raise Locked(
                    f"{file.name} no longer holds the key of this store; put its own back, then rotate."
                )
            engine.sealed.keyring.reload_masters()
            status = key_status(engine)
            if not next_key_file(file).exists() and status.wrapped_by_others > status.locked:
                return rotate_master(engine)
            engine.sealed.keyring.use_master(stage_next_key(file))
            rotated = rotate_master(engine)
            adopt_next_key(file)
            return rotated

    def rotate_data(
        self, space: UUID | None = None, progress: Callable[[int], None] | None = None
    ) -> Rotated:
        """Seals and blinds a space (or every space) under a new data key, while the store serves."""
        engine = self._engine
        spaces = [space] if space is not None else _every_space(engine)
        return rotate_data(engine, spaces, progress)

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Writes all wrapped keys into a new file (0600) and returns their number. Keep it apart from copies of the
        store, and destroy it when a key is to be gone for good."""
        rows = every_key(self._engine.sealed.store.keys)
        write_new(Path(path), written(rows))
        return len(rows)

    def restore(self, path: str | os.PathLike[str]) -> PutBack:
        """Puts back the keys of a backup that this store misses and still needs."""
        engine, masters = self._engine, self._opened.masters
        assert masters is not None, "an open engine has its master keys"
        return put_back(engine.sealed.store, masters.all, read_file(Path(path)))

    def destroy(self, space: UUID) -> int:
        """Destroys every data key of a space: nothing that was written there can be read again."""
        return destroy_keys(self._engine, space)

    def drill(self) -> Drilled:
        """Rehearses a recovery: opens stored rows with a fresh backup of the keys and the configured master."""
        engine, masters = self._engine, self._opened.masters
        assert masters is not None, "an open engine has its master keys"
        return drill(engine.sealed.store.keys, engine.sealed.store.entries, masters.all)


def write_new(path: Path, text: str) -> None:
    """Writes a new file for its owner alone."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Conflict(f"{path} is there already; name a new file.") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def read_file(path: Path) -> list[KeyRow]:
    try:
        return read_back(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidField(f"{path} cannot be read as a key backup.") from error


def _every_space(engine: Engine) -> list[UUID]:
    found: list[UUID] = []
    after = None
    while page := engine.sealed.store.spaces.all_after(after, 1_000):
        found += [row.id for row in page]
        after = page[-1].id
    return found


class Audit:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def verify(self, anchor: str | None = None, progress: Callable[[int], None] | None = None) -> Verified:
        """Finds every line that was changed, moved, removed or cut off. With the `anchor` of an earlier check, also
        finds that an older log was put back."""
        if self._opened.engine is None:
            raise Unavailable(self._opened.reason)
        return verify_audit(self._opened.engine, anchor, progress)
