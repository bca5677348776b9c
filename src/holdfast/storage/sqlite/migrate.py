"""Brings a file to today's schema: once, under a lock, after a copy was made. Refuses a file from the future."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import apsw

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.disk import on_disk
from holdfast.domain.errors import Backend
from holdfast.storage.migrations import Step, read_steps
from holdfast.storage.sqlite.connections import BUSY_MS, Connections, OnConnection, translated
from holdfast.storage.sqlite.keys import KeyReads
from holdfast.storage.sqlite.secure_erase import copy_before_upgrade

APPLICATION_ID = 0x486F6C64
"""`Hold`, by which `file(1)` and `look_first` recognise a store."""

log = logging.getLogger("holdfast")


def steps() -> list[Step]:
    return read_steps("holdfast.storage.sqlite")


def migrate(connections: Connections, todo: list[Step] | None = None) -> None:
    todo = steps() if todo is None else todo
    newest = todo[-1].number
    try:
        with connections.writing() as db:
            if _version(db) >= newest:
                return
            db.execute("BEGIN IMMEDIATE").fetchall()
            try:
                _apply(db, connections.path, todo, newest)
            except BaseException:
                db.execute("ROLLBACK").fetchall()
                raise
            db.execute("COMMIT").fetchall()
    except apsw.Error as error:
        raise translated(error) from error


def look_first(path: Path, check: Callable[[list[KeyRow]], None] | None) -> None:
    """Looks at an existing file without changing it. Refuses a file that is not a store or is from the future; `check`
    gets the store's own keys and may refuse too."""
    with on_disk(path):
        if not path.exists() or path.stat().st_size == 0:
            return
    try:
        db = open_untouched(path)
        try:
            _refuse_foreign(db)
            store_keys = KeyReads(OnConnection(db)).of(STORE) if _version(db) else []
        finally:
            db.close()
    except apsw.Error as error:
        raise translated(error) from error
    if check is not None:
        check(store_keys)


def open_untouched(path: Path) -> apsw.Connection:
    """Opens a file for reading without leaving files beside it: `immutable` is safe where no write-ahead log exists."""
    alone = "" if path.with_name(path.name + "-wal").exists() else "&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"file:{quote(str(path.absolute()))}?mode=ro{alone}", flags=flags)
    db.set_busy_timeout(BUSY_MS)
    return db


def _refuse_foreign(db: apsw.Connection) -> None:
    empty = not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    if db.pragma("application_id") != APPLICATION_ID and not empty:
        raise Backend("This SQLite file is not a Holdfast store; choose another path.")
    version, newest = _version(db), steps()[-1].number
    if version > newest:
        raise Backend(
            f"This file has schema {version}, newer than the {newest} this version knows; upgrade Holdfast to open it."
        )


def _apply(db: apsw.Connection, path: Path | None, todo: list[Step], newest: int) -> None:
    """Runs inside the transaction. Reads the version again, because another process may have been quicker."""
    version = _version(db)
    if version >= newest:
        return
    if version and path is not None:
        _copy(path, newest)
    for step in todo:
        if step.number > version:
            db.execute(step.sql).fetchall()
    db.execute(f"PRAGMA application_id = {APPLICATION_ID:d}").fetchall()
    db.execute(f"PRAGMA user_version = {newest:d}").fetchall()


def _copy(path: Path, newest: int) -> None:
    """Copies the file through a second connection, which does not see the uncommitted upgrade."""
    target = copy_before_upgrade(path, newest)
    log.warning(
        "upgrading the memory file to schema %d; a copy of it stays in %s until something is purged",
        newest,
        target.name,
    )
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    source, copy = apsw.Connection(str(path)), apsw.Connection(str(target))
    try:
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(4_096)
    finally:
        source.close()
        copy.close()


def _version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))
