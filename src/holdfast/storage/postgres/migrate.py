"""Brings a database to today's schema: once, however many nodes start together; refuses one from the future."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
from psycopg import errors

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.domain.errors import Backend
from holdfast.storage.postgres.connections import connecting, lock_key
from holdfast.storage.postgres.errors import translated
from holdfast.storage.postgres.migrations import Step, steps

TRIES = 5
"""Roles belong to the whole server: two databases that are made at once may be in each other's way."""

Db = psycopg.Connection[tuple[Any, ...]]


def migrate(
    dsn: str, *, check: Callable[[list[KeyRow]], None] | None = None, todo: list[Step] | None = None
) -> None:
    """`check` sees the store's own keys before anything is changed, and may refuse."""
    todo = steps() if todo is None else todo
    for turn in range(TRIES):
        try:
            with psycopg.connect(dsn, **connecting(dsn)) as db:
                look_first(db, todo, check)
                if _version(db) < todo[-1].number:
                    _apply(db, todo)
            return
        except (errors.InternalError, errors.UniqueViolation, errors.DuplicateObject) as error:
            if turn == TRIES - 1:
                raise translated(error) from error
        except psycopg.Error as error:
            raise _explained(error) from error


def look_first(db: Db, todo: list[Step], check: Callable[[list[KeyRow]], None] | None) -> None:
    """What is not ours, is from the future, or is sealed with another key stays as it is."""
    version, newest = _version(db), todo[-1].number
    if version > newest:
        raise Backend(
            f"This database has schema {version}, newer than the {newest} this version knows; upgrade Holdfast to "
            "open it."
        )
    if check is not None:
        check(_store_keys(db) if version else [])


def _apply(db: Db, todo: list[Step]) -> None:
    """In one transaction under a lock of its own: another node may have been quicker, so the version is looked at
    again. The lock ends with the transaction, behind a pooler too."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(b"migrations"),))
        version = _version(db)
        for step in todo:
            if step.number > version:
                db.execute(step.sql.encode())
                db.execute("INSERT INTO holdfast.versions VALUES (%s, %s)", (step.number, step.name))


def _version(db: Db) -> int:
    """0 for a database without our schema."""
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
                "extension `vector`. Or let an administrator run schema.sql."
            )
        case errors.FeatureNotSupported() | errors.UndefinedFile():
            return Backend("The database server has no pgvector extension; install `vector` 0.7 or newer.")
    return translated(error)
