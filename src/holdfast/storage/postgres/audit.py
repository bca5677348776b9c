"""The audit log: lines are only ever added. It is one chain, so writers lock its head until the commit and take turns
there. Jobs add their lines last."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.contracts.rows import AuditHead, AuditRow
from holdfast.storage.postgres.connections import OnConnection, Reader
from holdfast.storage.postgres.statements import Bound, shared

_COLUMNS = ", ".join(AuditRow._fields)
_ONE_CHAIN = "the log is one chain for the store"


class AuditReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def last(self) -> AuditRow | None:
        rows = self._reader.rows(_LAST)
        return AuditRow._make(rows[0]) if rows else None

    def head(self) -> AuditHead:
        return AuditHead._make(self._reader.rows(_HEAD)[0])

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        rows = self._reader.rows(_ABOUT, {"object": object, "operations": list(operations), "limit": limit})
        return list(map(AuditRow._make, rows))

    def after(self, position: int, limit: int) -> list[AuditRow]:
        rows = self._reader.rows(_AFTER, {"position": position, "limit": limit})
        return list(map(AuditRow._make, rows))


_LAST = shared(
    "audit.last",
    f"SELECT {_COLUMNS} FROM holdfast.audit ORDER BY position DESC LIMIT 1",
    because=_ONE_CHAIN,
)
_HEAD = shared(
    "audit.head",
    "SELECT position, link, code FROM holdfast.audit_head",
    because=_ONE_CHAIN,
)
_ABOUT = shared(
    "audit.about",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.audit
     WHERE position(%(object)s::bytea IN object) > 0
       AND operation = ANY (%(operations)s::text[])
     ORDER BY position DESC
     LIMIT %(limit)s
    """,
    because=_ONE_CHAIN,
)
_AFTER = shared(
    "audit.after",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.audit
     WHERE position > %(position)s
     ORDER BY position
     LIMIT %(limit)s
    """,
    because=_ONE_CHAIN,
)
"""Positions have no gaps: each is the head's plus one, under the head's lock."""


class AuditWrites(AuditReads):
    """Defers its lines until the commit, or until someone reads the log."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx
        self._locked = False
        self._last: AuditRow | None = None
        self._head = AuditHead()
        self._lines: list[AuditRow] = []

    def last(self) -> AuditRow | None:
        if not self._locked:
            position, code, *line = self._tx.rows(_LOCK_HEAD)[0]
            self._last = AuditRow._make(line) if position else None
            self._head = AuditHead(position, self._last.link if self._last else b"", code)
            self._locked = True
        return self._last

    def head(self) -> AuditHead:
        self.last()
        return self._head

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        self._write_lines()
        return super().about(object, operations, limit)

    def after(self, position: int, limit: int) -> list[AuditRow]:
        self._write_lines()
        return super().after(position, limit)

    def _write_lines(self) -> None:
        for statement, values in self.left():
            self._tx.run(statement, values)
        self._lines.clear()

    def append(self, row: AuditRow, code: bytes = b"") -> None:
        position = self.head().position + 1
        self._lines.append(row)
        self._last = row
        self._head = AuditHead(position, row.link, code)

    def left(self) -> list[Bound]:
        """Hands over the deferred statements."""
        if not self._lines:
            return []
        columns = dict(zip(AuditRow._fields, map(list, zip(*self._lines, strict=True)), strict=True))
        return [(_APPEND, columns), (_MOVE_HEAD, {"code": self._head.code})]


_LOCK_HEAD = shared(
    "audit.last, locked",
    f"SELECT position, code, {_COLUMNS} FROM holdfast.audit_head FOR UPDATE",
    because=_ONE_CHAIN,
)
_APPEND = shared(
    "audit.append",
    f"""
    INSERT INTO holdfast.audit (position, {_COLUMNS})
    SELECT head.position + line.nth, {", ".join(f"line.{column}" for column in AuditRow._fields)}
      FROM holdfast.audit_head AS head
     CROSS JOIN unnest(%(at_us)b::bigint[], %(operation)b::text[], %(actor)b::bytea[], %(space)b::bytea[],
                       %(object)b::bytea[], %(revision)b::bigint[], %(key_id)b::integer[], %(link)b::bytea[])
                WITH ORDINALITY AS line ({_COLUMNS}, nth)
    """,
    because=_ONE_CHAIN,
)
_MOVE_HEAD = shared(
    "audit.append, head",
    f"""
    UPDATE holdfast.audit_head
       SET (position, {_COLUMNS}) = (SELECT position, {_COLUMNS}
                                       FROM holdfast.audit
                                      ORDER BY position DESC
                                      LIMIT 1),
           code = %(code)s
    """,
    because=_ONE_CHAIN,
)
