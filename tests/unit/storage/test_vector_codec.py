"""Vectors turned by a key: what stays, and what is gone without it."""

import numpy as np

from holdfast.crypto.keys import DataKey
from holdfast.domain.ids import new_space_id
from holdfast.recall.arrays import Floats
from holdfast.storage.vector_codec import rotated

SECRET, OTHER = bytes(range(32)), bytes(range(1, 33))


def key(secret: bytes = SECRET) -> DataKey:
    return DataKey(new_space_id(), 1, secret)


def vectors(count: int = 20, dimensions: int = 64) -> Floats:
    drawn = np.random.default_rng(7).standard_normal((count, dimensions)).astype(np.float32)
    unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def test_cosines_stay_within_a_space_and_mean_nothing_between_two() -> None:
    plain = vectors()
    mine, other = key(), key(OTHER)
    turned = np.array([rotated(mine, vector) for vector in plain])
    foreign = np.array([rotated(other, vector) for vector in plain])
    np.testing.assert_allclose(turned @ turned.T, plain @ plain.T, atol=1e-5)
    assert np.abs(np.diag(turned @ foreign.T)).mean() < 0.3
    assert np.abs(np.diag(turned @ plain.T)).mean() < 0.3


def test_the_rotation_follows_from_the_key_alone() -> None:
    vector = vectors(1)[0]
    np.testing.assert_array_equal(rotated(key(), vector), rotated(key(), vector))
