"""SpaceReads and SpaceWrites: spaces by id, name and owner, and the counts that writes move."""

from __future__ import annotations

from uuid import UUID

import pytest

from holdfast.contracts.rows import SpaceCounts, SpaceRow, SpaceState
from holdfast.contracts.storage import Store
from holdfast.domain.errors import Conflict
from holdfast.domain.space import SpaceKind
from tests.conformance.rows import (
    ALICE,
    BOB,
    CAROL,
    HERE,
    NOWHERE,
    THERE,
    blind,
    make_spaces,
    space_id,
    space_row,
    write,
)


def keep(store: Store, row: SpaceRow) -> None:
    write(store, lambda tx: tx.spaces.insert(row))


def advance(store: Store, space: UUID, entries: int, indexed: int, length: int) -> SpaceCounts | None:
    return write(store, lambda tx: tx.spaces.advance(space, entries=entries, indexed=indexed, length=length))


def test_a_space_is_found_by_id_and_by_name_as_it_was_given(store: Store) -> None:
    row = space_row(HERE, kind=SpaceKind.CHAT, owner=None, listed=True, key_id=7, sealed=b"\0\xff")
    keep(store, row)
    assert store.spaces.by_id(HERE) == row
    assert store.spaces.by_name(row.name) == row


def test_a_space_that_does_not_exist_is_none_everywhere(store: Store) -> None:
    make_spaces(store, HERE)
    assert store.spaces.by_id(NOWHERE) is None
    assert store.spaces.by_name(blind("nobody")) is None
    assert store.spaces.counts(NOWHERE) is None
    assert store.spaces.state(NOWHERE) is None
    assert store.spaces.owned_by(CAROL) == []
    assert advance(store, NOWHERE, 1, 0, 0) is None


@pytest.mark.parametrize(
    "taken", [space_row(THERE, id=HERE), space_row(THERE, name=space_row(HERE).name)], ids=["id", "name"]
)
def test_a_taken_id_or_name_is_a_conflict(store: Store, taken: SpaceRow) -> None:
    make_spaces(store, HERE)
    with pytest.raises(Conflict):
        keep(store, taken)
    assert store.spaces.all_after(None, 10) == [space_row(HERE)]


def test_spaces_of_an_owner_come_oldest_first(store: Store) -> None:
    owners = {9: ALICE, 4: ALICE, 5: BOB, 6: None, 2: ALICE}
    for number, owner in owners.items():
        keep(store, space_row(space_id(number), owner=owner))
    assert [row.id for row in store.spaces.owned_by(ALICE)] == [space_id(9), space_id(4), space_id(2)]
    assert [row.id for row in store.spaces.owned_by(BOB)] == [space_id(5)]


def test_all_spaces_come_by_id_page_after_page(store: Store) -> None:
    make_spaces(store, *[space_id(number) for number in (3, 200, 1, 4)])
    first = store.spaces.all_after(None, 3)
    assert [row.id for row in first] == [space_id(1), space_id(3), space_id(4)]
    assert [row.id for row in store.spaces.all_after(first[-1].id, 3)] == [space_id(200)]
    assert store.spaces.all_after(space_id(200), 3) == []


def test_counts_begin_at_zero_and_name_the_key(store: Store) -> None:
    keep(store, space_row(HERE, key_id=3))
    assert store.spaces.counts(HERE) == SpaceCounts(seq=0, entries=0, indexed=0, length=0, key_id=3)


