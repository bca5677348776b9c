"""The scan for meaning: exact while it can be, near enough above, never a number that is none."""

import numpy as np
import pytest

from holdfast.recall import cosine
from holdfast.recall.arrays import Floats
from holdfast.recall.cosine import (
    CosineRange,
    Vectors,
    cosine_range,
    encode_signs,
    normalise,
    scan,
)


def unit_rows(count: int, dimensions: int = 64) -> Floats:
    """Like a small model's: all lean the same way."""
    rows = np.random.default_rng(7).standard_normal((count, dimensions)).astype(np.float32) + np.float32(1.0)
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def index_vectors(matrix: Floats) -> Vectors:
    return Vectors(matrix, encode_signs(matrix) if len(matrix) > cosine.LARGE else None)


def test_a_space_is_scanned_exactly_until_it_is_large() -> None:
    rows = unit_rows(50)
    indexed = index_vectors(rows)
    assert indexed.codes is None
    assert scan(indexed, rows[3]).tolist() == pytest.approx((rows @ rows[3]).tolist(), abs=1e-6)


def test_a_large_space_is_searched_by_signs_and_its_nearest_are_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cosine, "LARGE", 1_000)
    monkeypatch.setattr(cosine, "RESCORED", 200)
    rows = unit_rows(2_000, 384)
    query = (rows[7] + rows[8]) / np.linalg.norm(rows[7] + rows[8])
    indexed = index_vectors(rows)
    assert indexed.codes is not None
    found, exact = scan(indexed, query), rows @ query
    assert set(np.argsort(-found)[:2].tolist()) == {7, 8}
    assert found[[7, 8]] == pytest.approx(exact[[7, 8]])
    assert np.count_nonzero(found == found.min()) > 1_000


def test_the_best_by_words_get_their_exact_cosine_however_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosine, "RESCORED", 10)
    rows = unit_rows(500)
    exact = rows @ rows[0]
    farthest = np.argsort(exact)[:3].astype(np.int32)
    found = scan(Vectors(rows, encode_signs(rows)), rows[0], also=farthest)
    assert found[farthest] == pytest.approx(exact[farthest])


@pytest.mark.parametrize("dimensions", [3, 64, 100, 384])
def test_any_number_of_dimensions_can_be_coded(dimensions: int) -> None:
    rows = unit_rows(30, dimensions)
    assert int(np.argmax(scan(Vectors(rows, encode_signs(rows)), rows[4]))) == 4


@pytest.mark.parametrize("count", [1, 2, 3, 5, 131, 1_001])
def test_equal_vectors_are_equally_near_wherever_they_stand(count: int) -> None:
    vector, query = unit_rows(2)
    assert len(set(scan(index_vectors(np.tile(vector, (count, 1))), query).tolist())) == 1


def test_a_space_where_no_vector_is_ready_yet_has_no_meaning() -> None:
    nothing = np.zeros((10, 64), np.float32)
    for indexed in (Vectors(nothing, None), Vectors(nothing, encode_signs(nothing))):
        cosine = scan(indexed, unit_rows(1)[0])
        assert not cosine.any()
        assert cosine_range([cosine]) is None
        assert not normalise(cosine, None).any()


def test_a_damaged_vector_counts_as_none() -> None:
    rows = unit_rows(4)
    rows[1, 0], rows[2, 0] = np.nan, np.inf
    cosine = scan(Vectors(rows, None), rows[0])
    assert np.isfinite(cosine).all()
    assert cosine[1] == cosine[2] == 0.0


def test_cosines_are_measured_between_the_worst_and_the_best_of_all_spaces() -> None:
    first, second = np.array([0.7, 0.0, 0.8], np.float32), np.array([0.9], np.float32)
    within = cosine_range([first, second])
    assert within == CosineRange(low=float(first[0]), high=float(second[0]))
    assert normalise(first, within) == pytest.approx([0.0, 0.0, 0.5], abs=1e-6)
    assert normalise(second, within) == pytest.approx([1.0])


def test_cosines_that_hardly_differ_are_not_blown_up() -> None:
    near = np.array([0.80, 0.801], np.float32)
    scaled = normalise(near, cosine_range([near]))
    assert scaled.max() - scaled.min() < 0.05
