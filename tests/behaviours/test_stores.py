"""The memory tool: nine commands over one's own store, one way of asking for each in three vocabularies."""

from typing import Any

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refusal, refused, unchanged
from tests.support import FixedClock

SECOND = 1_000_000
PATH = "/memories/preferences"


def create(own: Any, path: str = PATH, content: Any = "Prefers short answers", **more: Any) -> Any:
    return own.stores.memory("create", path=path, content=content, **more)


def value(own: Any, path: str = PATH) -> Any:
    shown = own.stores.memory("view", path=path)
    return None if shown is None else shown["value"]


def keys(answer: Any) -> list[str]:
    return [entry["key"] for entry in answer["entries"]]


def test_an_entry_is_created_viewed_and_belongs_to_who_wrote_it(memory: Memory) -> None:
    bot = memory.agent("bot")
    assert create(bot) == f"created {PATH}"
    shown = bot.stores.memory("view", path=PATH)
    assert (shown["key"], shown["value"], shown["storeId"], shown["owner_id"]) == (
        "preferences",
        "Prefers short answers",
        "bot",
        "agent:bot",
    )


def test_viewing_a_missing_entry_gives_null(memory: Memory) -> None:
    assert memory.agent("bot").stores.memory("view", path="/memories/nothing") is None


@pytest.mark.parametrize(
    "content", ["text", "", {"a": [1, 2.5, None, True]}, [], 0, False, "{not json", "日本語", {"名": "値"}]
)
def test_a_value_is_text_or_any_json_and_comes_back_as_it_was(memory: Memory, content: Any) -> None:
    bot = memory.agent("bot")
    create(bot, content=content)
    assert value(bot) == content


def test_creating_again_overwrites_and_keeps_the_history(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="old")
    create(bot, content="new")
    assert value(bot) == "new"
    assert [state.text for state in bot.history("preferences")] == ["new", "old"]


def test_a_path_that_ends_in_a_slash_lists_what_lies_under_it(memory: Memory) -> None:
    bot = memory.agent("bot")
    for path in ("/memories/a", "/memories/notes/b", "/memories/notes/c"):
        create(bot, path)
    assert keys(bot.stores.memory("view", path="/memories/")) == ["notes/c", "notes/b", "a"]
    assert keys(bot.stores.memory("view", path="/memories")) == ["notes/c", "notes/b", "a"]
    assert keys(bot.stores.memory("view", path="/memories/notes/")) == ["notes/c", "notes/b"]


def test_a_list_goes_on_with_its_cursor(memory: Memory) -> None:
    bot = memory.agent("bot")
    for number in range(3):
        create(bot, f"/memories/k{number}")
    first = bot.stores.memory("view", path="/memories/", limit=2)
    rest = bot.stores.memory("view", path="/memories/", limit=2, cursor=first["cursor"])
    assert keys(first) + keys(rest) == ["k2", "k1", "k0"]
    assert "cursor" not in rest