def test_advancing_takes_the_next_number_and_adds_to_the_counts(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    assert advance(store, HERE, 1, 1, 12) == SpaceCounts(1, 1, 1, 12, 1)
    assert advance(store, HERE, 0, -1, -2) == SpaceCounts(2, 1, 0, 10, 1)
    assert store.spaces.counts(HERE) == SpaceCounts(2, 1, 0, 10, 1)
    assert store.spaces.counts(THERE) == SpaceCounts(0, 0, 0, 0, 1)


def test_recounting_takes_no_number(store: Store) -> None:
    make_spaces(store)
    advance(store, HERE, 5, 4, 30)
    write(store, lambda tx: tx.spaces.recount(HERE, entries=-2, indexed=-1, length=-10))
    assert store.spaces.counts(HERE) == SpaceCounts(1, 3, 3, 20, 1)


def test_emptying_sets_the_counts_to_zero_and_the_sequence_goes_on(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    for space in (HERE, THERE):
        advance(store, space, 5, 4, 30)
    write(store, lambda tx: tx.spaces.empty(HERE))
    assert store.spaces.counts(HERE) == SpaceCounts(1, 0, 0, 0, 1)
    assert store.spaces.counts(THERE) == SpaceCounts(1, 5, 4, 30, 1)
    assert advance(store, HERE, 1, 0, 0) == SpaceCounts(2, 1, 0, 0, 1)


def test_another_key_is_named_for_new_writes(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    write(store, lambda tx: tx.spaces.use_key(HERE, 2))
    row, counts = store.spaces.by_id(HERE), store.spaces.counts(HERE)
    assert row is not None
    assert counts is not None
    assert (row.key_id, counts.key_id) == (2, 2)
    assert store.spaces.by_id(THERE) == space_row(THERE)


def test_a_space_is_marked_as_listed_once_and_for_all(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    for _ in range(2):
        write(store, lambda tx: tx.spaces.mark_listed(HERE))
        assert store.spaces.by_id(HERE) == space_row(HERE, listed=True)
    assert store.spaces.by_id(THERE) == space_row(THERE)


def test_the_state_of_a_space_begins_at_zero(store: Store) -> None:
    make_spaces(store)
    assert store.spaces.state(HERE) == SpaceState(seq=0, removed=0, settled=0)


def test_the_states_of_several_spaces_come_in_the_order_asked_for(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    advance(store, HERE, 1, 1, 5)
    here, there = store.spaces.state(HERE), store.spaces.state(THERE)
    assert here != there
    assert store.spaces.states([THERE, NOWHERE, HERE, THERE]) == [there, None, here, there]
    assert write(store, lambda tx: tx.spaces.states([HERE, THERE])) == [here, there]
    assert store.spaces.states([]) == []


def test_each_counter_of_the_state_grows_by_its_own_event_and_no_other(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    advance(store, HERE, 1, 1, 5)
    assert store.spaces.state(HERE) == SpaceState(1, 0, 0)
    write(store, lambda tx: tx.spaces.recount(HERE, entries=0, indexed=-1, length=-5))
    assert store.spaces.state(HERE) == SpaceState(1, 1, 0)
    write(store, lambda tx: tx.spaces.count_settled(HERE))
    assert store.spaces.state(HERE) == SpaceState(1, 1, 1)
    write(store, lambda tx: tx.spaces.empty(HERE))
    assert store.spaces.state(HERE) == write(store, lambda tx: tx.spaces.state(HERE)) == SpaceState(1, 2, 1)
    assert store.spaces.state(THERE) == SpaceState(0, 0, 0)


def test_counting_what_was_settled_moves_no_count(store: Store) -> None:
    make_spaces(store)
    advance(store, HERE, 2, 1, 7)
    write(store, lambda tx: tx.spaces.count_settled(HERE))
    assert store.spaces.counts(HERE) == SpaceCounts(1, 2, 1, 7, 1)


def test_the_counters_of_a_space_that_does_not_exist_stay_nowhere(store: Store) -> None:
    make_spaces(store, HERE)
    write(store, lambda tx: tx.spaces.count_settled(NOWHERE))
    assert store.spaces.state(NOWHERE) is None
    assert store.spaces.state(HERE) == SpaceState(0, 0, 0)


def test_all_spaces_and_their_entries_are_counted(store: Store) -> None:
    assert store.spaces.totals() == (0, 0)
    make_spaces(store, HERE, THERE)
    advance(store, HERE, 3, 0, 0)
    advance(store, THERE, 2, 0, 0)
    assert store.spaces.totals() == (2, 5)
    assert write(store, lambda tx: tx.spaces.totals()) == (2, 5)
