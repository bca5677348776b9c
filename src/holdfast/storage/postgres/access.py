"""Grants, access lists of chats and systems, the rules of roles, and the settings of agents."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import AgentRow, GrantRow, MemberRow, RuleRow
from holdfast.storage.postgres.connections import Reads, Writes
from holdfast.storage.postgres.statements import Statement, Values, of_space, of_store, shared

_GRANT = "space_id, grantee, granted_by, level, created_us, expires_us, mac"


class GrantReads(Reads):
    def of(self, space: UUID, grantee: bytes) -> list[GrantRow]:
        return self._grants(_GRANTS_OF, {"space": space, "grantee": grantee})

    def on(self, space: UUID) -> list[GrantRow]:
        return self._grants(_GRANTS_ON, {"space": space})

    def to(self, grantee: bytes) -> list[GrantRow]:
        return self._grants(_GRANTS_TO, {"grantee": grantee})

    def _grants(self, statement: Statement, values: Values) -> list[GrantRow]:
        return list(map(GrantRow._make, self._reader.rows(statement, values)))


_GRANTS_OF = of_space(
    "grants.of",
    f"SELECT {_GRANT} FROM holdfast.grants WHERE space_id = %(space)s AND grantee = %(grantee)s",
)
_GRANTS_ON = of_space(
    "grants.on",
    f"SELECT {_GRANT} FROM holdfast.grants WHERE space_id = %(space)s ORDER BY created_us, grantee",
)
_GRANTS_TO = of_store(
    "grants.to",
    f"SELECT {_GRANT} FROM holdfast.grants WHERE grantee = %(grantee)s ORDER BY created_us, space_id",
    because="lists the spaces that were shared with a principal",
)


class GrantWrites(GrantReads, Writes):
    def put(self, row: GrantRow) -> None:
        self._tx.run(_PUT_GRANT, {**row._asdict(), "level": int(row.level)})

    def delete(self, space: UUID, grantee: bytes, granted_by: bytes) -> int:
        return self._tx.count(_DELETE_GRANT, {"space": space, "grantee": grantee, "granted_by": granted_by})

    def delete_expired(self, now: int, limit: int) -> int:
        return self._tx.count(_DELETE_EXPIRED, {"now": now, "limit": limit})


_PUT_GRANT = of_space(
    "grants.put",
    f"""
    INSERT INTO holdfast.grants ({_GRANT})
    VALUES (%(space)s, %(grantee)s, %(granted_by)s, %(level)s, %(created_us)s, %(expires_us)s, %(mac)s)
    ON CONFLICT (space_id, grantee, granted_by)
    DO UPDATE SET level = excluded.level,
                  created_us = excluded.created_us,
                  expires_us = excluded.expires_us,
                  mac = excluded.mac
    """,
)
_DELETE_GRANT = of_space(
    "grants.delete",
    """
    DELETE FROM holdfast.grants
     WHERE space_id = %(space)s
       AND grantee = %(grantee)s
       AND granted_by = %(granted_by)s
    """,
)
_DELETE_EXPIRED = of_store(
    "grants.delete_expired",
    """
    WITH lapsed AS MATERIALIZED (
        SELECT space_id, grantee, granted_by
          FROM holdfast.grants
         WHERE expires_us <= %(now)s
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM holdfast.grants
     USING lapsed
     WHERE grants.space_id = lapsed.space_id
       AND grants.grantee = lapsed.grantee
       AND grants.granted_by = lapsed.granted_by
    """,
    because="the sweep serves the store, not a caller",
)


class MemberReads(Reads):
    def levels(self, space: UUID, members: Sequence[bytes]) -> list[MemberRow]:
        rows = self._reader.rows(_LEVELS, {"space": space, "members": list(members)})
        return list(map(MemberRow._make, rows))

    def lists_with(self, members: Sequence[bytes]) -> list[UUID]:
        rows = self._reader.rows(_LISTS_WITH, {"members": list(members)})
        return [space for (space,) in rows]


_LEVELS = of_space(
    "members.levels",
    """
    SELECT member, level, mac
      FROM holdfast.members
     WHERE space_id = %(space)s
       AND member = ANY (%(members)s::bytea[])
     ORDER BY array_position(%(members)s::bytea[], member)
    """,
)
_LISTS_WITH = of_store(
    "members.lists_with",
    """
    SELECT DISTINCT space_id
      FROM holdfast.members
     WHERE member = ANY (%(members)s::bytea[])
     ORDER BY space_id
    """,
    because="lists the chats and systems that name a principal",
)


class MemberWrites(MemberReads, Writes):
    def replace(self, space: UUID, rows: Sequence[MemberRow]) -> None:
        self._tx.run(_CLEAR_MEMBERS, {"space": space})
        for row in rows:
            self._tx.run(_ADD_MEMBER, {"space": space, **row._asdict(), "level": int(row.level)})


_CLEAR_MEMBERS = of_space("members.replace, old", "DELETE FROM holdfast.members WHERE space_id = %(space)s")
_ADD_MEMBER = of_space(
    "members.replace",
    """
    INSERT INTO holdfast.members (space_id, member, level, mac)
    VALUES (%(space)s, %(member)s, %(level)s, %(mac)s)
    """,
)


class RuleReads(Reads):
    def all(self) -> list[RuleRow]:
        return list(map(RuleRow._make, self._reader.rows(_RULES)))


_OF_ROLES = "rules belong to roles, which are in no space"

_RULES = shared(
    "rules.all", "SELECT role, may_read, may_manage FROM holdfast.rules ORDER BY role", because=_OF_ROLES
)


class RuleWrites(RuleReads, Writes):
    def put(self, row: RuleRow) -> None:
        self._tx.run(_PUT_RULE, row._asdict())


_PUT_RULE = shared(
    "rules.put",
    """
    INSERT INTO holdfast.rules (role, may_read, may_manage)
    VALUES (%(role)s, %(read)s, %(manage)s)
    ON CONFLICT (role) DO UPDATE SET may_read = excluded.may_read, may_manage = excluded.may_manage
    """,
    because=_OF_ROLES,
)


_AGENT = 'agent, owner, enabled, own, chat, "user", default_ttl, mac'
_OF_AGENTS = "what an agent may use belongs to the agent, in whatever space"


class AgentReads(Reads):
    def get(self, agent: bytes) -> AgentRow | None:
        rows = self._reader.rows(_GET_AGENT, {"agent": agent})
        return AgentRow._make(rows[0]) if rows else None

    def all(self) -> list[AgentRow]:
        return list(map(AgentRow._make, self._reader.rows(_AGENTS)))


_GET_AGENT = shared(
    "agents.get", f"SELECT {_AGENT} FROM holdfast.agents WHERE agent = %(agent)s", because=_OF_AGENTS
)
_AGENTS = shared("agents.all", f"SELECT {_AGENT} FROM holdfast.agents ORDER BY agent", because=_OF_AGENTS)


class AgentWrites(AgentReads, Writes):
    def put(self, row: AgentRow) -> None:
        self._tx.run(_PUT_AGENT, row._asdict())


_PUT_AGENT = shared(
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
