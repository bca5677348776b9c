"""A model that speaks for somebody: the door of MCP, with the token of a user or an agent."""

from typing import Any

from holdfast.domain.principal import Caller, PrincipalKind, principal
from holdfast.entrypoints.python.memory import Memory, Own


def model_of(memory: Memory, user: str, **more: Any) -> Own:
    """What a user's own assistant may do."""
    return _own(memory, Caller(principal(PrincipalKind.USER, user), door="mcp", **more))


def agent_model(memory: Memory, agent: str, *, user: str | None = None, **more: Any) -> Own:
    """An agent over MCP, working for a user or for nobody."""
    session_user = None if user is None else principal(PrincipalKind.USER, user)
    caller = Caller(principal(PrincipalKind.AGENT, agent), session_user=session_user, door="mcp", **more)
    return _own(memory, caller)


def _own(memory: Memory, caller: Caller) -> Own:
    return Own(memory.running.session(caller))
