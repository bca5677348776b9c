"""EntryWrites: what a write leaves behind, what it refuses, and what goes with a removed entry."""

from __future__ import annotations

import pytest

from holdfast.contracts.rows import EntryRow
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.errors import Conflict
from tests.conformance.rows import (
    BOB,
    FACTS,
    HERE,
    NOW,
    THERE,
    blind,
    entry_row,
    insert,
    label,
    make_spaces,
    numbers,
    seen,
    superseded,
    write,
)

RED, BLUE = label("red"), label("blue")


@pytest.fixture(autouse=True)
def spaces(store: Store) -> None:
    make_spaces(store, HERE, THERE)


def labelled(store: Store, name: bytes) -> list[int]:
    return numbers(store.entries.page(seen(), [name], None, 10))


class TestInsert:
    def test_says_true_and_the_entry_is_there(self, store: Store) -> None:
        row = entry_row(1)
        assert write(store, lambda tx: tx.entries.insert(HERE, row)) is True
        assert store.entries.by_number(seen(), 1) == row

    def test_says_false_when_the_number_is_taken_and_changes_nothing(self, store: Store) -> None:
        first, second = entry_row(1, labels=RED), entry_row(1, key=blind("other key"), seq=2, labels=BLUE)
        insert(store, first)
        assert write(store, lambda tx: tx.entries.insert(HERE, second)) is False
        assert store.entries.by_number(seen(), 1) == first
        assert labelled(store, BLUE) == []

    def test_a_number_in_the_trash_is_taken_too(self, store: Store) -> None:
        insert(store, entry_row(1, trashed_us=NOW))
        assert write(store, lambda tx: tx.entries.insert(HERE, entry_row(1, key=blind("other key")))) is False

    def test_a_taken_key_is_a_conflict_and_leaves_the_first(self, store: Store) -> None:
        first = entry_row(1, labels=RED)
        insert(store, first)
        with pytest.raises(Conflict):
            write(store, lambda tx: tx.entries.insert(HERE, entry_row(2, key=first.key, labels=RED)))
        assert store.entries.by_key(seen(), [first.key]) == [first]
        assert labelled(store, RED) == [1]

    @pytest.mark.parametrize("other", [{"owner": BOB}, {"partition": FACTS}, {"key": blind("key 2")}])
    def test_owner_room_and_key_together_make_the_name(self, store: Store, other: dict[str, object]) -> None:
        insert(store, entry_row(1), entry_row(2, **{"key": blind("key 1"), **other}))
        assert store.entries.count(seen()) == 2

    def test_the_same_name_and_number_are_free_in_another_space(self, store: Store) -> None:
        insert(store, entry_row(1))
        insert(store, entry_row(1), space=THERE)
        assert store.entries.count(seen()) == store.entries.count(seen(THERE)) == 1

    def test_a_key_in_the_trash_is_free(self, store: Store) -> None:
        key = blind("one key")
        insert(store, entry_row(1, key=key, trashed_us=NOW), entry_row(2, key=key, trashed_us=NOW))
        insert(store, entry_row(3, key=key))
        assert numbers(store.entries.by_key(seen(), [key])) == [3]

    def test_a_conflict_leaves_the_transaction_usable(self, store: Store) -> None:
        def job(tx: Transaction) -> None:
            assert tx.entries.insert(HERE, entry_row(1))
            with pytest.raises(Conflict):
                tx.entries.insert(HERE, entry_row(2, key=blind("key 1")))
            assert tx.entries.insert(HERE, entry_row(3))

        write(store, job)
        assert numbers(store.entries.page(seen(), None, None, 10)) == [3, 1]


class TestRevise:
    def test_puts_the_new_head_in_place_and_keeps_the_old_as_history(self, store: Store) -> None:
        old = entry_row(1)
        new = old._replace(
            revision=2, seq=2, key=blind("new key"), updated_us=NOW + 1, expires_us=NOW + 9, sealed=b"new"
        )
        insert(store, old)
        write(store, lambda tx: tx.entries.revise(HERE, new, superseded(old)))
        assert store.entries.by_number(seen(), 1) == new
        assert store.entries.by_key(seen(), [old.key]) == []
        assert store.entries.revisions_of(HERE, 1) == [superseded(old)]

    def test_keeps_no_history_when_none_is_given(self, store: Store) -> None:
        old = entry_row(1)
        insert(store, old)
        write(store, lambda tx: tx.entries.revise(HERE, old._replace(revision=2, seq=2), None))
        assert store.entries.revisions_of(HERE, 1) == []

    def test_onto_a_taken_key_is_a_conflict_and_nothing_changes(self, store: Store) -> None:
        one, two = entry_row(1, labels=RED), entry_row(2)
        insert(store, one, two)
        taken = one._replace(revision=2, seq=3, key=two.key, labels=BLUE)
        with pytest.raises(Conflict):
            write(store, lambda tx: tx.entries.revise(HERE, taken, superseded(one)))
        assert store.entries.by_number(seen(), 1) == one
        assert store.entries.revisions_of(HERE, 1) == []
        assert (labelled(store, RED), labelled(store, BLUE)) == ([1], [])