def test_only_entries_of_this_vocabulary_are_listed_viewed_and_found(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.remember("a note about deploys", key="note")
    bot.facts.store("fact", "a fact about deploys")
    create(bot, content="a store entry about deploys")
    assert keys(bot.stores.memory("view", path="/memories/")) == ["preferences"]
    assert keys(bot.stores.memory("search", query="deploys")) == ["preferences"]
    assert bot.stores.memory("view", path="/memories/note") is None


def test_an_edit_replaces_the_first_occurrence_and_says_how_many_there_were(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="red, then red, then blue")
    done = bot.stores.memory("edit", path=PATH, old_str="red", new_str="green")
    assert value(bot) == "green, then red, then blue"
    assert done == {
        "edited": PATH,
        "occurrences": 2,
        "diff": "- red, then red, then blue\n+ green, then red, then blue",
    }


def test_the_difference_of_an_edit_shows_forty_characters_around_it(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="new " + "a" * 60 + "OLD" + "b" * 60)
    done = bot.stores.memory("edit", path=PATH, old_str="OLD", new_str="new")
    assert done["diff"] == f"- {'a' * 40}OLD{'b' * 40}\n+ {'a' * 40}new{'b' * 40}"


def test_the_difference_of_an_edit_shows_what_was_kept_without_secrets(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="the login is HERE, ask Mia")
    done = bot.stores.memory("edit", path=PATH, old_str="HERE", new_str="password: hunter2-and-more")
    assert "hunter2" not in str(done)
    assert done["diff"].splitlines() == ["- the login is HERE, ask Mia", f"+ {value(bot)}"]
    assert done["redacted"] == 1


def test_an_edit_takes_both_passages_literally(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="costs $5 (a.c)")
    bot.stores.memory("edit", path=PATH, old_str="a.c", new_str="$& \\1")
    assert value(bot) == "costs $5 ($& \\1)"
    with refused("edit_no_match"):
        bot.stores.memory("edit", path=PATH, old_str="c.sts", new_str="x")


def test_an_edit_may_leave_nothing(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="all of it")
    bot.stores.memory("edit", path=PATH, old_str="all of it", new_str="")
    assert value(bot) == ""


@pytest.mark.parametrize("content", [{"a": "text"}, ["text"], 5, True])
def test_only_text_is_edited(memory: Memory, content: Any) -> None:
    bot = memory.agent("bot")
    create(bot, content=content)
    with unchanged(memory), refused("not_text"):
        bot.stores.memory("edit", path=PATH, old_str="text", new_str="x")


def test_a_missing_entry_is_neither_edited_nor_deleted_nor_renamed(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, "/memories/other")
    asked: dict[str, dict[str, Any]] = {
        "edit": {"old_str": "a", "new_str": "b"},
        "delete": {},
        "rename": {"new_str": "/memories/x"},
    }
    for command, more in asked.items():
        with unchanged(memory), refused("not_found"):
            bot.stores.memory(command, path=PATH, **more)


def test_a_deleted_entry_is_gone_from_the_tool_and_can_be_restored(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot)
    assert bot.stores.memory("delete", path=PATH) == f"deleted {PATH}"
    assert bot.stores.memory("view", path=PATH) is None
    assert keys(bot.stores.memory("search", query="short answers")) == []
    bot.restore("preferences")
    assert value(bot) == "Prefers short answers"


def test_only_who_made_an_entry_deletes_or_renames_it(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    create(guest, "/memories/shared/owner/by-guest")
    create(owner, "/memories/by-owner")
    for own, path in (
        (owner, "/memories/by-guest"),
        (guest, "/memories/shared/owner/by-owner"),
    ):
        with unchanged(memory), refused("access_denied"):
            own.stores.memory("delete", path=path)
        with unchanged(memory), refused("access_denied"):
            own.stores.memory("rename", path=path, new_str="mine-now")
    assert guest.stores.memory("delete", path="/memories/shared/owner/by-guest")


def test_a_rename_keeps_value_expiry_owner_and_history(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="first")
    create(bot, content="second", ttl=100)
    before = bot.stores.memory("view", path=PATH)
    done = bot.stores.memory("rename", path=PATH, new_str="/memories/settings/style")
    assert done == f"renamed {PATH} to /memories/settings/style"
    after = bot.stores.memory("view", path="/memories/settings/style")
    same = ("value", "owner_id", "expires_at", "storeId")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert bot.stores.memory("view", path=PATH) is None
    assert [state.text for state in bot.history("settings/style")] == ["second", "second", "first"]


def test_a_rename_moves_between_stores_when_both_may_be_written(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    create(guest, "/memories/draft", "the plan")
    guest.stores.memory("rename", path="/memories/draft", new_str="/memories/shared/owner/plan")
    assert value(owner, "/memories/plan") == "the plan"
    assert guest.stores.memory("view", path="/memories/draft") is None
    guest.stores.memory("rename", path="/memories/shared/owner/plan", new_str="/memories/back")
    assert value(guest, "/memories/back") == "the plan"


def test_a_rename_that_fails_leaves_everything_as_it_was(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="read")
    create(guest, "/memories/draft", "the plan")
    create(guest, "/memories/taken", "something else")
    with unchanged(memory), refused("conflict"):
        guest.stores.memory("rename", path="/memories/draft", new_str="/memories/taken")
    with unchanged(memory), refused("access_denied"):
        guest.stores.memory("rename", path="/memories/draft", new_str="/memories/shared/owner/plan")
    with unchanged(memory), refused("access_denied"):
        guest.stores.memory("rename", path="/memories/draft", new_str="/memories/shared/stranger/plan")
    assert (value(guest, "/memories/draft"), value(guest, "/memories/taken")) == (
        "the plan",
        "something else",
    )


def test_an_entry_lives_as_long_as_it_was_told_and_zero_is_for_ever(
    memory: Memory, clock: FixedClock
) -> None:
    bot = memory.agent("bot")
    create(bot, "/memories/brief", ttl=10)
    create(bot, "/memories/lasting", ttl=0)
    assert "expires_at" in bot.stores.memory("view", path="/memories/brief")
    assert "expires_at" not in bot.stores.memory("view", path="/memories/lasting")
    clock.now += 10 * SECOND
    assert bot.stores.memory("view", path="/memories/brief") is None
    assert keys(bot.stores.memory("view", path="/memories/")) == ["lasting"]
    assert keys(bot.stores.memory("search", query="short answers")) == ["lasting"]


def test_namespaces_keep_equal_keys_apart(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, content="plain")
    create(bot, content="of the billing skill", namespace="billing")
    assert value(bot) == "plain"
    assert bot.stores.memory("view", path=PATH, namespace="billing")["value"] == "of the billing skill"
    listed = bot.stores.memory("view", path="/memories/", namespace="billing")["entries"]
    assert [(entry["key"], entry["namespace"]) for entry in listed] == [("preferences", "billing")]
    bot.stores.memory("delete", path=PATH, namespace="billing")
    assert value(bot) == "plain"


def test_a_search_may_be_narrowed_to_a_namespace(memory: Memory) -> None:
    bot = memory.agent("bot")
    for number in range(12):
        create(bot, f"/memories/plain-{number}", "walrus walrus")
    create(bot, "/memories/a", "a walrus", namespace="billing")
    create(bot, "/memories/b/c", "another walrus", namespace="billing")
    create(bot, "/memories/d", "a walrus of mail", namespace="mail")
    asked: tuple[dict[str, Any], ...] = ({"command": "search"}, {"action": "search", "store": "bot"})
    for ask in asked:
        found = bot.stores.memory(**ask, query="walrus", namespace="billing", limit=5)["entries"]
        assert {(hit["key"], hit["namespace"]) for hit in found} == {("a", "billing"), ("b/c", "billing")}
    assert len(bot.stores.memory("search", query="walrus", limit=50)["entries"]) == 15
    assert bot.stores.memory("search", query="walrus", namespace="bill")["entries"] == []
    bot.stores.memory("rename", key="a", namespace="billing", new_str="e")
    found = bot.stores.memory("search", query="walrus", namespace="billing")["entries"]
    assert sorted(hit["key"] for hit in found) == ["b/c", "e"]


def test_secrets_are_left_out_of_what_a_model_may_see_and_the_answer_says_so(memory: Memory) -> None:
    bot = memory.agent("bot")
    done = create(bot, content="the password: hunter2-and-more")
    assert done == f"created {PATH}; secrets left out: 1 password"
    assert "hunter2" not in value(bot)


def test_an_entry_that_is_too_large_is_refused(memory: Memory) -> None:
    bot = memory.agent("bot")
    with unchanged(memory), refused("too_large"):
        create(bot, content="x" * 65_537)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({}, "missing_field", ["command", "view", "stores"]),
        ({"command": "format"}, "invalid_field", ["format", "view", "rename"]),
        ({"action": "fetch"}, "invalid_field", ["fetch", "get", "unshare"]),
        ({"command": "view", "action": "get"}, "invalid_field", ["command", "action"]),
        ({"command": "create", "path": PATH}, "missing_value", ["content", "create"]),
        ({"command": "create", "content": "x"}, "missing_key", ["path", "create"]),
        ({"command": "create", "path": "/memories/", "content": "x"}, "missing_key", ["create"]),
        ({"command": "edit", "path": PATH, "new_str": "x"}, "missing_field", ["old_str", "edit"]),
        ({"command": "edit", "path": PATH, "old_str": "x"}, "missing_field", ["new_str", "edit"]),
        ({"command": "edit", "path": PATH, "old_str": "", "new_str": "x"}, "missing_field", ["old_str"]),
        ({"command": "delete"}, "missing_key", ["delete"]),
        ({"command": "rename", "path": PATH}, "missing_field", ["new_str", "rename"]),
        ({"command": "rename", "path": PATH, "new_str": "/memories/"}, "missing_key", ["new_str"]),
        ({"command": "rename", "path": PATH, "new_str": "settings/"}, "missing_key", ["new_str"]),
        ({"command": "search"}, "missing_field", ["query", "search"]),
        ({"command": "share"}, "missing_field", ["agent", "share"]),
        ({"command": "unshare"}, "missing_field", ["agent", "unshare"]),
        ({"command": "share", "agent": "x", "level": "manage"}, "invalid_level", ["search", "readwrite"]),
        ({"command": "view", "path": "/etc/passwd"}, "invalid_field", ["/memories"]),
        ({"command": "view", "path": "/memoriesx"}, "invalid_field", ["/memories"]),
        ({"command": "view", "path": "/memories/../x"}, "invalid_field", [".."]),
        ({"command": "view", "path": "/memories/a//b"}, "invalid_field", ["empty"]),
        ({"command": "view", "path": "/memories/shared/"}, "invalid_field", ["stores"]),
        ({"command": "view", "path": PATH, "key": "x"}, "invalid_field", ["path"]),
        ({"command": "view", "scope": "team", "key": "x"}, "invalid_field", ["agent", "user", "chat"]),
        ({"command": "view", "scope": "agent", "store": "x", "key": "x"}, "invalid_field", ["scope"]),
        ({"command": "view", "key": "x" * 201}, "invalid_key", ["200"]),
        ({"action": "get"}, "missing_key", ["get"]),
        ({"action": "set", "key": "x"}, "missing_value", ["set"]),
        ({"action": "get", "path": PATH}, "invalid_field", ["path"]),
    ],
)
def test_a_request_that_cannot_be_carried_out_says_what_is_missing(
    memory: Memory, said: dict[str, Any], code: str, words: list[str]
) -> None:
    bot = memory.agent("bot")
    create(bot)
    with unchanged(memory):
        found, message = refusal(lambda: bot.stores.memory(**said))
    assert found == code
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("name", "wrong", "code"),
    [
        ("limit", 0, "invalid_field"),
        ("limit", "ten", "invalid_field"),
        ("ttl", -1, "ttl_too_short"),
        ("ttl", "soon", "invalid_field"),
        ("encrypted", "yes", "invalid_field"),
        ("level", "manage", "invalid_level"),
        ("namespace", "a\x0fb", "invalid_field"),
        *(
            (name, 5, "invalid_field")
            for name in ("old_str", "new_str", "query", "agent", "prefix", "cursor")
        ),
    ],
)
def test_what_is_wrong_is_refused_by_commands_that_have_no_use_for_it(
    memory: Memory, name: str, wrong: Any, code: str
) -> None:
    bot = memory.agent("bot")
    with unchanged(memory), refused(code):
        bot.stores.memory("stores", **{name: wrong})


