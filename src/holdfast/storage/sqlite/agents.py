"""The settings of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.contracts.rows import AgentRow
from holdfast.storage.sqlite.connections import OnConnection, Reader


class AgentReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, agent: bytes) -> AgentRow | None:
        rows = self._reader.rows(
            """
            SELECT agent, owner, enabled, own, chat, user, default_ttl, mac
              FROM agents
             WHERE agent = ?
            """,
            (agent,),
        )
        return _row(rows[0]) if rows else None

    def all(self) -> list[AgentRow]:
        rows = self._reader.rows(
            """
            SELECT agent, owner, enabled, own, chat, user, default_ttl, mac
              FROM agents
             ORDER BY agent
            """
        )
        return [_row(row) for row in rows]


class AgentWrites(AgentReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def put(self, row: AgentRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO agents (agent, owner, enabled, own, chat, user, default_ttl, mac)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (row.agent, row.owner, *map(int, row[2:6]), row.default_ttl, row.mac),
        )


def _row(row: Sequence[Any]) -> AgentRow:
    agent, owner, enabled, own, chat, user, default_ttl, mac = row
    return AgentRow(agent, owner, bool(enabled), bool(own), bool(chat), bool(user), default_ttl, mac)
