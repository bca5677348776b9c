"""What SQLite's writer keeps back to write it together: a job sees it all the same, and answers for its own rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from holdfast.contracts.rows import AuditRow, EntryRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Conflict, Quota
from holdfast.storage.sqlite.store import SqliteStore, open_memory
from tests.conformance.rows import HERE, audit_row, blind, entry_row, label, make_spaces, numbers, seen

SECONDS = 20
RED = label("red")


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    opened = open_memory()
    make_spaces(opened, HERE)
    yield opened
    opened.close()


def together(store: SqliteStore, *jobs: Callable[[Transaction], Any]) -> list[Future[Any]]:
    """Runs these in one transaction: the writer is held until all of them wait."""
    begun, go = Event(), Event()

    def hold(_tx: Transaction) -> None:
        begun.set()
        assert go.wait(SECONDS)

    holding = store.submit(hold)
    assert begun.wait(SECONDS)
    running = [store.submit(job) for job in jobs]
    go.set()
    holding.result(SECONDS)
    for one in running:
        one.exception(SECONDS)
    return running


def inserting(row: EntryRow) -> Callable[[Transaction], bool]:
    return lambda tx: tx.entries.insert(HERE, row)


def counting(*, entries: int = 1) -> Callable[[Transaction], int | None]:
    def count(tx: Transaction) -> int | None:
        counts = tx.spaces.advance(HERE, entries=entries, indexed=0, length=0)
        return None if counts is None else counts.seq

    return count


def appending(row: AuditRow) -> Callable[[Transaction], None]:
    return lambda tx: tx.audit.append(row)


def live(store: SqliteStore) -> list[int]:
    return sorted(numbers(store.entries.page(seen(), None, None, 10)))


def test_a_job_finds_by_key_what_one_before_it_wrote(store: SqliteStore) -> None:
    row = entry_row(1)
    _, found = together(store, inserting(row), lambda tx: tx.entries.by_key(seen(), [row.key]))
    assert found.result() == [row]


@pytest.mark.parametrize(
    "read",
    [
        lambda tx: numbers(tx.entries.page(seen(), [RED], None, 10)),
        lambda tx: [row.number for row in [tx.entries.by_number(seen(), 1)] if row],
        lambda tx: [tx.entries.count(seen())],
    ],
)
def test_every_other_read_sees_it_too(store: SqliteStore, read: Callable[[Transaction], list[int]]) -> None:
    _, found = together(store, inserting(entry_row(1, labels=RED)), read)
    assert found.result() == [1]


def test_a_number_that_one_before_it_took_is_taken(store: SqliteStore) -> None:
    first, second, third = together(
        store,
        inserting(entry_row(1)),
        inserting(entry_row(1, key=blind("other"), labels=RED)),
        inserting(entry_row(2, key=blind("third"))),
    )
    assert (first.result(), second.result(), third.result()) == (True, False, True)
    assert live(store) == [1, 2]
    assert store.entries.page(seen(), [RED], None, 10) == []


def test_a_key_that_is_taken_is_the_conflict_of_the_job_that_wanted_it(store: SqliteStore) -> None:
    first, second, third = together(
        store,
        inserting(entry_row(1)),
        inserting(entry_row(2, key=entry_row(1).key)),
        inserting(entry_row(3, key=blind("third"))),
    )
    assert isinstance(second.exception(), Conflict)
    assert (first.result(), third.result()) == (True, True)
    assert live(store) == [1, 3]


def test_a_job_refused_after_it_wrote_leaves_nothing(store: SqliteStore) -> None:
    def refused(tx: Transaction) -> None:
        tx.spaces.advance(HERE, entries=1, indexed=1, length=5)
        tx.entries.insert(HERE, entry_row(1, labels=RED))
        tx.audit.append(audit_row())
        raise Quota

    before, gone, after = together(store, counting(), refused, counting())
    assert isinstance(gone.exception(), Quota)
    assert (before.result(), after.result()) == (1, 2)
    assert live(store) == []
    assert store.audit.after(0, 10) == []


def test_the_counts_of_a_space_go_on_from_job_to_job_and_are_stored(store: SqliteStore) -> None:
    told = together(store, counting(), counting(entries=3), lambda tx: tx.spaces.counts(HERE), counting())
    assert [told[0].result(), told[1].result(), told[3].result()] == [1, 2, 3]
    assert told[2].result().entries == 4
    kept = store.spaces.counts(HERE)
    assert kept is not None
    assert (kept.seq, kept.entries) == (3, 5)


def test_audit_lines_keep_their_order_over_jobs(store: SqliteStore) -> None:
    rows = [audit_row(f"operation {number}") for number in range(4)]
    together(store, *map(appending, rows))
    assert store.audit.after(0, 10) == rows
    assert together(store, lambda tx: tx.audit.head())[0].result().link == rows[-1].link
