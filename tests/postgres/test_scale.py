"""Spreading over a cluster: a clear answer without Citus, and the right calls with it. A real cluster is named by
HOLDFAST_TEST_POSTGRES; here its functions are stand-ins that note how they were called."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain.errors import Backend
from holdfast.storage.postgres import citus
from holdfast.storage.postgres.migrate import migrate
from holdfast.storage.postgres.statements import BY_SPACE
from tests.postgres.databases import empty_database

STAND_INS = """
CREATE TABLE pg_dist_partition (logicalrelid regclass);
CREATE TABLE called (call text);
CREATE FUNCTION create_distributed_table(named regclass, by text, colocate_with text) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO called VALUES (named || ' by ' || by || ' with ' || colocate_with);
       INSERT INTO pg_dist_partition VALUES (named) $$;
CREATE FUNCTION create_reference_table(named regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO called VALUES (named || ' everywhere'); INSERT INTO pg_dist_partition VALUES (named) $$;
"""


@pytest.fixture
def fresh() -> Iterator[str]:
    with empty_database() as dsn:
        migrate(dsn)
        yield dsn


@pytest.fixture
def with_stand_ins(fresh: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with psycopg.connect(fresh) as db:
        db.execute(STAND_INS.encode())
    monkeypatch.setattr(citus, "_require_citus", lambda db: None)
    return fresh


def called(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as db:
        return [call for (call,) in db.execute("SELECT call FROM called").fetchall()]


def test_without_citus_it_says_what_to_do(fresh: str) -> None:
    with pytest.raises(Backend, match="no Citus extension"):
        citus.distribute(fresh)


def test_tables_are_spread_by_space_together_and_small_ones_copied(
    with_stand_ins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(citus, "_plan", lambda db, statement: "Task Count: 1")
    places = citus.distribute(with_stand_ins)
    assert called(with_stand_ins)[:3] == [
        "holdfast.spaces by space_id with default",
        "holdfast.data_keys by space_id with holdfast.spaces",
        "holdfast.entries by space_id with holdfast.spaces",
    ]
    assert "holdfast.names everywhere" in called(with_stand_ins)
    assert len(called(with_stand_ins)) == len(BY_SPACE) + len(citus.EVERYWHERE)
    again = citus.distribute(with_stand_ins)
    assert again == places
    assert len(called(with_stand_ins)) == len(BY_SPACE) + len(citus.EVERYWHERE)


def test_tables_whose_look_ups_go_nowhere_in_particular_are_refused(with_stand_ins: str) -> None:
    with pytest.raises(Backend, match="does not go to one shard"):
        citus.distribute(with_stand_ins)


def test_every_statement_of_a_space_that_is_not_routed_to_one_shard_is_named(
    with_stand_ins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is explained with values, as PostgreSQL plans it; what Citus would add is a stand-in."""
    real = citus._plan

    def planned(db: citus.Db, statement: bytes) -> str:
        astray = b"SELECT count(*)" in statement and b"entries.key_id" in statement
        return real(db, statement) + f"\n  Task Count: {32 if astray else 1}"

    monkeypatch.setattr(citus, "_plan", planned)
    assert citus.distribute(with_stand_ins).not_routed == ["entries.count_locked"]


def test_every_table_has_its_place(fresh: str) -> None:
    with psycopg.connect(fresh) as db:
        tables = db.execute(
            """
            SELECT relname
              FROM pg_class
             WHERE relnamespace = 'holdfast'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            """
        ).fetchall()
    assert sorted(table for (table,) in tables) == sorted(
        [*BY_SPACE, *citus.EVERYWHERE, *citus.ON_THE_COORDINATOR]
    )
