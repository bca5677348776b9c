"""Rows that ranking reads: outlines of entries, their features and vectors, and the embedders these came from."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import DerivedRow, EntryRow, ModelRow, OutlineRow, Visible
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import Halfvec, Reads, Writes
from holdfast.storage.postgres.entries import HEAD, LIVE, shown
from holdfast.storage.postgres.statements import Statement, Values, of_space, of_store, shared

_NEWER = """entries.space_id = %(space)s
   AND entries.seq > %(after)s
   AND entries.trashed_us IS NULL
   AND entries.length > 0"""

_OUTLINE = ", ".join(f"entries.{column}" for column in OutlineRow._fields)


class OutlineReads(Reads):
    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        return list(map(OutlineRow._make, self._reader.rows(_OUTLINES, {"space": space, "after": after})))

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        rows = self._reader.rows(_CHANGED, {"space": space, "after": after, "limit": limit})
        return list(map(EntryRow._make, rows))

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        rows = self._reader.rows(_LABELLED, {"space": space, "labels": list(labels)})
        return [number for (number,) in rows]


_OUTLINES = of_space(
    "outlines.of",
    f"""
    SELECT {_OUTLINE}
      FROM holdfast.entries
     WHERE {_NEWER}
       AND entries.partition BETWEEN 1 AND 9
     ORDER BY entries.seq
    """,
)
_CHANGED = of_space(
    "outlines.changed",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {_NEWER}
       AND entries.partition BETWEEN 1 AND 9
     ORDER BY entries.seq
     LIMIT %(limit)s
    """,
)
_LABELLED = of_space(
    "outlines.labelled",
    """
    SELECT DISTINCT labels.number
      FROM holdfast.labels
     WHERE labels.space_id = %(space)s
       AND labels.label = ANY (%(labels)s::bytea[])
    """,
)


_COLUMNS = "number, model, revision, key_id, sealed"


class DerivedReads(Reads):
    def of(self, space: UUID, model: int, numbers: Sequence[int] | None = None) -> list[DerivedRow]:
        if numbers is None:
            return self._rows(_OF, {"space": space, "model": model})
        return self._rows(_OF_NUMBERS, {"space": space, "model": model, "numbers": list(numbers)})

    def progress(self, model: int, space: UUID) -> int:
        rows = self._reader.rows(_PROGRESS, {"space": space, "model": model})
        return int(rows[0][0]) if rows else 0

    def behind(self, model: int, limit: int) -> list[UUID]:
        return [space for (space,) in self._reader.rows(_BEHIND, {"model": model, "limit": limit})]

    def count_behind(self, model: int, visible: Visible | None = None) -> int:
        if visible is None:
            return int(self._reader.rows(_COUNT_BEHIND, {"model": model})[0][0])
        return int(self._reader.rows(_COUNT_BEHIND_IN, {"model": model} | shown(visible))[0][0])

    def sealed_with(self, space: UUID, key_id: int, limit: int) -> list[DerivedRow]:
        return self._rows(_SEALED_WITH, {"space": space, "key_id": key_id, "limit": limit})

    def _rows(self, statement: Statement, values: Values) -> list[DerivedRow]:
        return [DerivedRow(*row) for row in self._reader.rows(statement, values)]


_OF = of_space(
    "derived.of",
    f"SELECT {_COLUMNS} FROM holdfast.derived WHERE space_id = %(space)s AND model = %(model)s",
)
_OF_NUMBERS = of_space(
    "derived.of, numbers",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.derived
     WHERE space_id = %(space)s
       AND number = ANY (%(numbers)s::bigint[])
       AND model = %(model)s
    """,
)
_PROGRESS = of_space(
    "derived.progress",
    "SELECT seq FROM holdfast.progress WHERE space_id = %(space)s AND model = %(model)s",
)
_BEHIND = of_store(
    "derived.behind",
    """
    SELECT spaces.space_id
      FROM holdfast.spaces
      LEFT JOIN holdfast.progress ON progress.space_id = spaces.space_id
                                 AND progress.model = %(model)s
     WHERE spaces.seq > coalesce(progress.seq, 0)
     LIMIT %(limit)s
    """,
    because="the queue of what waits to be derived is one for all workers",
)
_COUNT_BEHIND = of_store(
    "derived.count_behind",
    """
    SELECT count(*)
      FROM holdfast.spaces
      LEFT JOIN holdfast.progress ON progress.space_id = spaces.space_id
                                 AND progress.model = %(model)s
      JOIN holdfast.entries ON entries.space_id = spaces.space_id
                           AND entries.seq > coalesce(progress.seq, 0)
                           AND entries.partition BETWEEN 1 AND 9
                           AND entries.trashed_us IS NULL
                           AND entries.length > 0
     WHERE spaces.seq > coalesce(progress.seq, 0)
    """,
    because="counts what waits in all spaces",
)
_COUNT_BEHIND_IN = of_space(
    "derived.count_behind, one space",
    f"""
    SELECT count(*)
      FROM holdfast.entries
      LEFT JOIN holdfast.progress ON progress.space_id = entries.space_id
                                 AND progress.model = %(model)s
     WHERE {LIVE}
       AND entries.seq > coalesce(progress.seq, 0)
       AND entries.partition BETWEEN 1 AND 9
       AND entries.length > 0
    """,
)
_SEALED_WITH = of_space(
    "derived.sealed_with",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.derived
     WHERE space_id = %(space)s
       AND key_id = %(key_id)s
     LIMIT %(limit)s
    """,
)


