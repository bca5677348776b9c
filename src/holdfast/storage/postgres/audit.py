"""The audit log: lines are only ever added. It is one chain, so writers lock its head until the commit and take turns
there. Jobs add their lines last."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.contracts.rows import AuditHead, AuditRow
from holdfast.storage.postgres.connections import OnConnection, Reads, Writes
from holdfast.storage.postgres.statements import Bound, shared

_COLUMNS = ", ".join(AuditRow._fields)
_ONE_CHAIN = "the log is one chain for the store"


class AuditReads(Reads):
    def head(self) -> AuditHead:
        return AuditHead._make(self._reader.rows(_HEAD)[0])

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        rows = self._reader.rows(_ABOUT, {"object": object, "operations": list(operations), "limit": limit})
        return list(map(AuditRow._make, rows))

    def after(self, position: int, limit: int) -> list[AuditRow]:
        rows = self._reader.rows(_AFTER, {"position": position, "limit": limit})
        return list(map(AuditRow._make, rows))


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


class AuditWrites(AuditReads, Writes):
    """Defers its lines until the commit, or until someone reads the log."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._head: AuditHead | None = None
        self._lines: list[AuditRow] = []

    def head(self) -> AuditHead:
        if self._head is None:
            self._head = AuditHead._make(self._tx.rows(_LOCK_HEAD)[0])
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
        self._head = AuditHead(position, row.link, code)

    def left(self) -> list[Bound]:
        """Hands over the deferred statements."""
        if not self._lines or self._head is None:
            return []
        columns = dict(zip(AuditRow._fields, map(list, zip(*self._lines, strict=True)), strict=True))
        return [(_APPEND, columns), (_MOVE_HEAD, {"code": self._head.code})]


_LOCK_HEAD = shared(
    "audit.head, locked",
    "SELECT position, link, code FROM holdfast.audit_head FOR UPDATE",
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
