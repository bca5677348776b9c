"""TermReads and TermWrites: which entries the word index holds under a blind term, and where in them it stands."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.backends import Backend
from tests.conformance.rows import HERE, NOW, NOWHERE, THERE, entry_row, insert, make_spaces, words, write

Indexed = Callable[..., list[int]]


@pytest.fixture(autouse=True)
def entries(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    for space in (HERE, THERE):
        insert(store, *[entry_row(number, length=1) for number in (1, 2, 3)], space=space)


Place = tuple[int, str, int]
"""Number of the entry, first letter of the field, how many terms come before."""


def places(store: Store, term: str, space: UUID = HERE) -> list[Place]:
    (packed,) = store.terms.places(space, [term])
    return sorted(map(unpacked, map(int, packed.split(",")))) if packed else []


def unpacked(place: int) -> Place:
    field_bits = PLACE_NUMBER_SHIFT - PLACE_FIELD_SHIFT
    return (
        place >> PLACE_NUMBER_SHIFT,
        chr(place >> PLACE_FIELD_SHIFT & (1 << field_bits) - 1),
        place & (1 << PLACE_FIELD_SHIFT) - 1,
    )


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


class TestPlaces:
    def test_name_the_entry_the_field_and_the_terms_before_it(self, store: Store) -> None:
        text = words("b0 b1 b2", hint="h0 h1", tags="t0", key="k0 k1")
        write(store, lambda tx: tx.terms.put(HERE, 2, text, replaces=False))
        assert {term: places(store, term) for term in ("h0", "h1", "t0", "k1", "b0", "b2")} == {
            "h0": [(2, "h", 0)],
            "h1": [(2, "h", 1)],
            "t0": [(2, "t", 0)],
            "k1": [(2, "k", 1)],
            "b0": [(2, "b", 0)],
            "b2": [(2, "b", 2)],
        }

    def test_name_every_entry_every_field_and_every_repeat(self, store: Store) -> None:
        write(store, lambda tx: tx.terms.put(HERE, 1, words("t1 t1 t2", hint="t1"), replaces=False))
        put(store, 3, "t0 t1")
        assert places(store, "t1") == [(1, "b", 0), (1, "b", 1), (1, "h", 0), (3, "b", 1)]

    def test_are_given_for_each_term_in_the_order_asked(self, store: Store) -> None:
        put(store, 1, "t1 t2")
        found = store.terms.places(HERE, ["t2", "nowhere", "t1", "t2"])
        assert [text != "" for text in found] == [True, False, True, True]
        assert found[0] == found[3]
        assert [unpacked(int(text)) for text in found if text] == [(1, "b", 1), (1, "b", 0), (1, "b", 1)]
        assert store.terms.places(HERE, []) == []

    def test_hold_the_largest_number_and_the_last_of_many_terms(self, store: Store) -> None:
        largest = (1 << 32) - 1
        insert(store, entry_row(largest, length=20_000))
        put(store, largest, " ".join(["x"] * 19_999 + ["last"]))
        assert places(store, "last") == [(largest, "b", 19_999)]
        assert len(places(store, "x")) == 19_999

    def test_of_replaced_terms_are_gone_and_the_new_ones_there(self, store: Store) -> None:
        put(store, 1, "kept old")
        put(store, 1, "kept new", replaces=True)
        assert (places(store, "old"), places(store, "new")) == ([], [(1, "b", 1)])
        assert places(store, "kept") == [(1, "b", 0)]

    def test_of_dropped_entries_are_gone(self, store: Store) -> None:
        for number in (1, 2, 3):
            put(store, number, "t1")
        write(store, lambda tx: tx.terms.drop(HERE, [1, 3]))
        assert places(store, "t1") == [(2, "b", 0)]
        write(store, lambda tx: tx.terms.drop_space(HERE))
        assert places(store, "t1") == []

    def test_of_a_job_that_failed_are_not_there(self, store: Store) -> None:
        put(store, 1, "old")

        def job(tx: Transaction) -> None:
            tx.terms.put(HERE, 1, words("new"), replaces=True)
            raise RuntimeError("undone")

        with pytest.raises(RuntimeError):
            write(store, job)
        assert (places(store, "old"), places(store, "new")) == ([(1, "b", 0)], [])

    def test_last_with_the_store(self, store: Store, reopen: Callable[[], Store]) -> None:
        put(store, 1, "t1")
        assert places(reopen(), "t1") == [(1, "b", 0)]

    def test_of_another_space_never_show(self, store: Store) -> None:
        put(store, 1, "t1", space=THERE)
        put(store, 2, "t1")
        assert places(store, "t1") == [(2, "b", 0)]
        assert places(store, "t1", THERE) == [(1, "b", 0)]


def test_tidying_ends_and_changes_no_place(store: Store) -> None:
    for number in (1, 2, 3, 1, 2, 3):
        put(store, number, "often seldom", replaces=True)
    write(store, lambda tx: tx.terms.drop(HERE, [2]))
    before = {term: places(store, term) for term in ("often", "seldom", "never")}
    steps = 0
    while store.tidy():
        steps += 1
        assert steps < 100
    assert {term: places(store, term) for term in before} == before
    assert not store.tidy()


def test_several_terms_are_looked_up_at_once_each_in_its_turn(store: Store) -> None:
    put(store, 1, "b a")
    put(store, 2, "b")
    found = store.terms.places(HERE, ["b", "missing", "a", "b"])
    assert [len(each.split(",")) if each else 0 for each in found] == [2, 0, 1, 2]
    assert store.terms.places(HERE, []) == []


def test_terms_of_several_spaces_are_looked_up_at_once_each_in_its_own(store: Store) -> None:
    put(store, 1, "b a")
    put(store, 2, "b", space=THERE)
    put(store, 3, "a b b", space=THERE)
    asked = [(THERE, ["b", "a"]), (NOWHERE, ["a"]), (HERE, []), (HERE, ["missing", "b"]), (THERE, ["a"])]
    together = store.terms.places_in(asked)
    assert [[_sorted(each) for each in found] for found in together] == [
        [_sorted(each) for each in store.terms.places(space, terms)] for space, terms in asked
    ]
    assert [[len(_sorted(each)) for each in found] for found in together] == [[3, 1], [0], [], [0, 1], [1]]
    assert store.terms.places_in([]) == []


def _sorted(packed: str) -> list[int]:
    return sorted(map(int, packed.split(","))) if packed else []


class TestTheWordTable:
    def test_says_the_same_places_as_asking_for_one_term_or_the_backend_lends_none(
        self, store: Store
    ) -> None:
        if store.word_table is None:
            return
        write(store, lambda tx: tx.terms.put(HERE, 1, words("b0 b1", hint="h0"), replaces=False))
        put(store, 1, "b1", space=THERE)
        put(store, 2, "old")
        put(store, 2, "b1 b1", replaces=True)
        put(store, 3, "gone")
        write(store, lambda tx: tx.terms.drop(HERE, [3]))
        rows = store.word_table.of(HERE)
        number = store.word_table.number
        assert sorted(rows) == [
            (1, 1, 1, 1, [number("h0"), number("b0"), number("b1")]),
            (2, 0, 0, 0, [number("b1"), number("b1")]),
        ]
        assert store.word_table.of(HERE, [2, 3, 99]) == [row for row in rows if row.number == 2]
        assert places(store, "b1") == [(1, "b", 1), (2, "b", 0), (2, "b", 1)]
