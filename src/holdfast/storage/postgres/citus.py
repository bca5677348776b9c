"""Spreads the tables over a Citus cluster by space, and checks that every statement of one space goes to one
shard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

import holdfast.storage.postgres.store  # noqa: F401, whose modules list all statements
from holdfast.domain.errors import Backend
from holdfast.storage.postgres.connections import connecting, translated
from holdfast.storage.postgres.statements import BY_SPACE, STATEMENTS, Reach, Statement

EVERYWHERE = ("space_names", "names", "rules", "agents", "models")
"""Small tables read by every call: a copy on every node."""
ON_THE_COORDINATOR = ("audit", "audit_head", "receipts", "proposals", "versions")
"""The one chain, and rows of principals."""

Db = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Spread:
    tables: dict[str, str]
    """The location of the rows of each table."""
    not_routed: list[str]
    """Statements of one space that Citus does not send to one shard. They work, but load the coordinator."""


def distribute(dsn: str) -> Spread:
    """Distributes tables by space, so that a transaction in one space stays on one node. Tables that are distributed
    stay as they are. Refuses when not even a lookup in a table goes to one shard."""
    try:
        with psycopg.connect(dsn, **connecting(dsn)) as db:
            _require_citus(db)
            for table in BY_SPACE:
                _unless_there(
                    db,
                    table,
                    "SELECT create_distributed_table({table}, 'space_id', colocate_with => {with_})",
                )
            for table in EVERYWHERE:
                _unless_there(db, table, "SELECT create_reference_table({table})")
            _check_tables(db)
            not_routed = [
                statement.name
                for statement in STATEMENTS.values()
                if statement.reach is Reach.SPACE and not _goes_to_one_shard(db, with_samples(statement))
            ]
    except psycopg.Error as error:
        raise translated(error) from error
    tables = {
        **dict.fromkeys(BY_SPACE, "by space"),
        **dict.fromkeys(EVERYWHERE, "everywhere"),
        **dict.fromkeys(ON_THE_COORDINATOR, "on the coordinator"),
    }
    return Spread(tables, not_routed)


def _require_citus(db: Db) -> None:
    if not db.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchall():
        raise Backend(
            "This database has no Citus extension. Run `CREATE EXTENSION citus` on a Citus cluster, or stay with plain "
            "PostgreSQL, where the same tables are partitioned by space."
        )


def _unless_there(db: Db, table: str, call: str) -> None:
    name = f"holdfast.{table}"
    if db.execute("SELECT 1 FROM pg_dist_partition WHERE logicalrelid = %s::regclass", (name,)).fetchall():
        return
    with_ = "default" if table == BY_SPACE[0] else f"holdfast.{BY_SPACE[0]}"
    db.execute(sql.SQL(call).format(table=sql.Literal(name), with_=sql.Literal(with_)))


def _check_tables(db: Db) -> None:
    for table in BY_SPACE:
        if not _goes_to_one_shard(db, f"SELECT * FROM holdfast.{table} WHERE space_id = {_SPACE}".encode()):
            raise Backend(
                f"A statement on `{table}` that names one space does not go to one shard; check the cluster."
            )


def _goes_to_one_shard(db: Db, statement: bytes) -> bool:
    """Returns True for a plan with one task, which is one shard."""
    tasks = _TASKS.findall(_plan(db, statement))
    return bool(tasks) and set(tasks) == {"1"}


def _plan(db: Db, statement: bytes) -> str:
    return "\n".join(line for (line,) in db.execute(b"EXPLAIN " + statement).fetchall())


_TASKS = re.compile(r"Task Count: (\d+)")
_SPACE = f"'{UUID(int=1 << 96)}'"
_BOUND = re.compile(rb"%\((?P<name>\w+)\)[sb](?P<cast>::\w+(\[\])?)?")


def with_samples(statement: Statement) -> bytes:
    """The statement with a value for each of its parameters, so that it can be explained."""
    return _BOUND.sub(_sample, statement.sql).replace(b"%%", b"%")


def _sample(found: re.Match[bytes]) -> bytes:
    """A sample value for a parameter; one without a cast takes 1."""
    cast = found["cast"] or b""
    if found["name"] == b"space":
        return _SPACE.encode() + cast
    if cast == b"::halfvec":
        return b"NULL" + cast
    return (b"'{1}'" if cast.endswith(b"[]") else b"'1'") + cast
