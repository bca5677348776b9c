"""VectorReads: the nearest vectors, where a backend compares them itself; elsewhere it says so and keeps none."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.contracts.storage import Store
from tests.conformance.rows import HERE, THERE, derive, derived_row, entry_row, insert, make_spaces

MODEL, KEY = 1, 1
VECTORS = {1: (1.0, 0.0), 2: (0.0, 1.0), 3: (0.6, 0.8), 4: (-1.0, 0.0)}


def stored(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f2").tobytes()


@pytest.fixture(autouse=True)
def derived(store: Store) -> None:
    make_spaces(store, HERE, THERE)
    insert(store, *[entry_row(number, length=1) for number in VECTORS])
    insert(store, entry_row(1, length=1), space=THERE)
    rows = [derived_row(number, MODEL, vector=stored(*vector)) for number, vector in VECTORS.items()]
    assert derive(store, *rows) == [True] * len(rows)
    derive(store, derived_row(1, MODEL, vector=stored(1.0, 0.0)), space=THERE)


def nearest(store: Store, limit: int | None, *, key_id: int = KEY, model: int = MODEL) -> dict[int, float]:
    assert store.vectors is not None
    found = store.vectors.cosines(HERE, model, key_id, stored(1.0, 0.0), limit)
    pairs = (pair.split(":") for pair in found.split(",") if pair)
    return {int(number): float(cosine) for number, cosine in pairs}


def test_the_nearest_come_first_with_their_cosines_or_the_backend_compares_none(store: Store) -> None:
    assert {row.vector for row in store.derived.of(HERE, MODEL)} == {b""}, "it is compared, and never read"
    if store.vectors is None:
        return
    found = nearest(store, None)
    assert list(found) == [1, 3, 2, 4]
    assert list(found.values()) == pytest.approx([1, 0.6, 0, -1], abs=1e-3)
    assert list(nearest(store, 2)) == [1, 3]
    assert nearest(store, None, key_id=9) == nearest(store, None, model=9) == {}
