"""The audit log: lines are only ever added."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.contracts.rows import AuditHead, AuditRow
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

    def head(self) -> AuditHead:
        rows = self._look("SELECT position, link, code FROM audit_head")
        return AuditHead._make(rows[0]) if rows else AuditHead()

    def after(self, position: int, limit: int) -> list[AuditRow]:
        """Positions have no gaps: each is the highest plus one, and lines are never removed."""
        rows = self._reader.rows(
            """
            SELECT at_us, operation, actor, space, object, revision, key_id, link
              FROM audit
             WHERE position > ?
             ORDER BY position
             LIMIT ?
            """,
            (position, limit),
        )
        return [AuditRow._make(row) for row in rows]

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        rows = self._reader.rows(
            """
            SELECT at_us, operation, actor, space, object, revision, key_id, link
              FROM audit
             WHERE instr(object, ?) > 0
               AND operation IN (SELECT value FROM json_each(?))
             ORDER BY position DESC
             LIMIT ?
            """,
            (object, json.dumps(list(operations)), limit),
        )
        return [AuditRow._make(row) for row in rows]


class AuditWrites(AuditReads):
    """Keeps the end of the log in memory: a batch appends many lines, each linked to the one before, and writes the
    head once."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx
        self._look = tx.look
        self._last: AuditRow | None = None
        self._head: AuditHead | None = None
        self._moved = False
        self._new: list[AuditRow] = []
        tx.keep_back(self._left)

    def last(self) -> AuditRow | None:
        return self._last or super().last()

    def head(self) -> AuditHead:
        head = self._head
        if head is None:
            head = self._head = super().head()
        return head

    def append(self, row: AuditRow, code: bytes = b"") -> None:
        head = self._head or self.head()
        self._last, self._head = row, AuditHead(position=head.position + 1, link=row.link, code=code)
        self._moved = True
        if self._tx.at_once:
            self._tx.run(_APPEND, row)
            return
        self._tx.kept += 1
        self._new.append(row)

    def move_head(self) -> None:
        """Writes the new head, once for each batch before its commit."""
        if self._moved:
            self._moved = False
            self._tx.run(_MOVE_HEAD, self.head())

    def forget_last(self) -> None:
        """Ends a batch: another process may append before the next one."""
        self._last = None
        self._head = None

    def _left(self) -> list[Batch]:
        new, self._new = self._new, []
        return [(_APPEND, new)] if new else []


_APPEND = """
INSERT INTO audit (at_us, operation, actor, space, object, revision, key_id, link)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_MOVE_HEAD = "INSERT OR REPLACE INTO audit_head (one, position, link, code) VALUES (1, ?, ?, ?)"
