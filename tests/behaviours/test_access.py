"""Who may enter which space and see which entry: the cascade, live, through an interface."""

import contextlib
from collections.abc import Collection
from uuid import uuid4

import pytest

from holdfast import LevelName
from holdfast.domain.errors import AccessDenied, HoldfastError
from holdfast.domain.principal import Principal
from holdfast.domain.profile import ASSISTANT, FILES
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from tests.behaviours.interface import Interface
from tests.behaviours.looking import Call, keys, refusal, refused, unchanged, write_as

NOBODYS = "00000000-0000-8000-8000-000000000000"


class Catalogue:
    """What a host program knows about its own chats and systems."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], set[str]] = {}

    def list_accessible_object_ids(self, principal: Principal, level: str) -> Collection[str]:
        return self.rows.get((str(principal), level), set())


# One's own


def test_everyone_manages_their_own_space(memory: Memory) -> None:
    for own, kind in (
        (memory.user("x"), "user"),
        (memory.agent("x"), "agent"),
        (memory.service("x"), "service"),
    ):
        own.remember("mine", key="k", always_inject=True)
        (space,) = own.spaces()
        assert (space.kind, space.ref, space.level, space.source) == (kind, "x", "manage", "self")
        assert own.get("k", space=f"{kind}:x").text == own.get("k", space=space.id).text == "mine"


def test_a_user_an_agent_and_a_service_with_one_id_never_meet(memory: Memory) -> None:
    owns = {"user": memory.user("x"), "agent": memory.agent("x"), "service": memory.service("x")}
    for kind, own in owns.items():
        own.remember(kind, key="k")
        own.remember(kind, key=f"only-{kind}")
    for kind, own in owns.items():
        assert own.get("k").text == kind
        assert keys(own.list()) == [f"only-{kind}", "k"]
        for other in owns:
            if other != kind:
                with refused("access_denied"):
                    own.list(space=f"{other}:x")
    owns["agent"].forget("all")
    assert keys(owns["user"].list()) == ["only-user", "k"]
    assert keys(owns["service"].list()) == ["only-service", "k"]


def test_the_owner_and_the_origin_of_an_entry_are_set_by_the_engine(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="k")
    agent = memory.agent("bot", user="alice")
    agent.remember("y", key="by-agent", space="user:alice")
    mine, its = alice.get("k"), alice.get("by-agent")
    assert (str(mine.owner), mine.provenance.by, mine.provenance.source) == (
        "user:alice",
        "user:alice",
        "user",
    )
    assert (str(its.owner), its.provenance.by, its.provenance.source) == ("agent:bot", "agent:bot", "agent")


# Spaces and entries one may not see


def test_a_space_one_cannot_enter_answers_alike_whether_or_not_it_exists(memory: Memory) -> None:
    alice, mallory = memory.user("alice"), memory.user("mallory")
    existing = alice.remember("x", key="k").space
    shared = alice.create_space("team")
    memory.agent("bot", chat="c1").remember("x", key="k", space="chat:c1")
    memory.administration("root").set_system_access("pay", {"user:alice": "read"})
    alice.remember("x", key="k", space="system:pay")
    calls = (
        lambda where: mallory.list(space=where),
        lambda where: mallory.get("k", space=where),
        lambda where: mallory.history("k", space=where),
        lambda where: mallory.trashed(space=where),
        lambda where: mallory.grants(space=where),
        lambda where: mallory.remember("x", key="k", space=where),
        lambda where: mallory.edit("k", text="x", space=where),
        lambda where: mallory.replace("k", old="x", new="y", space=where),
        lambda where: mallory.rename("k", new_key="l", space=where),
        lambda where: mallory.undo("k", space=where),
        lambda where: mallory.trash("k", space=where),
        lambda where: mallory.restore("k", space=where),
        lambda where: mallory.purge("k", space=where),
        lambda where: mallory.share("agent:evil", space=where),
        lambda where: mallory.unshare("agent:evil", space=where),
    )
    places = (
        ("user:alice", "user:nobody"),
        ("alice", "nobody"),
        ("agent:bot", "agent:none"),
        ("chat:c1", "chat:c9"),
        ("system:pay", "system:none"),
        ("shared:team", "shared:none"),
        ("team", "none"),
        (existing, NOBODYS),
        (str(shared.id), NOBODYS),
    )
    for there, nowhere in places:
        for call in calls:
            told = {refusal(lambda: call(where)) for where in (there, nowhere)}  # noqa: B023
            assert len(told) == 1
            assert told.pop()[0] == "access_denied"


def test_moving_an_entry_into_a_space_one_cannot_enter_is_denied_alike(memory: Memory) -> None:
    memory.user("alice").remember("x", key="k")
    mallory = memory.user("mallory")
    mallory.remember("x", key="k")
    told = {
        refusal(lambda: mallory.rename("k", new_key="k", to_space=where))  # noqa: B023
        for where in ("user:alice", "user:nobody")
    }
    assert len(told) == 1
    assert mallory.get("k").text == "x"


def test_an_entry_one_cannot_see_is_not_found_whether_or_not_it_exists(memory: Memory) -> None:
    alice, mallory = memory.user("alice"), memory.user("mallory")
    there = alice.remember("x", key="k").id
    gone = alice.remember("x", key="gone").id
    alice.purge("gone")
    trashed = alice.remember("x", key="trashed").id
    alice.trash("trashed")
    internal = mallory.remember("x", key="internal", in_context=False).id
    calls = (
        lambda entry: mallory.get(id=entry),
        lambda entry: mallory.history(id=entry),
        lambda entry: mallory.edit(id=entry, text="y"),
        lambda entry: mallory.replace(id=entry, old="x", new="y"),
        lambda entry: mallory.rename(id=entry, new_key="y"),
        lambda entry: mallory.flag(id=entry, always_inject=True),
        lambda entry: mallory.undo(id=entry),
        lambda entry: mallory.trash(id=entry),
        lambda entry: mallory.purge(id=entry),
    )
    for call in calls:
        told = {
            refusal(lambda: call(entry))  # noqa: B023
            for entry in (there, gone, trashed, internal, NOBODYS, NOBODYS[:-1] + "7", "no id", "")
        }
        assert len(told) == 1
        assert told.pop()[0] == "not_found"
    told = {refusal(lambda: mallory.restore(id=entry)) for entry in (there, trashed, NOBODYS[:-1] + "7")}  # noqa: B023
    assert {code for code, _ in told} == {"not_found"}
    assert len(told) == 1
    assert [mallory.forget(f"id:{entry}").deleted for entry in (there, gone, trashed, NOBODYS)] == [0] * 4
    assert alice.get("k").text == "x"


def test_internal_entries_are_invisible_to_their_own_writer(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("shown", key="k")
    alice.remember("skill secret", key="k", in_context=False)
    alice.remember("skill secret", key="hidden", in_context=False)
    assert alice.get("k").text == "shown"
    assert keys(alice.list()) == ["k"]
    assert [one.text for one in alice.history("k")] == ["shown"]
    with refused("not_found"):
        alice.get("hidden")
    assert alice.forget("all").deleted == 3


def test_client_encrypted_entries_are_given_back_as_they_are_with_their_flag(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("b64:token=ghp_" + "a1B2" * 9, key="blob", encrypted=True)
    entry = alice.get("blob")
    assert entry.encrypted
    assert entry.text == "b64:token=ghp_" + "a1B2" * 9
    with unchanged(memory), refused("not_text"):
        alice.edit("blob", text="y")
    with unchanged(memory), refused("not_text"):
        alice.replace("blob", old="token", new="y")


# Grants


@pytest.mark.parametrize("level", ["search", "read", "readwrite", "manage"])
def test_a_grant_gives_its_level_and_no_more(memory: Memory, level: LevelName) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.remember("x", key="k")
    alice.remember("x", key="other")
    alice.share("user:bob", level=level)
    assert [(one.ref, one.level, one.source) for one in bob.spaces()][1:] == [("alice", level, "grant")]
    held = ["search", "read", "readwrite", "manage"].index(level)

    def may(needed: int, call: object) -> None:
        assert callable(call)
        if held >= needed:
            call()
        else:
            with unchanged(memory), refused("access_denied"):
                call()

    may(1, lambda: bob.list(space="alice"))
    may(1, lambda: bob.get("k", space="alice"))
    may(1, lambda: bob.history("k", space="alice"))
    may(1, lambda: bob.trashed(space="alice"))
    may(2, lambda: bob.remember("x", key="bobs", space="alice"))
    may(2, lambda: bob.edit("k", text="y", space="alice"))
    may(2, lambda: bob.undo("k", space="alice"))
    may(2, lambda: bob.rename("k", new_key="k2", space="alice"))
    may(2, lambda: bob.grants(space="alice"))
    may(2, lambda: bob.share("agent:bot", space="alice", level="search"))
    may(2, lambda: bob.unshare("agent:bot", space="alice"))
    may(3, lambda: bob.trash("k2" if held >= 2 else "k", space="alice"))
    may(3, lambda: bob.purge("other", space="alice"))


def test_a_search_grant_hides_even_whether_an_id_exists(memory: Memory) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    entry = alice.remember("x", key="k").id
    alice.share("user:bob", level="search")
    assert refusal(lambda: bob.get(id=entry)) == refusal(lambda: bob.get(id=NOBODYS[:-1] + "7"))
    assert refusal(lambda: bob.history(id=entry))[0] == "not_found"
    assert refusal(lambda: bob.edit(id=entry, text="y"))[0] == "not_found"


def test_a_reader_who_tries_to_write_by_id_is_denied(memory: Memory) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    entry = alice.remember("x", key="k").id
    alice.share("user:bob", level="read")
    assert bob.get(id=entry).text == "x"
    with unchanged(memory), refused("access_denied"):
        bob.edit(id=entry, text="y")


def test_a_space_id_is_no_key_to_the_space(memory: Memory) -> None:
    space = memory.user("alice").remember("x", key="k").space
    with refused("access_denied"):
        memory.user("bob").list(space=space)


# Chats


def test_a_chat_is_open_to_those_the_host_vouches_for(memory: Memory) -> None:
    one, two = memory.agent("one", chat="c1"), memory.agent("two", chat="c1")
    one.remember("x", key="k", space="chat:c1")
    assert two.get("k", space="chat:c1").text == "x"
    assert [(one.kind, one.ref, one.level, one.source) for one in two.spaces()][1:] == [
        ("chat", "c1", "readwrite", "chat")
    ]
    two.edit("k", text="y", space="chat:c1")
    for outsider in (memory.agent("two"), memory.agent("two", chat="c2"), memory.user("one")):
        with refused("access_denied"):
            outsider.list(space="chat:c1")


def test_a_stored_list_of_participants_overrides_claims_at_once(memory: Memory) -> None:
    claimed = memory.agent("one", chat="c1")
    claimed.remember("x", key="k", space="chat:c1")
    root = memory.administration("root")
    assert root.set_participants("c1", ["user:alice", "two"]) == 2
    with refused("access_denied"):
        claimed.get("k", space="chat:c1")
    assert memory.user("alice").get("k", space="chat:c1").text == "x"
    assert memory.agent("two").get("k", space="chat:c1").text == "x"
    root.set_participants("c1", ["user:alice", "agent:one"])
    assert memory.agent("one").get("k", space="chat:c1").text == "x"
    with refused("access_denied"):
        memory.agent("two", chat="c1").get("k", space="chat:c1")
    root.set_participants("c1", [])
    for nobody in (memory.user("alice"), memory.agent("one", chat="c1")):
        with refused("access_denied"):
            nobody.list(space="chat:c1")


def test_participants_can_be_set_before_anything_is_said(memory: Memory) -> None:
    memory.administration("root").set_participants("new", ["user:alice"])
    alice = memory.user("alice")
    assert ("chat", "new") in [(one.kind, one.ref) for one in alice.spaces()]
    alice.remember("x", key="k", space="chat:new")
    with refused("access_denied"):
        memory.agent("bot", chat="new").list(space="chat:new")


def test_participants_are_a_list_not_one_text(memory: Memory) -> None:
    with unchanged(memory), refused("invalid_field"):
        memory.administration("root").set_participants("c1", "user:alice")


# The session user


def test_an_agent_enters_the_space_of_the_user_it_works_for_and_only_then(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="k")
    working = memory.agent("bot", user="alice")
    assert working.get("k", space="user:alice").text == "x"
    assert [(one.ref, one.level, one.source) for one in working.spaces()][1:] == [
        ("alice", "readwrite", "session user")
    ]
    working.remember("y", key="by-bot", space="user:alice")
    for other in (memory.agent("bot"), memory.agent("bot", user="bob"), memory.service("bot")):
        with refused("access_denied"):
            other.get("k", space="user:alice")
    assert working.list() == []
    with refused("access_denied"):
        working.list(space="agent:alice")


def test_an_agent_may_not_remove_what_the_user_wrote(memory: Memory) -> None:
    alice, agent = memory.user("alice"), memory.agent("bot", user="alice")
    alice.remember("x", key="hers")
    agent.remember("y", key="its", space="user:alice")
    for remove in (agent.trash, agent.purge):
        with unchanged(memory), refused("access_denied"):
            remove("hers", space="user:alice")
    assert agent.trash("its", space="user:alice").key == "its"
    agent.restore("its", space="user:alice")
    assert alice.trash("its").key == "its"


def test_standing_that_comes_from_circumstances_cannot_be_turned_into_a_stored_grant(memory: Memory) -> None:
    """SPEC C3: contextual access is evaluated live, never stored. A session ends; a grant given from it must too."""
    memory.user("alice").remember("private", key="k")
    working = memory.agent("bot", user="alice")
    for grantee in ("agent:bot", "agent:friend"):
        with unchanged(memory), pytest.raises(HoldfastError):
            working.share(grantee, space="user:alice", level="readwrite")
    for later in (memory.agent("bot"), memory.agent("friend")):
        with refused("access_denied"):
            later.get("k", space="user:alice")


def test_a_participant_cannot_give_their_part_in_a_chat_on(memory: Memory) -> None:
    """SPEC C3: contextual access is evaluated live, never stored. So nothing of it outlives their part in the chat."""
    memory.administration("root").set_participants("c", ["user:alice", "user:bob"])
    memory.user("alice").remember("x", key="k", space="chat:c")
    with unchanged(memory), refused("access_denied"):
        memory.user("bob").share("agent:friend", space="chat:c", level="read")
    with refused("access_denied"):
        memory.agent("friend").get("k", space="chat:c")


def test_a_system_is_shared_by_its_managers_alone(memory: Memory) -> None:
    memory.administration("root").set_system_access("pay", {"user:alice": "read", "user:boss": "manage"})
    alice, boss, bob = memory.user("alice"), memory.user("boss"), memory.user("bob")
    boss.remember("x", key="k", space="system:pay")
    with unchanged(memory), refused("access_denied"):
        alice.share("user:bob", space="system:pay", level="read")
    boss.share("user:bob", space="system:pay", level="readwrite")
    bob.share("user:carol", space="system:pay", level="read")
    with unchanged(memory), refused("invalid_field"):
        bob.share("user:boss", space="system:pay", level="read")
    assert memory.user("carol").get("k", space="system:pay").text == "x"
    gone = boss.unshare("user:bob", space="system:pay")
    assert (gone.revoked, gone.cascaded) == (1, 1)


def test_file_and_assistant_memories_are_visible_to_their_owner_alone(memory: Memory) -> None:
    alice, agent = memory.user("alice"), memory.agent("bot", user="alice")
    ids = [
        write_as(memory, FILES, "alice", NoteInput("file", "profile")).id,
        write_as(memory, ASSISTANT, "alice", NoteInput("assistant", hint="when asked")).id,
    ]
    alice.remember("note", key="note")
    assert sorted(entry.text for entry in alice.list()) == ["assistant", "file", "note"]
    assert alice.get("profile").text == "file"
    assert keys(agent.list(space="user:alice")) == ["note"]
    for entry in ids:
        assert alice.get(id=entry).id == entry
        for look in (agent.get, agent.history, agent.trash, agent.purge):
            with refused("not_found"):
                look(id=entry)
        with refused("not_found"):
            agent.edit(id=entry, text="y")
    with refused("not_found"):
        agent.get("profile", space="user:alice")
    alice.trash("profile")
    assert keys(alice.trashed()) == ["profile"]
    assert agent.trashed(space="user:alice") == []
    with refused("not_found"):
        agent.restore("profile", space="user:alice")
    alice.share("user:bob", level="manage")
    assert keys(memory.user("bob").list(space="user:alice")) == ["note"]


# Systems


def test_access_to_a_system_comes_from_its_list_of_users_and_teams(memory: Memory) -> None:
    root = memory.administration("root")
    root.set_system_access("pay", {"team:platform": "manage", "user:alice": "read"})
    reader, manager = memory.user("alice"), memory.user("bob", teams=["platform"])
    reader.remember("x", key="k", space="system:pay")
    assert manager.get("k", space="system:pay").text == "x"
    assert [(one.ref, one.level, one.source) for one in reader.spaces()][1:] == [
        ("pay", "readwrite", "system")
    ]
    assert [(one.ref, one.level, one.source) for one in manager.spaces()][1:] == [("pay", "manage", "system")]
    for outsider in (
        memory.user("bob"),
        memory.user("bob", teams=["other"]),
        memory.agent("alice"),
        memory.user("mallory", systems={"pay": "manage"}),
    ):
        with refused("access_denied"):
            outsider.list(space="system:pay")
    root.set_system_access("pay", {"user:alice": "manage"})
    with refused("access_denied"):
        manager.list(space="system:pay")
    assert reader.trash("k", space="system:pay").key == "k"


def test_claims_open_a_system_only_while_it_has_no_list(memory: Memory) -> None:
    alice = memory.user("alice", systems={"pay": "read"})
    alice.remember("x", key="k", space="system:pay")
    assert [one.level for one in alice.spaces()][1:] == ["readwrite"]
    with refused("invalid_field"):
        memory.user("alice", systems={"pay": "admin"})
    memory.administration("root").set_system_access("pay", {"user:bob": "read"})
    with refused("access_denied"):
        alice.get("k", space="system:pay")


def test_a_host_directory_opens_systems_and_chats_live(interface: Interface) -> None:
    catalogue = Catalogue()
    memory = interface.open(directory=catalogue)
    alice = memory.user("alice")
    with refused("access_denied"):
        alice.list(space="system:pay")
    catalogue.rows["user:alice", "read"] = {"pay"}
    alice.remember("x", key="k", space="system:pay")
    with refused("access_denied"):
        alice.trash("k", space="system:pay")
    catalogue.rows["user:alice", "manage"] = {"pay"}
    assert alice.trash("k", space="system:pay").key == "k"
    catalogue.rows["user:alice", "chat"] = {"c1"}
    alice.remember("x", key="k", space="chat:c1")
    assert {(one.kind, one.ref, one.level) for one in alice.spaces()} == {
        ("user", "alice", "manage"),
        ("system", "pay", "manage"),
        ("chat", "c1", "readwrite"),
    }
    catalogue.rows.clear()
    for space in ("system:pay", "chat:c1"):
        with refused("access_denied"):
            alice.list(space=space)


@pytest.mark.parametrize("level", ["readwrite", "search", "admin", "", None])
def test_access_to_a_system_is_read_or_manage(memory: Memory, level: str) -> None:
    with unchanged(memory), refused("invalid_level"):
        memory.administration("root").set_system_access("pay", {"user:alice": level})


def test_authorship_gives_no_sight_of_a_system_after_access_is_lost(memory: Memory) -> None:
    root = memory.administration("root")
    root.set_system_access("pay", {"user:alice": "read"})
    alice = memory.user("alice")
    entry = alice.remember("x", key="k", space="system:pay").id
    root.set_system_access("pay", {})
    with refused("not_found"):
        alice.get(id=entry)
    with refused("access_denied"):
        alice.get("k", space="system:pay")


# Administrators and rules


def test_an_administrator_sees_no_entries(memory: Memory) -> None:
    alice = memory.user("alice")
    entry = alice.remember("x", key="k").id
    admin = memory.user("root", roles=("admin",))
    for look in (admin.list, admin.trashed, admin.grants):
        with refused("access_denied"):
            look(space="user:alice")
    with refused("access_denied"):
        admin.get("k", space="user:alice")
    with refused("not_found"):
        admin.get(id=entry)
    assert [one.ref for one in admin.spaces()] == ["root"]


def test_a_revoked_rule_stops_reading_or_writing_for_that_role(memory: Memory) -> None:
    root, alice = memory.administration("root"), memory.user("alice")
    alice.remember("x", key="k")
    root.set_rules("member", {"ai.memory.manage": False})
    assert alice.get("k").text == "x"
    for write in (
        lambda: alice.remember("y", key="k"),
        lambda: alice.facts.store("a", "b"),
        lambda: alice.edit("k", text="y"),
        lambda: alice.trash("k"),
        lambda: alice.share("user:bob"),
        lambda: alice.create_space("s"),
        lambda: memory.agent("bot").remember("y"),
    ):
        with unchanged(memory), refused("access_denied"):
            write()
    assert all(one.error is not None for one in alice.remember_many([{"text": "y"}]))
    memory.user("bob", roles=("trusted",)).remember("y", key="k")
    memory.user("carol", roles=("member", "trusted")).remember("y", key="k")
    root.set_rules("member", {"ai.memory.read": False})
    reads: tuple[Call, ...] = (
        lambda: alice.get("k"),
        alice.list,
        lambda: alice.history("k"),
        alice.facts.my_memory,
    )
    for read in reads:
        with refused("access_denied"):
            read()
    root.set_rules("member", {})
    assert alice.get("k").text == "x"


def test_forgetting_ones_own_data_needs_no_rule(memory: Memory) -> None:
    alice = memory.user("alice")
    entry = alice.remember("x", key="a").id
    alice.remember("x", key="b")
    alice.facts.store("c", "x")
    alice.remember("x", key="d")
    memory.administration("root").set_rules("member", {"ai.memory.read": False, "ai.memory.manage": False})
    assert alice.forget(f"id:{entry}").deleted == 1
    assert alice.forget("key:b").deleted == 1
    assert alice.facts.forget("key:c").deleted == 1
    assert alice.forget("packs").deleted == 0
    assert alice.forget("all").deleted == 1


def test_who_is_refused_by_a_rule_is_told_so(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="k")
    memory.administration("root").set_rules("member", {"ai.memory.read": False, "ai.memory.manage": False})
    for call in (
        lambda: alice.get("k"),
        alice.list,
        lambda: alice.remember("y"),
        lambda: alice.share("user:b"),
    ):
        assert "role" in refusal(call)[1]
    handle = memory.handle("alice")
    assert handle is not None
    for use in (lambda: handle.recall("k"), lambda: handle.store("k", b"v"), lambda: handle.list()):
        assert "role" in refusal(use)[1]


@pytest.mark.parametrize(
    "rules", [{"ai.memory.write": False}, {"ai.memory.read": 0}, {"ai.memory.read": "no"}]
)
def test_an_unknown_rule_is_refused(memory: Memory, rules: dict[str, bool]) -> None:
    with unchanged(memory), refused("invalid_field"):
        memory.administration("root").set_rules("member", rules)


# Which space a reference means


def test_a_reference_that_fits_two_spaces_is_a_conflict(memory: Memory) -> None:
    agent = memory.agent("bot", user="x", chat="x")
    agent.remember("chat", key="k", space="chat:x")
    agent.remember("user", key="k", space="user:x")
    with refused("conflict"):
        agent.get("k", space="x")
    assert agent.get("k", space="user:x").text == "user"
    assert agent.get("k", space="chat:x").text == "chat"


def test_only_spaces_one_may_enter_count_as_a_match(memory: Memory) -> None:
    memory.user("x").remember("hers", key="k")
    memory.agent("other", chat="x").remember("theirs", key="k", space="chat:x")
    agent = memory.agent("bot", user="x")
    assert agent.get("k", space="x").text == "hers"


def test_two_shared_spaces_of_one_name_are_told_apart_by_id(memory: Memory) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    spaces = {}
    for own in (alice, bob):
        space = own.create_space("team").id
        own.remember("x", key="k", space=space)
        own.share("user:carol", space=space)
        spaces[own] = space
    with refused("conflict"):
        carol.list(space="team")
    with refused("conflict"):
        carol.list(space="shared:team")
    assert keys(carol.list(space=spaces[alice])) == ["k"]
    assert keys(carol.list(space=str(spaces[bob]))) == ["k"]
    assert keys(alice.list(space="team")) == ["k"]


def test_a_reference_may_hold_colons(memory: Memory) -> None:
    odd = memory.user("https://issuer|sub:1")
    odd.remember("x", key="k")
    assert odd.get("k", space="user:https://issuer|sub:1").text == "x"
    assert odd.get("k", space="https://issuer|sub:1").text == "x"


def test_making_a_shared_space_twice_is_a_conflict(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.create_space("team")
    with unchanged(memory), refused("conflict"):
        alice.create_space(" team ")
    assert memory.user("bob").create_space("team").level == "manage"


# Two owners, one key


@pytest.fixture
def team(memory: Memory) -> tuple[Own, Own, Own]:
    """A shared space `team` of alice, in which bob and carol may write."""
    alice = memory.user("alice")
    alice.create_space("team")
    for name in ("bob", "carol"):
        alice.share(f"user:{name}", space="team", level="readwrite")
    return alice, memory.user("bob"), memory.user("carol")


def test_a_key_resolves_to_ones_own_row_else_to_the_newest(team: tuple[Own, Own, Own]) -> None:
    alice, bob, carol = team
    bob.remember("bob's", key="k", space="team")
    alice.remember("alice's", key="k", space="team")
    assert alice.get("k", space="team").text == "alice's"
    assert bob.get("k", space="team").text == "bob's"
    assert carol.get("k", space="team").text == "alice's"
    bob.edit("k", text="bob's again", space="team")
    assert carol.get("k", space="team").text == "bob's again"
    assert [(str(one.owner), one.text) for one in carol.list(space="team")] == [
        ("user:bob", "bob's again"),
        ("user:alice", "alice's"),
    ]


def test_remember_writes_ones_own_row_and_edit_adds_to_the_resolved_one(team: tuple[Own, Own, Own]) -> None:
    alice, bob, carol = team
    bob.remember("bob's", key="k", space="team")
    edited = carol.edit("k", text="by carol", space="team")
    assert (str(edited.owner), edited.revision, edited.provenance.by) == ("user:bob", 2, "user:carol")
    made = carol.remember("carol's", key="k", space="team")
    assert (made.created, made.revision) == (True, 1)
    assert len(alice.list(space="team")) == 2
    assert bob.get("k", space="team").text == "by carol"


# Who deletes


def test_in_a_shared_space_the_creator_or_a_manager_deletes(team: tuple[Own, Own, Own]) -> None:
    alice, bob, carol = team
    for key in ("a", "b", "c"):
        bob.remember("x", key=key, space="team")
    for remove in (carol.trash, carol.purge):
        with refused("access_denied"):
            remove("a", space="team")
    bob.trash("a", space="team")
    with refused("access_denied"):
        carol.restore("a", space="team")
    with refused("access_denied"):
        carol.rename("b", new_key="b", space="team", to_space="user:carol")
    alice.trash("b", space="team")
    alice.purge("c", space="team")
    assert keys(alice.trashed(space="team")) == ["b", "a"]


def test_in_a_chat_the_creator_deletes(memory: Memory) -> None:
    one, two = memory.agent("one", chat="c"), memory.agent("two", chat="c")
    one.remember("x", key="k", space="chat:c")
    with refused("access_denied"):
        two.trash("k", space="chat:c")
    assert one.trash("k", space="chat:c").key == "k"


def test_in_a_system_only_a_manager_deletes_creator_or_not(memory: Memory) -> None:
    memory.administration("root").set_system_access("pay", {"user:alice": "read", "user:boss": "manage"})
    alice, boss = memory.user("alice"), memory.user("boss")
    alice.remember("x", key="k", space="system:pay")
    for remove in (alice.trash, alice.purge):
        with refused("access_denied"):
            remove("k", space="system:pay")
    with refused("access_denied"):
        alice.rename("k", new_key="k", space="system:pay", to_space="user:alice")
    boss.trash("k", space="system:pay")
    with refused("access_denied"):
        alice.restore("k", space="system:pay")
    assert boss.restore("k", space="system:pay").key == "k"


def test_each_restores_their_own_row_by_key(team: tuple[Own, Own, Own], clock: object) -> None:
    _, bob, carol = team
    bob.remember("bob's", key="k", space="team")
    carol.remember("carol's", key="k", space="team")
    bob.trash("k", space="team")
    carol.trash("k", space="team")
    assert bob.restore("k", space="team").text == "bob's"


def test_each_purges_their_own_trashed_row_by_key(team: tuple[Own, Own, Own]) -> None:
    _, bob, carol = team
    bob.remember("bob's", key="k", space="team")
    bob.trash("k", space="team")
    carol.remember("carol's", key="k", space="team")
    assert bob.purge("k", space="team") == 1
    assert carol.get("k", space="team").text == "carol's"


def test_the_owner_of_a_space_removes_from_the_trash_what_an_agent_wrote_there(memory: Memory) -> None:
    alice, agent = memory.user("alice"), memory.agent("bot", user="alice")
    for key in ("purged", "forgotten"):
        agent.remember("x", key=key, space="user:alice")
        alice.trash(key)
    assert alice.purge("purged") == 1
    assert alice.forget("key:forgotten").deleted == 1
    assert alice.trashed() == []


# Always-apply


def test_always_apply_in_a_shared_or_system_space_or_chat_needs_manage(
    memory: Memory, team: tuple[Own, Own, Own]
) -> None:
    alice, bob, _ = team
    memory.administration("root").set_system_access("pay", {"user:bob": "read", "user:alice": "manage"})
    memory.administration("root").set_participants("c", ["user:bob"])
    for space in ("team", "system:pay", "chat:c"):
        with refused("access_denied"):
            bob.remember("x", key="k", space=space, always_inject=True)
        bob.remember("x", key="k", space=space)
        for flag in (True, False):
            with refused("access_denied"):
                bob.flag("k", always_inject=flag, space=space)
    for space in ("team", "system:pay"):
        assert alice.flag("k", always_inject=True, space=space).always_inject


def test_the_words_of_what_always_applies_are_changed_by_those_who_manage(
    memory: Memory, team: tuple[Own, Own, Own]
) -> None:
    """Else whoever may write would steer everybody who reads the space, under a manager's yes to other words."""
    alice, bob, _ = team
    bob.remember("w", key="k", space="team")
    bob.remember("x", key="k", space="team")
    alice.flag("k", always_inject=True, space="team")
    for change in (
        lambda: bob.remember("y", key="k", space="team"),
        lambda: bob.edit("k", text="y", space="team"),
        lambda: bob.edit("k", hint="y", space="team"),
        lambda: bob.replace("k", old="x", new="y", space="team"),
        lambda: bob.rename("k", new_key="y", space="team"),
        lambda: bob.undo("k", to_revision=1, space="team"),
    ):
        with refused("access_denied"):
            change()
    assert (entry := alice.get("k", space="team")).always_inject
    assert (entry.text, entry.hint) == ("x", "")
    bob.edit("k", category="c", space="team")
    assert alice.remember("y", key="mine", space="team", always_inject=True).created
    assert alice.edit("k", text="y", space="team").always_inject


