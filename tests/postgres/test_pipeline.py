"""What is sent to the server in one go and answered later: the same rows as a cursor gives, and no connection lost."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest

from holdfast.contracts.rows import SpaceState
from holdfast.domain.errors import Backend, Unavailable
from holdfast.storage.postgres import entries
from holdfast.storage.postgres.connections import Patience
from holdfast.storage.postgres.pipeline import PendingStatements, numbered
from holdfast.storage.postgres.store import PostgresStore, open_database
from tests.conformance.rows import HERE, NOWHERE, THERE, entry_row, insert, make_spaces, seen
from tests.postgres.test_faults import _end_connections

HURRIED = Patience(pool_seconds=2.0)


def test_names_become_places_and_a_name_said_twice_is_one_of_them() -> None:
    found = numbered(b"SELECT %(b)s, %(a)b::bytea[], %(b)s, 7 %% 2")
    assert (found.sql, found.names) == (b"SELECT $1, $2::bytea[], $1, 7 % 2", ("b", "a"))


class TestPendingStatements:
    @pytest.fixture
    def db(self, dsn: str) -> Any:
        with psycopg.connect(dsn, autocommit=True) as opened:
            yield opened

    def test_gives_the_rows_of_every_statement(self, db: Any) -> None:
        pending = PendingStatements(
            db, [(b"SELECT %(n)s::int + 1", {"n": 1}), (b"SELECT 'a', NULL WHERE %(n)s = 2", {"n": 2})]
        )
        assert pending.rows() == [[(2,)], [("a", None)]]
        assert db.execute("SELECT 1").fetchone() == (1,)

    def test_says_which_statement_the_server_refused_and_undoes_the_others(self, db: Any) -> None:
        db.execute("CREATE TEMP TABLE kept (n int)")
        pending = PendingStatements(
            db, [(b"INSERT INTO kept VALUES (1) RETURNING n", {}), (b"SELECT 1 / %(n)s::int", {"n": 0})]
        )
        with pytest.raises(psycopg.errors.DivisionByZero):
            pending.rows()
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (0,)

    def test_leaves_the_connection_as_it_was_when_a_value_cannot_be_sent(self, db: Any) -> None:
        with pytest.raises(psycopg.DataError):
            PendingStatements(db, [(b"SELECT 1", {}), (b"SELECT %(text)s::text", {"text": "a\0b"})])
        assert db.execute("SELECT 1").fetchone() == (1,)

    def test_says_why_the_server_went_away(self, dsn: str, db: Any) -> None:
        pending = PendingStatements(db, [(b"SELECT pg_sleep(60)", {})])
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (db.info.backend_pid,))
        with pytest.raises(psycopg.errors.AdminShutdown):
            pending.rows()
        assert db.closed

    def test_prepares_a_statement_once_and_again_for_other_types(self, db: Any) -> None:
        plans: set[bytes] = set()
        for n in (1, 2, 1 << 40):
            assert PendingStatements(db, [(b"SELECT %(n)s", {"n": n})], plans).rows() == [[(n,)]]
        prepared = db.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        assert (len(plans), prepared) == (2, (2,))


class TestAhead:
    def test_counters_come_in_the_order_they_were_asked_for(self, store: PostgresStore) -> None:
        make_spaces(store, HERE, THERE)
        insert(store, entry_row(1), space=THERE)
        store.write(lambda tx: tx.spaces.advance(THERE, entries=1, indexed=0, length=0))
        with store.ahead.of([THERE, NOWHERE, HERE]) as states:
            assert states() == [SpaceState(1, 0, 0), None, SpaceState(0, 0, 0)]

    def test_what_was_committed_before_asking_is_in_them(self, store: PostgresStore) -> None:
        make_spaces(store)
        for turn in range(1, 20):
            store.write(lambda tx: tx.spaces.advance(HERE, entries=1, indexed=0, length=0))
            with store.ahead.of([HERE]) as states:
                assert states() == [SpaceState(turn, 0, 0)]

    def test_a_lost_connection_is_no_matter(self, dsn: str, store: PostgresStore) -> None:
        make_spaces(store)
        for _ in range(3):
            _end_connections(dsn)
            with store.ahead.of([HERE]) as states:
                _end_connections(dsn)
                assert states() == [SpaceState(0, 0, 0)]

    def test_whoever_raises_meanwhile_gives_the_connection_back(self, dsn: str) -> None:
        store = open_database(dsn, patience=HURRIED, connections=1)
        try:
            make_spaces(store)
            for _ in range(3):
                with pytest.raises(ZeroDivisionError), store.ahead.of([HERE]):
                    raise ZeroDivisionError
            assert store.entries.count(seen()) == 0
        finally:
            store.close()

    def test_many_who_ask_for_more_meanwhile_do_not_wait_for_each_other(self, dsn: str) -> None:
        """With one connection each and none to spare, every one of them would wait for another for ever."""
        store, callers = open_database(dsn, patience=HURRIED, connections=2), 6
        together = Barrier(callers)

        def call(_: int) -> list[SpaceState | None]:
            together.wait(60)
            for _ in range(20):
                with store.ahead.of([HERE]) as states:
                    assert store.entries.count(seen()) == 0
                    answer = states()
            return answer

        try:
            make_spaces(store)
            with ThreadPoolExecutor(callers) as threads:
                assert list(threads.map(call, range(callers))) == [[SpaceState(0, 0, 0)]] * callers
        finally:
            store.close()

    def test_a_pool_without_a_free_connection_is_unavailable_in_bounded_time(self, dsn: str) -> None:
        store = open_database(dsn, patience=HURRIED, connections=1)
        try:
            with store._connections.lent():
                begun = time.monotonic()
                with pytest.raises(Unavailable, match="busy"), store.ahead.of([HERE]):
                    pass
                assert time.monotonic() - begun < 10
        finally:
            store.close()


def test_a_statement_that_is_refused_leaves_its_connection_usable(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_database(dsn, connections=1)
    try:
        make_spaces(store)
        broken = entries._COUNT._replace(
            sql=b"SELECT nonsense FROM holdfast.entries WHERE space_id = %(space)s"
        )
        monkeypatch.setattr(entries, "_COUNT", broken)
        for _ in range(3):
            with pytest.raises(Backend):
                store.entries.count(seen())
        monkeypatch.undo()
        assert store.entries.count(seen()) == 0
    finally:
        store.close()