class TestRestate:
    def test_rewrites_an_entry_without_a_new_revision(self, store: Store) -> None:
        old = entry_row(1)
        new = old._replace(key=blind("resealed"), key_id=2, sealed=b"resealed", flags=1)
        insert(store, old)
        write(store, lambda tx: tx.entries.restate(HERE, new))
        assert store.entries.by_number(seen(), 1) == new
        assert store.entries.revisions_of(HERE, 1) == []

    def test_labels_show_only_while_the_entry_is_live(self, store: Store) -> None:
        live = entry_row(1, labels=RED + BLUE)
        trashed = live._replace(trashed_us=NOW)
        insert(store, live)
        write(store, lambda tx: tx.entries.restate(HERE, trashed))
        assert (labelled(store, RED), labelled(store, BLUE)) == ([], [])
        assert store.entries.trashed_by_number(seen(), 1) == trashed
        write(store, lambda tx: tx.entries.restate(HERE, live))
        assert (labelled(store, RED), labelled(store, BLUE)) == ([1], [1])

    def test_out_of_the_trash_onto_a_taken_key_is_a_conflict(self, store: Store) -> None:
        trashed, live = entry_row(1, trashed_us=NOW), entry_row(2, key=blind("key 1"))
        insert(store, trashed, live)
        with pytest.raises(Conflict):
            write(store, lambda tx: tx.entries.restate(HERE, trashed._replace(trashed_us=None)))
        assert store.entries.trashed_by_number(seen(), 1) == trashed


class TestRevisions:
    def test_are_added_or_replaced_one_by_one(self, store: Store) -> None:
        old = superseded(entry_row(1))
        resealed = old._replace(sealed=b"resealed", key_id=2)
        insert(store, entry_row(1))
        write(store, lambda tx: tx.entries.add_revision(HERE, old))
        assert store.entries.revisions_of(HERE, 1) == [old]
        write(store, lambda tx: tx.entries.add_revision(HERE, resealed))
        assert store.entries.revisions_of(HERE, 1) == [resealed]

    def test_are_pruned_below_a_number_and_counted(self, store: Store) -> None:
        def job(tx: Transaction) -> None:
            for number in (1, 2):
                tx.entries.insert(HERE, entry_row(number))
                for revision in range(1, 6):
                    tx.entries.add_revision(HERE, superseded(entry_row(number), revision=revision))

        write(store, job)
        assert write(store, lambda tx: tx.entries.prune(HERE, 1, below=4)) == 3
        assert [row.revision for row in store.entries.revisions_of(HERE, 1)] == [4, 5]
        assert len(store.entries.revisions_of(HERE, 2)) == 5
        assert write(store, lambda tx: tx.entries.prune(HERE, 1, below=4)) == 0


class TestRemoval:
    """Every entry here has a label and a superseded revision."""

    @pytest.fixture(autouse=True)
    def kept(self, store: Store) -> list[EntryRow]:
        rows = [
            entry_row(1, labels=RED),
            entry_row(2, labels=RED, trashed_us=NOW),
            entry_row(3, labels=RED, owner=BOB, expires_us=NOW - 1),
        ]

        def job(tx: Transaction) -> None:
            for space in (HERE, THERE):
                for row in rows:
                    tx.entries.insert(space, row)
                    tx.entries.add_revision(space, superseded(row))

        write(store, job)
        return rows

    def test_takes_entries_in_whatever_state_and_counts_them(
        self, store: Store, kept: list[EntryRow]
    ) -> None:
        assert write(store, lambda tx: tx.entries.delete(HERE, [1, 2, 99])) == 2
        assert store.entries.by_numbers(HERE, [1, 2, 3]) == [kept[2]]
        assert write(store, lambda tx: tx.entries.delete(HERE, [1, 2])) == 0
        assert write(store, lambda tx: tx.entries.delete(HERE, [])) == 0

    def test_takes_revisions_and_labels_along(self, store: Store) -> None:
        write(store, lambda tx: tx.entries.delete(HERE, [1, 2]))
        assert store.entries.revisions_of(HERE, 1) == store.entries.revisions_of(HERE, 2) == []
        insert(store, entry_row(1), entry_row(2))
        assert labelled(store, RED) == []

    def test_of_a_space_takes_everything_and_counts_it(self, store: Store) -> None:
        assert write(store, lambda tx: tx.entries.delete_space(HERE)) == 3
        assert store.entries.by_numbers(HERE, [1, 2, 3]) == []
        assert store.entries.revisions_sealed_with(HERE, 1, 10) == []
        insert(store, entry_row(1), entry_row(2), entry_row(3))
        assert labelled(store, RED) == []
        assert write(store, lambda tx: tx.entries.delete_space(HERE)) == 3
        assert write(store, lambda tx: tx.entries.delete_space(HERE)) == 0

    @pytest.mark.parametrize("whole", [True, False])
    def test_leaves_other_spaces_as_they_were(self, store: Store, kept: list[EntryRow], whole: bool) -> None:
        write(
            store,
            lambda tx: tx.entries.delete_space(HERE) if whole else tx.entries.delete(HERE, [1, 2, 3]),
        )
        assert sorted(store.entries.by_numbers(THERE, [1, 2, 3])) == kept
        assert [store.entries.revisions_of(THERE, row.number) for row in kept] == [
            [superseded(row)] for row in kept
        ]
        assert numbers(store.entries.page(seen(THERE), [RED], None, 10)) == [1]

    def test_frees_key_and_number(self, store: Store, kept: list[EntryRow]) -> None:
        write(store, lambda tx: tx.entries.delete(HERE, [1]))
        insert(store, kept[0])
        assert store.entries.by_number(seen(), 1) == kept[0]
