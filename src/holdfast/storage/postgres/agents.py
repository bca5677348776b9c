"""The settings of agents."""

from __future__ import annotations

from holdfast.contracts.rows import AgentRow
from holdfast.storage.postgres.connections import OnConnection, Reader
from holdfast.storage.postgres.statements import shared

_AGENT = 'agent, owner, enabled, own, chat, "user", default_ttl, mac'
_OF_AGENTS = "what an agent may use belongs to the agent, in whatever space"


class AgentReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, agent: bytes) -> AgentRow | None:
        rows = self._reader.rows(_GET, {"agent": agent})
        return AgentRow._make(rows[0]) if rows else None

    def all(self) -> list[AgentRow]:
        return list(map(AgentRow._make, self._reader.rows(_ALL)))


_GET = shared(
    "agents.get", f"SELECT {_AGENT} FROM holdfast.agents WHERE agent = %(agent)s", because=_OF_AGENTS
)
_ALL = shared("agents.all", f"SELECT {_AGENT} FROM holdfast.agents ORDER BY agent", because=_OF_AGENTS)


class AgentWrites(AgentReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def put(self, row: AgentRow) -> None:
        self._tx.run(_PUT, row._asdict())


_PUT = shared(
    "agents.put",
    f"""
    INSERT INTO holdfast.agents ({_AGENT})
    VALUES (%(agent)s, %(owner)s, %(enabled)s, %(own)s, %(chat)s, %(user)s, %(default_ttl)s, %(mac)s)
    ON CONFLICT (agent)
    DO UPDATE SET owner = excluded.owner,
                  enabled = excluded.enabled,
                  own = excluded.own,
                  chat = excluded.chat,
                  "user" = excluded."user",
                  default_ttl = excluded.default_ttl,
                  mac = excluded.mac
    """,
    because=_OF_AGENTS,
)
