"""What a model writes through a tool is known as its words, and what it could not read is not shown to it."""

from __future__ import annotations

import pytest

from tests.behaviours.interface import Interface
from tests.behaviours.looking import refused, unchanged
from tests.transports.names import AGENTS

pytestmark = pytest.mark.parametrize("interface", AGENTS, indirect=True)


def test_what_is_written_through_a_tool_is_an_agents_word(interface: Interface) -> None:
    memory = interface.open()
    alice = memory.user("alice")
    alice.remember("x", key="k")
    shown = alice.get("k").provenance
    assert (shown.by, shown.source, shown.door) == ("user:alice", "agent", "mcp")


def test_a_model_does_not_see_what_a_client_encrypted(interface: Interface) -> None:
    memory = interface.open()
    bot = memory.agent("bot")
    bot.stores.memory("create", path="/memories/sealed", content="harbour harbour", encrypted=True)
    assert bot.stores.memory("view", path="/memories/sealed") is None
    assert bot.stores.memory("search", query="harbour")["entries"] == []
    with unchanged(memory), refused("not_found"):
        bot.stores.memory("edit", path="/memories/sealed", old_str="harbour", new_str="x")
