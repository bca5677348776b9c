"""The opened vectors of one space, in rows that are only ever added: a view made earlier goes on reading its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holdfast.recall.arrays import NOBODY, Floats, Ints
from holdfast.recall.cosine import LARGE, SignCodes, Vectors, encode_signs, scan
from holdfast.storage.vector_codec import STORED

FIRST_ROWS = 64


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: Floats
    used: int
    coded: int = 0
    """So many of the first rows have sign codes: a large matrix is scanned by them first."""
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
        """One vector more, and its row; NOBODY when it has another length."""
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
        """Codes for a large matrix, made anew once a quarter of LARGE has come without."""
        if self.used <= LARGE or self.used - self.coded < LARGE // 4:
            return self
        return replace(self, coded=self.used, codes=encode_signs(self.rows[: self.used]))

    def cosines(self, query: Floats, slots: Ints, also: Ints | None = None) -> Floats:
        """Of the vectors in these rows, 0 for NOBODY. In a large matrix exact for the nearest, for `also` (rows), and
        for what came last."""
        if not self.used:
            return np.zeros(len(slots), dtype=np.float32)
        scores = self._cosines(query, also)
        if self._in_order(slots):
            return scores
        return np.where(slots == NOBODY, np.float32(0.0), scores.take(slots, mode="wrap"))

    def _in_order(self, slots: Ints) -> bool:
        """Whether these are all the rows, one after the other, as they are until something changes."""
        return len(slots) == self.used and np.array_equal(slots, np.arange(self.used, dtype=slots.dtype))

    def _cosines(self, query: Floats, also: Ints | None) -> Floats:
        scores = scan(Vectors(self.rows[self.coded : self.used], None), query)
        if self.coded:
            near = None if also is None else also[(also >= 0) & (also < self.coded)]
            by_signs = scan(Vectors(self.rows[: self.coded], self.codes), query, near)
            scores = np.concatenate((by_signs, scores))
        return scores
