"""Behind a pooler in transaction mode: each transaction may meet another connection, and none leaves anything there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from holdfast.storage.postgres.connections import Connections, Db, Patience, adapt, connecting
from holdfast.storage.postgres.store import PostgresStore, open_database
from tests.conformance.rows import HERE, entry_row, insert, make_spaces, seen, space_id
from tests.postgres.everything import call_everything


class AConnectionATransaction(Connections):
    """What a client sees of a pooler at its worst: never the same connection twice."""

    @contextmanager
    def lent(self) -> Iterator[Db]:
        with psycopg.connect(self.dsn, **connecting(self.dsn)) as db:
            adapt(db)
            yield db


@pytest.fixture
def behind_a_pooler(dsn: str) -> Iterator[PostgresStore]:
    store = PostgresStore(AConnectionATransaction(dsn, size=2, patience=Patience()))
    yield store
    store.close()


def test_everything_works_with_a_connection_for_each_transaction(behind_a_pooler: PostgresStore) -> None:
    call_everything(behind_a_pooler)


def test_no_role_no_setting_and_no_prepared_statement_stays_on_a_connection(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[Any] = []
    original = Connections.lent

    @contextmanager
    def watched(connections: Connections) -> Iterator[Db]:
        with original(connections) as db:
            yield db
            left.append(
                db.execute(
                    """
                    SELECT current_user = session_user, coalesce(current_setting('holdfast.space', true), ''),
                           current_setting('statement_timeout'), current_setting('lock_timeout'),
                           (SELECT count(*) FROM pg_prepared_statements),
                           (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
                    """
                ).fetchall()[0]
            )

    monkeypatch.setattr(Connections, "lent", watched)
    call_everything(store)
    assert set(left) == {(True, "", "0", "0", 0, 0)}


def test_a_job_that_raises_leaves_nothing_either(store: PostgresStore) -> None:
    make_spaces(store)

    def job(tx: Any) -> None:
        tx.entries.insert(HERE, entry_row(1))
        raise RuntimeError("undone")

    for _ in range(20):
        with pytest.raises(RuntimeError):
            store.write(job)
    insert(store, entry_row(1))
    assert store.entries.count(seen()) == 1


def test_without_a_pooler_statements_may_be_prepared(dsn: str) -> None:
    """Plans are kept for a role, a space and a partition each time anew: nothing of another space shows."""
    store = open_database(dsn, connections=1, prepared=True)
    try:
        call_everything(store)
        make_spaces(store, *SPACES)
        for number, space in enumerate(SPACES, 1):
            insert(store, *[entry_row(entry) for entry in range(1, number + 1)], space=space)
        for _ in range(4):
            assert [store.entries.count(seen(space)) for space in SPACES] == list(range(1, len(SPACES) + 1))
            assert [len(store.entries.page(seen(space), None, None, 99)) for space in SPACES] == list(
                range(1, 13)
            )
        with store._connections.lent() as db:
            assert db.execute("SELECT count(*) > 3 FROM pg_prepared_statements").fetchall() == [(True,)]
    finally:
        store.close()


SPACES = [space_id(number) for number in range(11, 23)]
