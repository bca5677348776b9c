"""Migrations: once however many start together, and nothing of what is not ours is touched."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.domain.errors import Backend, Locked, Unavailable
from holdfast.storage.migrations import Step
from holdfast.storage.postgres.migrate import look, migrate, steps
from holdfast.storage.postgres.store import open_database
from tests.conformance.rows import key_row
from tests.postgres.databases import catalogue, empty_database

STORE_KEY = key_row(STORE, 1)
NODES = 6


@pytest.fixture
def fresh() -> Iterator[str]:
    with empty_database() as dsn:
        yield dsn


def next_step(sql: str, number: int = 99, name: str = "later") -> Step:
    return Step(number, name, f"{sql}; INSERT INTO holdfast.versions VALUES ({number}, '{name}')")


def versions(dsn: str) -> list[tuple[int, str]]:
    with psycopg.connect(dsn) as db:
        return db.execute("SELECT number, name FROM holdfast.versions ORDER BY number").fetchall()


def test_many_nodes_that_start_together_make_one_schema(fresh: str) -> None:
    together = Barrier(NODES)

    def start(_: int) -> None:
        together.wait(60)
        migrate(fresh)

    with ThreadPoolExecutor(NODES) as nodes:
        list(nodes.map(start, range(NODES)))
    assert versions(fresh) == [(step.number, step.name) for step in steps()]


def test_an_administrator_may_run_the_migrations_in_place_of_the_first_start(fresh: str) -> None:
    migrate(fresh)
    with empty_database() as other:
        with psycopg.connect(other) as db:
            for step in steps():
                db.execute(step.sql.encode())
        open_database(other).close()
        assert catalogue(other) == catalogue(fresh)


def test_an_older_schema_is_brought_to_today_s_step_by_step(fresh: str) -> None:
    migrate(fresh)
    later = next_step("CREATE TABLE holdfast.later (a integer)")
    migrate(fresh, todo=[*steps(), later])
    migrate(fresh, todo=[*steps(), later])
    assert versions(fresh) == [(step.number, step.name) for step in (*steps(), later)]


def test_a_look_says_which_schema_a_database_has_and_changes_nothing(fresh: str) -> None:
    assert look(fresh) == (0, [])
    migrate(fresh)
    before = catalogue(fresh)
    assert look(fresh) == (steps()[-1].number, [])
    assert catalogue(fresh) == before


def test_a_step_that_fails_leaves_the_schema_as_it_was(fresh: str) -> None:
    migrate(fresh)
    before = catalogue(fresh)
    broken = Step(99, "broken", "CREATE TABLE holdfast.half (a integer); SELECT 1 / 0")
    with pytest.raises(Backend):
        migrate(fresh, todo=[*steps(), broken])
    assert catalogue(fresh) == before


def test_a_schema_from_the_future_is_refused_and_left_alone(fresh: str) -> None:
    migrate(fresh, todo=[*steps(), next_step("CREATE TABLE holdfast.future (a integer)")])
    before = catalogue(fresh)
    with pytest.raises(Backend, match="schema 99, newer than"):
        open_database(fresh)
    assert catalogue(fresh) == before


def test_a_schema_that_is_not_ours_is_refused_and_left_alone(fresh: str) -> None:
    with psycopg.connect(fresh) as db:
        db.execute("CREATE SCHEMA holdfast CREATE TABLE holdfast.theirs (a integer)")
    with pytest.raises(Backend, match="not a Holdfast store"):
        open_database(fresh)
    with psycopg.connect(fresh) as db:
        assert db.execute(
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace"
        ).fetchall() == [(1,)]


def test_the_store_s_own_keys_are_shown_before_anything_is_changed(fresh: str) -> None:
    store = open_database(fresh, check=lambda rows: None)
    store.write(lambda tx: tx.keys.insert(STORE_KEY))
    store.close()
    seen: list[KeyRow] = []

    def refuse(rows: list[KeyRow]) -> None:
        seen.extend(rows)
        raise Locked

    later = next_step("CREATE TABLE holdfast.later (a integer)")
    with pytest.raises(Locked):
        migrate(fresh, check=refuse, todo=[*steps(), later])
    assert seen == [STORE_KEY]
    assert 99 not in dict(versions(fresh))


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        open_database("postgresql://nobody@127.0.0.1:1/none")
