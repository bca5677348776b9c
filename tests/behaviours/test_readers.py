"""Who read an entry, for its owner; and what of reading is written down."""

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import engine_of, refused


def reads(own: Own, key: str, space: str | None = None) -> list[tuple[str, str]]:
    return [(one.by, one.operation) for one in own.readers(key, space=space)]


def shared(memory: Memory) -> tuple[Own, Own]:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.create_space("team")
    alice.share("user:bob", space="team", level="readwrite")
    alice.remember("the rollout starts on Monday", key="rollout", space="team")
    return alice, bob


def test_every_way_of_being_shown_an_entry_is_there_newest_first(memory: Memory) -> None:
    alice, bob = shared(memory)
    bob.get("rollout", space="team")
    assert reads(alice, "rollout", space="team") == [("user:bob", "get")]
    bob.recall("when does the rollout start?")
    assert reads(alice, "rollout", space="team")[0] == ("user:bob", "recall")
    bob.list(space="team")
    assert reads(alice, "rollout", space="team")[0] == ("user:bob", "list")
    bob.history("rollout", space="team")
    assert reads(alice, "rollout", space="team")[0] == ("user:bob", "history")
    alice.flag("rollout", space="team", always_inject=True)
    bob.context()
    assert reads(alice, "rollout", space="team")[0] == ("user:bob", "context")


def test_asking_who_read_it_is_no_reading_and_another_entry_is_not_counted(memory: Memory) -> None:
    alice, bob = shared(memory)
    alice.remember("something else", key="other", space="team")
    bob.get("other", space="team")
    assert reads(alice, "rollout", space="team") == []
    assert reads(alice, "rollout", space="team") == []


def test_a_long_list_names_every_entry_it_showed(memory: Memory) -> None:
    alice, bob = shared(memory)
    alice.remember_many({"text": f"note {n}", "key": f"n/{n}", "space": "team"} for n in range(40))
    bob.list(space="team")
    assert all(reads(alice, f"n/{n}", space="team") == [("user:bob", "list")] for n in (0, 7, 39))


def test_only_the_owner_may_ask(memory: Memory) -> None:
    alice, bob = shared(memory)
    id = alice.get("rollout", space="team").id
    with refused("access_denied"):
        bob.readers("rollout", space="team")
    with refused("not_found"):
        memory.user("eve").readers(id=id)
    with refused("not_found"):
        alice.readers("missing")


def test_a_read_that_was_refused_leaves_nothing(memory: Memory) -> None:
    alice, _ = shared(memory)
    id = alice.get("rollout", space="team").id
    with refused("not_found"):
        memory.user("eve").get(id=id)
    assert [by for by, _ in reads(alice, "rollout", space="team")] == ["user:alice"]


def test_reads_are_in_the_log_and_the_log_is_whole(memory: Memory) -> None:
    bob = shared(memory)[1]
    bob.get("rollout", space="team")
    engine_of(memory).reads.write_down()
    lines = memory.administration("root").audit()
    assert [line.operation for line in lines][-1] == "get"
    assert memory.audit.verify().intact


def test_reading_the_same_thing_often_in_one_second_is_one_line(memory: Memory) -> None:
    alice, bob = shared(memory)
    engine_of(memory).reads.write_down()
    for _ in range(50):
        bob.get("rollout", space="team")
    assert 1 <= len(reads(alice, "rollout", space="team")) <= 3
