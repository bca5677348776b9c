"""A server that is killed, gone, slow or crowded: an answer within bounded time, and never half a write."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import psycopg
import pytest

from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Backend, Conflict, StorageFull, Unavailable
from holdfast.storage.postgres import connections, writer
from holdfast.storage.postgres.connections import OnConnection, Patience
from holdfast.storage.postgres.store import PostgresStore, open_database
from tests.conformance.postgres_backend import server
from tests.conformance.rows import HERE, audit_row, entry_row, insert, label, make_spaces, seen, words

WRITES = 200
CALLERS = 16
QUICK = Patience(pool_seconds=1.0, statement_ms=500, lock_ms=500)


def remembering(number: int) -> Callable[[Transaction], int]:
    """As remembering does: a row in five tables and a line of the log."""

    def job(tx: Transaction) -> int:
        counts = tx.spaces.advance(HERE, entries=1, indexed=1, length=1)
        assert counts is not None
        tx.entries.insert(HERE, entry_row(number, seq=counts.seq, length=1, labels=label("red")))
        tx.terms.put(HERE, number, words("t1"), replaces=False)
        tx.audit.append(audit_row(link=tx.audit.head().link[-8:] + b"%d" % number))
        return number

    return job


class TestAServerThatIsKilled:
    @pytest.fixture
    def alone(self) -> Any:
        return server("killed")

    @pytest.fixture
    def store(self, alone: Any) -> Iterator[PostgresStore]:
        opened = open_database(alone.get_uri(), patience=Patience(pool_seconds=3.0))
        yield opened
        opened.close()

    def test_loses_nothing_acknowledged_and_keeps_nothing_in_half(
        self, alone: Any, store: PostgresStore
    ) -> None:
        make_spaces(store)
        acknowledged: list[int] = []
        refused: list[int] = []
        due = Event()

        def call(number: int) -> None:
            try:
                acknowledged.append(store.write(remembering(number)))
            except Unavailable:
                refused.append(number)
            if len(acknowledged) >= WRITES // 4:
                due.set()

        with ThreadPoolExecutor(CALLERS + 1) as callers:
            killing = callers.submit(self.kill_and_start_again, alone, due)
            list(callers.map(call, range(1, WRITES + 1)))
            killing.result(60)
        assert sorted(acknowledged + refused) == list(range(1, WRITES + 1))
        there = {row.number for row in self.asked_until_answered(store)}
        assert set(acknowledged) <= there <= set(range(1, WRITES + 1))
        self.assert_whole(store, there)
        assert store.write(remembering(WRITES + 1)) == WRITES + 1

    def kill_and_start_again(self, alone: Any, due: Event) -> None:
        """In the middle of the writes: every process of the server goes at once, and nothing is flushed first."""
        assert due.wait(60)
        os.kill(alone.get_pid(), signal.SIGQUIT)
        deadline = time.monotonic() + 60
        while alone.get_postmaster_info().is_running() and time.monotonic() < deadline:
            time.sleep(0.02)
        alone.ensure_postgres_running()

    def asked_until_answered(self, store: PostgresStore) -> Any:
        """The pool is never told that the server is back."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return store.entries.page(seen(), None, None, 1_000)
            except Unavailable:
                if time.monotonic() > deadline:
                    raise

    def assert_whole(self, store: PostgresStore, there: set[int]) -> None:
        counts = store.spaces.counts(HERE)
        assert counts is not None
        assert counts[:4] == (len(there),) * 4
        assert set(store.outlines.labelled(HERE, [label("red")])) == there
        places = store.terms.places(HERE, ["t1"])[0]
        assert len(places.split(",")) == len(there)
        assert len(store.audit.after(0, 1_000)) == len(there)


