"""Spaces, their counts, and the small numbers that stand for them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import SpaceCounts, SpaceRow, SpaceState
from holdfast.storage.sqlite.connections import Batch, OnConnection, Reads, Row, Writes

_COLUMNS = "id, kind, name, owner, listed, key_id, created_us, sealed"


class SpaceReads(Reads):
    def by_id(self, space: UUID) -> SpaceRow | None:
        return _one(self._reader.rows(f"SELECT {_COLUMNS} FROM spaces WHERE id = ?", (space.bytes,)))

    def by_name(self, name: bytes) -> SpaceRow | None:
        return _one(self._reader.rows(f"SELECT {_COLUMNS} FROM spaces WHERE name = ?", (name,)))

    def owned_by(self, owner: bytes) -> list[SpaceRow]:
        return [
            _space(row)
            for row in self._reader.rows(
                f"SELECT {_COLUMNS} FROM spaces WHERE owner = ? ORDER BY space", (owner,)
            )
        ]

    def all_after(self, after: UUID | None, limit: int) -> list[SpaceRow]:
        rows = self._reader.rows(
            f"SELECT {_COLUMNS} FROM spaces WHERE id > ? ORDER BY id LIMIT ?",
            (after.bytes if after else b"", limit),
        )
        return [_space(row) for row in rows]

    def counts(self, space: UUID) -> SpaceCounts | None:
        rows = self._reader.rows(
            "SELECT seq, entries, indexed, length, key_id FROM spaces WHERE id = ?", (space.bytes,)
        )
        return SpaceCounts(*rows[0]) if rows else None

    def state(self, space: UUID) -> SpaceState | None:
        rows = self._reader.rows("SELECT seq, removed, settled FROM spaces WHERE id = ?", (space.bytes,))
        return SpaceState(*rows[0]) if rows else None

    def states(self, spaces: Sequence[UUID]) -> list[SpaceState | None]:
        rows = self._reader.rows(
            """
            SELECT id, seq, removed, settled
              FROM spaces
             WHERE id IN (SELECT unhex(value) FROM json_each(?))
            """,
            (json.dumps([space.hex for space in spaces]),),
        )
        found = {row[0]: SpaceState._make(row[1:]) for row in rows}
        return [found.get(space.bytes) for space in spaces]

    def totals(self) -> tuple[int, int]:
        [(spaces, entries)] = self._reader.rows("SELECT count(*), coalesce(sum(entries), 0) FROM spaces")
        return spaces, entries


class SpaceWrites(SpaceReads, Writes):
    """Counts in memory while a batch writes: the row of a space is read once, and written once with the commit or
    before the next read of it."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._counted: dict[int, SpaceCounts] = {}
        tx.keep_back(self._left)

    def insert(self, row: SpaceRow) -> None:
        self._tx.run(
            f"INSERT INTO spaces ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (row.id.bytes, *row[1:4], int(row.listed), *row[5:]),
        )

    def advance(self, space: UUID, *, entries: int, indexed: int, length: int) -> SpaceCounts | None:
        number = self._number_of(space)
        before = self._counted.get(number)
        if before is None:
            rows = self._tx.look(_COUNTS, (number,))
            if not rows:
                return None
            before = SpaceCounts._make(rows[0])
        after = SpaceCounts(
            seq=before.seq + 1,
            entries=before.entries + entries,
            indexed=before.indexed + indexed,
            length=before.length + length,
            key_id=before.key_id,
        )
        if self._tx.at_once:
            self._tx.run(_SET_COUNTS, (number, *after[:4]))
        else:
            self._tx.kept += 1
            self._counted[number] = after
        return after

    def _left(self) -> list[Batch]:
        counted, self._counted = self._counted, {}
        rows = [(number, *counts[:4]) for number, counts in counted.items()]
        return [(_SET_COUNTS, rows)] if rows else []

    def recount(self, space: UUID, *, entries: int, indexed: int, length: int) -> None:
        self._tx.run(
            """
            UPDATE spaces
               SET entries = entries + ?2, indexed = indexed + ?3, length = length + ?4, removed = removed + 1
             WHERE id = ?1
            """,
            (space.bytes, entries, indexed, length),
        )

    def use_key(self, space: UUID, key_id: int) -> None:
        self._tx.run("UPDATE spaces SET key_id = ?2 WHERE id = ?1", (space.bytes, key_id))

    def mark_listed(self, space: UUID) -> None:
        self._tx.run("UPDATE spaces SET listed = 1 WHERE id = ?", (space.bytes,))

    def empty(self, space: UUID) -> None:
        self._tx.run(
            "UPDATE spaces SET entries = 0, indexed = 0, length = 0, removed = removed + 1 WHERE id = ?",
            (space.bytes,),
        )

    def count_settled(self, space: UUID) -> None:
        self._tx.run("UPDATE spaces SET settled = settled + 1 WHERE id = ?", (space.bytes,))


_COUNTS = "SELECT seq, entries, indexed, length, key_id FROM spaces WHERE space = ?"
_SET_COUNTS = "UPDATE spaces SET seq = ?2, entries = ?3, indexed = ?4, length = ?5 WHERE space = ?1"


def _one(rows: list[Row]) -> SpaceRow | None:
    return _space(rows[0]) if rows else None


def _space(row: Row) -> SpaceRow:
    return SpaceRow._make((UUID(bytes=row[0]), *row[1:4], bool(row[4]), *row[5:]))
