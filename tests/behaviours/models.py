"""A model that speaks for somebody: over MCP, with the token of a user or an agent."""

from typing import Any

from holdfast.domain.principal import Caller, PrincipalKind, principal
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.local import LocalTransport
from holdfast.entrypoints.python.memory import Memory


def model_of(memory: Memory, user: str, **more: Any) -> Own:
    """What a user's own assistant may do."""
    return own_of(memory, Caller(principal(PrincipalKind.USER, user), door="mcp", **more))


def agent_model(memory: Memory, agent: str, *, user: str | None = None, **more: Any) -> Own:
    """An agent over MCP, working for a user or for nobody."""
    session_user = None if user is None else principal(PrincipalKind.USER, user)
    caller = Caller(principal(PrincipalKind.AGENT, agent), session_user=session_user, door="mcp", **more)
    return own_of(memory, caller)


def own_of(memory: Memory, caller: Caller) -> Own:
    """Everything this caller can do, however they came."""
    return Own(LocalTransport(memory.running.session(caller)))
