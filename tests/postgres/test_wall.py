"""Row-level security: with the application's filter taken away, PostgreSQL alone still shows one space."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from psycopg import errors, sql

from holdfast.contracts.storage import Transaction
from holdfast.storage.postgres import entries
from holdfast.storage.postgres.connections import Db
from holdfast.storage.postgres.statements import BY_SPACE
from holdfast.storage.postgres.store import PostgresStore, open_database
from holdfast.storage.postgres.word_index import term_number
from tests.conformance.rows import (
    HERE,
    NOW,
    THERE,
    derived_row,
    entry_row,
    grant_row,
    insert,
    key_row,
    label,
    make_spaces,
    member_row,
    seen,
    space_row,
    superseded,
    words,
)
from tests.postgres.databases import empty_database
from tests.postgres.everything import call_everything


@pytest.fixture(autouse=True)
def rows_in_both_spaces(store: PostgresStore) -> None:
    def job(tx: Transaction) -> None:
        for space in (HERE, THERE):
            tx.spaces.insert(space_row(space))
            tx.keys.insert(key_row(space))
            tx.entries.insert(space, entry_row(1, labels=label("red"), length=1))
            tx.entries.add_revision(space, superseded(entry_row(1)))
            tx.terms.put(space, 1, words(f"both only{space.int >> 96}"), replaces=False)
            tx.derived.put(space, derived_row(1))
            tx.derived.advance(1, space, 1)
            tx.grants.put(grant_row(space=space))
            tx.members.replace(space, [member_row()])

    store.write(job)
    for space in (HERE, THERE):
        assert store.leases.take(space, "settle", "worker", NOW, NOW + 1)


@contextmanager
def entered(dsn: str, space: UUID | None, role: str = "holdfast_app") -> Iterator[Db]:
    """A transaction as the store begins one, for statements that the store would never run."""
    with psycopg.connect(dsn, autocommit=True) as db, db.transaction(force_rollback=True):
        db.execute("SELECT set_config('role', %s, true)", (role,))
        db.execute("SELECT set_config('holdfast.space', %s, true)", (str(space or ""),))
        yield db


def spaces_in(db: Db, table: str) -> set[UUID]:
    query = sql.SQL("SELECT space_id FROM holdfast.{}").format(sql.Identifier(table))
    return {space for (space,) in db.execute(query).fetchall()}


@pytest.mark.parametrize("table", BY_SPACE)
class TestATableKeptBySpace:
    def test_shows_without_any_filter_only_the_entered_space(self, dsn: str, table: str) -> None:
        with entered(dsn, HERE) as db:
            assert spaces_in(db, table) == {HERE}
        with entered(dsn, THERE) as db:
            assert spaces_in(db, table) == {THERE}

    def test_shows_nothing_before_a_space_is_entered(self, dsn: str, table: str) -> None:
        with entered(dsn, None) as db:
            assert spaces_in(db, table) == set()

    def test_shows_all_only_to_the_role_of_listed_statements(self, dsn: str, table: str) -> None:
        with entered(dsn, None, "holdfast_store") as db:
            assert spaces_in(db, table) == {HERE, THERE}

    def test_loses_without_any_filter_only_rows_of_the_entered_space(self, dsn: str, table: str) -> None:
        with entered(dsn, HERE) as db:
            db.execute(sql.SQL("DELETE FROM holdfast.{}").format(sql.Identifier(table)))
            db.execute("SELECT set_config('role', 'holdfast_store', true)")
            assert spaces_in(db, table) == {THERE}

    def test_takes_no_row_of_another_space(self, dsn: str, table: str) -> None:
        move = sql.SQL("UPDATE holdfast.{} SET space_id = {}").format(
            sql.Identifier(table), sql.Literal(str(UUID(int=9 << 96)))
        )
        with (
            entered(dsn, HERE) as db,
            pytest.raises(errors.InsufficientPrivilege, match="row-level security"),
        ):
            db.execute(move)


def test_an_entry_cannot_be_put_into_another_space(dsn: str) -> None:
    copy = "INSERT INTO holdfast.labels SELECT %s, label, seq, number FROM holdfast.labels"
    with entered(dsn, HERE) as db, pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        db.execute(copy, (THERE,))


def test_a_statement_that_lost_its_filter_counts_the_entered_space_alone(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(store, entry_row(2), space=THERE)
    unfiltered = entries._COUNT.sql.replace(b"entries.space_id = %(space)s", b"%(space)s IS NOT NULL")
    assert unfiltered != entries._COUNT.sql
    monkeypatch.setattr(entries, "_COUNT", entries._COUNT._replace(sql=unfiltered))
    assert (store.entries.count(seen(HERE)), store.entries.count(seen(THERE))) == (1, 2)


def test_the_word_index_answers_for_the_entered_space_whatever_is_asked(dsn: str) -> None:
    asked = [term_number(term) for term in ("both", "only1", "only2")]
    with entered(dsn, HERE) as db:
        found = db.execute("SELECT term FROM holdfast.places(%s::bigint[])", (asked,)).fetchall()
    assert sorted(found) == sorted([(asked[0],), (asked[1],)])


def test_a_partition_cannot_be_read_past_its_table(dsn: str) -> None:
    for role in ("holdfast_app", "holdfast_store"):
        for table in ("entries", "revisions", "labels", "terms", "derived"):
            with entered(dsn, HERE, role) as db, pytest.raises(errors.InsufficientPrivilege):
                db.execute(sql.SQL("SELECT * FROM holdfast.{}").format(sql.Identifier(f"{table}_00")))


def test_the_roles_cannot_log_in_own_nothing_and_pass_no_policy(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        roles = db.execute(
            """
            SELECT rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole
              FROM pg_roles
             WHERE rolname IN ('holdfast_app', 'holdfast_store')
             ORDER BY rolname
            """
        ).fetchall()
        owned = db.execute(
            "SELECT relname FROM pg_class WHERE relowner IN ('holdfast_app'::regrole, 'holdfast_store'::regrole)"
        ).fetchall()
    assert roles == [("holdfast_app", *[False] * 4), ("holdfast_store", *[False] * 4)]
    assert owned == []


def test_every_table_whose_key_begins_with_a_space_is_behind_the_wall(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        rows = db.execute(
            """
            SELECT relname, relrowsecurity AND relforcerowsecurity
              FROM pg_class
              JOIN pg_index ON indrelid = pg_class.oid AND indisprimary
              JOIN pg_attribute ON attrelid = pg_class.oid AND attnum = indkey[0]
             WHERE relnamespace = 'holdfast'::regnamespace AND attname = 'space_id' AND NOT relispartition
            """
        ).fetchall()
    assert dict(rows) == dict.fromkeys(BY_SPACE, True)


class TestALoginThatIsNoSuperuser:
    @pytest.fixture
    def login(self, dsn: str) -> Iterator[str]:
        with psycopg.connect(dsn, autocommit=True) as db:
            name = f"holdfast_test_login_{os.getpid()}"
            role = sql.Identifier(name)
            db.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(role))
            db.execute(
                sql.SQL("GRANT holdfast_app, holdfast_store TO {} WITH INHERIT FALSE, SET TRUE").format(role)
            )
            with empty_database(name) as owned:
                yield owned
            db.execute(sql.SQL("DROP ROLE {}").format(role))

    def test_sets_up_and_uses_the_store(self, login: str) -> None:
        store = open_database(login)
        try:
            call_everything(store)
        finally:
            store.close()

    def test_sees_nothing_without_a_role_although_the_tables_are_its_own(self, login: str) -> None:
        store = open_database(login)
        try:
            make_spaces(store)
            insert(store, entry_row(1))
        finally:
            store.close()
        with psycopg.connect(login) as db:
            assert [spaces_in(db, table) for table in BY_SPACE] == [set()] * len(BY_SPACE)
            assert [spaces_in(db, f"entries_{part:02d}") for part in range(16)] == [set()] * 16
