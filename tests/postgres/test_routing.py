"""Every registered statement, explained by PostgreSQL with the values it was run with: one partition, or a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.storage.postgres import connections
from holdfast.storage.postgres.connections import ENTER, Db, adapt, scope_of
from holdfast.storage.postgres.statements import (
    BY_PRINCIPAL,
    BY_SPACE,
    PARTITIONED,
    STATEMENTS,
    WHOLE,
    Reach,
    Statement,
    Values,
)
from holdfast.storage.postgres.store import PostgresStore
from tests.conformance.rows import HERE
from tests.postgres.everything import call_everything

PARTITION = re.compile(rf"\b({'|'.join(PARTITIONED)})_(\d\d)\b")
Ran = dict[str, tuple[Statement, Values]]


@pytest.fixture
def ran(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The values each statement was last run with; each enters a space or takes a role, so all are seen there."""
    noted: Ran = {}

    def note(statement: Statement, values: Values) -> connections.TransactionScope:
        noted[statement.name] = statement, values
        return scope_of(statement, values)

    monkeypatch.setattr(connections, "scope_of", note)
    call_everything(store)
    return noted


@pytest.fixture
def db(dsn: str) -> Iterator[Db]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        adapt(opened)
        yield opened


def explained(db: Db, store: PostgresStore, statement: Statement, values: Values) -> str:
    with db.transaction(force_rollback=True):
        db.execute(ENTER, store._connections.settings_of(scope_of(statement, values)))
        rows = db.execute(b"EXPLAIN (VERBOSE) " + statement.sql, values).fetchall()
    return "\n".join(line for (line,) in rows)


def partitions(plan: str) -> dict[str, set[str]]:
    touched: dict[str, set[str]] = {}
    for table, part in PARTITION.findall(plan):
        touched.setdefault(table, set()).add(part)
    return touched


def test_every_statement_is_run_here(ran: Ran) -> None:
    assert sorted(set(STATEMENTS) - set(ran)) == []


def test_a_statement_of_a_space_touches_one_partition_of_every_table(
    ran: Ran, db: Db, store: PostgresStore
) -> None:
    touched = {
        name: partitions(explained(db, store, statement, values))
        for name, (statement, values) in ran.items()
        if statement.reach is Reach.SPACE
    }
    assert {
        name for name, tables in touched.items() if any(len(parts) > 1 for parts in tables.values())
    } == set()


def test_statements_of_a_space_do_touch_partitions(ran: Ran, db: Db, store: PostgresStore) -> None:
    """So that the test above cannot pass because a plan names none; an INSERT finds its partition while it runs."""
    none = {
        name
        for name, (statement, values) in ran.items()
        if statement.reach is Reach.SPACE
        and re.search(rf"(FROM|JOIN|UPDATE) holdfast\.({'|'.join(PARTITIONED)})\b", statement.sql.decode())
        and not partitions(explained(db, store, statement, values))
    }
    assert none == set()


def test_the_word_index_is_read_in_one_partition_through_its_index(db: Db) -> None:
    """`terms.places` is a function: what it runs is explained here, with the rights it runs with."""
    (body,) = db.execute("SELECT prosrc FROM pg_proc WHERE oid = 'holdfast.places'::regproc").fetchall()[0]
    with db.transaction(force_rollback=True):
        db.execute(MANY_TERMS, {"space": HERE})
        db.execute("ANALYZE holdfast.terms")
        db.execute("SELECT set_config('role', 'holdfast_store', true)")
        db.execute("SELECT set_config('holdfast.space', %s, true)", (str(HERE),))
        query = body.replace("unnest(asked)", "unnest(%(asked)s::bigint[])")
        rows = db.execute(f"EXPLAIN {query}".encode(), {"asked": [1, 2]}).fetchall()
    plan = "\n".join(line for (line,) in rows)
    assert re.search(r"Bitmap Index Scan on terms_\d\d_terms_idx", plan)
    assert "Subplans Removed: 15" in plan or len(partitions(plan)["terms"]) == 1


MANY_TERMS = """
INSERT INTO holdfast.terms (space_id, number, tags_from, key_from, body_from, terms)
SELECT %(space)s, number, 0, 0, 0,
       ARRAY(SELECT (number * 7919 + nth * 104729) %% 5000 FROM generate_series(1, 20) AS nth)
  FROM generate_series(1, 5000) AS number
"""


def test_what_names_no_space_says_why() -> None:
    assert [s.name for s in STATEMENTS.values() if (s.reach is Reach.SPACE) == bool(s.reason)] == []


def test_what_reaches_all_spaces_is_this_list() -> None:
    """A new one must be argued for in its `because`, and then be named here."""
    assert {s.name for s in STATEMENTS.values() if s.reach is Reach.STORE} == {
        "copies.spaces",
        "derived.behind",
        "derived.count_behind",
        "derived.drop_model",
        "derived.drop_model, progress",
        "entries.expired",
        "entries.kept_elsewhere",
        "entries.trashed_before",
        "grants.delete_expired",
        "grants.to",
        "keys.most_used",
        "keys.not_under",
        "members.lists_with",
        "spaces.all_after",
        "spaces.by_name",
        "spaces.totals",
        "spaces.owned_by",
    }


def test_what_touches_no_space_reads_no_table_kept_by_space() -> None:
    by_space = re.compile(rf"holdfast\.({'|'.join(BY_SPACE)})\b")
    assert [
        s.name for s in STATEMENTS.values() if s.reach is Reach.SHARED and by_space.search(s.sql.decode())
    ] == []


def test_every_table_that_names_a_space_is_partitioned_by_it_or_says_why_not(db: Db) -> None:
    rows = db.execute("""
        SELECT pg_class.relname, pg_get_partkeydef(pg_class.oid)
          FROM pg_class
          JOIN pg_attribute ON attrelid = pg_class.oid
         WHERE relnamespace = 'holdfast'::regnamespace
           AND relkind IN ('r', 'p')
           AND NOT relispartition
           AND attname = 'space_id'
    """).fetchall()
    assert {table for table, by in rows if by == "HASH (space_id)"} == set(PARTITIONED)
    assert {table for table, by in rows if by is None} == {*WHOLE, *BY_PRINCIPAL}
    assert {*PARTITIONED, *WHOLE} == set(BY_SPACE)


def test_the_space_comes_first_in_every_key_of_a_table_kept_by_space(db: Db) -> None:
    rows = db.execute(
        """
        SELECT indrelid::regclass::text, attname
          FROM pg_index
          JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
         WHERE indisunique
           AND indrelid = ANY (%s::regclass[])
        """,
        ([f"holdfast.{table}" for table in BY_SPACE],),
    ).fetchall()
    assert {table for table, _ in rows} == {f"holdfast.{table}" for table in BY_SPACE}
    assert {first for _, first in rows} == {"space_id"}