def test_space_around_a_namespace_makes_no_other_one(memory: Memory) -> None:
    bot = memory.agent("bot")
    create(bot, namespace=" billing")
    assert bot.stores.memory("view", path=PATH, namespace="billing ")["namespace"] == "billing"


def test_the_three_vocabularies_speak_of_the_same_entries(memory: Memory) -> None:
    bot = memory.agent("bot")
    asked = bot.stores.memory
    assert asked("create", path="/memories/a/b", content={"n": 1}) == "created /memories/a/b"
    assert asked("create", scope="agent", key="c", content="two") == "created /memories/c"
    assert asked(action="set", store="bot", key="d", value=[3]) == "created /memories/d"
    ways: tuple[dict[str, Any], ...] = (
        {"command": "view", "path": "/memories/a/b"},
        {"command": "view", "key": "a/b"},
        {"command": "view", "store": "bot", "key": "a/b"},
        {"action": "get", "key": "a/b"},
    )
    for ask in ways:
        assert asked(**ask)["value"] == {"n": 1}
    ways = (
        {"command": "view", "path": "/memories/"},
        {"command": "view", "scope": "agent"},
        {"action": "list"},
    )
    for ask in ways:
        assert keys(asked(**ask)) == ["d", "c", "a/b"]
    assert keys(asked(action="list", prefix="a/")) == ["a/b"]
    assert asked("rename", key="c", new_str="e") == "renamed /memories/c to /memories/e"
    assert asked(action="delete", key="e") == "deleted /memories/e"
    assert asked(action="get", key="e") is None


def test_while_memory_is_off_writes_are_not_kept_lists_are_empty_and_say_why(interface: Interface) -> None:
    bot = interface.open(key="off").agent("bot")
    assert create(bot)["persisted"] is False
    for answer in (bot.stores.memory("view", path="/memories/"), bot.stores.memory("search", query="x")):
        assert answer["entries"] == []
        assert answer["note"]
    assert bot.stores.memory("stores")["stores"] == []
    assert bot.stores.set_internal("bot", "k", "x") is False
    refusals = [
        refusal(lambda: bot.stores.memory("view", path=PATH)),
        refusal(lambda: bot.stores.memory("delete", path=PATH)),
        refusal(lambda: bot.stores.memory("share", agent="x")),
        refusal(lambda: bot.stores.get_internal("bot", "k")),
    ]
    assert {code for code, _ in refusals} == {"unavailable"}
    with refused("missing_value"):
        bot.stores.memory("create", path=PATH)
