"""Wrapped data keys, and readable names sealed under the store's key."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.rows import KeyRow, KeyUse
from holdfast.storage.sqlite.connections import Reads, Row, Writes


class KeyReads(Reads):
    def of(self, space: UUID) -> list[KeyRow]:
        rows = self._reader.rows(
            "SELECT space, key_id, master, created_us, wrapped FROM data_keys WHERE space = ? ORDER BY key_id",
            (space.bytes,),
        )
        return [_key(row) for row in rows]

    def with_current(self, space: UUID) -> tuple[list[KeyRow], int | None]:
        rows = self._reader.rows(
            """
            SELECT data_keys.space, data_keys.key_id, data_keys.master, data_keys.created_us, data_keys.wrapped,
                   spaces.key_id
              FROM (SELECT ?1 AS id)
              LEFT JOIN data_keys ON data_keys.space = ?1
              LEFT JOIN spaces ON spaces.id = ?1
             ORDER BY data_keys.key_id
            """,
            (space.bytes,),
        )
        return [_key(row[:5]) for row in rows if row[0] is not None], rows[0][5]

    def not_under(self, master: bytes, limit: int) -> list[KeyRow]:
        rows = self._reader.rows(
            "SELECT space, key_id, master, created_us, wrapped FROM data_keys WHERE master <> ? LIMIT ?",
            (master, limit),
        )
        return [_key(row) for row in rows]

    def most_used(self, limit: int) -> list[KeyUse]:
        rows = self._reader.rows(
            "SELECT space, key_id, uses FROM data_keys ORDER BY uses DESC LIMIT ?", (limit,)
        )
        return [KeyUse(UUID(bytes=space), key_id, uses) for space, key_id, uses in rows]


class KeyWrites(KeyReads, Writes):
    def insert(self, row: KeyRow) -> None:
        self._tx.run(
            "INSERT INTO data_keys (space, key_id, master, created_us, wrapped) VALUES (?, ?, ?, ?, ?)",
            (row.space.bytes, *row[1:]),
        )

    def rewrap(self, row: KeyRow) -> None:
        self._tx.run(
            "UPDATE data_keys SET master = ?, wrapped = ? WHERE space = ? AND key_id = ?",
            (row.master, row.wrapped, row.space.bytes, row.key_id),
        )

    def add_uses(self, space: UUID, key_id: int, uses: int) -> None:
        self._tx.run(
            "UPDATE data_keys SET uses = uses + ? WHERE space = ? AND key_id = ?", (uses, space.bytes, key_id)
        )

    def delete(self, space: UUID, key_id: int | None = None) -> int:
        return self._tx.count(
            "DELETE FROM data_keys WHERE space = ?1 AND (?2 IS NULL OR key_id = ?2)", (space.bytes, key_id)
        )


class NameReads(Reads):
    def get(self, blind: bytes) -> bytes | None:
        rows = self._reader.rows("SELECT sealed FROM names WHERE name = ?", (blind,))
        return bytes(rows[0][0]) if rows else None


class NameWrites(NameReads, Writes):
    def put(self, blind: bytes, sealed: bytes) -> None:
        self._tx.run(
            "INSERT INTO names (name, sealed) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (blind, sealed)
        )


def _key(row: Row) -> KeyRow:
    return KeyRow(UUID(bytes=row[0]), *row[1:])
