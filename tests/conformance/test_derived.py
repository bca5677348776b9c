"""DerivedReads and DerivedWrites: what models derived from entries, and how far each of them has come."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from holdfast.contracts.rows import DerivedRow, EntryRow
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.backends import Backend
from tests.conformance.rows import (
    BOB,
    FACTS,
    HERE,
    NOTES,
    NOW,
    NOWHERE,
    THERE,
    derive,
    derived_row,
    entry_row,
    insert,
    make_spaces,
    seen,
    superseded,
    write,
)

SIGNALS, ONE, TWO = 0, 1, 2
"""Models; 0 is that of rows without a vector."""


@pytest.fixture(autouse=True)
def entries(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    for space in (HERE, THERE):
        insert(store, *[entry_row(number, length=1) for number in (1, 2, 3)], space=space)
        write(store, lambda tx: [tx.spaces.advance(space, entries=1, indexed=1, length=1) for _ in range(3)])  # noqa: B023


def of(store: Store, model: int, space: UUID = HERE, numbers: list[int] | None = None) -> list[DerivedRow]:
    return sorted(store.derived.of(space, model, numbers))


def advance(store: Store, model: int, seq: int, space: UUID = HERE) -> None:
    write(store, lambda tx: tx.derived.advance(model, space, seq))


def revise(store: Store, number: int = 1) -> EntryRow:
    old = entry_row(number, length=1)

    def job(tx: Transaction) -> EntryRow:
        counts = tx.spaces.advance(HERE, entries=0, indexed=0, length=0)
        assert counts is not None
        new = old._replace(revision=2, seq=counts.seq)
        tx.entries.revise(HERE, new, superseded(old))
        return new

    return write(store, job)


class TestRows:
    def test_come_back_as_they_were_given(self, store: Store) -> None:
        row = derived_row(1, ONE, key_id=7, sealed=b"\0\xff" * 900)
        assert derive(store, row) == [True]
        assert of(store, ONE) == [row]

    def test_are_told_apart_by_model_and_space(self, store: Store) -> None:
        here = [derived_row(number, model) for number in (1, 2) for model in (SIGNALS, ONE, TWO)]
        assert derive(store, *here) == [True] * 6
        derive(store, derived_row(1, ONE, sealed=b"there"), space=THERE)
        assert of(store, ONE) == [derived_row(1, ONE), derived_row(2, ONE)]
        assert of(store, SIGNALS) == [derived_row(1, SIGNALS), derived_row(2, SIGNALS)]
        assert [row.sealed for row in of(store, ONE, THERE)] == [b"there"]
        assert of(store, TWO, THERE) == []

    def test_are_found_by_the_numbers_of_their_entries(self, store: Store) -> None:
        derive(store, *[derived_row(number, ONE) for number in (1, 2, 3)])
        assert [row.number for row in of(store, ONE, numbers=[3, 99, 1])] == [1, 3]
        assert of(store, ONE, numbers=[]) == []
        assert of(store, TWO, numbers=[1]) == []

    def test_of_the_largest_number_stay_in_their_space(self, store: Store) -> None:
        largest = (1 << 32) - 1
        insert(store, entry_row(largest, length=1, seq=50))
        assert derive(store, derived_row(largest, ONE)) == [True]
        assert [row.number for row in of(store, ONE)] == [largest]
        assert of(store, ONE, THERE) == []

    def test_are_replaced_by_a_later_one_of_the_same_model(self, store: Store) -> None:
        derive(store, derived_row(1, ONE, sealed=b"first"), derived_row(1, TWO, sealed=b"other"))
        assert derive(store, derived_row(1, ONE, sealed=b"second", key_id=2)) == [True]
        assert [(row.sealed, row.key_id) for row in of(store, ONE)] == [(b"second", 2)]
        assert [row.sealed for row in of(store, TWO)] == [b"other"]

    def test_of_a_revision_that_is_no_longer_the_head_are_refused(self, store: Store) -> None:
        revise(store)
        assert derive(store, derived_row(1, ONE, revision=1)) == [False]
        assert of(store, ONE) == []
        assert derive(store, derived_row(1, ONE, revision=2)) == [True]
        assert derive(store, derived_row(1, ONE, revision=1), derived_row(1, ONE, revision=3)) == [False] * 2
        assert [row.revision for row in of(store, ONE)] == [2]

    def test_of_a_revision_that_was_superseded_since_stay_until_replaced(self, store: Store) -> None:
        derive(store, derived_row(1, ONE))
        revise(store)
        assert [row.revision for row in of(store, ONE)] == [1]

    def test_of_an_entry_that_is_gone_or_never_was_are_refused(self, store: Store) -> None:
        write(store, lambda tx: tx.entries.delete(HERE, [1]))
        assert derive(store, derived_row(1, ONE), derived_row(99, ONE)) == [False, False]
        assert derive(store, derived_row(1, ONE), space=NOWHERE) == [False]
        assert of(store, ONE) == []

    def test_are_seen_inside_their_own_transaction(self, store: Store) -> None:
        def job(tx: Transaction) -> tuple[int, int, int]:
            tx.derived.put(HERE, derived_row(1, ONE))
            tx.derived.advance(ONE, HERE, 3)
            return (
                len(tx.derived.of(HERE, ONE)),
                tx.derived.progress(ONE, HERE),
                len(tx.derived.sealed_with(HERE, 1, 10)),
            )

        assert write(store, job) == (1, 3, 1)
        assert write(store, lambda tx: (tx.derived.behind(ONE, 10), tx.derived.count_behind(ONE))) == (
            [THERE],
            3,
        )

    def test_of_a_job_that_failed_are_not_there(self, store: Store) -> None:
        def job(tx: Transaction) -> None:
            tx.derived.put(HERE, derived_row(1, ONE))
            tx.derived.advance(ONE, HERE, 3)
            raise RuntimeError("undone")

        with pytest.raises(RuntimeError):
            write(store, job)
        assert (of(store, ONE), store.derived.progress(ONE, HERE)) == ([], 0)

    def test_and_progress_last_with_the_store(self, store: Store, reopen: Callable[[], Store]) -> None:
        derive(store, derived_row(1, ONE))
        advance(store, ONE, 2)
        again = reopen()
        assert (of(again, ONE), again.derived.progress(ONE, HERE)) == ([derived_row(1, ONE)], 2)

    def test_under_a_key_are_found_for_every_model_of_the_space(self, store: Store) -> None:
        rows = [derived_row(1, ONE, key_id=1), derived_row(1, TWO, key_id=1), derived_row(2, ONE, key_id=2)]
        derive(store, *rows)
        derive(store, derived_row(1, ONE, key_id=1), space=THERE)
        assert sorted(store.derived.sealed_with(HERE, 1, 10)) == rows[:2]
        assert len(store.derived.sealed_with(HERE, 1, 1)) == 1
        assert store.derived.sealed_with(HERE, 2, 10) == rows[2:]
        assert store.derived.sealed_with(HERE, 9, 10) == []
        assert store.derived.sealed_with(NOWHERE, 1, 10) == []


class TestRemoving:
    @pytest.fixture(autouse=True)
    def derived(self, store: Store) -> None:
        for space in (HERE, THERE):
            derive(
                store,
                *[derived_row(n, m, sealed=b"mark %d %d" % (n, m) * 9) for n in (1, 2, 3) for m in (0, 1, 2)],
                space=space,
            )

    def left(self, store: Store, space: UUID = HERE) -> set[tuple[int, int]]:
        return {(row.number, row.model) for model in (0, 1, 2) for row in store.derived.of(space, model)}

    def test_entries_takes_what_every_model_derived_and_leaves_the_rest(self, store: Store) -> None:
        write(store, lambda tx: tx.derived.drop(HERE, [1, 3, 99]))
        assert self.left(store) == {(2, 0), (2, 1), (2, 2)}
        assert len(self.left(store, THERE)) == 9

    def test_a_space_takes_all_of_it_and_no_other(self, store: Store) -> None:
        write(store, lambda tx: tx.derived.drop_space(HERE))
        assert self.left(store) == set()
        assert len(self.left(store, THERE)) == 9

    def test_a_space_that_does_not_exist_takes_nothing(self, store: Store) -> None:
        write(store, lambda tx: tx.derived.drop_space(NOWHERE))
        write(store, lambda tx: tx.derived.drop(NOWHERE, [1]))
        assert len(self.left(store)) == len(self.left(store, THERE)) == 9

    def test_a_model_goes_in_batches_over_all_spaces_and_its_progress_with_the_last(
        self, store: Store
    ) -> None:
        for model in (ONE, TWO):
            advance(store, model, 3)
            advance(store, model, 3, THERE)
        assert write(store, lambda tx: tx.derived.drop_model(ONE, 4)) == 4
        assert store.derived.progress(ONE, HERE) == 3
        assert write(store, lambda tx: tx.derived.drop_model(ONE, 4)) == 2
        assert (store.derived.progress(ONE, HERE), store.derived.progress(ONE, THERE)) == (0, 0)
        assert write(store, lambda tx: tx.derived.drop_model(ONE, 4)) == 0
        assert {model for _, model in self.left(store) | self.left(store, THERE)} == {0, 2}
        assert store.derived.progress(TWO, THERE) == 3

    def test_a_model_that_derived_nothing_takes_its_progress(self, store: Store) -> None:
        advance(store, 7, 3)
        assert write(store, lambda tx: tx.derived.drop_model(7, 4)) == 0
        assert store.derived.progress(7, HERE) == 0

    def test_with_erasing_leaves_no_byte(self, store: Store, backend: Backend) -> None:
        assert b"mark 1 2" in backend.every_byte(store)

        def job(tx: Transaction) -> None:
            tx.derived.drop(HERE, [1])
            tx.derived.drop(THERE, [1])
            tx.erase()

        write(store, job)
        kept = backend.every_byte(store)
        assert [b"mark 1 %d" % model in kept for model in (0, 1, 2)] == [False] * 3
        assert b"mark 2 1" in kept


class TestProgress:
    def test_begins_at_nothing_and_is_kept_for_each_model_and_space(self, store: Store) -> None:
        assert store.derived.progress(ONE, HERE) == 0
        advance(store, ONE, 3)
        advance(store, TWO, 1)
        assert (store.derived.progress(ONE, HERE), store.derived.progress(TWO, HERE)) == (3, 1)
        assert store.derived.progress(ONE, THERE) == 0
        assert store.derived.progress(ONE, NOWHERE) == 0
        advance(store, ONE, 5)
        assert store.derived.progress(ONE, HERE) == 5

    def test_falls_back_to_just_below_an_entry_that_came_back_for_every_model(self, store: Store) -> None:
        for model, seq in ((SIGNALS, 1), (ONE, 2), (TWO, 9)):
            advance(store, model, seq)
        advance(store, ONE, 9, THERE)
        write(store, lambda tx: tx.derived.fall_back(HERE, 2))
        assert [store.derived.progress(model, HERE) for model in (SIGNALS, ONE, TWO)] == [1, 1, 1]
        assert store.derived.progress(ONE, THERE) == 9

    def test_never_falls_forward(self, store: Store) -> None:
        advance(store, ONE, 3)
        write(store, lambda tx: tx.derived.fall_back(HERE, 4))
        assert (store.derived.progress(ONE, HERE), store.derived.progress(TWO, HERE)) == (3, 0)

    def test_says_which_spaces_a_model_is_behind_in(self, store: Store) -> None:
        assert sorted(store.derived.behind(ONE, 10)) == sorted([HERE, THERE])
        assert len(store.derived.behind(ONE, 1)) == 1
        advance(store, ONE, 3)
        assert store.derived.behind(ONE, 10) == [THERE]
        advance(store, ONE, 3, THERE)
        assert store.derived.behind(ONE, 10) == []
        assert sorted(store.derived.behind(TWO, 10)) == sorted([HERE, THERE])
        revise(store)
        assert store.derived.behind(ONE, 10) == [HERE]

    def test_counts_of_one_space_what_somebody_may_see(self, store: Store) -> None:
        everything = store.derived.count_behind(ONE, seen())
        assert everything == 3
        assert store.derived.count_behind(ONE, seen(viewer=BOB, private=frozenset({NOTES, FACTS}))) == 0
        assert store.derived.count_behind(ONE, seen(partitions=())) == 0
        advance(store, ONE, 2)
        assert store.derived.count_behind(ONE, seen()) == 1

    def test_counts_the_entries_of_all_spaces_that_wait(self, store: Store) -> None:
        assert store.derived.count_behind(ONE) == 6
        assert sum(store.derived.count_behind(ONE, seen(space)) for space in (HERE, THERE)) == 6
        assert store.derived.count_behind(ONE, seen(NOWHERE)) == 0
        advance(store, ONE, 2)
        assert (store.derived.count_behind(ONE), store.derived.count_behind(TWO)) == (4, 6)
        advance(store, ONE, 3)
        advance(store, ONE, 3, THERE)
        assert store.derived.count_behind(ONE) == 0
        revise(store, 2)
        assert store.derived.count_behind(ONE) == 1

    def test_does_not_count_what_is_trashed_or_not_indexed(self, store: Store) -> None:
        def job(tx: Transaction) -> None:
            tx.entries.restate(HERE, entry_row(1, length=1, trashed_us=NOW))
            tx.entries.restate(HERE, entry_row(2, length=0))

        write(store, job)
        assert store.derived.count_behind(ONE) == 4
