"""The opened vectors of one space. Rows are only ever added, so an earlier snapshot goes on reading its own."""

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
