"""What the owner of an agent lets its memory be used for, honoured at the next call."""

import pytest

from holdfast.domain.access import ALL_ON, AgentSettings
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused, unchanged
from tests.behaviours.test_store_access import ROOM, stores
from tests.behaviours.test_stores import create, keys, value
from tests.support import FixedClock

SECOND = 1_000_000


def test_everything_is_on_until_the_owner_says_otherwise(memory: Memory) -> None:
    bot = memory.agent("bot", owner="alice")
    create(bot)
    found = memory.user("alice").agents.memory_settings("bot")
    assert (found.agent, found.owner, found.settings) == ("bot", "alice", ALL_ON)
    assert bot.agents.memory_settings("bot") == found


def test_the_owner_changes_some_and_the_rest_stays(memory: Memory) -> None:
    create(memory.agent("bot", owner="alice"))
    alice = memory.user("alice")
    alice.agents.set_memory_settings("bot", chat=False, default_ttl=60)
    done = alice.agents.set_memory_settings("bot", user=False)
    assert done.settings == AgentSettings(True, True, False, False, 60)
    assert alice.agents.memory_settings("bot") == done


def test_only_the_owner_and_administrators_set_what_an_agent_may(memory: Memory) -> None:
    bot = memory.agent("bot", owner="alice")
    create(bot)
    for own in (bot, memory.user("bob"), memory.agent("other"), memory.agent("alice")):
        with unchanged(memory), refused("access_denied"):
            own.agents.set_memory_settings("bot", enabled=False)
    for own in (memory.user("bob"), memory.agent("other")):
        with refused("access_denied"):
            own.agents.memory_settings("bot")
    root = memory.user("root", roles=["admin"])
    assert root.agents.set_memory_settings("bot", enabled=False).settings.enabled is False


def test_an_agent_nobody_owns_is_set_by_an_administrator_who_may_say_whose_it_is(memory: Memory) -> None:
    with refused("access_denied"):
        memory.user("alice").agents.memory_settings("bot")
    with refused("access_denied"):
        memory.user("alice").agents.set_memory_settings("bot", owner="alice")
    memory.user("root", roles=["admin"]).agents.set_memory_settings("bot", owner="alice")
    assert memory.user("alice").agents.set_memory_settings("bot", own=False).owner == "alice"


def test_an_agent_whose_memory_is_off_has_none_in_any_vocabulary(memory: Memory) -> None:
    bot = memory.agent("bot", user="alice", chat=ROOM, owner="alice")
    create(bot)
    memory.agent("friend").share("bot", level="readwrite")
    memory.user("alice").agents.set_memory_settings("bot", enabled=False)
    for call in (
        lambda: bot.stores.memory("view", path="/memories/"),
        lambda: bot.stores.memory("search", query="x"),
        lambda: bot.stores.memory("create", scope="user", key="k", content="x"),
        lambda: bot.stores.memory("view", store="friend"),
        lambda: bot.kv.kv_set("k", "x"),
        lambda: bot.anthropic.memory("view", path="/memories"),
        lambda: bot.stores.set_internal("bot", "k", "x"),
        lambda: bot.remember("x"),
        lambda: bot.facts.store("k", "x"),
    ):
        with unchanged(memory), refused("access_denied"):
            call()
    assert stores(bot) == []
    memory.user("alice").agents.set_memory_settings("bot", enabled=True)
    assert value(bot) == "Prefers short answers"


@pytest.mark.parametrize(
    ("switch", "scope", "store"), [("own", "agent", "bot"), ("chat", "chat", ROOM), ("user", "user", "alice")]
)
def test_each_store_has_its_switch(memory: Memory, switch: str, scope: str, store: str) -> None:
    bot = memory.agent("bot", user="alice", chat=ROOM, owner="alice")
    for each in ("agent", "chat", "user"):
        bot.stores.memory("create", scope=each, key=each, content="about the harbour")
    memory.user("alice").agents.set_memory_settings("bot", **{switch: False})  # type: ignore[arg-type]
    with unchanged(memory), refused("access_denied"):
        bot.stores.memory("create", scope=scope, key="k", content="x")
    with refused("access_denied"):
        bot.stores.memory("view", store=store)
    assert store not in [name for name, _, _ in stores(bot)]
    assert len(stores(bot)) == 2
    assert set(keys(bot.stores.memory("search", query="harbour"))) == {"agent", "chat", "user"} - {scope}
    for each in {"agent", "chat", "user"} - {scope}:
        assert bot.stores.memory("view", scope=each, key=each)["value"] == "about the harbour"


def test_an_agent_may_forget_its_own_whatever_is_off(memory: Memory) -> None:
    bot = memory.agent("bot", owner="alice")
    create(bot)
    memory.user("alice").agents.set_memory_settings("bot", enabled=False)
    assert bot.forget("all").deleted == 1
    assert memory.user("alice").agents.memory_settings("bot").settings.enabled is False


def test_entries_live_as_long_as_the_owner_has_set_unless_told(memory: Memory, clock: FixedClock) -> None:
    bot = memory.agent("bot", owner="alice")
    create(bot, "/memories/before")
    memory.user("alice").agents.set_memory_settings("bot", default_ttl=100)
    create(bot, "/memories/default")
    create(bot, "/memories/longer", ttl=200)
    create(bot, "/memories/ever", ttl=0)
    bot.kv.kv_set("kv", "x")
    clock.now += 100 * SECOND
    assert set(keys(bot.stores.memory("view", path="/memories/"))) == {"before", "longer", "ever"}


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"enabled": 1}, "invalid_field"),
        ({"own": "no"}, "invalid_field"),
        ({"default_ttl": -1}, "ttl_too_short"),
        ({"default_ttl": 2**40}, "ttl_too_long"),
    ],
)
def test_settings_that_are_none_are_refused(memory: Memory, said: dict[str, object], code: str) -> None:
    create(memory.agent("bot", owner="alice"))
    with unchanged(memory), refused(code):
        memory.user("alice").agents.set_memory_settings("bot", **said)  # type: ignore[arg-type]
