"""OutlineReads: what ranking knows of the live, indexed entries of a space, whoever may see them."""

from __future__ import annotations

import pytest

from holdfast.contracts.rows import ALWAYS_INJECT, ENCRYPTED, EntryRow, OutlineRow
from holdfast.contracts.storage import Store
from holdfast.domain.partition import Partition
from tests.conformance.rows import (
    ALICE,
    BOB,
    FACTS,
    HERE,
    NOTES,
    NOW,
    NOWHERE,
    THERE,
    entry_row,
    insert,
    label,
    make_spaces,
    superseded,
    write,
)

RED, BLUE = label("red"), label("blue")


@pytest.fixture(autouse=True)
def spaces(store: Store) -> None:
    make_spaces(store, HERE, THERE)


def outlined(store: Store, after: int = 0) -> list[int]:
    """Numbers, after both reads were found to agree."""
    found = [row.number for row in store.outlines.of(HERE, after)]
    assert [row.number for row in store.outlines.changed(HERE, after, 1_000)] == found
    return found


def restate(store: Store, row: EntryRow) -> None:
    write(store, lambda tx: tx.entries.restate(HERE, row))


def test_an_outline_says_what_the_entry_says(store: Store) -> None:
    row = entry_row(
        4_294_967_295,
        partition=FACTS,
        owner=BOB,
        revision=3,
        born=4,
        seq=9,
        updated_us=NOW + 5,
        expires_us=NOW + 7,
        flags=ALWAYS_INJECT | ENCRYPTED,
        length=12,
    )
    insert(store, row)
    assert store.outlines.of(HERE, 0) == [
        OutlineRow(row.number, FACTS, BOB, 3, 9, NOW + 5, NOW + 7, ALWAYS_INJECT | ENCRYPTED, 12)
    ]
    assert store.outlines.changed(HERE, 0, 10) == [row]


def test_entries_of_every_room_and_owner_come_oldest_change_first(store: Store) -> None:
    rooms = [partition.value for partition in Partition]
    for number, room in enumerate(rooms, 1):
        seq = 100 - number
        insert(store, entry_row(number, partition=room, owner=(ALICE, BOB)[number % 2], seq=seq, length=1))
    assert outlined(store) == list(range(len(rooms), 0, -1))


def test_only_what_changed_after_a_sequence_number_comes(store: Store) -> None:
    insert(
        store, *[entry_row(number, length=1, partition=(NOTES, FACTS)[number % 2]) for number in range(1, 6)]
    )
    assert outlined(store, 3) == [4, 5]
    assert outlined(store, 5) == []
    old = entry_row(2, length=1)
    new = old._replace(revision=2, seq=6)
    write(store, lambda tx: tx.entries.revise(HERE, new, superseded(old)))
    assert outlined(store, 3) == [4, 5, 2]
    assert outlined(store) == [1, 3, 4, 5, 2]


def test_entries_that_are_not_indexed_or_lie_in_the_trash_do_not_come(store: Store) -> None:
    indexed = entry_row(1, length=1)
    insert(store, indexed, entry_row(2, length=0), entry_row(3, length=4, trashed_us=NOW))
    assert outlined(store) == [1]
    restate(store, indexed._replace(trashed_us=NOW))
    assert outlined(store) == []
    restate(store, indexed)
    assert outlined(store) == [1]
    restate(store, indexed._replace(length=0))
    assert outlined(store) == []


def test_an_expired_entry_still_comes_with_its_expiry(store: Store) -> None:
    """A mask hides it from callers, at a moment that a backend does not know."""
    insert(store, entry_row(1, length=1, expires_us=NOW - 1))
    assert [(row.number, row.expires_us) for row in store.outlines.of(HERE, 0)] == [(1, NOW - 1)]


def test_entries_of_another_space_never_come(store: Store) -> None:
    insert(store, entry_row(1, length=1))
    insert(store, entry_row(1, length=1, labels=RED, owner=BOB), entry_row(2, length=1), space=THERE)
    assert outlined(store) == [1]
    assert [row.owner for row in store.outlines.of(HERE, 0)] == [ALICE]
    assert store.outlines.labelled(HERE, [RED]) == []


def test_a_space_that_does_not_exist_has_no_outlines(store: Store) -> None:
    insert(store, entry_row(1, length=1, labels=RED))
    assert store.outlines.of(NOWHERE, 0) == []
    assert store.outlines.changed(NOWHERE, 0, 10) == []
    assert store.outlines.labelled(NOWHERE, [RED]) == []


def test_purged_entries_are_gone(store: Store) -> None:
    insert(store, *[entry_row(number, length=1, labels=RED) for number in (1, 2, 3)])
    write(store, lambda tx: tx.entries.delete(HERE, [2]))
    assert outlined(store) == [1, 3]
    assert sorted(store.outlines.labelled(HERE, [RED])) == [1, 3]
    write(store, lambda tx: tx.entries.delete_space(HERE))
    assert (outlined(store), store.outlines.labelled(HERE, [RED])) == ([], [])


def test_changed_entries_come_in_batches_that_go_on_after_the_last(store: Store) -> None:
    insert(store, *[entry_row(number, length=1, partition=1 + number % 5) for number in range(1, 8)])
    found, after = [], 0
    while batch := store.outlines.changed(HERE, after, 3):
        assert len(batch) <= 3
        found += [row.number for row in batch]
        after = batch[-1].seq
    assert found == list(range(1, 8))


def test_entries_with_one_of_several_labels_are_named_once(store: Store) -> None:
    insert(
        store,
        entry_row(1, labels=RED, length=1),
        entry_row(2, labels=BLUE, length=1),
        entry_row(3, labels=RED + BLUE, length=1),
        entry_row(4, length=1),
    )
    assert sorted(store.outlines.labelled(HERE, [RED])) == [1, 3]
    assert sorted(store.outlines.labelled(HERE, [RED, BLUE])) == [1, 2, 3]
    assert store.outlines.labelled(HERE, [label("green")]) == []
    assert store.outlines.labelled(HERE, []) == []


def test_a_label_ends_with_the_trash_and_comes_back_with_the_entry(store: Store) -> None:
    row = entry_row(1, labels=RED, length=1)
    insert(store, row)
    restate(store, row._replace(trashed_us=NOW))
    assert store.outlines.labelled(HERE, [RED]) == []
    restate(store, row)
    assert store.outlines.labelled(HERE, [RED]) == [1]
    restate(store, row._replace(labels=BLUE))
    assert (store.outlines.labelled(HERE, [RED]), store.outlines.labelled(HERE, [BLUE])) == ([], [1])
