"""ReceiptReads and ReceiptWrites: what idempotency keys were answered."""

from __future__ import annotations

import pytest

from holdfast.contracts.rows import ReceiptRow
from holdfast.contracts.storage import Store, Transaction
from tests.conformance.rows import ALICE, BOB, HERE, NOW, THERE, blind, receipt_row, write

ONE = receipt_row("request 1", number=1, created_us=NOW)
TWO = receipt_row("request 2", number=2, created_us=NOW + 1)
OF_BOB = receipt_row("request 1", principal=BOB, number=1, created_us=NOW + 2)
ELSEWHERE = receipt_row("request 3", space=THERE, number=1, created_us=NOW + 3)


@pytest.fixture(autouse=True)
def kept(store: Store) -> None:
    def job(tx: Transaction) -> None:
        for row in (ONE, TWO, OF_BOB, ELSEWHERE):
            tx.receipts.put(row)

    write(store, job)


def left(store: Store) -> list[ReceiptRow]:
    asked = (ONE, TWO, OF_BOB, ELSEWHERE)
    return [row for each in asked if (row := store.receipts.get(each.principal, each.key))]


def test_a_receipt_is_found_by_principal_and_key_as_it_was_given(store: Store) -> None:
    row = receipt_row("other", number=0, answer=b"\xff\0", request=b"\0\xff")
    write(store, lambda tx: tx.receipts.put(row))
    assert store.receipts.get(ALICE, row.key) == row
    assert store.receipts.get(ALICE, ONE.key) == ONE
    assert store.receipts.get(BOB, ONE.key) == OF_BOB


def test_an_unknown_key_or_principal_has_no_receipt(store: Store) -> None:
    assert store.receipts.get(ALICE, blind("request 9")) is None
    assert store.receipts.get(BOB, TWO.key) is None


def test_a_new_receipt_replaces_the_old_one(store: Store) -> None:
    again = ONE._replace(request=b"another", answer=b"another")
    write(store, lambda tx: tx.receipts.put(again))
    assert left(store) == [again, TWO, OF_BOB, ELSEWHERE]


def test_old_receipts_go_at_most_so_many_at_once(store: Store) -> None:
    assert write(store, lambda tx: tx.receipts.delete_before(NOW, 10)) == 0
    assert write(store, lambda tx: tx.receipts.delete_before(NOW + 2, 1)) == 1
    assert write(store, lambda tx: tx.receipts.delete_before(NOW + 2, 10)) == 1
    assert left(store) == [OF_BOB, ELSEWHERE]


def test_receipts_of_an_entry_go_with_it_whoever_asked(store: Store) -> None:
    assert write(store, lambda tx: tx.receipts.delete_entry(HERE, 1)) == 2
    assert left(store) == [TWO, ELSEWHERE]
    assert write(store, lambda tx: tx.receipts.delete_entry(HERE, 1)) == 0


def test_receipts_of_one_principal_follow_an_entry_to_another_place(store: Store) -> None:
    assert write(store, lambda tx: tx.receipts.move(ALICE, HERE, 1, THERE, 7)) == 1
    assert left(store) == [ONE._replace(space=THERE, number=7), TWO, OF_BOB, ELSEWHERE]
    assert write(store, lambda tx: tx.receipts.move(ALICE, HERE, 1, THERE, 7)) == 0
    assert write(store, lambda tx: tx.receipts.delete_entry(THERE, 7)) == 1
    assert left(store) == [TWO, OF_BOB, ELSEWHERE]


def test_receipts_of_a_space_go_with_it(store: Store) -> None:
    assert write(store, lambda tx: tx.receipts.delete_space(HERE)) == 3
    assert left(store) == [ELSEWHERE]
