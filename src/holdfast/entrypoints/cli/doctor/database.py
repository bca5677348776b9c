"""A store on PostgreSQL, examined through its own adapter."""

from __future__ import annotations

from importlib.util import find_spec

from holdfast.contracts.rows import KeyRow
from holdfast.domain.errors import HoldfastError, Locked
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn
from holdfast.entrypoints.cli.doctor.store import usable_keys
from holdfast.storage.sealed_store import check_canary

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


def is_older(url: str) -> bool:
    """Tells that the next start would create the tables or upgrade their schema."""
    from holdfast.storage.postgres.migrate import look, steps

    return look(url).version < steps()[-1].number
