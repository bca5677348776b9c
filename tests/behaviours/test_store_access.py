"""Stores of others: the own one, those that were shared, and those that a chat or a user opens for the moment."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refusal, refused, unchanged
from tests.behaviours.test_stores import create, keys, value
from tests.support import FixedClock

SECOND = 1_000_000
ROOM = "6c1f0d5e-1111-4222-8333-444455556666"


def stores(own: Any) -> list[tuple[str, str, str]]:
    return [
        (store["storeId"], store["level"], store["source"]) for store in own.stores.memory("stores")["stores"]
    ]


def test_stores_are_the_own_one_the_granted_and_those_of_chat_and_user(memory: Memory) -> None:
    memory.agent("owner").stores.memory("share", agent="bot", level="search")
    assert stores(memory.agent("bot", user="alice", chat=ROOM)) == [
        ("bot", "readwrite", "self"),
        ("owner", "search", "grant"),
        ("alice", "readwrite", "user"),
        (ROOM, "readwrite", "chat"),
    ]
    assert stores(memory.agent("bot")) == [("bot", "readwrite", "self"), ("owner", "search", "grant")]


def test_every_store_that_is_listed_can_be_addressed_by_its_id(memory: Memory) -> None:
    memory.agent("owner").stores.memory("share", agent="bot", level="readwrite")
    bot = memory.agent("bot", user="alice", chat=ROOM)
    made = bot.create_space("team")
    for store, _, _ in stores(bot):
        bot.stores.memory("create", store=store, key="k", content=f"in {store}")
        assert bot.stores.memory("view", store=store, key="k")["storeId"] == store
        if store != "bot":
            assert value(bot, f"/memories/shared/{store}/k") == f"in {store}"
    assert (str(made.id), "readwrite", "shared") in stores(bot)


def test_a_space_of_ones_own_is_made_filled_and_shared(memory: Memory) -> None:
    bot, reader = memory.agent("bot"), memory.agent("reader")
    space = bot.create_space("team-notes").id
    create(bot, f"/memories/shared/{space}/plan", "ship on Friday")
    done = bot.stores.memory("share", path=f"/memories/shared/{space}/", agent="reader")
    assert done == f"shared /memories/shared/{space}/ with agent:reader at read"
    assert value(reader, f"/memories/shared/{space}/plan") == "ship on Friday"
    assert value(reader, "/memories/shared/team-notes/plan") == "ship on Friday"
    with refused("access_denied"):
        memory.agent("stranger").stores.memory("view", path="/memories/shared/team-notes/plan")


@pytest.mark.parametrize(
    ("level", "may"),
    [
        ("search", {"search"}),
        ("read", {"search", "view", "list"}),
        ("readwrite", {"search", "view", "list", "create", "edit", "share", "unshare"}),
        (None, set()),
    ],
)
def test_a_grant_opens_a_store_as_far_as_its_level(memory: Memory, level: str | None, may: set[str]) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    create(owner, "/memories/k", "the launch code is blue")
    if level is not None:
        owner.stores.memory("share", agent="guest", level=level)
    calls: dict[str, dict[str, Any]] = {
        "search": {"command": "search", "query": "launch code", "store": "owner"},
        "view": {"command": "view", "path": "/memories/shared/owner/k"},
        "list": {"command": "view", "path": "/memories/shared/owner/"},
        "create": {"command": "create", "path": "/memories/shared/owner/new", "content": "x"},
        "edit": {"command": "edit", "path": "/memories/shared/owner/k", "old_str": "blue", "new_str": "red"},
        "share": {"command": "share", "path": "/memories/shared/owner/", "agent": "third"},
        "unshare": {"command": "unshare", "path": "/memories/shared/owner/", "agent": "third"},
    }
    for name, call in calls.items():
        if name in may:
            assert guest.stores.memory(**call) is not None
        else:
            with unchanged(memory), refused("access_denied"):
                guest.stores.memory(**call)


def test_a_search_grant_gives_values_and_never_a_list(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    create(owner, "/memories/price", "the price of tin is 12")
    owner.stores.memory("share", agent="guest", level="search")
    (hit,) = guest.stores.memory("search", query="price of tin")["entries"]
    assert (hit["key"], hit["value"], hit["storeId"]) == ("price", "the price of tin is 12", "owner")
    with refused("access_denied"):
        guest.stores.memory("view", path="/memories/shared/owner/")


def test_a_search_covers_every_store_that_can_be_searched_and_no_other(memory: Memory) -> None:
    for name in ("one", "two", "three"):
        create(memory.agent(name), f"/memories/{name}", f"the harbour notes of {name}")
    for name in ("one", "two"):
        memory.agent(name).stores.memory("share", agent="bot", level="search")
    bot = memory.agent("bot", user="alice", chat=ROOM)
    create(bot, "/memories/own", "the harbour notes of bot")
    bot.stores.memory("create", scope="chat", key="chat", content="the harbour notes of the chat")
    bot.stores.memory("create", scope="user", key="user", content="the harbour notes of alice")
    hits = bot.stores.memory("search", query="harbour notes")["entries"]
    assert {(hit["storeId"], hit["key"]) for hit in hits} == {
        ("bot", "own"),
        ("one", "one"),
        ("two", "two"),
        (ROOM, "chat"),
        ("alice", "user"),
    }
    assert keys(bot.stores.memory("search", query="harbour notes", scope="chat")) == ["chat"]


def test_foreign_entries_do_not_starve_a_search(memory: Memory) -> None:
    for number in range(30):
        create(memory.agent("other"), f"/memories/{number}", "harbour harbour harbour")
    create(memory.agent("bot"), "/memories/own", "one harbour among many words")
    assert keys(memory.agent("bot").stores.memory("search", query="harbour", limit=1)) == ["own"]


def test_user_and_chat_scopes_are_stores_of_their_own(memory: Memory) -> None:
    for_alice, for_bob = memory.agent("bot", user="alice"), memory.agent("bot", user="bob")
    for_alice.stores.memory("create", scope="user", key="k", content="about alice")
    assert for_bob.stores.memory("view", scope="user", key="k") is None
    assert for_alice.stores.memory("view", scope="agent", key="k") is None
    assert for_alice.stores.memory("view", scope="user", key="k")["value"] == "about alice"
    with refused("access_denied"):
        for_bob.stores.memory("view", store="alice", key="k")
    assert memory.user("alice").stores.memory("view", key="k")["value"] == "about alice"


@pytest.mark.parametrize("scope", ["user", "chat"])
def test_a_scope_that_the_call_does_not_have_is_refused(memory: Memory, scope: str) -> None:
    with unchanged(memory), refused("access_denied"):
        memory.agent("bot").stores.memory("create", scope=scope, key="k", content="x")


def test_a_chat_store_closes_when_the_agent_leaves_the_chat(memory: Memory) -> None:
    admin = memory.administration("root")
    admin.set_participants(ROOM, ["agent:bot"])
    bot = memory.agent("bot")
    create(bot, f"/memories/shared/{ROOM}/k", "said in the chat")
    assert (ROOM, "readwrite", "chat") in stores(bot)
    admin.set_participants(ROOM, ["agent:other"])
    with refused("access_denied"):
        bot.stores.memory("view", path=f"/memories/shared/{ROOM}/k")
    assert [store for store, _, _ in stores(bot)] == ["bot"]
    assert value(memory.agent("other"), f"/memories/shared/{ROOM}/k") == "said in the chat"


def test_a_store_one_cannot_enter_answers_alike_whether_or_not_it_exists(memory: Memory) -> None:
    create(memory.agent("other"))
    space = memory.agent("other").create_space("secret").id
    asked = memory.agent("bot").stores.memory
    answers = {
        refusal(call)
        for store in ("other", "nobody", str(space), str(UUID(int=5)), "secret")
        for call in (
            partial(asked, "view", store=store, key="preferences"),
            partial(asked, "view", path=f"/memories/shared/{store}/"),
            partial(asked, "search", query="x", store=store),
            partial(asked, "create", store=store, key="preferences", content="x"),
            partial(asked, "share", store=store, agent="x"),
        )
    }
    assert [code for code, _ in answers] == ["access_denied"]


def test_a_grant_ends_at_its_moment_and_is_gone_from_the_stores(memory: Memory, clock: FixedClock) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    create(owner)
    owner.stores.memory("share", agent="guest", ttl=10)
    assert value(guest, "/memories/shared/owner/preferences")
    clock.now += 10 * SECOND
    with refused("access_denied"):
        guest.stores.memory("view", path="/memories/shared/owner/preferences")
    assert [store for store, _, _ in stores(guest)] == ["guest"]


def test_sharing_again_replaces_level_and_expiry_and_unsharing_takes_it_back(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    create(owner)
    assert owner.stores.memory("share", agent="guest", level="readwrite", ttl=10)
    assert owner.stores.memory("share", agent="guest") == "shared /memories/ with agent:guest at read"
    (grant,) = owner.grants()
    assert (grant.level.label, grant.expires_at) == ("read", None)
    assert owner.stores.memory("unshare", agent="guest") == "unshared /memories/; grants taken back: 1"
    with refused("access_denied"):
        guest.stores.memory("view", path="/memories/shared/owner/preferences")


def test_two_owners_of_one_key_each_see_their_own_and_a_list_shows_both(memory: Memory) -> None:
    owner, guest, reader = memory.agent("owner"), memory.agent("guest"), memory.agent("reader")
    owner.stores.memory("share", agent="guest", level="readwrite")
    owner.stores.memory("share", agent="reader")
    create(owner, "/memories/k", "of the owner")
    create(guest, "/memories/shared/owner/k", "of the guest")
    assert value(owner, "/memories/k") == "of the owner"
    assert value(guest, "/memories/shared/owner/k") == "of the guest"
    assert value(reader, "/memories/shared/owner/k") == "of the guest"
    listed = reader.stores.memory("view", path="/memories/shared/owner/")["entries"]
    assert [(entry["key"], entry["owner_id"]) for entry in listed] == [
        ("k", "agent:guest"),
        ("k", "agent:owner"),
    ]


def test_an_edit_of_somebody_elses_entry_leaves_its_owner(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    owner.stores.memory("share", agent="guest", level="readwrite")
    create(owner, "/memories/k", "red")
    guest.stores.memory("edit", path="/memories/shared/owner/k", old_str="red", new_str="blue")
    shown = owner.stores.memory("view", path="/memories/k")
    assert (shown["value"], shown["owner_id"]) == ("blue", "agent:owner")
    assert [state.by for state in owner.history("k")] == ["agent:guest", "agent:owner"]


def test_what_a_client_encrypted_comes_back_with_its_flag_and_is_never_found(memory: Memory) -> None:
    bot = memory.agent("bot")
    bot.stores.memory("create", path="/memories/sealed", content="harbour harbour", encrypted=True)
    shown = bot.stores.memory("view", path="/memories/sealed")
    assert (shown["value"], shown["encrypted"]) == ("harbour harbour", True)
    assert keys(bot.stores.memory("search", query="harbour")) == []
    with unchanged(memory), refused("not_text"):
        bot.stores.memory("edit", path="/memories/sealed", old_str="harbour", new_str="x")
