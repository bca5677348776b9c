"""What an agent's memory may be used for, as a store keeps it."""

from __future__ import annotations

from typing import Protocol

from holdfast.contracts.rows import AgentRow


class AgentReads(Protocol):
    def get(self, agent: bytes) -> AgentRow | None: ...

    def all(self) -> list[AgentRow]:
        """In the order of their blind ids."""
        ...


class AgentWrites(AgentReads, Protocol):
    def put(self, row: AgentRow) -> None:
        """One line an agent: a new one replaces the old."""
        ...
