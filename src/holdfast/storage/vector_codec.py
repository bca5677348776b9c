"""Vectors at rest: half precision inside the sealed row, and rotated by a key of their space where the database
compares them. Rotation keeps the cosines within one space; without the key, the numbers mean nothing. Limits:
docs/threat-model.md."""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from holdfast.crypto.keys import DataKey

Floats = NDArray[np.float32]
STORED = np.dtype("<f2")
"""Half precision at rest: a cosine changes by less than a thousandth."""
KEPT = 64
"""Rotations cached: one of 384 dimensions takes 600 KB and 20 ms to make."""


def rotated(key: DataKey, vector: Floats) -> Floats:
    turned: Floats = _rotation(key.rotation, len(vector)) @ vector
    return turned


@lru_cache(KEPT)
def _rotation(secret: bytes, dimensions: int) -> Floats:
    """A random orthogonal matrix, equal on every machine: normal numbers from the key, made orthogonal."""
    count = dimensions * dimensions
    drawn = np.frombuffer(shake_256(secret).digest(16 * count), dtype="<u8").reshape(2, count)
    uniform = ((drawn >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)
    normal: NDArray[np.float64] = np.sqrt(-2.0 * np.log(uniform[0])) * np.cos(2.0 * np.pi * uniform[1])
    orthogonal, upper = np.linalg.qr(normal.reshape(dimensions, dimensions))
    return (orthogonal * np.sign(np.diag(upper))).astype(np.float32)


def stored_vector(vector: Floats) -> bytes:
    return vector.astype(STORED).tobytes()


def opened_vector(stored: bytes) -> Floats:
    return np.frombuffer(stored, dtype=STORED).astype(np.float32)
