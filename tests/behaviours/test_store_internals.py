"""What skills keep in a store beside its entries: read and written by code, never seen by a model."""

from typing import Any

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused, unchanged
from tests.behaviours.models import agent_model
from tests.behaviours.test_stores import create, keys, value
from tests.support import FixedClock

SECOND = 1_000_000


@pytest.mark.parametrize(
    "secret", ["ghp_0123456789abcdefghij0123456789abcdef", "", {"token": "x", "n": [1]}, 5, False]
)
def test_a_skill_gets_back_what_it_kept(memory: Memory, secret: Any) -> None:
    bot = memory.agent("bot")
    assert bot.stores.set_internal("bot", "github/token", secret) is True
    assert bot.stores.get_internal("bot", "github/token") == secret


def test_nothing_kept_gives_none(memory: Memory) -> None:
    assert memory.agent("bot").stores.get_internal("bot", "nothing") is None


@pytest.mark.parametrize("key", ["", " ", None])
def test_a_blank_key_is_no_key(memory: Memory, key: Any) -> None:
    stores = memory.agent("bot").stores
    for ask in (lambda: stores.get_internal("bot", key), lambda: stores.set_internal("bot", key, "x")):
        with unchanged(memory), refused("missing_key"):
            ask()


def test_no_command_of_the_tool_shows_what_is_internal(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.stores.set_internal("bot", "secret", "the harbour code")
    asked = bot.stores.memory
    assert asked("view", path="/memories/secret") is None
    assert keys(asked("view", path="/memories/")) == []
    assert keys(asked("search", query="harbour code")) == []
    changes: dict[str, dict[str, Any]] = {
        "edit": {"old_str": "a", "new_str": "b"},
        "delete": {},
        "rename": {"new_str": "x"},
    }
    for command, more in changes.items():
        with unchanged(memory), refused("not_found"):
            asked(command, path="/memories/secret", **more)
    assert [hit.key for hit in bot.recall("harbour code")] == []


def test_an_internal_value_over_a_visible_entry_leaves_nothing_visible(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, "/memories/token", "about the harbour")
    bot.stores.set_internal("bot", "token", "the secret of the harbour")
    assert bot.stores.memory("view", path="/memories/token") is None
    assert keys(bot.stores.memory("view", path="/memories/")) == []
    assert keys(bot.stores.memory("search", query="harbour")) == []
    assert bot.stores.get_internal("bot", "token") == "the secret of the harbour"


def test_a_visible_entry_of_somebody_else_stays_when_a_skill_takes_the_same_key(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    create(owner, "/memories/token", "of the owner")
    guest.stores.set_internal("owner", "token", "of the guest")
    assert value(owner, "/memories/token") == "of the owner"


def test_a_visible_entry_over_an_internal_one_leaves_it_to_the_skill(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.stores.set_internal("bot", "k", "internal")
    create(bot, "/memories/k", "visible")
    assert (bot.stores.get_internal("bot", "k"), value(bot, "/memories/k")) == ("internal", "visible")


def test_skills_of_different_agents_do_not_read_each_other_in_a_shared_store(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    owner.stores.set_internal("owner", "token", "of the owner")
    assert guest.stores.get_internal("owner", "token") is None
    guest.stores.set_internal("owner", "token", "of the guest")
    assert owner.stores.get_internal("owner", "token") == "of the owner"


def test_an_internal_value_needs_the_access_that_an_entry_needs(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    for call in (
        lambda: guest.stores.set_internal("owner", "k", "x"),
        lambda: guest.stores.get_internal("owner", "k"),
    ):
        with unchanged(memory), refused("access_denied"):
            call()
    owner.stores.memory("share", agent="guest", level="read")
    assert guest.stores.get_internal("owner", "k") is None
    with unchanged(memory), refused("access_denied"):
        guest.stores.set_internal("owner", "k", "x")


def test_an_internal_value_lives_as_long_as_it_was_told(memory: Memory, clock: FixedClock) -> None:
    bot = memory.agent("bot")
    bot.stores.set_internal("bot", "k", "x", ttl=3600)
    clock.now += 3600 * SECOND
    assert bot.stores.get_internal("bot", "k") is None


def test_bytes_that_a_client_encrypted_come_back_as_bytes(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.stores.set_internal("bot", "k", b"\x00\xff", encrypted=True)
    assert bot.stores.get_internal("bot", "k") == b"\x00\xff"
    with unchanged(memory), refused("invalid_field"):
        bot.stores.set_internal("bot", "k", b"\x00\xff")


def test_services_have_internals_and_people_and_models_do_not(memory: Memory) -> None:
    cron = memory.service("cron")
    cron.stores.set_internal("cron", "k", "x")
    assert cron.stores.get_internal("cron", "k") == "x"
    for own, store in ((memory.user("alice"), "alice"), (agent_model(memory, "bot"), "bot")):
        with unchanged(memory), refused("access_denied"):
            own.stores.set_internal(store, "k", "x")
        with refused("access_denied"):
            own.stores.get_internal(store, "k")
