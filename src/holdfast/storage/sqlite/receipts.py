"""Receipts: answers to idempotency keys."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from holdfast.contracts.rows import ReceiptRow
from holdfast.storage.sqlite.connections import Reads, Writes


class ReceiptReads(Reads):
    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None:
        rows = self._reader.rows(
            """
            SELECT principal, key, space, number, request, answer, created_us
              FROM receipts
             WHERE principal = ? AND key = ?
            """,
            (principal, key),
        )
        return receipt_of(rows[0]) if rows else None


def receipt_of(row: tuple[Any, ...]) -> ReceiptRow:
    return ReceiptRow._make((*row[:2], UUID(bytes=row[2]), *row[3:]))


class ReceiptWrites(ReceiptReads, Writes):
    def put(self, row: ReceiptRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO receipts (principal, key, space, number, request, answer, created_us)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (row.principal, row.key, row.space.bytes, *row[3:]),
        )

    def delete_before(self, moment: int, limit: int) -> int:
        return self._tx.count(
            """
            DELETE FROM receipts
             WHERE (principal, key) IN (SELECT principal, key FROM receipts WHERE created_us < ? LIMIT ?)
            """,
            (moment, limit),
        )

    def move(self, principal: bytes, space: UUID, number: int, to_space: UUID, to_number: int) -> int:
        return self._tx.count(
            "UPDATE receipts SET space = ?, number = ? WHERE space = ? AND number = ? AND principal = ?",
            (to_space.bytes, to_number, space.bytes, number, principal),
        )

    def delete_entry(self, space: UUID, number: int) -> int:
        return self._tx.count("DELETE FROM receipts WHERE space = ? AND number = ?", (space.bytes, number))

    def delete_space(self, space: UUID) -> int:
        return self._tx.count("DELETE FROM receipts WHERE space = ?", (space.bytes,))
