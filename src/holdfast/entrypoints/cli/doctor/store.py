"""The store and its key, examined without changing either: a file, or a database of PostgreSQL."""

from __future__ import annotations

import os
import stat
from importlib.util import find_spec
from pathlib import Path

from holdfast.contracts.rows import KeyRow
from holdfast.crypto.keyfile import EPHEMERAL, OFF, Masters, key_file_of, masters
from holdfast.domain.errors import Backend, HoldfastError, Locked
from holdfast.entrypoints.cli import output
from holdfast.entrypoints.cli.doctor.finding import NO_STORE, Finding, Scene, fail, ok, warn
from holdfast.storage.sealed_store import check_canary
from holdfast.wiring import refuse_name_of_key

HEADER_BYTES = 100
USER_VERSION = slice(60, 64)
"""The bytes of a SQLite header that hold the schema version."""


def key(scene: Scene) -> Finding:
    configured = scene.settings.memory_key
    if configured == OFF:
        return warn("HOLDFAST_MEMORY_KEY=off: nothing is saved", "unset HOLDFAST_MEMORY_KEY")
    if configured == EPHEMERAL:
        return warn("HOLDFAST_MEMORY_KEY=ephemeral: nothing can be read later", "unset HOLDFAST_MEMORY_KEY")
    if configured is not None:
        return _unusable(scene) or ok("from HOLDFAST_MEMORY_KEY")
    if scene.is_shared:
        return fail(
            "a store on PostgreSQL has no key file",
            "set HOLDFAST_MEMORY_KEY=$(openssl rand -hex 32) on every node",
        )
    if scene.database is None:
        return ok("a store in memory creates its own")
    refuse_name_of_key(scene.settings, scene.database)
    return _key_file(key_file_of(scene.database), scene)


def _key_file(path: Path, scene: Scene) -> Finding:
    if not path.exists():
        if scene.has_store:
            return fail(
                f"{path} is missing", f"restore {path.name} from your copy, or set HOLDFAST_MEMORY_KEY"
            )
        return ok("created together with the store")
    if (found := _unusable(scene)) is not None:
        return found
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        return warn(f"{path} is open to others ({mode:04o})", f"chmod 600 {path}")
    return ok(f"{path}; keep a copy elsewhere")


def _unusable(scene: Scene) -> Finding | None:
    """Returns the problem with the configured keys, if any. An existing store opens with its own key alone."""
    try:
        configured_keys(scene)
    except HoldfastError as error:
        named = scene.settings.memory_key is not None
        file = None if scene.database is None else key_file_of(scene.database)
        if scene.has_store or scene.is_shared:
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
        return warn("not opened: there is no usable key", "see `key`")
    try:
        _look(scene, keys)
    except Locked as error:
        return fail(error.message, "set HOLDFAST_MEMORY_KEY, or restore the key file of this store")
    except Backend as error:
        return fail(error.message, _reopen_remedy(scene))
    return ok("opens with the key")


def schema(scene: Scene) -> Finding:
    from holdfast.storage.sqlite.migrate import steps

    if not scene.has_store:
        return ok(NO_STORE)
    try:
        _look(scene, None)
    except Backend as error:
        return fail(error.message, _reopen_remedy(scene))
    found, newest = _schema_of(scene), steps()[-1].number
    if _is_older(scene):
        return ok(f"schema {found}; the next start upgrades it to {newest}, after making a copy")
    return ok(f"schema {found}")


def _is_older(scene: Scene) -> bool:
    from holdfast.storage.sqlite.migrate import steps

    return (_schema_of(scene) or steps()[-1].number) < steps()[-1].number


def recovery(scene: Scene) -> Finding:
    """Rehearses a recovery in memory: backs up the keys, reads them back and decrypts memories."""
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
            "put earlier master keys into HOLDFAST_MEMORY_OLD_KEYS, or use `holdfast keys restore`",
        )
    memories = output.counted(found.opened, "memory", "memories")
    return ok(f"key backup test passed: {output.counted(found.keys, 'data key')}, {memories}")


