"""KeyReads and KeyWrites: wrapped data keys of spaces."""

from __future__ import annotations

import pytest

from holdfast.contracts.rows import KeyRow, KeyUse
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.errors import Conflict
from tests.conformance.rows import HERE, NOWHERE, THERE, key_row, make_spaces, space_id, write

OLD, NEW = b"master 1", b"master 2"


def keep(store: Store, *rows: KeyRow) -> None:
    def job(tx: Transaction) -> None:
        for row in rows:
            tx.keys.insert(row)

    write(store, job)


def test_keys_of_a_space_come_oldest_first_as_they_were_given(store: Store) -> None:
    rows = [key_row(HERE, number, wrapped=bytes([number]) * 60) for number in (1, 2, 3)]
    keep(store, rows[2], rows[0], rows[1], key_row(THERE, 1))
    assert store.keys.of(HERE) == rows
    assert store.keys.of(NOWHERE) == []


def test_keys_come_with_the_id_of_the_one_that_writes_use(store: Store) -> None:
    keep(store, key_row(HERE, 2), key_row(HERE, 1), key_row(NOWHERE, 4))
    make_spaces(store, HERE, THERE)
    write(store, lambda tx: tx.spaces.use_key(HERE, 2))
    assert store.keys.with_current(HERE) == ([key_row(HERE, 1), key_row(HERE, 2)], 2)
    assert store.keys.with_current(THERE) == ([], 1)
    assert store.keys.with_current(NOWHERE) == ([key_row(NOWHERE, 4)], None)
    assert store.keys.with_current(space_id(9)) == ([], None)


def test_a_key_needs_no_stored_space(store: Store) -> None:
    keep(store, key_row(NOWHERE))
    assert store.keys.of(NOWHERE) == [key_row(NOWHERE)]


def test_a_taken_key_id_is_a_conflict_and_the_first_stays(store: Store) -> None:
    keep(store, key_row(HERE, 1))
    with pytest.raises(Conflict):
        keep(store, key_row(HERE, 1, wrapped=b"another"))
    assert store.keys.of(HERE) == [key_row(HERE, 1)]


def test_keys_under_another_master_are_found_in_every_space(store: Store) -> None:
    keep(store, key_row(HERE, 1), key_row(HERE, 2, master=NEW), key_row(THERE, 1))
    assert sorted(store.keys.not_under(NEW, 10)) == [key_row(HERE, 1), key_row(THERE, 1)]
    assert len(store.keys.not_under(NEW, 1)) == 1
    assert store.keys.not_under(OLD, 10) == [key_row(HERE, 2, master=NEW)]


def test_rewrapping_replaces_master_and_wrap_of_one_key(store: Store) -> None:
    keep(store, key_row(HERE, 1), key_row(HERE, 2), key_row(THERE, 1))
    rewrapped = key_row(HERE, 1, master=NEW, wrapped=b"again")
    write(store, lambda tx: tx.keys.rewrap(rewrapped))
    assert store.keys.of(HERE) == [rewrapped, key_row(HERE, 2)]
    assert store.keys.of(THERE) == [key_row(THERE, 1)]


def test_one_key_or_all_of_a_space_are_destroyed_and_counted(store: Store) -> None:
    keep(store, *[key_row(HERE, number) for number in (1, 2, 3)], key_row(THERE, 1))
    assert write(store, lambda tx: tx.keys.delete(HERE, 2)) == 1
    assert [row.key_id for row in store.keys.of(HERE)] == [1, 3]
    assert write(store, lambda tx: tx.keys.delete(HERE)) == 2
    assert store.keys.of(HERE) == []
    assert write(store, lambda tx: tx.keys.delete(HERE)) == 0
    assert store.keys.of(THERE) == [key_row(THERE, 1)]


def test_uses_are_added_up_and_the_most_used_come_first(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    keep(store, key_row(HERE, 2), key_row(THERE, 2))

    def use(tx: Transaction) -> None:
        for space, key_id, uses in ((HERE, 2, 5), (THERE, 2, 6), (HERE, 2, 5), (HERE, 99, 5)):
            tx.keys.add_uses(space, key_id, uses)

    write(store, use)
    assert store.keys.most_used(2) == [KeyUse(HERE, 2, 10), KeyUse(THERE, 2, 6)]
