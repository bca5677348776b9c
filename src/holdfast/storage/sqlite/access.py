"""Grants, access lists of chats and systems, the rules of roles, and the settings of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holdfast.contracts.rows import AgentRow, GrantRow, MemberRow, RuleRow
from holdfast.storage.sqlite.connections import Reads, Writes

_GRANT = "space, grantee, granted_by, level, created_us, expires_us, mac"
_AGENT = "agent, owner, enabled, own, chat, user, default_ttl, mac"


class GrantReads(Reads):
    def of(self, space: UUID, grantee: bytes) -> list[GrantRow]:
        return self._grants(
            f"SELECT {_GRANT} FROM grants WHERE space = ? AND grantee = ?", (space.bytes, grantee)
        )

    def on(self, space: UUID) -> list[GrantRow]:
        return self._grants(
            f"SELECT {_GRANT} FROM grants WHERE space = ? ORDER BY created_us, grantee", (space.bytes,)
        )

    def to(self, grantee: bytes) -> list[GrantRow]:
        return self._grants(
            f"SELECT {_GRANT} FROM grants WHERE grantee = ? ORDER BY created_us, space", (grantee,)
        )

    def _grants(self, sql: str, values: Sequence[object]) -> list[GrantRow]:
        return [GrantRow(UUID(bytes=row[0]), *row[1:]) for row in self._reader.rows(sql, values)]


class GrantWrites(GrantReads, Writes):
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


class MemberReads(Reads):
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


class MemberWrites(MemberReads, Writes):
    def replace(self, space: UUID, rows: Sequence[MemberRow]) -> None:
        self._tx.run("DELETE FROM members WHERE space = ?", (space.bytes,))
        for row in rows:
            self._tx.run(
                "INSERT INTO members (space, member, level, mac) VALUES (?, ?, ?, ?)", (space.bytes, *row)
            )


class RuleReads(Reads):
    def all(self) -> list[RuleRow]:
        rows = self._reader.rows("SELECT role, may_read, may_manage FROM rules ORDER BY role")
        return [RuleRow(role, bool(read), bool(manage)) for role, read, manage in rows]


class RuleWrites(RuleReads, Writes):
    def put(self, row: RuleRow) -> None:
        self._tx.run(
            "INSERT OR REPLACE INTO rules (role, may_read, may_manage) VALUES (?, ?, ?)",
            (row.role, int(row.read), int(row.manage)),
        )


class AgentReads(Reads):
    def get(self, agent: bytes) -> AgentRow | None:
        rows = self._reader.rows(f"SELECT {_AGENT} FROM agents WHERE agent = ?", (agent,))
        return _agent(rows[0]) if rows else None

    def all(self) -> list[AgentRow]:
        rows = self._reader.rows(f"SELECT {_AGENT} FROM agents ORDER BY agent")
        return [_agent(row) for row in rows]


class AgentWrites(AgentReads, Writes):
    def put(self, row: AgentRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO agents (agent, owner, enabled, own, chat, user, default_ttl, mac)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (row.agent, row.owner, *map(int, row[2:6]), row.default_ttl, row.mac),
        )


def _agent(row: Sequence[Any]) -> AgentRow:
    agent, owner, enabled, own, chat, user, default_ttl, mac = row
    return AgentRow(agent, owner, bool(enabled), bool(own), bool(chat), bool(user), default_ttl, mac)
