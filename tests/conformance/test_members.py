"""MemberReads and MemberWrites: participants of chats, access lists of systems."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.storage import Store
from tests.conformance.rows import ALICE, BOB, CAROL, HERE, NOWHERE, THERE, member_row, write


def replace(store: Store, space: UUID, **levels: int) -> None:
    who = {"alice": ALICE, "bob": BOB, "carol": CAROL}
    rows = [member_row(who[name], level) for name, level in levels.items()]
    write(store, lambda tx: tx.members.replace(space, rows))


def test_lines_are_found_by_the_members_they_name(store: Store) -> None:
    replace(store, HERE, alice=4, bob=3)
    replace(store, THERE, carol=4)
    assert store.members.levels(HERE, [BOB]) == [member_row(BOB, 3)]
    found = store.members.levels(HERE, [BOB, CAROL, ALICE])
    assert sorted(found) == [member_row(ALICE, 4), member_row(BOB, 3)]
    assert store.members.levels(HERE, [CAROL]) == store.members.levels(HERE, []) == []
    assert store.members.levels(NOWHERE, [ALICE]) == []


def test_a_space_is_named_once_however_many_of_its_members_are_asked_for(store: Store) -> None:
    replace(store, HERE, alice=4, bob=3)
    replace(store, THERE, bob=4)
    assert sorted(store.members.lists_with([ALICE, BOB])) == [HERE, THERE]
    assert store.members.lists_with([ALICE]) == [HERE]
    assert store.members.lists_with([CAROL]) == store.members.lists_with([]) == []


def test_a_new_list_takes_the_place_of_the_whole_old_one(store: Store) -> None:
    replace(store, HERE, alice=4, bob=3)
    replace(store, THERE, alice=4)
    replace(store, HERE, bob=4, carol=3)
    found = store.members.levels(HERE, [ALICE, BOB, CAROL])
    assert sorted(found) == [member_row(BOB, 4), member_row(CAROL, 3)]
    assert store.members.lists_with([ALICE]) == [THERE]


def test_a_list_can_be_emptied(store: Store) -> None:
    replace(store, HERE, alice=4)
    replace(store, HERE)
    assert store.members.levels(HERE, [ALICE]) == []
    assert store.members.lists_with([ALICE]) == []
