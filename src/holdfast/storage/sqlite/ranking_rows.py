"""Rows that ranking reads: outlines of entries, their features and vectors, and the embedders these came from."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import DerivedRow, EntryRow, ModelRow, OutlineRow, Visible, partition_mask
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import Reads, Writes
from holdfast.storage.sqlite.entries import HEAD, LIVE, NUMBER_MASK

_NEWER = """entries.space = ?1
   AND entries.partition IN (1, 2, 3, 4, 5, 6, 7, 8, 9)
   AND entries.seq > ?2
   AND entries.trashed_us IS NULL
   AND entries.length > 0"""
"""Names every partition by its number, so that the index by partition and sequence is used."""


class OutlineReads(Reads):
    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        rows = self._reader.rows(
            f"""
            SELECT entries.entry & {NUMBER_MASK}, entries.partition, entries.owner, entries.revision, entries.seq,
                   entries.updated_us, entries.expires_us, entries.flags, entries.length
              FROM entries
             WHERE {_NEWER}
             ORDER BY entries.seq
            """,
            (self._number_of(space), after),
        )
        return list(map(OutlineRow._make, rows))

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        rows = self._reader.rows(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE {_NEWER}
             ORDER BY entries.seq
             LIMIT ?3
            """,
            (self._number_of(space), after, limit),
        )
        return list(map(EntryRow._make, rows))

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        base = self._number_of(space)
        found: set[int] = set()
        for label in labels:
            rows = self._reader.rows(
                f"SELECT entry & {NUMBER_MASK} FROM labels WHERE space = ? AND label = ?", (base, label)
            )
            found.update(number for (number,) in rows)
        return list(found)


_COLUMNS = f"derived.entry & {NUMBER_MASK}, derived.model, derived.revision, derived.key_id, derived.sealed"


class DerivedReads(Reads):
    def of(self, space: UUID, model: int, numbers: Sequence[int] | None = None) -> list[DerivedRow]:
        base = self._number_of(space) << NUMBER_BITS
        if numbers is None:
            return self._rows(
                f"SELECT {_COLUMNS} FROM derived WHERE entry > ?1 AND entry < ?2 AND model = ?3",
                (base, base + (1 << NUMBER_BITS), model),
            )
        return self._rows(
            f"""
            SELECT {_COLUMNS}
              FROM json_each(?1) AS wanted
             CROSS JOIN derived ON derived.entry = wanted.value AND derived.model = ?2
            """,
            (str([base | number for number in numbers]), model),
        )

    def progress(self, model: int, space: UUID) -> int:
        rows = self._reader.rows(
            "SELECT seq FROM progress WHERE model = ? AND space = ?", (model, self._number_of(space))
        )
        return int(rows[0][0]) if rows else 0

    def behind(self, model: int, limit: int) -> list[UUID]:
        rows = self._reader.rows(
            """
            SELECT spaces.id
              FROM spaces
              LEFT JOIN progress ON progress.model = ?1 AND progress.space = spaces.space
             WHERE spaces.seq > coalesce(progress.seq, 0)
             LIMIT ?2
            """,
            (model, limit),
        )
        return [UUID(bytes=row[0]) for row in rows]

    def count_behind(self, model: int, visible: Visible | None = None) -> int:
        if visible is not None:
            return self._count_behind_in(model, visible)
        rows = self._reader.rows(
            """
            SELECT count(*)
              FROM spaces
              LEFT JOIN progress ON progress.model = ?1 AND progress.space = spaces.space
              JOIN entries ON entries.space = spaces.space
                          AND entries.partition IN (1, 2, 3, 4, 5, 6, 7, 8, 9)
                          AND entries.seq > coalesce(progress.seq, 0)
                          AND entries.trashed_us IS NULL
                          AND entries.length > 0
             WHERE spaces.seq > coalesce(progress.seq, 0)
            """,
            (model,),
        )
        return int(rows[0][0])

    def _count_behind_in(self, model: int, visible: Visible) -> int:
        space, partitions, viewer, now, private = visible
        rows = self._reader.rows(
            f"""
            SELECT count(*)
              FROM entries
              LEFT JOIN progress ON progress.model = ?6 AND progress.space = entries.space
             WHERE {LIVE}
               AND entries.partition IN (1, 2, 3, 4, 5, 6, 7, 8, 9)
               AND entries.seq > coalesce(progress.seq, 0)
               AND entries.length > 0
            """,
            (self._number_of(space), partition_mask(partitions), partition_mask(private), viewer, now, model),
        )
        return int(rows[0][0])

    def sealed_with(self, space: UUID, key_id: int, limit: int) -> list[DerivedRow]:
        base = self._number_of(space) << NUMBER_BITS
        return self._rows(
            f"SELECT {_COLUMNS} FROM derived WHERE entry > ?1 AND entry < ?2 AND key_id = ?3 LIMIT ?4",
            (base, base + (1 << NUMBER_BITS), key_id, limit),
        )

    def _rows(self, sql: str, values: Sequence[object]) -> list[DerivedRow]:
        return [DerivedRow(*row) for row in self._reader.rows(sql, values)]


class DerivedWrites(DerivedReads, Writes):
    def put(self, space: UUID, row: DerivedRow) -> bool:
        return bool(
            self._tx.count(
                """
                INSERT OR REPLACE INTO derived (entry, model, revision, key_id, sealed)
                SELECT entry, ?2, ?3, ?4, ?5
                  FROM entries
                 WHERE entry = ?1
                   AND revision = ?3
                """,
                (self._number_of(space) << NUMBER_BITS | row.number, *row[1:5]),
            )
        )

    def advance(self, model: int, space: UUID, seq: int) -> None:
        self._tx.run(
            "INSERT OR REPLACE INTO progress (model, space, seq) VALUES (?, ?, ?)",
            (model, self._number_of(space), seq),
        )

    def fall_back(self, space: UUID, seq: int) -> None:
        self._tx.run(
            "UPDATE progress SET seq = ?2 - 1 WHERE space = ?1 AND seq >= ?2", (self._number_of(space), seq)
        )

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        base = self._number_of(space) << NUMBER_BITS
        for number in numbers:
            self._tx.run("DELETE FROM derived WHERE entry = ?", (base | number,))

    def drop_space(self, space: UUID) -> None:
        base = self._number_of(space) << NUMBER_BITS
        self._tx.run("DELETE FROM derived WHERE entry > ? AND entry < ?", (base, base + (1 << NUMBER_BITS)))

    def drop_model(self, model: int, limit: int) -> int:
        dropped = self._tx.count(
            """
            DELETE FROM derived
             WHERE (entry, model) IN (SELECT entry, model FROM derived WHERE model = ?1 LIMIT ?2)
            """,
            (model, limit),
        )
        if dropped < limit:
            self._tx.run("DELETE FROM progress WHERE model = ?", (model,))
        return dropped


class ModelReads(Reads):
    def all(self) -> list[ModelRow]:
        rows = self._reader.rows(
            "SELECT model, name, dimensions, state, overlap, created_us FROM models ORDER BY model"
        )
        return list(map(ModelRow._make, rows))


class ModelWrites(ModelReads, Writes):
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
