"""ModelReads and ModelWrites: the embedders whose vectors are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.contracts.rows import FOLLOWING, FORMER, HELD, SERVING, ModelRow
from holdfast.contracts.storage import Store
from holdfast.domain.errors import Conflict
from tests.conformance.rows import NOW, write


def keep(store: Store, name: str, state: str = SERVING, dimensions: int = 384) -> int:
    return write(store, lambda tx: tx.models.insert(name, dimensions, state, NOW))


def states(store: Store) -> list[tuple[str, str, float | None]]:
    return [(row.name, row.state, row.overlap) for row in store.models.all()]


def test_at_first_there_is_none(store: Store) -> None:
    assert store.models.all() == []


def test_a_model_comes_back_as_it_was_given_under_its_number(store: Store) -> None:
    number = keep(store, "größe/v1 int8", FOLLOWING, 96)
    assert number > 0
    assert store.models.all() == [ModelRow(number, "größe/v1 int8", 96, FOLLOWING, None, NOW)]
    assert write(store, lambda tx: tx.models.all()) == store.models.all()


def test_models_come_oldest_first(store: Store) -> None:
    for name in ("c", "a", "b"):
        keep(store, name)
    assert [row.name for row in store.models.all()] == ["c", "a", "b"]
    numbers = [row.model for row in store.models.all()]
    assert numbers == sorted(set(numbers))


def test_a_state_and_an_overlap_change_for_one_model_alone(store: Store) -> None:
    old, new = keep(store, "old"), keep(store, "new", FOLLOWING)
    write(store, lambda tx: tx.models.set_state(new, HELD, 0.25))
    assert states(store) == [("old", SERVING, None), ("new", HELD, 0.25)]
    write(store, lambda tx: tx.models.set_state(new, SERVING, None))
    write(store, lambda tx: tx.models.set_state(old, FORMER, 1.0))
    assert states(store) == [("old", FORMER, 1.0), ("new", SERVING, None)]
    write(store, lambda tx: tx.models.set_state(99, SERVING, None))
    assert len(store.models.all()) == 2


def test_a_name_is_taken_once(store: Store) -> None:
    keep(store, "one")
    with pytest.raises(Conflict):
        keep(store, "one", FOLLOWING)
    assert states(store) == [("one", SERVING, None)]


def test_a_number_is_never_given_again(store: Store) -> None:
    first, last = keep(store, "first"), keep(store, "last")
    write(store, lambda tx: tx.models.delete(last))
    assert [row.model for row in store.models.all()] == [first]
    assert keep(store, "last") > last
    write(store, lambda tx: tx.models.delete(99))
    assert len(store.models.all()) == 2


def test_models_last_with_the_store(store: Store, reopen: Callable[[], Store]) -> None:
    number = keep(store, "one")
    write(store, lambda tx: tx.models.delete(number))
    again = reopen()
    assert keep(again, "two") > number
    assert [row.name for row in again.models.all()] == ["two"]
