"""GrantReads and GrantWrites: who was let into which space by whom."""

from __future__ import annotations

import pytest

from holdfast.contracts.rows import GrantRow
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import ALICE, BOB, CAROL, HERE, NOW, NOWHERE, THERE, grant_row, write

TO_BOB = grant_row(BOB)
TO_BOB_FROM_CAROL = grant_row(BOB, granted_by=CAROL, level=1)
TO_CAROL = grant_row(CAROL, level=4, expires_us=NOW + 5)
TO_BOB_THERE = grant_row(BOB, space=THERE, level=3)


@pytest.fixture(autouse=True)
def granted(store: Store) -> None:
    def job(tx: Transaction) -> None:
        for row in (TO_BOB, TO_BOB_FROM_CAROL, TO_CAROL, TO_BOB_THERE):
            tx.grants.put(row)

    write(store, job)


def on(store: Store) -> list[GrantRow]:
    return sorted(store.grants.on(HERE))


def test_grants_are_found_by_space_by_grantee_and_by_both(store: Store) -> None:
    assert sorted(store.grants.of(HERE, BOB)) == [TO_BOB, TO_BOB_FROM_CAROL]
    assert on(store) == [TO_BOB, TO_BOB_FROM_CAROL, TO_CAROL]
    assert sorted(store.grants.to(BOB)) == [TO_BOB, TO_BOB_FROM_CAROL, TO_BOB_THERE]


def test_where_nothing_was_granted_there_is_nothing(store: Store) -> None:
    assert store.grants.of(HERE, ALICE) == store.grants.of(NOWHERE, BOB) == []
    assert store.grants.on(NOWHERE) == []
    assert store.grants.to(ALICE) == []


def test_granting_again_replaces_level_expiry_and_code(store: Store) -> None:
    again = grant_row(CAROL, level=1, created_us=NOW + 1, expires_us=None, mac=b"new code")
    write(store, lambda tx: tx.grants.put(again))
    assert store.grants.of(HERE, CAROL) == [again]
    assert on(store) == [TO_BOB, TO_BOB_FROM_CAROL, again]


def test_one_grant_is_taken_back_and_counted(store: Store) -> None:
    assert write(store, lambda tx: tx.grants.delete(HERE, BOB, CAROL)) == 1
    assert on(store) == [TO_BOB, TO_CAROL]
    assert write(store, lambda tx: tx.grants.delete(HERE, BOB, CAROL)) == 0
    assert store.grants.on(THERE) == [TO_BOB_THERE]


def test_lapsed_grants_go_at_the_very_moment_of_their_expiry(store: Store) -> None:
    assert write(store, lambda tx: tx.grants.delete_expired(NOW + 4, 10)) == 0
    assert write(store, lambda tx: tx.grants.delete_expired(NOW + 5, 10)) == 1
    assert on(store) == [TO_BOB, TO_BOB_FROM_CAROL]


def test_lapsed_grants_go_at_most_so_many_at_once(store: Store) -> None:
    write(store, lambda tx: tx.grants.put(TO_BOB._replace(expires_us=NOW)))
    assert write(store, lambda tx: tx.grants.delete_expired(NOW + 9, 1)) == 1
    assert len(on(store)) == 2
    assert write(store, lambda tx: tx.grants.delete_expired(NOW + 9, 1)) == 1
    assert on(store) == [TO_BOB_FROM_CAROL]
