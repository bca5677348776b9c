"""Several writers and workers at once: they take turns in a space, one key has one owner, one chain has no fork."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any
from uuid import UUID

import psycopg
import pytest

from holdfast.contracts.rows import FOLLOWING, SERVING, STORE
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.store import PostgresStore
from tests.conformance.rows import (
    ALICE,
    HERE,
    NOW,
    THERE,
    audit_row,
    blind,
    entry_row,
    insert,
    key_row,
    make_spaces,
    receipt_row,
    seen,
    space_id,
    space_row,
    superseded,
)

WRITERS = 8


def all_at_once(store: PostgresStore, *jobs: Any) -> list[Any]:
    """Each from a thread of its own; an error comes back as a result."""
    together = Barrier(len(jobs))

    def run(job: Any) -> Any:
        together.wait(60)
        try:
            return store.write(job)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs))


def test_two_writers_of_one_key_one_wins_and_the_others_are_told(store: PostgresStore) -> None:
    make_spaces(store)
    jobs = [
        lambda tx, number=number: tx.entries.insert(HERE, entry_row(number, key=blind("same")))
        for number in range(1, WRITERS + 1)
    ]
    results = all_at_once(store, *jobs)
    assert results.count(True) == 1
    assert sum(isinstance(result, Conflict) for result in results) == WRITERS - 1


def test_nobody_revises_what_another_has_revised_since_it_was_read(store: PostgresStore) -> None:
    make_spaces(store)
    insert(store, entry_row(1))

    def revise(tx: Transaction) -> int:
        old = tx.entries.by_number(seen(), 1)
        counts = tx.spaces.advance(HERE, entries=0, indexed=0, length=0)
        assert old is not None
        assert counts is not None
        tx.entries.revise(HERE, old._replace(revision=old.revision + 1, seq=counts.seq), superseded(old))
        return old.revision + 1

    assert sorted(all_at_once(store, *[revise] * WRITERS)) == list(range(2, WRITERS + 2))
    assert len(store.entries.revisions_of(HERE, 1)) == WRITERS


def test_writers_in_many_spaces_make_one_chain(store: PostgresStore) -> None:
    make_spaces(store, HERE, THERE)

    def line(tx: Transaction) -> None:
        tx.audit.append(audit_row(link=tx.audit.head().link + b"."))

    assert all_at_once(store, *[line] * WRITERS) == [None] * WRITERS
    assert [row.link for row in store.audit.after(0, 100)] == [b"." * n for n in range(1, WRITERS + 1)]


def test_one_idempotency_key_is_answered_once(store: PostgresStore) -> None:
    def once(tx: Transaction) -> bool:
        known = tx.receipts.get(ALICE, receipt_row().key)
        if known is None:
            tx.receipts.put(receipt_row())
        return known is None

    assert all_at_once(store, *[once] * WRITERS).count(True) == 1


def test_of_many_who_make_a_space_one_does_and_the_others_find_it(store: PostgresStore) -> None:
    def make(tx: Transaction, space: UUID) -> UUID:
        known = tx.spaces.by_name(blind("name"))
        if known is None:
            tx.spaces.insert(space_row(space, name=blind("name")))
        return space if known is None else known.id

    jobs = [lambda tx, n=n: make(tx, space_id(n)) for n in range(1, WRITERS + 1)]
    assert len(set(all_at_once(store, *jobs))) == 1


def test_one_model_serves_however_many_nodes_enrol_theirs(store: PostgresStore) -> None:
    def enrol(tx: Transaction, name: str) -> None:
        serves = not any(row.state == SERVING for row in tx.models.all())
        tx.models.insert(name, 384, SERVING if serves else FOLLOWING, NOW)

    all_at_once(store, *[lambda tx, n=n: enrol(tx, f"model {n}") for n in range(WRITERS)])
    assert [row.state for row in store.models.all()].count(SERVING) == 1


def test_two_jobs_that_meet_crosswise_both_succeed(store: PostgresStore) -> None:
    """Each holds one space and wants the other: PostgreSQL ends one, which is run again."""
    make_spaces(store, HERE, THERE)
    together = Barrier(2)
    met: list[Any] = []

    def crossing(tx: Transaction, first: Any, second: Any) -> None:
        tx.spaces.recount(first, entries=1, indexed=0, length=0)
        if len(met) < 2:
            met.append(first)
            together.wait(60)
        tx.spaces.recount(second, entries=1, indexed=0, length=0)

    results = all_at_once(store, lambda tx: crossing(tx, HERE, THERE), lambda tx: crossing(tx, THERE, HERE))
    assert results == [None, None]
    counts = store.spaces.counts(HERE), store.spaces.counts(THERE)
    assert [count and count.entries for count in counts] == [2, 2]


def test_no_key_is_added_under_a_master_while_it_is_rotated_away(store: PostgresStore) -> None:
    store.write(lambda tx: tx.keys.insert(key_row(STORE, 1, master=b"old")))
    looked, go = Event(), Event()

    def add(tx: Transaction) -> bool:
        current = tx.keys.of(STORE)[-1].master
        looked.set()
        assert go.wait(60)
        tx.keys.insert(key_row(HERE, 1, master=current))
        return True

    def rotate(tx: Transaction) -> int:
        rows = tx.keys.not_under(b"new", 100)
        for row in rows:
            tx.keys.rewrap(row._replace(master=b"new"))
        return len(rows)

    with ThreadPoolExecutor(2) as threads:
        adding = threads.submit(store.write, add)
        assert looked.wait(60)
        rotating = threads.submit(store.write, rotate)
        go.set()
        assert adding.result(60)
        assert rotating.result(60) == 2
    assert store.keys.not_under(b"new", 10) == []


class TestLeases:
    def test_one_worker_at_a_time_has_a_space(self, store: PostgresStore) -> None:
        take = store.leases.take
        assert take(HERE, "settle", "one", NOW, NOW + 10)
        assert not take(HERE, "settle", "two", NOW, NOW + 10)
        assert take(THERE, "settle", "two", NOW, NOW + 10)
        assert take(HERE, "sweep", "two", NOW, NOW + 10)
        assert take(HERE, "settle", "one", NOW + 5, NOW + 20)

    def test_a_lease_ends_with_its_time_or_when_it_is_given_back(self, store: PostgresStore) -> None:
        take = store.leases.take
        assert take(HERE, "settle", "one", NOW, NOW + 10)
        assert take(HERE, "settle", "two", NOW + 10, NOW + 20)
        store.leases.give_back(HERE, "settle", "one")
        assert not take(HERE, "settle", "one", NOW + 11, NOW + 20)
        store.leases.give_back(HERE, "settle", "two")
        assert take(HERE, "settle", "one", NOW + 11, NOW + 20)

    def test_of_many_who_ask_at_once_one_gets_it(self, store: PostgresStore) -> None:
        together = Barrier(WRITERS)

        def ask(me: int) -> bool:
            together.wait(60)
            return store.leases.take(HERE, "settle", f"worker {me}", NOW, NOW + 10)

        with ThreadPoolExecutor(WRITERS) as workers:
            assert list(workers.map(ask, range(WRITERS))).count(True) == 1

    def test_one_that_another_takes_at_this_moment_is_skipped_not_waited_for(
        self, dsn: str, store: PostgresStore
    ) -> None:
        store.leases.take(HERE, "settle", "one", NOW, NOW + 10)
        with psycopg.connect(dsn) as taking:
            taking.execute("SELECT 1 FROM holdfast.leases FOR UPDATE")
            assert not store.leases.take(HERE, "settle", "two", NOW + 10, NOW + 20)
        assert store.leases.take(HERE, "settle", "two", NOW + 10, NOW + 20)


@pytest.mark.parametrize("caller", ["submit", "write"])
def test_a_write_comes_after_what_its_caller_has_submitted(store: PostgresStore, caller: str) -> None:
    make_spaces(store)
    go = Event()
    first = store.submit(lambda tx: go.wait(60) and tx.entries.insert(HERE, entry_row(1)))
    later = store.submit(lambda tx: tx.entries.by_number(seen(), 1) is not None)
    go.set()
    if caller == "write":
        assert store.write(lambda tx: tx.entries.by_number(seen(), 1) is not None)
    assert first.result(60)
    assert later.result(60)
