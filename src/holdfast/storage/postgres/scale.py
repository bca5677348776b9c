"""Spreads the tables over a Citus cluster by space, and looks whether a statement of one space goes to one shard."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from holdfast.domain.errors import Backend
from holdfast.storage.postgres.connections import connecting
from holdfast.storage.postgres.errors import translated

BY_SPACE = (
    *("spaces", "data_keys", "entries", "revisions", "labels", "terms", "derived", "progress", "grants"),
    *("members", "leases"),
)
"""Distributed by `space_id` and kept together: a transaction in one space stays on one node."""
EVERYWHERE = ("space_names", "names", "rules", "models")
"""Small and read at every call: a copy on every node."""
ON_THE_COORDINATOR = ("audit", "audit_head", "receipts", "versions")
"""One chain, and what belongs to principals."""

Db = psycopg.Connection[tuple[Any, ...]]


def distribute(dsn: str) -> dict[str, str]:
    """Says of every table where its rows lie afterwards. What is distributed already stays as it is."""
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
            _check_routing(db)
    except psycopg.Error as error:
        raise translated(error) from error
    return {
        **dict.fromkeys(BY_SPACE, "by space"),
        **dict.fromkeys(EVERYWHERE, "everywhere"),
        **dict.fromkeys(ON_THE_COORDINATOR, "on the coordinator"),
    }


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


def _check_routing(db: Db) -> None:
    """One task is one shard."""
    for table in BY_SPACE:
        query = sql.SQL("EXPLAIN SELECT * FROM holdfast.{table} WHERE space_id = {space}").format(
            table=sql.Identifier(table), space=sql.Literal(str(UUID(int=1 << 96)))
        )
        plan = "\n".join(line for (line,) in db.execute(query).fetchall())
        if "Task Count: 1" not in plan:
            raise Backend(
                f"A statement on `{table}` that names one space does not go to one shard; check the cluster."
            )
