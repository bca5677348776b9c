"""What idempotency keys were answered."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.rows import ReceiptRow
from holdfast.storage.sqlite.connections import OnConnection, Reader


class ReceiptReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None:
        rows = self._reader.rows(
            """
            SELECT principal, key, space, request, number, revision, created, redacted, expires_us, created_us
              FROM receipts
             WHERE principal = ? AND key = ?
            """,
            (principal, key),
        )
        if not rows:
            return None
        row = rows[0]
        return ReceiptRow._make((*row[:2], UUID(bytes=row[2]), *row[3:6], bool(row[6]), *row[7:]))


class ReceiptWrites(ReceiptReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def put(self, row: ReceiptRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO receipts (principal, key, space, request, number, revision, created, redacted,
                                             expires_us, created_us)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (row.principal, row.key, row.space.bytes, row.request, *row[4:6], int(row.created), *row[7:]),
        )

    def delete_before(self, moment: int, limit: int) -> int:
        return self._tx.count(
            """
            DELETE FROM receipts
             WHERE (principal, key) IN (SELECT principal, key FROM receipts WHERE created_us < ? LIMIT ?)
            """,
            (moment, limit),
        )

    def delete_entry(self, space: UUID, number: int) -> int:
        return self._tx.count("DELETE FROM receipts WHERE space = ? AND number = ?", (space.bytes, number))

    def delete_space(self, space: UUID) -> int:
        return self._tx.count("DELETE FROM receipts WHERE space = ?", (space.bytes,))