def configured_keys(scene: Scene) -> Masters | None:
    """Returns the configured keys, or None. Never creates a key file."""
    configured, old = scene.settings.memory_key, scene.settings.memory_old_keys
    if configured == OFF:
        return None
    if configured is not None:
        return masters(configured, old, None)
    file = None if scene.database is None else key_file_of(scene.database)
    return masters(None, old, file) if file is not None and file.exists() else None


def usable_keys(scene: Scene) -> Masters | None:
    """Returns the configured keys, or None where `key` reports a problem with them."""
    try:
        return configured_keys(scene)
    except HoldfastError:
        return None


def _reopen_remedy(scene: Scene) -> str:
    """Returns the remedy for a file that does not open."""
    from holdfast.storage.sqlite.migrate import steps

    if (_schema_of(scene) or 0) > steps()[-1].number:
        return "pip install --upgrade holdfast-memory"
    return (
        f"stop the programs that use it, then restore a copy of {scene.database}, without its -wal and -shm"
    )


def _schema_of(scene: Scene) -> int | None:
    """Returns the schema version of the file, or None when it is no SQLite file."""
    assert scene.database is not None
    with scene.database.open("rb") as file:
        header = file.read(HEADER_BYTES)
    return int.from_bytes(header[USER_VERSION], "big") if header.startswith(b"SQLite format 3\0") else None


def _look(scene: Scene, keys: Masters | None) -> None:
    from holdfast.storage.sqlite.migrate import look_first

    def check(rows: list[KeyRow]) -> None:
        assert keys is not None
        check_canary(rows, keys.all, ephemeral=keys.ephemeral)

    assert scene.database is not None
    look_first(scene.database, None if keys is None else check)


OLDEST = 15


def postgresql(scene: Scene) -> Finding:
    if find_spec("psycopg") is None:
        return fail("PostgreSQL's driver is not installed", "pip install 'holdfast-memory[postgres]'")
    from holdfast.storage.postgres.migrate import look

    url = scene.settings.database_url
    assert url is not None
    try:
        rows = look(url).store_keys
        version = _server_version(url)
    except HoldfastError as error:
        return fail(error.message, "start PostgreSQL, or correct HOLDFAST_DATABASE_URL")
    if version < OLDEST * 10_000:
        return fail(f"PostgreSQL {version // 10_000} is too old", f"upgrade it to {OLDEST} or newer")
    if not rows:
        return ok(
            f"PostgreSQL {version // 10_000}; no store yet: the first start creates it and needs the extension `vector`"
        )
    return _opened(scene, rows, f"PostgreSQL {version // 10_000} with pgvector")


def _opened(scene: Scene, rows: list[KeyRow], found: str) -> Finding:
    keys = usable_keys(scene)
    if keys is None:
        return warn(f"{found}; not opened: there is no usable key", "see `key`")
    try:
        check_canary(rows, keys.all, ephemeral=keys.ephemeral)
    except Locked as error:
        return fail(error.message, "set HOLDFAST_MEMORY_KEY to the key of this store")
    return ok(f"{found}; the store opens with the key")


def _server_version(url: str) -> int:
    from holdfast.storage.postgres.connections import Connections, Patience

    connections = Connections(url, size=1, patience=Patience(pool_seconds=5))
    try:
        with connections.lent() as db:
            return db.info.server_version
    finally:
        connections.close()


def would_change(scene: Scene) -> bool:
    """Tells that the next start would create the store or upgrade its schema."""
    if not scene.is_shared:
        return scene.database is not None and (not scene.has_store or _is_older(scene))
    try:
        from holdfast.storage.postgres.migrate import look, steps

        return look(str(scene.settings.database_url)).version < steps()[-1].number
    except (HoldfastError, ImportError):
        return False  # the program itself reports why
