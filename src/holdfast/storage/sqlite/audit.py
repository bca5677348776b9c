"""The audit log: lines are only ever added."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.contracts.rows import AuditHead, AuditRow
from holdfast.storage.sqlite.connections import Batch, OnConnection, Reads, Writes


class AuditReads(Reads):
    def head(self) -> AuditHead:
        rows = self._reader.rows(_HEAD)
        return AuditHead._make(rows[0]) if rows else AuditHead()

    def after(self, position: int, limit: int) -> list[AuditRow]:
        """Positions have no gaps: each is the highest plus one, and lines are never removed."""
        rows = self._reader.rows(
            f"SELECT {_COLUMNS} FROM audit WHERE position > ? ORDER BY position LIMIT ?", (position, limit)
        )
        return [AuditRow._make(row) for row in rows]

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        rows = self._reader.rows(
            f"""
            SELECT {_COLUMNS}
              FROM audit
             WHERE instr(object, ?) > 0
               AND operation IN (SELECT value FROM json_each(?))
             ORDER BY position DESC
             LIMIT ?
            """,
            (object, json.dumps(list(operations)), limit),
        )
        return [AuditRow._make(row) for row in rows]


class AuditWrites(AuditReads, Writes):
    """Keeps the end of the log in memory: a batch appends many lines, each linked to the one before, and writes the
    head once."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._head: AuditHead | None = None
        self._moved = False
        self._new: list[AuditRow] = []
        tx.keep_back(self._left)

    def head(self) -> AuditHead:
        if self._head is None:
            rows = self._tx.look(_HEAD)
            self._head = AuditHead._make(rows[0]) if rows else AuditHead()
        return self._head

    def append(self, row: AuditRow, code: bytes = b"") -> None:
        head = self._head or self.head()
        self._head = AuditHead(position=head.position + 1, link=row.link, code=code)
        self._moved = True
        if self._tx.at_once:
            self._tx.run(_APPEND, row)
            return
        self._tx.kept += 1
        self._new.append(row)

    def flush(self) -> None:
        """Writes the new head, once for each batch, and forgets it: another process may append before the next one."""
        if self._moved and self._head is not None:
            self._tx.run(_MOVE_HEAD, self._head)
        self._moved, self._head = False, None

    def _left(self) -> list[Batch]:
        new, self._new = self._new, []
        return [(_APPEND, new)] if new else []


_COLUMNS = ", ".join(AuditRow._fields)
_HEAD = "SELECT position, link, code FROM audit_head"
_APPEND = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MOVE_HEAD = "INSERT OR REPLACE INTO audit_head (one, position, link, code) VALUES (1, ?, ?, ?)"
