"""Settings of agents' memories: shown to the agent, its owner and administrators, set by the latter two. The token
names the owner of an agent, which is kept from the first call on."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.contracts.rows import AgentRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import AgentMemory, AgentSettings
from holdfast.domain.errors import AccessDenied
from holdfast.domain.limits import check_flag
from holdfast.domain.principal import Principal, PrincipalKind, principal
from holdfast.domain.retention import Retention, Ttl, Zero
from holdfast.operations.engine import Engine
from holdfast.operations.session import Session
from holdfast.storage.row_codec import agent_code, open_agent
from holdfast.storage.sealed_store import SealedStore
from holdfast.storage.sealed_transaction import SealedTransaction

DEFAULT_TTL = Retention(Zero.NONE)
_NOBODY = b""


class SettingsChange(NamedTuple):
    """Settings to change; None leaves a setting as it is."""

    enabled: bool | None = None
    own: bool | None = None
    chat: bool | None = None
    user: bool | None = None
    default_ttl: Ttl = None
    owner: str | None = None


def memory_settings(session: Session, id: str) -> AgentMemory:
    agent = principal(PrincipalKind.AGENT, id)
    row = session.sealed.store.agents.get(session.sealed.blind(agent))
    if agent != session.principal:
        _require_owner(session, row)
    return _shown(session.sealed, agent, row)


def set_memory_settings(session: Session, id: str, changes: SettingsChange) -> Job[AgentMemory]:
    """Changes the settings. An agent must not set its own: it could allow itself what its owner refused."""
    agent = principal(PrincipalKind.AGENT, id)
    for name, flag in zip(SettingsChange._fields[:4], changes[:4], strict=True):
        if flag is not None:
            check_flag("self" if name == "own" else name, flag)
    if changes.default_ttl is not None:
        DEFAULT_TTL.seconds(changes.default_ttl)
    if changes.owner is not None and not session.caller.is_admin:
        raise AccessDenied("Only an administrator says whose an agent is.")
    now = session.clock()

    def write(tx: Transaction) -> AgentMemory:
        row = tx.agents.get(session.sealed.blind(agent))
        _require_owner(session, row)
        owner = _NOBODY if row is None else row.owner
        sealed = SealedTransaction(session.sealed, tx, now)
        if changes.owner is not None:
            owner = sealed.name(principal(PrincipalKind.USER, changes.owner))
        put = _row(session.sealed, agent, owner, _changed(open_agent(session.sealed.store_key, row), changes))
        tx.agents.put(put)
        sealed.audit("set memory settings", session.principal)
        session.engine.agents.pop(agent, None)
        return _shown(session.sealed, agent, put)

    return Job(write)


def note_owner(session: Session) -> None:
    """Stores the owner named by the agent's token, the first time this process sees it, without waiting for the
    write."""
    agent, owner, known = session.principal, session.caller.owner, session.engine.agent_owners
    if owner is None or (agent, owner) in known:
        return
    known[agent, owner] = None
    now = session.clock()

    def write(tx: Transaction) -> None:
        row = tx.agents.get(session.sealed.blind(agent))
        name = SealedTransaction(session.sealed, tx, now).name(owner)
        if row is None or row.owner != name:
            tx.agents.put(_row(session.sealed, agent, name, open_agent(session.sealed.store_key, row)))

    session.sealed.store.submit(write)


def owner_of(engine: Engine, agent: Principal) -> bytes | None:
    """The blind id of the agent's owner; None when it is unknown or was changed in the file."""
    row = engine.sealed.store.agents.get(engine.sealed.blind(agent))
    if row is None or row.owner == _NOBODY or agent_code(engine.sealed.store_key, row) != row.mac:
        return None
    return row.owner


def _require_owner(session: Session, row: AgentRow | None) -> None:
    genuine = row is not None and agent_code(session.sealed.store_key, row) == row.mac
    if session.caller.is_admin or (
        genuine and row is not None and row.owner == session.sealed.blind(session.principal)
    ):
        return
    raise AccessDenied("Only the owner of an agent or an administrator sees and sets what its memory is for.")


def _row(sealed: SealedStore, agent: Principal, owner: bytes, settings: AgentSettings) -> AgentRow:
    row = AgentRow(sealed.blind(agent), owner, *settings, b"")
    return row._replace(mac=agent_code(sealed.store_key, row))


def _changed(settings: AgentSettings, changes: SettingsChange) -> AgentSettings:
    flags = zip(SettingsChange._fields[:4], changes[:4], strict=True)
    new: dict[str, Any] = {name: flag for name, flag in flags if flag is not None}
    if changes.default_ttl is not None:
        new["default_ttl"] = DEFAULT_TTL.seconds(changes.default_ttl) or 0
    return settings._replace(**new)


def _shown(sealed: SealedStore, agent: Principal, row: AgentRow | None) -> AgentMemory:
    owner = None if row is None or row.owner == _NOBODY else sealed.principal(row.owner)
    return AgentMemory(agent.id, None if owner is None else owner.id, open_agent(sealed.store_key, row))
