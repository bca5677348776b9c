"""Every transport carries every call, and answers as Python does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from holdfast.entrypoints.cli.call import _table
from holdfast.entrypoints.mcp.tools import NAMED
from tests.behaviours.interface import HTTP, Interface
from tests.transports.every_call import PLAYS
from tests.transports.names import AGENTS, CLI, STARTED, TRANSPORTS

ON_A_SERVER = {"teams": ("platform",)}
"""Claims that a local store does not take, so that the caller needs a server."""
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:[0-9a-f]{16}){1,2}\b")
"""An id, or a name that is blinded with the key of one store."""
VARY = {"provenance", "sourceConversationId", "removed_by", "cursor", "similar"}
"""What depends on the transport: who speaks through it, and that models are told of similar notes unasked."""


def plain(shown: Any, ids: dict[str, int]) -> Any:
    """An answer in its JSON form, with ids numbered in the order of their first use."""
    match shown:
        case str():
            return ID.sub(lambda found: f"id {ids.setdefault(found[0], len(ids))}", shown)
        case dict():
            return {name: plain(each, ids) for name, each in shown.items() if name not in VARY}
        case list() | tuple():
            return [plain(each, ids) for each in shown]
        case _:
            return shown


def played(memory: Any, surface: str, **claims: Any) -> list[tuple[str, Any]]:
    calls, ids = _table()[surface], dict[str, int]()
    answers = PLAYS[surface](memory, memory.user("alice", **claims))
    return [(name, plain(calls[name].answer.encode(answer), ids)) for name, answer in answers]


@pytest.mark.parametrize("surface", PLAYS)
def test_every_call_of_the_tables_is_made(python: Interface, surface: str) -> None:
    made = {name for name, _ in played(python.open(), surface)}
    assert made == {call.name for call in _table()[surface].values()}


def test_every_vocabulary_is_spoken() -> None:
    assert PLAYS.keys() == _table().keys()


@pytest.mark.parametrize("claims", [{}, ON_A_SERVER], ids=["store", "server"])
@pytest.mark.parametrize("surface", PLAYS)
@pytest.mark.parametrize("interface", [HTTP, *TRANSPORTS], indirect=True)
def test_every_call_is_answered_as_in_python(
    interface: Interface, python: Interface, surface: str, claims: dict[str, Any]
) -> None:
    assert played(interface.open(), surface, **claims) == played(python.open(), surface, **claims)


@pytest.mark.slow
@pytest.mark.parametrize("interface", STARTED, indirect=True)
def test_the_started_command_answers_as_python_does(interface: Interface, python: Interface) -> None:
    assert played(interface.open(), "kv", **ON_A_SERVER) == played(python.open(), "kv", **ON_A_SERVER)


@pytest.mark.parametrize("surface", NAMED)
@pytest.mark.parametrize("interface", AGENTS, indirect=True)
def test_every_tool_is_called_as_a_tool(interface: Interface, surface: str) -> None:
    memory: Any = interface.open()
    played(memory, surface)
    assert memory.sent >= {tool.name for tool in NAMED[surface].tools}


@pytest.mark.parametrize("surface", PLAYS)
@pytest.mark.parametrize("interface", [CLI], indirect=True)
def test_every_call_is_typed_as_a_command(interface: Interface, surface: str) -> None:
    memory: Any = interface.open()
    played(memory, surface)
    assert memory.sent >= {call.name for call in _table()[surface].values()}
