"""Vectors compared by PostgreSQL: exact, in order, and through an index that an owner asks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import InvalidField
from holdfast.storage.postgres.connections import Halfvec, adapt
from holdfast.storage.postgres.store import PostgresStore
from holdfast.storage.postgres.vectors import _nearest
from tests.conformance.rows import HERE, THERE, derived_row, entry_row, make_spaces

DIMENSIONS, ENTRIES, MODEL, KEY = 32, 400, 1, 1


def unit_vectors(count: int) -> NDArray[np.float32]:
    made = np.random.default_rng(7).normal(size=(count, DIMENSIONS)).astype(np.float32)
    normed: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return normed


VECTORS = unit_vectors(ENTRIES)


def stored(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f2").tobytes()


@pytest.fixture(autouse=True)
def derived(store: PostgresStore) -> None:
    make_spaces(store, HERE, THERE)

    def job(tx: Transaction) -> None:
        for number, vector in enumerate(VECTORS, 1):
            tx.entries.insert(HERE, entry_row(number, length=1))
            tx.derived.put(HERE, derived_row(number, MODEL, vector=stored(vector)))
        tx.entries.insert(THERE, entry_row(1, length=1))
        tx.derived.put(THERE, derived_row(1, MODEL, vector=stored(VECTORS[0])))

    store.write(job)


def nearest(store: PostgresStore, query: NDArray[np.float32], limit: int | None) -> list[tuple[int, float]]:
    found = store.vectors.cosines(HERE, MODEL, KEY, stored(query), limit)
    return [
        (int(number), float(cosine))
        for number, _, cosine in (pair.partition(":") for pair in found.split(","))
    ]


def test_cosines_are_those_of_the_stored_halves(store: PostgresStore) -> None:
    found = nearest(store, VECTORS[5], None)
    halves = VECTORS.astype(np.float16).astype(np.float64)
    expected = halves @ halves[5]
    assert len(found) == ENTRIES
    assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)
    assert found[0][0] == 6
    assert [cosine for _, cosine in found] == pytest.approx(
        [expected[number - 1] for number, _ in found], abs=1e-4
    )


def test_a_limit_gives_the_first_of_all(store: PostgresStore) -> None:
    assert nearest(store, VECTORS[5], 10) == nearest(store, VECTORS[5], None)[:10]


def test_equal_cosines_come_by_number(store: PostgresStore) -> None:
    def job(tx: Transaction) -> None:
        for number in (9, 3, 7):
            tx.derived.put(HERE, derived_row(number, MODEL, vector=stored(VECTORS[0])))

    store.write(job)
    assert [number for number, _ in nearest(store, VECTORS[0], 4)] == [1, 3, 7, 9]
    assert [number for number, _ in nearest(store, VECTORS[0], None)[:4]] == [1, 3, 7, 9]


class TestAnIndex:
    @pytest.fixture(autouse=True)
    def index(self, store: PostgresStore) -> Iterator[str]:
        yield store.vectors.build_index(HERE, MODEL, DIMENSIONS)
        store.vectors.drop_index(HERE, MODEL)

    def test_finds_nearly_the_same_and_as_many_as_asked_for(self, store: PostgresStore) -> None:
        exact = {number for number, _ in nearest(store, VECTORS[5], None)[:60]}
        found = {number for number, _ in nearest(store, VECTORS[5], 60)}
        assert len(found) == 60, "it goes on after the 40 that an index gives at once"
        assert len(found & exact) >= 55

    def test_is_what_the_statement_reads_in_the_order_of_nearness(self, dsn: str, index: str) -> None:
        values = {
            "space": HERE,
            "model": MODEL,
            "key_id": KEY,
            "query": Halfvec.of(stored(VECTORS[0])),
            "limit": 9,
        }
        with psycopg.connect(dsn) as db:
            adapt(db)
            db.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
            rows = db.execute(b"EXPLAIN " + _nearest(DIMENSIONS).sql, values).fetchall()
        assert any(f"Index Scan using {index}" in line for (line,) in rows)

    def test_can_be_built_twice_and_dropped_twice(self, dsn: str, store: PostgresStore, index: str) -> None:
        assert store.vectors.build_index(HERE, MODEL, DIMENSIONS) == index
        assert _indexes(dsn) == [index]
        store.vectors.drop_index(HERE, MODEL)
        store.vectors.drop_index(HERE, MODEL)
        assert _indexes(dsn) == []
        assert len(nearest(store, VECTORS[5], 10)) == 10

    def test_lies_on_the_partition_of_its_space(self, dsn: str, store: PostgresStore, index: str) -> None:
        with psycopg.connect(dsn) as db:
            rows = db.execute(
                """
                SELECT DISTINCT derived.tableoid = pg_index.indrelid
                  FROM holdfast.derived, pg_index
                 WHERE space_id = %s AND indexrelid = ('holdfast.' || %s)::regclass
                """,
                (HERE, index),
            ).fetchall()
        assert rows == [(True,)]


def test_too_many_dimensions_for_an_index_are_refused(store: PostgresStore) -> None:
    with pytest.raises(InvalidField):
        store.vectors.build_index(HERE, MODEL, 5_000)


def _indexes(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as db:
        rows = db.execute(
            "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'derived\\_near\\_%'"
        ).fetchall()
    return [name for (name,) in rows]