class TestAServerThatIsGone:
    def test_is_unavailable_within_bounded_time(self, dsn: str) -> None:
        store = open_database(dsn, patience=QUICK, connections=2)
        try:
            make_spaces(store)
            store._connections._pool.wait(60)  # none is still on its way to the server that is there
            store._connections.dsn = "postgresql://nobody@127.0.0.1:1/none"
            store._connections._pool.conninfo = store._connections.dsn
            _end_connections(dsn)
            calls: list[Callable[[], object]] = [
                lambda: store.entries.count(seen()),
                lambda: store.write(remembering(1)),
            ]
            for call in calls:
                begun = time.monotonic()
                with pytest.raises(Unavailable):
                    call()
                assert time.monotonic() - begun < 20
        finally:
            store.close()

    def test_ended_connections_are_replaced_without_a_word(self, dsn: str, store: PostgresStore) -> None:
        make_spaces(store)
        for turn in range(1, 4):
            _end_connections(dsn)
            assert store.write(remembering(turn)) == turn
            _end_connections(dsn)
            assert store.entries.count(seen()) == turn


class TestACommit:
    def test_that_is_cut_off_is_not_tried_again(
        self, dsn: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_spaces(store)
        ran: list[int] = []
        original = OnConnection.run_last

        def cut_off(tx: OnConnection, batches: Any) -> None:
            ran.append(1)
            _end_connections(dsn)
            original(tx, batches)

        monkeypatch.setattr(OnConnection, "run_last", cut_off)
        with pytest.raises(Unavailable, match="whole or not at all"):
            store.write(remembering(1))
        monkeypatch.undo()
        assert ran == [1]
        assert store.entries.count(seen()) == 0

    def test_that_was_done_before_the_answer_was_lost_is_not_done_twice(
        self, dsn: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_spaces(store)
        original = OnConnection.run_last

        def answer_lost(tx: OnConnection, batches: Any) -> None:
            original(tx, batches)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(OnConnection, "run_last", answer_lost)
        with pytest.raises(Unavailable, match="whole or not at all"):
            store.write(remembering(1))
        monkeypatch.undo()
        assert store.entries.count(seen()) == 1

    def test_does_not_happen_when_a_statement_sent_along_with_it_fails(self, store: PostgresStore) -> None:
        make_spaces(store)
        insert(store, entry_row(7))

        def job(tx: Transaction) -> None:
            remembering(1)(tx)
            tx.audit.append(audit_row(revision=1 << 80))

        with pytest.raises(Backend, match="NumericValueOutOfRange"):
            store.write(job)
        assert store.entries.by_number(seen(), 1) is None
        assert (store.audit.after(0, 1), store.terms.places(HERE, ["t1"])) == ([], [""])
        assert store.write(remembering(1)) == 1

    def test_never_follows_a_statement_that_failed(self, store: PostgresStore) -> None:
        """A job that swallows the error of the driver would have PostgreSQL answer COMMIT with a rollback."""
        make_spaces(store)

        with pytest.raises(Backend):
            store.write(_swallowing)
        assert store.entries.count(seen()) == 0


def _swallowing(tx: Any) -> str:
    tx.entries.insert(HERE, entry_row(1))
    try:
        tx.entries.insert(HERE, entry_row(2, seq=1 << 80))
    except psycopg.Error:
        return "went on"
    return "accepted"


class TestACrowd:
    def test_of_writers_that_hold_every_connection_makes_the_next_one_unavailable(self, dsn: str) -> None:
        store = open_database(dsn, patience=QUICK, connections=3)
        held, go = Event(), Event()

        def hold(tx: Transaction) -> None:
            held.set()
            assert go.wait(60)

        try:
            make_spaces(store)
            with ThreadPoolExecutor(1) as thread:
                holding = thread.submit(store.write, hold)
                assert held.wait(60)
                begun = time.monotonic()
                with pytest.raises(Unavailable):
                    store.write(remembering(1))
                assert time.monotonic() - begun < 10
                assert store.entries.count(seen()) == 0, "readers keep connections of their own"
                go.set()
                holding.result(60)
            assert store.write(remembering(1)) == 1
        finally:
            store.close()

    def test_that_takes_all_of_the_pool_makes_a_reader_unavailable(self, dsn: str) -> None:
        store = open_database(dsn, patience=QUICK, connections=2)
        try:
            with store._connections.lent(), store._connections.lent():
                begun = time.monotonic()
                with pytest.raises(Unavailable, match="busy"):
                    store.entries.count(seen())
                assert time.monotonic() - begun < 10
            assert store.entries.count(seen()) == 0
        finally:
            store.close()

    def test_in_one_space_waits_no_longer_than_the_lock_timeout(self, dsn: str) -> None:
        store = open_database(dsn, patience=QUICK, connections=6)
        held, go = Event(), Event()

        def hold(tx: Transaction) -> None:
            tx.spaces.recount(HERE, entries=0, indexed=0, length=0)
            held.set()
            assert go.wait(60)

        try:
            make_spaces(store)
            with ThreadPoolExecutor(1) as thread:
                holding = thread.submit(store.write, hold)
                assert held.wait(60)
                with pytest.raises(Unavailable, match="too long"):
                    store.write(remembering(1))
                go.set()
                holding.result(60)
            assert store.write(remembering(1)) == 1
        finally:
            store.close()


def test_a_statement_that_takes_too_long_is_stopped(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_database(dsn, patience=QUICK)
    try:
        make_spaces(store)
        insert(store, entry_row(1))
        from holdfast.storage.postgres import entries

        slow = entries._COUNT._replace(
            sql=b"SELECT pg_sleep(30) FROM holdfast.entries WHERE space_id = %(space)s"
        )
        monkeypatch.setattr(entries, "_COUNT", slow)
        begun = time.monotonic()
        with pytest.raises(Unavailable, match="too long"):
            store.entries.count(seen())
        with pytest.raises(Unavailable, match="too long"):
            store.write(lambda tx: tx.entries.count(seen()))
        assert time.monotonic() - begun < 20
        assert store.entries.by_number(seen(), 1) is not None
    finally:
        store.close()


def test_a_job_that_keeps_failing_to_serialise_is_unavailable_in_the_end(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LONGEST_PAUSE_SECONDS", 0.001)
    ran = []

    def job(tx: Transaction) -> None:
        ran.append(1)
        raise psycopg.errors.SerializationFailure

    with pytest.raises(Unavailable):
        store.write(job)
    assert len(ran) == writer.TRIES


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (psycopg.errors.DiskFull(), StorageFull),
        (psycopg.errors.UniqueViolation(), Conflict),
        (psycopg.errors.NotNullViolation(), Backend),
        (psycopg.errors.QueryCanceled(), Unavailable),
        (psycopg.errors.LockNotAvailable(), Unavailable),
        (psycopg.errors.AdminShutdown(), Unavailable),
        (psycopg.errors.TooManyConnections(), Unavailable),
        (psycopg.OperationalError(), Unavailable),
        (psycopg.errors.SyntaxError(), Backend),
        (psycopg.errors.InsufficientPrivilege(), Backend),
    ],
)
def test_errors_of_the_driver_mean_one_of_ours(said: psycopg.Error, meant: type[Exception]) -> None:
    assert type(connections.translated(said)) is meant


def test_what_was_purged_is_vacuumed_in_the_background(
    dsn: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "VACUUM_SECONDS", 0.01)
    make_spaces(store)
    insert(store, entry_row(1))

    def purge(tx: Transaction) -> None:
        tx.entries.delete(HERE, [1])
        tx.erase()

    before = _vacuums(dsn)
    store.write(purge)
    deadline = time.monotonic() + 60
    while store.unclean and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not store.unclean
    assert _vacuums(dsn) > before


def _vacuums(dsn: str) -> int:
    with psycopg.connect(dsn) as db:
        rows = db.execute(
            """
            SELECT sum(vacuum_count)
              FROM pg_stat_all_tables
             WHERE schemaname = 'holdfast' AND relname LIKE 'entries\\_%'
            """
        ).fetchall()
    return int(rows[0][0])


def _end_connections(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(
            """
            SELECT pg_terminate_backend(pid, 5000)
              FROM pg_stat_activity
             WHERE application_name = 'holdfast' AND pid <> pg_backend_pid()
            """
        )
