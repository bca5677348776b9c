"""EntryReads: which entries are shown, in which order, how many. What must not be shown is test_reflection's."""

from __future__ import annotations

from uuid import UUID

import pytest

from holdfast.contracts.rows import ALWAYS_INJECT, ENCRYPTED, GUEST, QUARANTINED, EntryAddress, EntryRow
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import (
    ALICE,
    BOB,
    CAROL,
    FACTS,
    FILES,
    HERE,
    NOTES,
    NOW,
    NOWHERE,
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


def revise(store: Store, old: EntryRow, new: EntryRow, space: UUID = HERE) -> EntryRow:
    write(store, lambda tx: tx.entries.revise(space, new, superseded(old)))
    return new


def test_a_row_comes_back_as_it_was_given(store: Store) -> None:
    row = entry_row(
        4_294_967_295,
        expires_us=NOW + 1,
        flags=15,
        length=7,
        key_id=3,
        labels=RED + BLUE,
        sealed=b"\0\xff" * 500,
    )
    insert(store, row)
    assert store.entries.by_number(seen(), row.number) == row


def test_a_space_that_does_not_exist_has_no_entries(store: Store) -> None:
    nowhere, reads = seen(NOWHERE), store.entries
    assert reads.by_key(nowhere, [blind("key 1")]) == []
    assert reads.by_number(nowhere, 1) is None
    assert reads.trashed_by_number(nowhere, 1) is None
    assert reads.page(nowhere, None, None, 10) == []
    assert reads.moved(nowhere, None, 0, 10, 10) == []
    assert reads.shown(nowhere, [1]) == []
    assert reads.flagged(nowhere, 10) == []
    assert reads.quarantined(nowhere, 10) == []
    assert reads.expiring(nowhere, NOW, 10) == []
    assert reads.trash(nowhere, None, 10) == []
    assert reads.trashed_by_key(nowhere, [blind("key 1")]) == []
    assert reads.history(nowhere, 1, 10, 10) == []
    assert reads.count(nowhere) == 0
    assert reads.count_locked(nowhere, []) == 0
    assert reads.by_numbers(NOWHERE, [1]) == []
    assert reads.sealed_with(NOWHERE, 1, 0, 10) == []
    assert reads.revisions_sealed_with(NOWHERE, 1, 10) == []
    assert reads.revisions_of(NOWHERE, 1) == []


class TestByKey:
    def test_finds_every_owner_and_room_newest_change_first(self, store: Store) -> None:
        key = blind("shared key")
        insert(
            store,
            entry_row(1, key=key, seq=5),
            entry_row(2, key=key, seq=9, owner=BOB),
            entry_row(3, key=key, seq=7, partition=FACTS),
            entry_row(4, seq=8),
        )
        assert numbers(store.entries.by_key(seen(), [key])) == [2, 3, 1]

    def test_looks_under_several_keys_and_keeps_one_order(self, store: Store) -> None:
        insert(store, *[entry_row(number) for number in (1, 2, 3, 4)])
        keys = [blind("key 2"), blind("key 4"), blind("key 1"), blind("key 99")]
        assert numbers(store.entries.by_key(seen(), keys)) == [4, 2, 1]

    def test_of_no_keys_or_unknown_ones_is_empty(self, store: Store) -> None:
        insert(store, entry_row(1))
        assert store.entries.by_key(seen(), []) == []
        assert store.entries.by_key(seen(), [blind("key 99")]) == []


class TestByNumber:
    def test_tells_live_from_trashed(self, store: Store) -> None:
        live, trashed = entry_row(1), entry_row(2, trashed_us=NOW)
        insert(store, live, trashed)
        assert store.entries.by_number(seen(), 1) == live
        assert store.entries.by_number(seen(), 2) is None
        assert store.entries.trashed_by_number(seen(), 1) is None
        assert store.entries.trashed_by_number(seen(), 2) == trashed

    def test_of_an_unknown_number_is_none(self, store: Store) -> None:
        assert store.entries.by_number(seen(), 99) is None
        assert store.entries.trashed_by_number(seen(), 99) is None

    def test_an_entry_lives_until_the_very_moment_of_its_expiry(self, store: Store) -> None:
        insert(store, entry_row(1, expires_us=NOW))
        assert store.entries.by_number(seen(now=NOW - 1), 1) is not None
        assert store.entries.by_number(seen(now=NOW), 1) is None


class TestPage:
    def test_goes_through_all_rooms_newest_change_first(self, store: Store) -> None:
        insert(store, entry_row(1, seq=30), entry_row(2, seq=10, partition=FACTS), entry_row(3, seq=20))
        assert numbers(store.entries.page(seen(), None, None, 10)) == [1, 3, 2]

    def test_stops_at_the_limit_and_goes_on_below_a_sequence_number(self, store: Store) -> None:
        insert(store, *[entry_row(number, partition=(NOTES, FACTS)[number % 2]) for number in range(1, 6)])
        first = store.entries.page(seen(), None, None, 2)
        second = store.entries.page(seen(), None, first[-1].seq, 2)
        assert [numbers(first), numbers(second)] == [[5, 4], [3, 2]]

    def test_with_labels_holds_only_entries_that_carry_one(self, store: Store) -> None:
        insert(
            store,
            entry_row(1, labels=RED),
            entry_row(2),
            entry_row(3, labels=BLUE),
            entry_row(4, labels=label("green")),
            entry_row(5, labels=BLUE),
        )
        assert numbers(store.entries.page(seen(), [RED, BLUE], None, 10)) == [5, 3, 1]
        assert numbers(store.entries.page(seen(), [RED, BLUE], 5, 1)) == [3]
        assert store.entries.page(seen(), [], None, 10) == []

    def test_shows_an_entry_with_two_of_the_labels_once(self, store: Store) -> None:
        insert(store, entry_row(1, labels=RED + BLUE), entry_row(2, labels=RED + BLUE))
        assert numbers(store.entries.page(seen(), [RED, BLUE], None, 2)) == [2, 1]

    def test_follows_the_labels_of_the_present_revision(self, store: Store) -> None:
        old = entry_row(1, labels=RED)
        insert(store, old)
        revise(store, old, old._replace(revision=2, seq=2, labels=BLUE))
        assert store.entries.page(seen(), [RED], None, 10) == []
        assert numbers(store.entries.page(seen(), [BLUE], None, 10)) == [1]

    def test_a_label_of_another_space_is_another_label(self, store: Store) -> None:
        insert(store, entry_row(1, labels=RED), space=THERE)
        assert store.entries.page(seen(), [RED], None, 10) == []
        assert numbers(store.entries.page(seen(THERE), [RED], None, 10)) == [1]


class TestMoved:
    """Four entries stood at 1 to 4 when a list began (since = 4); then some were written again."""

    @pytest.fixture(autouse=True)
    def history(self, store: Store) -> None:
        rows = [entry_row(number, labels=RED) for number in (1, 2, 3, 4)]
        insert(store, *rows)
        once = revise(store, rows[1], rows[1]._replace(revision=2, seq=5, labels=BLUE))
        revise(store, once, once._replace(revision=3, seq=6))
        revise(store, rows[3], rows[3]._replace(revision=2, seq=7, partition=FACTS))
        insert(store, entry_row(8, labels=RED))

    def test_names_the_place_an_entry_had_highest_first(self, store: Store) -> None:
        found = store.entries.moved(seen(), None, since=4, before=5, limit=10)
        assert [(moved.was, moved.row.number, moved.row.seq) for moved in found] == [(4, 4, 7), (2, 2, 6)]

    def test_counts_what_stood_below_a_place_up_to_a_limit(self, store: Store) -> None:
        assert [moved.was for moved in store.entries.moved(seen(), None, 4, before=4, limit=10)] == [2]
        assert [moved.was for moved in store.entries.moved(seen(), None, 4, before=5, limit=1)] == [4]
        assert store.entries.moved(seen(), None, 4, before=2, limit=10) == []

    def test_a_place_taken_between_two_changes_is_the_latest_one_then(self, store: Store) -> None:
        found = store.entries.moved(seen(), None, since=5, before=6, limit=10)
        assert [(moved.was, moved.row.number) for moved in found] == [(5, 2), (4, 4)]

    def test_with_labels_shows_those_that_carry_one_now(self, store: Store) -> None:
        by_label = {
            name: [moved.row.number for moved in store.entries.moved(seen(), [name], 4, 5, 10)]
            for name in (RED, BLUE)
        }
        assert by_label == {RED: [4], BLUE: [2]}
        assert store.entries.moved(seen(), [], 4, 5, 10) == []

    def test_shows_an_entry_with_two_of_the_labels_once(self, store: Store) -> None:
        both = entry_row(9, labels=RED + BLUE)
        insert(store, both)
        revise(store, both, both._replace(revision=2, seq=10))
        found = store.entries.moved(seen(), [RED, BLUE], since=9, before=10, limit=10)
        assert [moved.row.number for moved in found] == [9]

    def test_nothing_moved_when_nothing_was_written(self, store: Store) -> None:
        assert store.entries.moved(seen(), None, since=8, before=9, limit=10) == []


class TestShown:
    def test_gives_the_named_entries_whole_and_no_others(self, store: Store) -> None:
        rows = [entry_row(number, labels=RED, partition=(NOTES, FACTS)[number % 2]) for number in range(1, 6)]
        insert(store, *rows)
        assert sorted(store.entries.shown(seen(), [4, 2, 5])) == [rows[1], rows[3], rows[4]]
        assert sorted(write(store, lambda tx: tx.entries.shown(seen(), [4, 2]))) == [rows[1], rows[3]]

    def test_leaves_out_what_does_not_exist_and_asks_for_nothing_twice(self, store: Store) -> None:
        insert(store, entry_row(1), entry_row(2))
        assert numbers(store.entries.shown(seen(), [2, 99])) == [2]
        assert store.entries.shown(seen(), [99]) == []
        assert store.entries.shown(seen(), []) == []

    def test_takes_many_numbers_at_once(self, store: Store) -> None:
        insert(store, *[entry_row(number) for number in range(1, 2_501)])
        found = store.entries.shown(seen(), list(range(1, 5_001, 2)))
        assert sorted(numbers(found)) == list(range(1, 2_501, 2))

    def test_an_entry_shows_until_the_very_moment_of_its_expiry(self, store: Store) -> None:
        insert(store, entry_row(1, expires_us=NOW))
        assert numbers(store.entries.shown(seen(now=NOW - 1), [1])) == [1]
        assert store.entries.shown(seen(now=NOW), [1]) == []

    def test_of_a_private_room_only_the_viewers_own_show(self, store: Store) -> None:
        insert(
            store,
            entry_row(1, partition=FILES),
            entry_row(2, partition=FILES, owner=BOB),
            entry_row(3, owner=BOB),
            entry_row(4, trashed_us=NOW),
        )
        private = seen(partitions=(NOTES, FILES), private=frozenset({FILES}))
        assert sorted(numbers(store.entries.shown(private, [1, 2, 3, 4]))) == [1, 3]


class TestFlagged:
    def test_lists_what_always_applies_in_every_room_newest_change_first(self, store: Store) -> None:
        flagged = [
            entry_row(1, flags=ALWAYS_INJECT, seq=30),
            entry_row(2, flags=ALWAYS_INJECT | GUEST, seq=10, partition=FACTS),
            entry_row(3, flags=ALWAYS_INJECT, seq=20),
        ]
        insert(store, *flagged, entry_row(4, seq=40), entry_row(5, seq=50, flags=GUEST))
        assert store.entries.flagged(seen(), 10) == [flagged[0], flagged[2], flagged[1]]
        assert write(store, lambda tx: tx.entries.flagged(seen(), 2)) == [flagged[0], flagged[2]]

    def test_leaves_out_what_waits_for_a_person_and_what_a_client_encrypted(self, store: Store) -> None:
        insert(
            store,
            entry_row(1, flags=ALWAYS_INJECT | QUARANTINED),
            entry_row(2, flags=ALWAYS_INJECT | ENCRYPTED),
            entry_row(3, flags=ALWAYS_INJECT, trashed_us=NOW),
            entry_row(4, flags=ALWAYS_INJECT, expires_us=NOW),
        )
        assert store.entries.flagged(seen(), 10) == []
        assert numbers(store.entries.quarantined(seen(), 10)) == [1]
        assert numbers(write(store, lambda tx: tx.entries.quarantined(seen(), 10))) == [1]

    def test_holds_nothing_of_the_spaces_beside_it(self, store: Store) -> None:
        insert(store, entry_row(1, flags=ALWAYS_INJECT, sealed=b"here"))
        insert(store, entry_row(1, flags=ALWAYS_INJECT, sealed=b"there"), space=THERE)
        assert [row.sealed for row in store.entries.flagged(seen(), 10)] == [b"here"]
        assert [row.sealed for row in store.entries.flagged(seen(THERE), 10)] == [b"there"]


class TestExpiring:
    def test_lists_what_ends_by_a_moment_soonest_first(self, store: Store) -> None:
        insert(
            store,
            entry_row(1, expires_us=NOW + 30),
            entry_row(2, expires_us=NOW + 10),
            entry_row(3, expires_us=NOW + 31),
            entry_row(4),
            entry_row(5, expires_us=NOW + 20, partition=FACTS),
        )
        assert numbers(store.entries.expiring(seen(), NOW + 30, 10)) == [2, 5, 1]
        assert numbers(store.entries.expiring(seen(), NOW + 30, 2)) == [2, 5]
        assert store.entries.expiring(seen(), NOW + 9, 10) == []


class TestTrash:
    def test_lists_newest_change_first_below_a_sequence_number(self, store: Store) -> None:
        insert(store, *[entry_row(number, trashed_us=NOW - number) for number in (1, 2, 3)], entry_row(4))
        assert numbers(store.entries.trash(seen(), None, 10)) == [3, 2, 1]
        assert numbers(store.entries.trash(seen(), 3, 1)) == [2]

    def test_by_key_lists_what_was_trashed_last_first(self, store: Store) -> None:
        key = blind("one key")
        insert(
            store,
            entry_row(1, key=key, trashed_us=NOW - 1),
            entry_row(2, key=key, trashed_us=NOW - 2),
            entry_row(3, key=key, trashed_us=NOW, owner=BOB),
            entry_row(4, key=key),
            entry_row(5, trashed_us=NOW - 3),
        )
        assert numbers(store.entries.trashed_by_key(seen(), [key])) == [3, 1, 2]
        assert numbers(store.entries.trashed_by_key(seen(), [key, blind("key 5")])) == [3, 1, 2, 5]
        assert store.entries.trashed_by_key(seen(), []) == []


class TestHistory:
    @pytest.fixture(autouse=True)
    def four_revisions(self, store: Store) -> None:
        row = entry_row(1)
        insert(store, row)
        for revision in (2, 3, 4):
            row = revise(store, row, row._replace(revision=revision, seq=revision))

    def test_lists_superseded_revisions_newest_first(self, store: Store) -> None:
        assert [row.revision for row in store.entries.history(seen(), 1, 4, 10)] == [3, 2, 1]

    def test_stops_at_the_limit_and_goes_on_below_a_revision(self, store: Store) -> None:
        assert [row.revision for row in store.entries.history(seen(), 1, 3, 1)] == [2]
        assert store.entries.history(seen(), 1, 1, 10) == []
        assert store.entries.history(seen(), 1, 4, 0) == []

    def test_of_an_unknown_entry_is_empty(self, store: Store) -> None:
        assert store.entries.history(seen(), 99, 10, 10) == []

    def test_is_hidden_with_its_entry_and_shown_in_the_trash(self, store: Store) -> None:
        head = store.entries.by_number(seen(), 1)
        assert head is not None
        write(store, lambda tx: tx.entries.restate(HERE, head._replace(trashed_us=NOW)))
        assert [row.revision for row in store.entries.history(seen(), 1, 4, 10)] == [3, 2, 1]
        write(store, lambda tx: tx.entries.restate(HERE, head._replace(expires_us=NOW)))
        assert store.entries.history(seen(), 1, 4, 10) == []

    def test_of_one_entry_is_given_whole_and_oldest_first(self, store: Store) -> None:
        insert(store, entry_row(2))
        assert [row.revision for row in store.entries.revisions_of(HERE, 1)] == [1, 2, 3]
        assert store.entries.revisions_of(HERE, 2) == []

    def test_comes_back_as_it_was_given(self, store: Store) -> None:
        row = superseded(
            entry_row(1, expires_us=NOW + 5, flags=5, key_id=2, sealed=b"\0\xff" * 300), revision=9, seq=77
        )
        write(store, lambda tx: tx.entries.add_revision(HERE, row))
        assert store.entries.history(seen(), 1, 10, 1) == [row]


class TestCounts:
    def test_count_live_entries(self, store: Store) -> None:
        insert(store, entry_row(1), entry_row(2, partition=FACTS), entry_row(3, trashed_us=NOW))
        assert store.entries.count(seen()) == 2

    def test_count_locked_entries_as_those_under_none_of_the_readable_keys(self, store: Store) -> None:
        insert(store, *[entry_row(number, key_id=number) for number in (1, 2, 3)])
        assert store.entries.count_locked(seen(), [1, 3]) == 1
        assert store.entries.count_locked(seen(), [1, 2, 3]) == 0
        assert store.entries.count_locked(seen(), []) == 3

    def test_count_what_an_owner_keeps_in_the_spaces_of_others(self, store: Store) -> None:
        insert(store, entry_row(1, owner=BOB, flags=GUEST), entry_row(2, flags=GUEST | 1), entry_row(3))
        insert(store, entry_row(1, owner=BOB, flags=GUEST | 2), entry_row(2, owner=BOB), space=THERE)
        assert {who: store.entries.kept_elsewhere(who) for who in (ALICE, BOB, CAROL)} == {
            ALICE: 1,
            BOB: 2,
            CAROL: 0,
        }


class TestSweepReads:
    def test_expired_entries_are_found_in_every_space_room_and_state(self, store: Store) -> None:
        insert(
            store,
            entry_row(1, expires_us=NOW),
            entry_row(2, expires_us=NOW + 1),
            entry_row(3, expires_us=NOW - 2, trashed_us=NOW),
            entry_row(4),
        )
        insert(store, entry_row(1, expires_us=NOW - 1, partition=FILES), space=THERE)
        found = store.entries.expired(NOW, 10)
        assert sorted(found) == [EntryAddress(HERE, 1), EntryAddress(HERE, 3), EntryAddress(THERE, 1)]
        assert len(store.entries.expired(NOW, 2)) == 2
        assert store.entries.expired(NOW - 3, 10) == []
        assert store.entries.expired(NOW, 10, [HERE, NOWHERE]) == [EntryAddress(THERE, 1)]

    def test_old_trash_is_found_in_every_space(self, store: Store) -> None:
        insert(store, entry_row(1, trashed_us=NOW), entry_row(2, trashed_us=NOW - 1), entry_row(3))
        insert(store, entry_row(9, trashed_us=NOW - 2), space=THERE)
        assert sorted(store.entries.trashed_before(NOW, 10)) == [
            EntryAddress(HERE, 2),
            EntryAddress(THERE, 9),
        ]
        assert len(store.entries.trashed_before(NOW, 1)) == 1
        assert store.entries.trashed_before(NOW - 2, 10) == []
        assert store.entries.trashed_before(NOW, 10, [HERE, NOWHERE]) == [EntryAddress(THERE, 9)]

    def test_entries_are_fetched_by_number_in_whatever_state(self, store: Store) -> None:
        rows = [entry_row(1), entry_row(2, trashed_us=NOW), entry_row(3, expires_us=NOW - 1, partition=FILES)]
        insert(store, *rows)
        insert(store, entry_row(4), space=THERE)
        assert sorted(store.entries.by_numbers(HERE, [3, 1, 4, 2])) == rows
        assert store.entries.by_numbers(HERE, []) == []


class TestRotationReads:
    def test_entries_under_a_key_come_by_number_above_a_number(self, store: Store) -> None:
        insert(
            store,
            entry_row(5, key_id=2),
            entry_row(1),
            entry_row(3, trashed_us=NOW),
            entry_row(2, expires_us=NOW - 1, partition=FILES, owner=BOB),
            entry_row(4),
        )
        insert(store, entry_row(6), space=THERE)
        assert numbers(store.entries.sealed_with(HERE, 1, 0, 10)) == [1, 2, 3, 4]
        assert numbers(store.entries.sealed_with(HERE, 1, 1, 2)) == [2, 3]
        assert numbers(store.entries.sealed_with(HERE, 2, 0, 10)) == [5]
        assert store.entries.sealed_with(HERE, 9, 0, 10) == []

    def test_revisions_under_a_key_are_found_whatever_their_entry(self, store: Store) -> None:
        revisions = [superseded(entry_row(number, key_id=number % 2)) for number in (1, 2, 3)]

        def job(tx: Transaction) -> None:
            for revision in revisions:
                tx.entries.add_revision(HERE, revision)
                tx.entries.add_revision(THERE, revision)

        write(store, job)
        assert sorted(store.entries.revisions_sealed_with(HERE, 1, 10)) == [revisions[0], revisions[2]]
        assert len(store.entries.revisions_sealed_with(HERE, 1, 1)) == 1
        assert store.entries.revisions_sealed_with(HERE, 2, 10) == []
