"""Cosine scan of one space. Exact for up to LARGE entries; above, sign codes select the nearest and these are exact.
Rows are unit vectors; an entry without a vector has a row of zeros and the cosine 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.arrays import NOBODY, Bools, Floats, Ints
from holdfast.storage.vector_codec import STORED

LARGE = 20_000
RESCORED = 2_000
SAMPLE = 2_000
LEAST_SPREAD = 0.05


@dataclass(frozen=True, slots=True)
class SignCodes:
    """One bit for each dimension. Vectors of small models all point one way, so bits tell them apart only when
    centred."""

    centre: Floats
    bits: NDArray[np.uint64]
    sample: Floats  # some of the vectors, for the scale


@dataclass(frozen=True, slots=True)
class Vectors:
    """One row for each entry of the space; `codes` only for a large one."""

    matrix: Floats
    codes: SignCodes | None


@dataclass(frozen=True, slots=True)
class CosineRange:
    """Lowest and highest cosine of the question to any entry that has a vector."""

    low: float
    high: float


def scan(vectors: Vectors, query: Floats, also: Ints | None = None) -> Floats:
    """The cosine of every entry to the query, 0 while it waits for its vector. In a large space the far ones get the
    lowest cosine of a sample, except for `also` (the best by words)."""
    with np.errstate(all="ignore"):
        if vectors.codes is None:
            scores: Floats = _products(vectors.matrix, query)
        else:
            scores = _scan_by_signs(vectors.matrix, vectors.codes, query, also)
        damaged = not np.isfinite(scores.sum())
    if damaged:  # a NaN must not get into a score
        np.nan_to_num(scores, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    return scores


def encode_signs(matrix: Floats) -> SignCodes:
    sample = matrix[:: max(1, len(matrix) // SAMPLE)]
    known = sample[np.any(sample, axis=1)]
    centre: Floats = known.sum(axis=0, dtype=np.float32) / np.float32(max(len(known), 1))
    return SignCodes(centre, _bits(matrix - centre), known)


def cosine_range(cosines: Iterable[Floats]) -> CosineRange | None:
    """The range over all searched spaces; None if no entry has a vector."""
    known = [cosine if cosine.all() else cosine[cosine != 0.0] for cosine in cosines]
    if not any(each.size for each in known):
        return None
    low = min(float(each.min()) for each in known if each.size)
    high = max(float(each.max()) for each in known if each.size)
    # Where all are equally near, or there is but one, they are near and not far.
    return CosineRange(min(low, high - LEAST_SPREAD), high)


def normalise(cosine: Floats, within: CosineRange | None) -> Floats:
    """Scales cosines to 0..1 between the farthest and the nearest entry: those of a small model range from 0.65 to
    0.95."""
    if within is None:
        return np.zeros_like(cosine)
    scaled: Floats = cosine - np.float32(within.low)
    scaled /= np.float32(within.high - within.low)
    np.clip(scaled, 0.0, 1.0, out=scaled)
    scaled *= cosine != 0.0  # without a vector is not far
    return scaled


def _scan_by_signs(matrix: Floats, codes: SignCodes, query: Floats, also: Ints | None) -> Floats:
    apart = np.zeros(len(matrix), dtype=np.uint16)
    for column, signs in zip(codes.bits, _bits((query - codes.centre)[None, :]), strict=True):
        apart += np.bitwise_count(column ^ signs)
    exact = _nearest(apart)
    if also is not None:
        exact[also] = True
    sample = codes.sample @ query
    scores = np.full(len(matrix), sample.min(initial=1.0) if sample.size else 0.0, dtype=np.float32)
    rows = np.flatnonzero(exact)
    scores[rows] = _products(matrix[rows], query)
    return scores


def _products(rows: Floats, query: Floats) -> Floats:
    """Multiplies row by row. A matrix product rounds the last rows differently, so that equal vectors would differ by
    their position, and equal stores by the order of their notes."""
    products: Floats = np.vecdot(rows, query)
    return products


def _nearest(apart: NDArray[np.uint16]) -> Bools:
    """The RESCORED nearest entries; of equally near ones the newer."""
    within = np.searchsorted(np.cumsum(np.bincount(apart)), RESCORED)
    near: Bools = apart < within
    edge = np.flatnonzero(apart == within)
    near[edge[-(RESCORED - int(np.count_nonzero(near))) :]] = True
    return near


def _bits(centred: Floats) -> NDArray[np.uint64]:
    """Packs 64 dimensions into a row, entries along the columns: distances then add up over contiguous memory."""
    packed = np.packbits(centred > 0.0, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(padded.view(np.uint64).T)


FIRST_ROWS = 64


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: Floats
    used: int
    coded: int = 0
    """The number of rows with sign codes, by which a large matrix is scanned first."""
    codes: SignCodes | None = None

    @classmethod
    def empty(cls, dimensions: int) -> Matrix:
        return cls(np.zeros((0, dimensions), dtype=np.float32), 0)

    @property
    def dimensions(self) -> int:
        return int(self.rows.shape[1])

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes + (0 if self.codes is None else self.codes.bits.nbytes))

    def with_vector(self, stored: bytes) -> tuple[Matrix, int]:
        """Adds a vector and returns its row; NOBODY when it has another length."""
        if len(stored) != self.dimensions * STORED.itemsize:
            return self, NOBODY
        rows = self.rows
        if self.used == len(rows):
            rows = np.zeros((max(FIRST_ROWS, 2 * self.used), self.dimensions), dtype=np.float32)
            rows[: self.used] = self.rows[: self.used]
        rows[self.used] = np.frombuffer(stored, dtype=STORED)
        return replace(self, rows=rows, used=self.used + 1), self.used

    def only(self, slots: Ints) -> Matrix:
        return Matrix(self.rows[slots], len(slots))

    def with_codes(self) -> Matrix:
        """Encodes a large matrix, and again once a quarter of LARGE rows came without codes."""
        if self.used <= LARGE or self.used - self.coded < LARGE // 4:
            return self
        return replace(self, coded=self.used, codes=encode_signs(self.rows[: self.used]))

    def cosines(self, query: Floats, slots: Ints, also: Ints | None = None) -> Floats:
        """The cosines of these rows, 0 for NOBODY. In a large matrix exact for the nearest, for the rows `also`, and
        for the newest."""
        if not self.used:
            return np.zeros(len(slots), dtype=np.float32)
        scores = scan(Vectors(self.rows[self.coded : self.used], None), query)
        if self.coded:
            near = None if also is None else also[(also >= 0) & (also < self.coded)]
            by_signs = scan(Vectors(self.rows[: self.coded], self.codes), query, near)
            scores = np.concatenate((by_signs, scores))
        # Until something changes, the slots are all rows in order.
        if len(slots) == self.used and np.array_equal(slots, np.arange(self.used, dtype=slots.dtype)):
            return scores
        return np.where(slots == NOBODY, np.float32(0.0), scores.take(slots, mode="wrap"))
