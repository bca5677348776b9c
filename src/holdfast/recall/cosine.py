"""Cosine scan of one space. Exact for up to LARGE entries; above, sign codes select the nearest and these are exact.
Rows are unit vectors; an entry without a vector has a row of zeros and the cosine 0."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.arrays import Bools, Floats, Ints

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
