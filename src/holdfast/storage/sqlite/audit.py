"""The audit log: lines are only ever added."""

from __future__ import annotations

from holdfast.contracts.rows import AuditRow
from holdfast.storage.sqlite.connections import Batch, OnConnection, Reader


class AuditReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._look = reader.rows

    def last(self) -> AuditRow | None:
        rows = self._look(
            """
            SELECT at_us, operation, actor, space, object, revision, key_id, link
              FROM audit
             ORDER BY position DESC
             LIMIT 1
            """
        )
        return AuditRow._make(rows[0]) if rows else None

    def after(self, position: int, limit: int) -> list[AuditRow]:
        rows = self._reader.rows(
            """
            SELECT at_us, operation, actor, space, object, revision, key_id, link
              FROM audit
             ORDER BY position
             LIMIT ? OFFSET ?
            """,
            (limit, position),
        )
        return [AuditRow._make(row) for row in rows]


class AuditWrites(AuditReads):
    """Keeps the last line at hand: a batch of writes appends many, each linked to the one before."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx
        self._look = tx.look
        self._last: AuditRow | None = None
        self._new: list[AuditRow] = []
        tx.keep_back(self._left)

    def last(self) -> AuditRow | None:
        return self._last or super().last()

    def append(self, row: AuditRow) -> None:
        self._last = row
        if self._tx.at_once:
            self._tx.run(_APPEND, row)
            return
        self._tx.kept += 1
        self._new.append(row)

    def forget_last(self) -> None:
        """Another process may append between two batches."""
        self._last = None

    def _left(self) -> list[Batch]:
        new, self._new = self._new, []
        return [(_APPEND, new)] if new else []


_APPEND = """
INSERT INTO audit (at_us, operation, actor, space, object, revision, key_id, link)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
