"""TermWrites: which entries the word index holds under a blind term. Search will show it; until then a look behind."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from holdfast.contracts.storage import Store, Transaction
from tests.conformance.backends import Backend
from tests.conformance.rows import HERE, NOW, THERE, entry_row, insert, make_spaces, words, write

Indexed = Callable[..., list[int]]


@pytest.fixture(autouse=True)
def entries(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    for space in (HERE, THERE):
        insert(store, *[entry_row(number, length=1) for number in (1, 2, 3)], space=space)


@pytest.fixture
def indexed(backend: Backend, store: Store) -> Indexed:
    def numbers(term: str, space: UUID = HERE) -> list[int]:
        return backend.indexed(store, space, term)

    return numbers


def put(store: Store, number: int, body: str, *, replaces: bool = False, space: UUID = HERE) -> None:
    write(store, lambda tx: tx.terms.put(space, number, words(body), replaces=replaces))


def test_an_entry_is_found_under_the_terms_of_every_field(store: Store, indexed: Indexed) -> None:
    text = words("t1 t2", hint="t3", tags="t4 t5", key="t6")
    write(store, lambda tx: tx.terms.put(HERE, 1, text, replaces=False))
    assert [indexed(f"t{number}") for number in range(1, 8)] == [[1]] * 6 + [[]]


def test_entries_that_share_a_term_are_all_found_under_it(store: Store, indexed: Indexed) -> None:
    put(store, 2, "t1 t2")
    put(store, 1, "t2 t3")
    assert (indexed("t1"), indexed("t2"), indexed("t3")) == ([2], [1, 2], [1])


def test_replacing_leaves_only_the_new_terms(store: Store, indexed: Indexed) -> None:
    put(store, 1, "old kept")
    put(store, 1, "kept new", replaces=True)
    assert (indexed("old"), indexed("kept"), indexed("new")) == ([], [1], [1])


def test_replacing_what_was_never_indexed_indexes_it(store: Store, indexed: Indexed) -> None:
    put(store, 1, "t1", replaces=True)
    assert indexed("t1") == [1]


def test_dropped_entries_are_found_no_more_and_others_stay(store: Store, indexed: Indexed) -> None:
    for number in (1, 2, 3):
        put(store, number, "t1")
    put(store, 1, "t1", space=THERE)
    write(store, lambda tx: tx.terms.drop(HERE, [1, 3, 99]))
    assert (indexed("t1"), indexed("t1", THERE)) == ([2], [1])


def test_a_dropped_entry_can_be_indexed_again(store: Store, indexed: Indexed) -> None:
    put(store, 1, "t1")
    write(store, lambda tx: tx.terms.drop(HERE, [1]))
    put(store, 1, "t2")
    assert (indexed("t1"), indexed("t2")) == ([], [1])


def test_dropping_a_space_drops_all_of_its_entries_and_no_others(store: Store, indexed: Indexed) -> None:
    for number in (1, 2):
        put(store, number, "t1")
        put(store, number, "t1", space=THERE)
    write(store, lambda tx: tx.terms.drop_space(HERE))
    assert (indexed("t1"), indexed("t1", THERE)) == ([], [1, 2])


def test_dropping_a_space_and_its_entries_in_either_order_leaves_no_term(
    store: Store, indexed: Indexed
) -> None:
    for space in (HERE, THERE):
        put(store, 1, "t1", space=space)

    def entries_last(tx: Transaction) -> None:
        tx.terms.drop_space(HERE)
        tx.entries.delete_space(HERE)

    def entries_first(tx: Transaction) -> None:
        tx.entries.delete_space(THERE)
        tx.terms.drop_space(THERE)

    write(store, entries_last)
    write(store, entries_first)
    assert (indexed("t1"), indexed("t1", THERE)) == ([], [])


def test_the_last_word_of_one_job_counts(store: Store, indexed: Indexed) -> None:
    put(store, 1, "before")

    def job(tx: Transaction) -> None:
        tx.terms.put(HERE, 1, words("t1"), replaces=True)
        tx.terms.drop(HERE, [1])
        tx.terms.put(HERE, 1, words("t2"), replaces=False)
        tx.terms.put(HERE, 2, words("t1"), replaces=False)
        tx.terms.drop(HERE, [2])
        tx.terms.put(HERE, 3, words("t1"), replaces=False)
        tx.terms.put(HERE, 3, words("t2"), replaces=True)

    write(store, job)
    assert (indexed("before"), indexed("t1"), indexed("t2")) == ([], [], [1, 3])


def test_trashing_and_restoring_leaves_and_enters_the_index(store: Store, indexed: Indexed) -> None:
    put(store, 1, "t1")
    live = entry_row(1, length=1)

    def trash(tx: Transaction) -> None:
        tx.entries.restate(HERE, live._replace(trashed_us=NOW))
        tx.terms.drop(HERE, [1])

    def restore(tx: Transaction) -> None:
        tx.entries.restate(HERE, live)
        tx.terms.put(HERE, 1, words("t1"), replaces=False)

    write(store, trash)
    assert indexed("t1") == []
    write(store, restore)
    assert indexed("t1") == [1]


def test_terms_last_with_the_store(backend: Backend, store: Store, reopen: Callable[[], Store]) -> None:
    put(store, 1, "t1")
    assert backend.indexed(reopen(), HERE, "t1") == [1]
