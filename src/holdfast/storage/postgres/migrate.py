"""Brings a database to today's schema: once, however many nodes start together. Refuses a database from the future."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import errors

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.domain.errors import Backend
from holdfast.storage.migrations import Step, read_steps
from holdfast.storage.postgres.connections import connecting, lock_key, translated

TRIES = 5
"""Roles belong to the whole server, so two databases set up at the same moment may collide."""

Db = psycopg.Connection[tuple[Any, ...]]


class FoundSchema(NamedTuple):
    """The schema of a database (0: none yet) and the store's own keys."""

    version: int
    store_keys: list[KeyRow]


def steps() -> list[Step]:
    return read_steps("holdfast.storage.postgres")


def look(dsn: str) -> FoundSchema:
    """Looks at a database without changing it; Backend when it is not a store or is from the future."""
    try:
        with psycopg.connect(dsn, **connecting(dsn)) as db:
            return _found(db, steps()[-1].number)
    except psycopg.Error as error:
        raise _explained(error) from error


def migrate(
    dsn: str, *, check: Callable[[list[KeyRow]], None] | None = None, todo: list[Step] | None = None
) -> None:
    """Applies the migrations that are missing. `check` sees the store's own keys before anything is changed, and may
    refuse."""
    todo = steps() if todo is None else todo
    for turn in range(TRIES):
        try:
            with psycopg.connect(dsn, **connecting(dsn)) as db:
                found = _found(db, todo[-1].number)
                if check is not None:
                    check(found.store_keys)
                if found.version < todo[-1].number:
                    _apply(db, todo)
            return
        except (errors.InternalError, errors.UniqueViolation, errors.DuplicateObject) as error:
            if turn == TRIES - 1:
                raise translated(error) from error
        except psycopg.Error as error:
            raise _explained(error) from error


def _found(db: Db, newest: int) -> FoundSchema:
    version = _version(db)
    if version > newest:
        raise Backend(
            f"This database has schema {version}, newer than the {newest} this version knows; upgrade Holdfast to "
            "open it."
        )
    return FoundSchema(version, _store_keys(db) if version else [])


def _apply(db: Db, todo: list[Step]) -> None:
    """Runs in one transaction under an advisory lock, which ends with the transaction behind a pooler too. Reads the
    version again, because another node may have been quicker."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(b"migrations"),))
        version = _version(db)
        for step in todo:
            if step.number > version:
                db.execute(step.sql.encode())


def _version(db: Db) -> int:
    """Returns 0 for a database without our schema."""
    if not _value(db, "SELECT to_regclass('holdfast.versions') IS NOT NULL"):
        if _value(db, "SELECT to_regnamespace('holdfast') IS NOT NULL"):
            raise Backend(
                "The schema `holdfast` of this database is not a Holdfast store; choose another database."
            )
        return 0
    return int(_value(db, "SELECT coalesce(max(number), 0) FROM holdfast.versions"))


def _value(db: Db, sql: LiteralString) -> Any:
    return db.execute(sql).fetchall()[0][0]


def _store_keys(db: Db) -> list[KeyRow]:
    with db.transaction():
        db.execute("SELECT set_config('role', 'holdfast_store', true)")
        rows = db.execute(
            """
            SELECT space_id, key_id, master, created_us, wrapped
              FROM holdfast.data_keys
             WHERE space_id = %s
             ORDER BY key_id
            """,
            (STORE,),
        ).fetchall()
    return [KeyRow._make(row) for row in rows]


def _explained(error: psycopg.Error) -> Exception:
    match error:
        case errors.InsufficientPrivilege():
            return Backend(
                "The database login may not set up the store: it needs CREATE on the database, CREATEROLE, and the "
                "extension `vector`. Or let an administrator run the files of storage/postgres/migrations."
            )
        case errors.FeatureNotSupported() | errors.UndefinedFile():
            return Backend("The database server has no pgvector extension; install `vector` 0.7 or newer.")
    return translated(error)
