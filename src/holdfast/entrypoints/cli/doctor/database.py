"""A store on PostgreSQL, looked at through the adapter's own door."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from holdfast.contracts.rows import KeyRow
from holdfast.domain.errors import Backend, HoldfastError, Locked
from holdfast.entrypoints.cli.doctor.finding import Finding, Scene, fail, ok, warn
from holdfast.entrypoints.cli.doctor.store import usable_keys
from holdfast.storage.sealed_store import check_canary

if TYPE_CHECKING:
    from holdfast.storage.postgres.migrations import Step

OLDEST = 15


class _Seen(Exception):
    """Raised where the adapter would go on to change something: all that was wanted has been seen."""

    def __init__(self, rows: list[KeyRow]) -> None:
        self.rows = rows


def postgresql(scene: Scene) -> Finding:
    if find_spec("psycopg") is None:
        return fail("PostgreSQL's driver is not installed", "pip install 'holdfast[postgres]'")
    url = scene.settings.database_url
    assert url is not None
    try:
        rows = _store_keys(url)
        version = _server_version(url)
    except HoldfastError as error:
        return fail(error.message, "start PostgreSQL, or correct HOLDFAST_DATABASE_URL")
    if version < OLDEST * 10_000:
        return fail(f"PostgreSQL {version // 10_000} is too old", f"upgrade it to {OLDEST} or newer")
    if not rows:
        return ok(
            f"PostgreSQL {version // 10_000}; no store yet: the first start makes it and needs the extension `vector`"
        )
    return _opened(scene, rows, f"PostgreSQL {version // 10_000} with pgvector")


def _opened(scene: Scene, rows: list[KeyRow], found: str) -> Finding:
    keys = usable_keys(scene)
    if keys is None:
        return warn(f"{found}; not opened: there is no key that can be used", "see `key`")
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
    """Whether the next start makes the tables or brings them to a newer schema."""
    from holdfast.storage.postgres.migrations import steps

    with suppress(Backend):  # refused as newer than the last step but one: there is nothing left to do
        _store_keys(url, steps()[:-1])
        return True
    return not _store_keys(url)


def _store_keys(url: str, todo: list[Step] | None = None) -> list[KeyRow]:
    """The store's own keys, empty before there is a store. What the adapter refuses, such as a schema from the future,
    is raised."""
    from holdfast.storage.postgres.migrate import migrate

    def see(rows: list[KeyRow]) -> None:
        raise _Seen(rows)

    try:
        migrate(url, check=see, todo=todo)
    except _Seen as seen:
        return seen.rows
    raise AssertionError("the adapter asks before it changes anything")
