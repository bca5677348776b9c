"""Many entries in one job: they are looked up and sent all at once, and every answer is as if they came one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Conflict
from holdfast.entrypoints.facade import Own
from holdfast.storage.postgres.store import PostgresStore
from tests.conformance.rows import HERE, entry_row, seen, space_row
from tests.postgres.databases import url_of

FIRST = entry_row(1)


@pytest.fixture
def kept(store: PostgresStore) -> PostgresStore:
    """One entry lies there already."""

    def put(tx: Transaction) -> None:
        tx.spaces.insert(space_row(HERE))
        tx.entries.insert(HERE, FIRST)

    store.write(put)
    return store


def test_a_number_that_turns_out_to_be_taken_is_told_to_the_job_when_it_runs_again(
    kept: PostgresStore,
) -> None:
    told: list[bool] = []

    def put(tx: Transaction) -> bool:
        free = tx.entries.insert(HERE, entry_row(1, key=b"other key"))
        told.append(free)
        return free

    assert kept.write(put) is False
    assert told == [True, False]


def test_a_key_that_turns_out_to_be_taken_is_a_conflict_and_the_job_may_go_on(kept: PostgresStore) -> None:
    def put(tx: Transaction) -> bool:
        tx.entries.insert(HERE, entry_row(3))
        try:
            return tx.entries.insert(HERE, entry_row(2, key=FIRST.key))
        except Conflict:
            return False

    assert kept.write(put) is False
    assert [row.number for row in kept.entries.by_numbers(HERE, [1, 2, 3])] == [1, 3]


def test_a_job_reads_the_entries_it_has_not_sent_yet(kept: PostgresStore) -> None:
    def put(tx: Transaction) -> Any:
        tx.entries.insert(HERE, entry_row(2))
        return tx.entries.by_number(seen(), 2), tx.entries.count(seen())

    row, count = kept.write(put)
    assert (row.number, count) == (2, 2)


@pytest.fixture
def door(dsn: str) -> Iterator[Own]:
    with holdfast.open(url_of(dsn), key="6b" * 32, embedder="none", sweep_seconds=0) as memory:
        yield memory.user("alice")


def revisions(door: Own, *notes: dict[str, Any]) -> list[int]:
    outcomes = door.remember_many(notes)
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    return [outcome.remembered.revision for outcome in outcomes if outcome.remembered]


def test_a_batch_adds_what_is_new_and_revises_what_is_there(door: Own) -> None:
    door.remember("one", key="a")
    assert revisions(door, {"text": "two", "key": "a"}, {"text": "one", "key": "b"}) == [2, 1]


def test_a_key_that_comes_twice_in_a_batch_is_revised_by_the_second(door: Own) -> None:
    notes = ({"text": text, "key": key} for text, key in (("1", "a"), ("1", "b"), ("2", "a"), ("1", "c")))
    assert revisions(door, *notes) == [1, 1, 2, 1]
    entry = door.get("a")
    assert entry is not None
    assert (entry.text, entry.revision) == ("2", 2)


def test_a_key_whose_entry_another_row_supersedes_is_new_again(door: Own) -> None:
    old = door.remember("old", key="a").id
    assert revisions(
        door, {"text": "new", "key": "b", "supersedes": old}, {"text": "another", "key": "a"}
    ) == [1, 1]
