"""The embedders whose vectors are kept."""

from __future__ import annotations

from holdfast.contracts.rows import ModelRow
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import OnConnection, Reader
from holdfast.storage.postgres.statements import shared

_OF_STORE = "models serve the whole store"


class ModelReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def all(self) -> list[ModelRow]:
        return list(map(ModelRow._make, self._reader.rows(_ALL)))


_ALL = shared(
    "models.all",
    "SELECT model, name, dimensions, state, overlap, created_us FROM holdfast.models ORDER BY model",
    because=_OF_STORE,
)


class ModelWrites(ModelReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def all(self) -> list[ModelRow]:
        """Locks the models in a transaction, so that at most one serves."""
        self._tx.lock(b"models")
        return super().all()

    def insert(self, name: str, dimensions: int, state: str, now: int) -> int:
        values = {"name": name, "dimensions": dimensions, "state": state, "now": now}
        rows = self._tx.rows(_INSERT, values)
        if not rows:
            raise Conflict
        return int(rows[0][0])

    def set_state(self, model: int, state: str, overlap: float | None) -> None:
        self._tx.run(_SET_STATE, {"model": model, "state": state, "overlap": overlap})

    def delete(self, model: int) -> None:
        self._tx.run(_DELETE, {"model": model})


_INSERT = shared(
    "models.insert",
    """
    INSERT INTO holdfast.models (name, dimensions, state, created_us)
    VALUES (%(name)s, %(dimensions)s, %(state)s, %(now)s)
    ON CONFLICT DO NOTHING
    RETURNING model
    """,
    because=_OF_STORE,
)
_SET_STATE = shared(
    "models.set_state",
    "UPDATE holdfast.models SET state = %(state)s, overlap = %(overlap)s WHERE model = %(model)s",
    because=_OF_STORE,
)
_DELETE = shared("models.delete", "DELETE FROM holdfast.models WHERE model = %(model)s", because=_OF_STORE)