class DerivedWrites(DerivedReads, Writes):
    def put(self, space: UUID, row: DerivedRow) -> bool:
        vector = Halfvec.of(row.vector) if row.vector else None
        return self._tx.count(_PUT, {"space": space, **row._asdict(), "vector": vector}) > 0

    def advance(self, model: int, space: UUID, seq: int) -> None:
        self._tx.run(_ADVANCE, {"space": space, "model": model, "seq": seq})

    def fall_back(self, space: UUID, seq: int) -> None:
        self._tx.run(_FALL_BACK, {"space": space, "seq": seq})

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        self._tx.run(_DROP, {"space": space, "numbers": list(numbers)})

    def drop_space(self, space: UUID) -> None:
        self._tx.run(_DROP_SPACE, {"space": space})

    def drop_model(self, model: int, limit: int) -> int:
        dropped = self._tx.count(_DROP_MODEL, {"model": model, "limit": limit})
        if dropped < limit:
            self._tx.run(_DROP_PROGRESS, {"model": model})
        return dropped


_PUT = of_space(
    "derived.put",
    """
    INSERT INTO holdfast.derived (space_id, number, model, revision, key_id, sealed, vector)
    SELECT space_id, number, %(model)s, revision, %(key_id)s, %(sealed)s, %(vector)s::halfvec
      FROM holdfast.entries
     WHERE space_id = %(space)s
       AND number = %(number)s
       AND revision = %(revision)s
    ON CONFLICT (space_id, number, model)
    DO UPDATE SET revision = excluded.revision,
                  key_id = excluded.key_id,
                  sealed = excluded.sealed,
                  vector = excluded.vector
    """,
)
_ADVANCE = of_space(
    "derived.advance",
    """
    INSERT INTO holdfast.progress (space_id, model, seq)
    VALUES (%(space)s, %(model)s, %(seq)s)
    ON CONFLICT (space_id, model) DO UPDATE SET seq = excluded.seq
    """,
)
_FALL_BACK = of_space(
    "derived.fall_back",
    "UPDATE holdfast.progress SET seq = %(seq)s - 1 WHERE space_id = %(space)s AND seq >= %(seq)s",
)
_DROP = of_space(
    "derived.drop",
    "DELETE FROM holdfast.derived WHERE space_id = %(space)s AND number = ANY (%(numbers)s::bigint[])",
)
_DROP_SPACE = of_space("derived.drop_space", "DELETE FROM holdfast.derived WHERE space_id = %(space)s")
_DROP_MODEL = of_store(
    "derived.drop_model",
    """
    DELETE FROM holdfast.derived
     WHERE (space_id, number, model) IN (SELECT space_id, number, model
                                           FROM holdfast.derived
                                          WHERE model = %(model)s
                                          LIMIT %(limit)s)
    """,
    because="a model is dropped from the whole store",
)
_DROP_PROGRESS = of_store(
    "derived.drop_model, progress",
    "DELETE FROM holdfast.progress WHERE model = %(model)s",
    because="a model is dropped from the whole store",
)


_OF_STORE = "models serve the whole store"


class ModelReads(Reads):
    def all(self) -> list[ModelRow]:
        return list(map(ModelRow._make, self._reader.rows(_MODELS)))


_MODELS = shared(
    "models.all",
    "SELECT model, name, dimensions, state, overlap, created_us FROM holdfast.models ORDER BY model",
    because=_OF_STORE,
)


class ModelWrites(ModelReads, Writes):
    def all(self) -> list[ModelRow]:
        """Locks the models in a transaction, so that at most one serves."""
        self._tx.lock(b"models")
        return super().all()

    def insert(self, name: str, dimensions: int, state: str, now: int) -> int:
        values = {"name": name, "dimensions": dimensions, "state": state, "now": now}
        rows = self._tx.rows(_INSERT_MODEL, values)
        if not rows:
            raise Conflict
        return int(rows[0][0])

    def set_state(self, model: int, state: str, overlap: float | None) -> None:
        self._tx.run(_SET_MODEL_STATE, {"model": model, "state": state, "overlap": overlap})

    def delete(self, model: int) -> None:
        self._tx.run(_DELETE_MODEL, {"model": model})


_INSERT_MODEL = shared(
    "models.insert",
    """
    INSERT INTO holdfast.models (name, dimensions, state, created_us)
    VALUES (%(name)s, %(dimensions)s, %(state)s, %(now)s)
    ON CONFLICT DO NOTHING
    RETURNING model
    """,
    because=_OF_STORE,
)
_SET_MODEL_STATE = shared(
    "models.set_state",
    "UPDATE holdfast.models SET state = %(state)s, overlap = %(overlap)s WHERE model = %(model)s",
    because=_OF_STORE,
)
_DELETE_MODEL = shared(
    "models.delete", "DELETE FROM holdfast.models WHERE model = %(model)s", because=_OF_STORE
)
