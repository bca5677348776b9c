"""Wrapped data keys, and readable names sealed under the store's key."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.rows import STORE, KeyRow, KeyUse
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import Reads, Writes
from holdfast.storage.postgres.statements import of_space, of_store, shared

_COLUMNS = "data_keys.space_id, data_keys.key_id, data_keys.master, data_keys.created_us, data_keys.wrapped"


class KeyReads(Reads):
    def of(self, space: UUID) -> list[KeyRow]:
        return list(map(KeyRow._make, self._reader.rows(_OF, {"space": space})))

    def with_current(self, space: UUID) -> tuple[list[KeyRow], int | None]:
        rows = self._reader.rows(_WITH_CURRENT, {"space": space})
        return [KeyRow._make(row[:5]) for row in rows if row[0] is not None], rows[0][5]

    def not_under(self, master: bytes, limit: int) -> list[KeyRow]:
        rows = self._reader.rows(_NOT_UNDER, {"master": master, "limit": limit})
        return list(map(KeyRow._make, rows))

    def most_used(self, limit: int) -> list[KeyUse]:
        return list(map(KeyUse._make, self._reader.rows(_MOST_USED, {"limit": limit})))


_OF = of_space(
    "keys.of",
    f"SELECT {_COLUMNS} FROM holdfast.data_keys WHERE space_id = %(space)s ORDER BY key_id",
)
_WITH_CURRENT = of_space(
    "keys.with_current",
    f"""
    SELECT {_COLUMNS}, spaces.key_id
      FROM (SELECT %(space)s::uuid AS id) AS asked
      LEFT JOIN holdfast.data_keys ON data_keys.space_id = %(space)s
      LEFT JOIN holdfast.spaces ON spaces.space_id = %(space)s
     ORDER BY data_keys.key_id
    """,
)
_NOT_UNDER = of_store(
    "keys.not_under",
    f"SELECT {_COLUMNS} FROM holdfast.data_keys WHERE master <> %(master)s LIMIT %(limit)s",
    because="a master key is rotated for the whole store",
)


_MOST_USED = of_store(
    "keys.most_used",
    "SELECT space_id, key_id, uses FROM holdfast.data_keys ORDER BY uses DESC LIMIT %(limit)s",
    because="every key of the store is watched",
)


class KeyWrites(KeyReads, Writes):
    def not_under(self, master: bytes, limit: int) -> list[KeyRow]:
        """Locks the store's own keys in a transaction, so that no key is added while a master is being rotated."""
        self._tx.lock(STORE.bytes)
        return super().not_under(master, limit)

    def insert(self, row: KeyRow) -> None:
        if not self._tx.count(_INSERT, {"space": row.space, **row._asdict()}):
            raise Conflict

    def rewrap(self, row: KeyRow) -> None:
        self._tx.run(_REWRAP, {"space": row.space, **row._asdict()})

    def add_uses(self, space: UUID, key_id: int, uses: int) -> None:
        self._tx.run(_ADD_USES, {"space": space, "key_id": key_id, "uses": uses})

    def delete(self, space: UUID, key_id: int | None = None) -> int:
        return self._tx.count(_DELETE, {"space": space, "key_id": key_id})


_INSERT = of_space(
    "keys.insert",
    """
    INSERT INTO holdfast.data_keys (space_id, key_id, master, created_us, wrapped)
    VALUES (%(space)s, %(key_id)s, %(master)s, %(created_us)s, %(wrapped)s)
    ON CONFLICT DO NOTHING
    """,
)
_REWRAP = of_space(
    "keys.rewrap",
    """
    UPDATE holdfast.data_keys
       SET master = %(master)s, wrapped = %(wrapped)s
     WHERE space_id = %(space)s
       AND key_id = %(key_id)s
    """,
)
_ADD_USES = of_space(
    "keys.add_uses",
    """
    UPDATE holdfast.data_keys
       SET uses = uses + %(uses)s
     WHERE space_id = %(space)s
       AND key_id = %(key_id)s
    """,
)
_DELETE = of_space(
    "keys.delete",
    """
    DELETE FROM holdfast.data_keys
     WHERE space_id = %(space)s
       AND (%(key_id)s::integer IS NULL OR key_id = %(key_id)s)
    """,
)


class NameReads(Reads):
    def get(self, blind: bytes) -> bytes | None:
        rows = self._reader.rows(_GET_NAME, {"name": blind})
        return bytes(rows[0][0]) if rows else None


_BY_PRINCIPAL = "names belong to principals, who are in no space"

_GET_NAME = shared(
    "names.get", "SELECT sealed FROM holdfast.names WHERE name = %(name)s", because=_BY_PRINCIPAL
)


class NameWrites(NameReads, Writes):
    def put(self, blind: bytes, sealed: bytes) -> None:
        self._tx.run(_PUT_NAME, {"name": blind, "sealed": sealed})


_PUT_NAME = shared(
    "names.put",
    "INSERT INTO holdfast.names (name, sealed) VALUES (%(name)s, %(sealed)s) ON CONFLICT DO NOTHING",
    because=_BY_PRINCIPAL,
)
