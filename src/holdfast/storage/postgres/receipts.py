"""Receipts: answers to idempotency keys."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.rows import ReceiptRow
from holdfast.storage.postgres.connections import Reads, Writes
from holdfast.storage.postgres.statements import shared

_COLUMNS = "principal, key, space_id, number, request, answer, created_us"
_BY_PRINCIPAL = "receipts belong to a principal, whatever space was written in"


class ReceiptReads(Reads):
    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None:
        rows = self._reader.rows(_GET, {"principal": principal, "key": key})
        return ReceiptRow._make(rows[0]) if rows else None


_GET = shared(
    "receipts.get",
    f"SELECT {_COLUMNS} FROM holdfast.receipts WHERE principal = %(principal)s AND key = %(key)s",
    because=_BY_PRINCIPAL,
)


class ReceiptWrites(ReceiptReads, Writes):
    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None:
        """Locks the idempotency key in a transaction, so that a second request sees the answer to the first."""
        self._tx.lock(b"receipt" + principal + key)
        return super().get(principal, key)

    def put(self, row: ReceiptRow) -> None:
        self._tx.run(_PUT, row._asdict())

    def delete_before(self, moment: int, limit: int) -> int:
        return self._tx.count(_DELETE_BEFORE, {"moment": moment, "limit": limit})

    def move(self, principal: bytes, space: UUID, number: int, to_space: UUID, to_number: int) -> int:
        named = {"principal": principal, "space": space, "number": number}
        return self._tx.count(_MOVE, {**named, "to_space": to_space, "to_number": to_number})

    def delete_entry(self, space: UUID, number: int) -> int:
        return self._tx.count(_DELETE_ENTRY, {"space": space, "number": number})

    def delete_space(self, space: UUID) -> int:
        return self._tx.count(_DELETE_SPACE, {"space": space})


_PUT = shared(
    "receipts.put",
    f"""
    INSERT INTO holdfast.receipts ({_COLUMNS})
    VALUES (%(principal)s, %(key)s, %(space)s, %(number)s, %(request)s, %(answer)s, %(created_us)s)
    ON CONFLICT (principal, key)
    DO UPDATE SET space_id = excluded.space_id,
                  number = excluded.number,
                  request = excluded.request,
                  answer = excluded.answer,
                  created_us = excluded.created_us
    """,
    because=_BY_PRINCIPAL,
)
_DELETE_BEFORE = shared(
    "receipts.delete_before",
    """
    WITH old AS MATERIALIZED (
        SELECT principal, key
          FROM holdfast.receipts
         WHERE created_us < %(moment)s
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM holdfast.receipts
     USING old
     WHERE receipts.principal = old.principal
       AND receipts.key = old.key
    """,
    because=_BY_PRINCIPAL,
)
_MOVE = shared(
    "receipts.move",
    """
    UPDATE holdfast.receipts
       SET space_id = %(to_space)s,
           number = %(to_number)s
     WHERE space_id = %(space)s
       AND number = %(number)s
       AND principal = %(principal)s
    """,
    because=_BY_PRINCIPAL,
)
_DELETE_ENTRY = shared(
    "receipts.delete_entry",
    "DELETE FROM holdfast.receipts WHERE space_id = %(space)s AND number = %(number)s",
    because=_BY_PRINCIPAL,
)
_DELETE_SPACE = shared(
    "receipts.delete_space",
    "DELETE FROM holdfast.receipts WHERE space_id = %(space)s",
    because=_BY_PRINCIPAL,
)
