"""NameReads and NameWrites: sealed readable names by their blind id."""

from __future__ import annotations

from holdfast.contracts.storage import Store
from tests.conformance.rows import ALICE, BOB, write


def put(store: Store, blind: bytes, sealed: bytes) -> None:
    write(store, lambda tx: tx.names.put(blind, sealed))


def test_a_name_is_found_by_its_blind_id_alone(store: Store) -> None:
    put(store, ALICE, b"\0sealed\xff")
    assert store.names.get(ALICE) == b"\0sealed\xff"
    assert store.names.get(BOB) is None


def test_the_first_name_is_kept(store: Store) -> None:
    put(store, ALICE, b"first")
    put(store, ALICE, b"second")
    assert store.names.get(ALICE) == b"first"
