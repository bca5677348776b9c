"""Key maintenance from Python: status, rotation of the master key, rotation of a space's data."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from holdfast.crypto.keyfile import adopt_next_key, next_key_file, rotating, stage_next_key
from holdfast.domain.errors import Conflict, Unavailable
from holdfast.operations.engine import Engine
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
        """With a key file: makes a new master key, wraps every data key with it, then replaces the file. With a key
        from settings: wraps under that key what HOLDFAST_MEMORY_OLD_KEYS still opens."""
        engine, masters = self._engine, self._opened.masters
        assert masters is not None, "an open engine has its master keys"
        if masters.ephemeral:
            raise Conflict("A throw-away key is not rotated; set HOLDFAST_MEMORY_KEY to keep memories.")
        if masters.file is None:
            return rotate_master(engine)
        with rotating(masters.file):
            engine.sealed.keyring.reload_masters()
            status = key_status(engine)
            if not next_key_file(masters.file).exists() and status.wrapped_by_others > status.locked:
                return rotate_master(engine)
            engine.sealed.keyring.use_master(stage_next_key(masters.file))
            rotated = rotate_master(engine)
            adopt_next_key(masters.file)
            return rotated

    def rotate_data(
        self, space: UUID | None = None, progress: Callable[[int], None] | None = None
    ) -> Rotated:
        """Seals and blinds a space (or every space) under a new data key while everything goes on being served."""
        engine = self._engine
        spaces = [space] if space is not None else _every_space(engine)
        done = [rotate_data(engine, one, progress) for one in spaces]
        return Rotated(len(done), 0, sum(one.entries for one in done), sum(one.revisions for one in done))


def _every_space(engine: Engine) -> list[UUID]:
    found: list[UUID] = []
    after = None
    while page := engine.sealed.store.spaces.all_after(after, 1_000):
        found += [row.id for row in page]
        after = page[-1].id
    return found
