"""What agents' memories may be used for: shown to the agent, its owner and administrators, set by the latter two. Whose
an agent is, its token says; it is kept from the first call on."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.contracts.rows import AgentRow
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.agent import AgentMemory, AgentSettings
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


class Changes(NamedTuple):
    """What is to be set; None leaves it as it is."""

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


def set_memory_settings(session: Session, id: str, changes: Changes) -> Job[AgentMemory]:
    """An agent does not set its own: what it was refused it could give itself."""
    agent = principal(PrincipalKind.AGENT, id)
    for name, flag in zip(Changes._fields[:4], changes[:4], strict=True):
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
        session.engine.agents.forget(agent)
        return _shown(session.sealed, agent, put)

    return Job(write)


def note_owner(session: Session) -> None:
    """Keeps whose agent this is, as its token says, the first time this process sees it; without waiting for it."""
    if session.caller.owner is None or not session.engine.agents.is_news(
        session.principal, session.caller.owner
    ):
        return
    agent, now = session.principal, session.clock()

    def write(tx: Transaction) -> None:
        row = tx.agents.get(session.sealed.blind(agent))
        assert session.caller.owner is not None
        owner = SealedTransaction(session.sealed, tx, now).name(session.caller.owner)
        if row is None or row.owner != owner:
            tx.agents.put(_row(session.sealed, agent, owner, open_agent(session.sealed.store_key, row)))

    session.sealed.store.submit(write)


def owner_of(engine: Engine, agent: Principal) -> bytes | None:
    """The blind id of whose agent it is, as far as that is known and nobody changed it in the file."""
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


def _changed(settings: AgentSettings, changes: Changes) -> AgentSettings:
    said: dict[str, Any] = {
        name: flag for name, flag in zip(Changes._fields[:4], changes[:4], strict=True) if flag is not None
    }
    if changes.default_ttl is not None:
        said["default_ttl"] = DEFAULT_TTL.seconds(changes.default_ttl) or 0
    return settings._replace(**said)


def _shown(sealed: SealedStore, agent: Principal, row: AgentRow | None) -> AgentMemory:
    owner = None if row is None or row.owner == _NOBODY else sealed.principal(row.owner)
    return AgentMemory(agent.id, None if owner is None else owner.id, open_agent(sealed.store_key, row))
