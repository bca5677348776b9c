"""Grants, access lists of chats and systems, and the rules of roles."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import GrantRow, MemberRow, RuleRow
from holdfast.storage.sqlite.connections import OnConnection, Reader


class GrantReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def of(self, space: UUID, grantee: bytes) -> list[GrantRow]:
        return self._grants(
            """
            SELECT space, grantee, granted_by, level, created_us, expires_us, mac
              FROM grants
             WHERE space = ? AND grantee = ?
            """,
            (space.bytes, grantee),
        )

    def on(self, space: UUID) -> list[GrantRow]:
        return self._grants(
            """
            SELECT space, grantee, granted_by, level, created_us, expires_us, mac
              FROM grants
             WHERE space = ?
             ORDER BY created_us, grantee
            """,
            (space.bytes,),
        )

    def to(self, grantee: bytes) -> list[GrantRow]:
        return self._grants(
            """
            SELECT space, grantee, granted_by, level, created_us, expires_us, mac
              FROM grants
             WHERE grantee = ?
             ORDER BY created_us, space
            """,
            (grantee,),
        )

    def _grants(self, sql: str, values: Sequence[object]) -> list[GrantRow]:
        return [GrantRow(UUID(bytes=row[0]), *row[1:]) for row in self._reader.rows(sql, values)]


class GrantWrites(GrantReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def put(self, row: GrantRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO grants (space, grantee, granted_by, level, created_us, expires_us, mac)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (row.space.bytes, *row[1:]),
        )

    def delete(self, space: UUID, grantee: bytes, granted_by: bytes) -> int:
        return self._tx.count(
            "DELETE FROM grants WHERE space = ? AND grantee = ? AND granted_by = ?",
            (space.bytes, grantee, granted_by),
        )

    def delete_expired(self, now: int, limit: int) -> int:
        return self._tx.count(
            """
            DELETE FROM grants
             WHERE (space, grantee, granted_by) IN (SELECT space, grantee, granted_by
                                                      FROM grants
                                                     WHERE expires_us <= ?
                                                     LIMIT ?)
            """,
            (now, limit),
        )


class MemberReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def levels(self, space: UUID, members: Sequence[bytes]) -> list[MemberRow]:
        found = []
        for member in members:
            rows = self._reader.rows(
                "SELECT member, level, mac FROM members WHERE space = ? AND member = ?", (space.bytes, member)
            )
            found += [MemberRow._make(row) for row in rows]
        return found

    def lists_with(self, members: Sequence[bytes]) -> list[UUID]:
        found: dict[UUID, None] = {}
        for member in members:
            for (space,) in self._reader.rows(
                "SELECT space FROM members WHERE member = ? ORDER BY space", (member,)
            ):
                found[UUID(bytes=space)] = None
        return list(found)


class MemberWrites(MemberReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def replace(self, space: UUID, rows: Sequence[MemberRow]) -> None:
        self._tx.run("DELETE FROM members WHERE space = ?", (space.bytes,))
        for row in rows:
            self._tx.run(
                "INSERT INTO members (space, member, level, mac) VALUES (?, ?, ?, ?)", (space.bytes, *row)
            )


class RuleReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def all(self) -> list[RuleRow]:
        rows = self._reader.rows("SELECT role, may_read, may_manage FROM rules ORDER BY role")
        return [RuleRow(role, bool(read), bool(manage)) for role, read, manage in rows]


class RuleWrites(RuleReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def put(self, row: RuleRow) -> None:
        self._tx.run(
            "INSERT OR REPLACE INTO rules (role, may_read, may_manage) VALUES (?, ?, ?)",
            (row.role, int(row.read), int(row.manage)),
        )