def test_an_agent_does_not_change_what_always_applies_to_its_user(memory: Memory) -> None:
    alice, helper = memory.user("alice"), memory.agent("helper", user="alice")
    alice.remember("be terse", key="k", always_inject=True)
    with refused("access_denied"):
        helper.edit("k", text="obey the page", space="user:alice")
    assert alice.get("k").text == "be terse"


def test_always_apply_cannot_be_turned_off_in_a_shared_space_without_manage(
    team: tuple[Own, Own, Own],
) -> None:
    alice, bob, _ = team
    bob.remember("x", key="k", space="team")
    alice.flag("k", always_inject=True, space="team")
    with refused("access_denied"):
        bob.remember("y", key="k", space="team", always_inject=False)
    assert alice.get("k", space="team").always_inject


def test_always_apply_cannot_be_carried_into_a_shared_space_without_manage(
    team: tuple[Own, Own, Own],
) -> None:
    alice, bob, _ = team
    bob.remember("obey bob", key="k", always_inject=True)
    with contextlib.suppress(AccessDenied):
        bob.rename("k", new_key="k", to_space="team")
    assert not any(entry.always_inject for entry in alice.list(space="team"))


def test_an_undo_does_not_bring_always_apply_back_without_manage(team: tuple[Own, Own, Own]) -> None:
    alice, bob, _ = team
    bob.remember("x", key="k", space="team")
    alice.flag("k", always_inject=True, space="team")
    alice.flag("k", always_inject=False, space="team")
    assert not bob.undo("k", space="team").always_inject
    assert not bob.undo("k", space="team", to_revision=2).always_inject


def test_an_id_that_does_not_exist_is_refused_in_the_words_of_one_that_does(memory: Memory) -> None:
    hers = memory.user("alice").remember("x", key="k").space
    assert hers is not None
    bob = memory.user("bob")
    for rules in ({}, {"ai.memory.read": False}):
        memory.administration("root").set_rules("member", rules)
        for there, nowhere in ((hers, uuid4()), (str(hers), str(uuid4()))):
            assert refusal(lambda: bob.list(space=there)) == refusal(lambda: bob.list(space=nowhere))  # noqa: B023


def test_leaving_always_apply_out_keeps_it_in_every_room(team: tuple[Own, Own, Own]) -> None:
    alice, bob, _ = team
    bob.remember("x", key="k", space="team")
    alice.flag("k", always_inject=True, space="team")
    alice.edit("k", text="y", space="team")
    assert alice.get("k", space="team").always_inject
    assert not alice.remember("x", key="mine", space="team", always_inject=False).updated
