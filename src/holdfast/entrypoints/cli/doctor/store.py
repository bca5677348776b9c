"""The embedded store and the key that opens it, looked at without touching either."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from holdfast.contracts.rows import KeyRow
from holdfast.crypto.keyfile import EPHEMERAL, OFF, Masters, key_file_of, masters
from holdfast.domain.errors import Backend, HoldfastError, Locked
from holdfast.entrypoints.cli.doctor.finding import NO_STORE, Finding, Scene, fail, ok, warn
from holdfast.storage.sealed_store import check_canary
from holdfast.wiring import is_postgres, refuse_name_of_key

HEADER_BYTES = 100
USER_VERSION = slice(60, 64)
"""Where a SQLite file says which schema it has."""


def key(scene: Scene) -> Finding:
    said = scene.settings.memory_key
    if said == OFF:
        return warn("HOLDFAST_MEMORY_KEY=off: nothing is kept", "unset HOLDFAST_MEMORY_KEY")
    if said == EPHEMERAL:
        return warn("HOLDFAST_MEMORY_KEY=ephemeral: nothing can be read later", "unset HOLDFAST_MEMORY_KEY")
    if said is not None:
        return _unusable(scene) or ok("from HOLDFAST_MEMORY_KEY")
    if is_postgres(scene.settings):
        return fail(
            "a store on PostgreSQL has no key file",
            "set HOLDFAST_MEMORY_KEY=$(openssl rand -hex 32) on every node",
        )
    if scene.database is None:
        return ok("a store in memory makes its own")
    refuse_name_of_key(scene.settings, scene.database)
    return _file(key_file_of(scene.database), scene)


def _file(path: Path, scene: Scene) -> Finding:
    if not path.exists():
        if scene.has_store:
            return fail(
                f"{path} is missing", f"put {path.name} back from your copy, or set HOLDFAST_MEMORY_KEY"
            )
        return ok("made together with the store")
    if (found := _unusable(scene)) is not None:
        return found
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        return warn(f"{path} is open to others ({mode:04o})", f"chmod 600 {path}")
    return ok(f"{path}; keep a copy of it elsewhere")


def _unusable(scene: Scene) -> Finding | None:
    """Why the keys cannot be used as they are configured. A store that is there wants its own key back: with a new one
    it stays closed."""
    try:
        configured_keys(scene)
    except HoldfastError as error:
        named = scene.settings.memory_key is not None
        file = None if scene.database is None else key_file_of(scene.database)
        if scene.has_store or is_postgres(scene.settings):
            where = "HOLDFAST_MEMORY_KEY" if named or file is None else file
            return fail(
                error.message, f"put the key this store was made with back into {where}, from your copy"
            )
        remedy = "export HOLDFAST_MEMORY_KEY=$(openssl rand -hex 32)" if named else f"rm {file}"
        return fail(error.message, remedy)
    return None


def canary(scene: Scene) -> Finding:
    if not scene.has_store:
        return ok(NO_STORE)
    keys = usable_keys(scene)
    if keys is None:
        return warn("not opened: there is no key that can be used", "see `key`")
    try:
        _look(scene, keys)
    except Locked as error:
        return fail(
            error.message, "set HOLDFAST_MEMORY_KEY, or put the key file back that belongs to this store"
        )
    except Backend as error:
        return fail(error.message, _opening(scene))
    return ok("opens with the key")


def schema(scene: Scene) -> Finding:
    from holdfast.storage.sqlite.migrations import steps

    if not scene.has_store:
        return ok(NO_STORE)
    try:
        _look(scene, None)
    except Backend as error:
        return fail(error.message, _opening(scene))
    found, newest = _version(scene), steps()[-1].number
    if found < newest:
        return ok(f"schema {found}; the next start brings it to {newest}, with a copy made first")
    return ok(f"schema {found}")


def is_older(scene: Scene) -> bool:
    """Whether the next start brings the file to a newer schema."""
    from holdfast.storage.sqlite.migrations import steps

    return _is_sqlite(scene) and _version(scene) < steps()[-1].number


def recovery(scene: Scene) -> Finding:
    """A drill: a backup of the keys is taken, read back, and opens what is stored; none of it is written anywhere."""
    from holdfast.operations.key_backup import drill
    from holdfast.storage.sqlite.store import looking

    keys = usable_keys(scene)
    if not scene.has_store or keys is None or keys.ephemeral:
        return ok("nothing to recover")
    try:
        _look(scene, keys)
    except HoldfastError:
        return warn("not tried: the store does not open", "see `store`")
    assert scene.database is not None
    with looking(scene.database) as (key_rows, entries):
        found = drill(key_rows, entries, keys.all)
    if not found.works:
        return fail(
            f"{found.locked} of {found.keys} data keys cannot be opened, and {found.unopened} of "
            f"{found.opened + found.unopened} memories tried",
            "name earlier master keys in HOLDFAST_MEMORY_OLD_KEYS, or `holdfast keys restore` a key backup",
        )
    return ok(
        f"{found.keys} data keys from a fresh backup open {found.opened} of {found.opened} memories tried"
    )


def configured_keys(scene: Scene) -> Masters | None:
    """The keys as they are configured; None where there are none yet. A missing key file is not made."""
    said, old = scene.settings.memory_key, scene.settings.memory_old_keys
    if said == OFF:
        return None
    if said is not None:
        return masters(said, old, None)
    file = None if scene.database is None else key_file_of(scene.database)
    return masters(None, old, file) if file is not None and file.exists() else None


def usable_keys(scene: Scene) -> Masters | None:
    """None also where they cannot be used, which `key` tells."""
    try:
        return configured_keys(scene)
    except HoldfastError:
        return None


def _opening(scene: Scene) -> str:
    """What brings a file that does not open to open again."""
    from holdfast.storage.sqlite.migrations import steps

    if _version(scene) > steps()[-1].number and _is_sqlite(scene):
        return "pip install --upgrade holdfast"
    return f"end what uses it, then put a copy of {scene.database} back, without its -wal and -shm"


def _version(scene: Scene) -> int:
    return int.from_bytes(_head(scene)[USER_VERSION], "big")


def _is_sqlite(scene: Scene) -> bool:
    return _head(scene).startswith(b"SQLite format 3\0")


def _head(scene: Scene) -> bytes:
    assert scene.database is not None
    with scene.database.open("rb") as file:
        return file.read(HEADER_BYTES)


def _look(scene: Scene, keys: Masters | None) -> None:
    from holdfast.storage.sqlite.migrate import look_first

    def check(rows: list[KeyRow]) -> None:
        assert keys is not None
        check_canary(rows, keys.all, ephemeral=keys.ephemeral)

    assert scene.database is not None
    look_first(scene.database, None if keys is None else check)
