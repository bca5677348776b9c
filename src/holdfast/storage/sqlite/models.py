"""The embedders whose vectors are kept."""

from __future__ import annotations

from holdfast.contracts.rows import ModelRow
from holdfast.storage.sqlite.connections import OnConnection, Reader


class ModelReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def all(self) -> list[ModelRow]:
        rows = self._reader.rows(
            "SELECT model, name, dimensions, state, overlap, created_us FROM models ORDER BY model"
        )
        return list(map(ModelRow._make, rows))


class ModelWrites(ModelReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def insert(self, name: str, dimensions: int, state: str, now: int) -> int:
        self._tx.run(
            "INSERT INTO models (name, dimensions, state, created_us) VALUES (?, ?, ?, ?)",
            (name, dimensions, state, now),
        )
        return self._tx.db.last_insert_rowid()

    def set_state(self, model: int, state: str, overlap: float | None) -> None:
        self._tx.run("UPDATE models SET state = ?2, overlap = ?3 WHERE model = ?1", (model, state, overlap))

    def delete(self, model: int) -> None:
        self._tx.run("DELETE FROM models WHERE model = ?", (model,))
