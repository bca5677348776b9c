"""The same request twice, and many requests at once."""

from typing import Any

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import engine_of, keys, refused, texts, unchanged
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def test_a_repeated_request_is_answered_alike_and_written_once(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    said: dict[str, Any] = {"key": "k", "hint": "h", "tags": ["x"], "ttl": 100, "idempotency_key": "once"}
    first = alice.remember("one", **said)
    alice.remember("two", key="k", ttl=100)
    clock.advance(seconds=10)
    with unchanged(memory):
        assert alice.remember("one", **said) == first
    assert texts(alice, "k") == ["two", "one"]


def test_a_repeated_request_without_a_key_makes_no_second_entry(alice: Own) -> None:
    first = alice.remember("one", idempotency_key="once")
    assert alice.remember("one", idempotency_key="once") == first
    assert keys(alice.list()) == [first.key]
    assert alice.remember("one").key != first.key


def test_a_repeated_fact_is_stored_once(alice: Own, clock: FixedClock) -> None:
    first = alice.facts.store("k", "v", idempotency_key="once")
    clock.advance(seconds=10)
    assert alice.facts.store("k", "v", idempotency_key="once") == first
    assert len(alice.facts.history("k")) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"text": "two"},
        {"key": "l"},
        {"hint": "h"},
        {"tags": ["x"]},
        {"ttl": 5},
        {"always_inject": True},
        {"space": "chat:c"},
        {"in_context": False},
    ],
)
def test_an_idempotency_key_used_for_another_request_is_a_conflict(
    memory: Memory, other: dict[str, Any]
) -> None:
    agent = memory.agent("bot", chat="c")
    said: dict[str, Any] = {"text": "one", "key": "k", "idempotency_key": "once"}
    agent.remember("x", space="chat:c")
    agent.remember(**said)
    with unchanged(memory), refused("conflict"):
        agent.remember(**said | other)


def test_a_core_and_a_facts_request_do_not_answer_for_each_other(memory: Memory, alice: Own) -> None:
    alice.remember("v", key="k", idempotency_key="once")
    with unchanged(memory), refused("conflict"):
        alice.facts.store("k", "v", idempotency_key="once")


def test_idempotency_keys_of_two_callers_never_meet(memory: Memory, alice: Own) -> None:
    alice.remember("hers", key="k", idempotency_key="once")
    for other in (memory.user("bob"), memory.agent("alice")):
        assert other.remember("theirs", key="k", idempotency_key="once").created


def test_an_idempotency_key_is_new_again_after_a_day(alice: Own, clock: FixedClock) -> None:
    alice.remember("one", key="k", idempotency_key="once")
    clock.advance(days=1)
    assert alice.remember("one", key="k", idempotency_key="once").revision == 1
    clock.advance(us=1)
    assert alice.remember("one", key="k", idempotency_key="once").revision == 2
    assert alice.remember("one", key="k", idempotency_key="once").revision == 2


def test_a_day_later_the_same_idempotency_key_makes_another_memory(alice: Own, clock: FixedClock) -> None:
    first = alice.remember("one", idempotency_key="once")
    clock.advance(days=1, seconds=1)
    second = alice.remember("two", idempotency_key="once", expected_revision=0)
    assert second.created
    assert alice.remember("two", idempotency_key="once", expected_revision=0) == second
    assert {entry.key: entry.text for entry in alice.list()} == {first.key: "one", second.key: "two"}


def test_a_refused_request_uses_up_no_idempotency_key(alice: Own) -> None:
    with refused("precondition_failed"):
        alice.remember("one", key="k", expected_revision=3, idempotency_key="once")
    assert alice.remember("two", key="k", idempotency_key="once").created


def test_a_repeated_request_may_have_expected_what_it_changed(alice: Own) -> None:
    alice.remember("one", key="k")
    second = alice.remember("two", key="k", expected_revision=1, idempotency_key="once")
    assert alice.remember("two", key="k", expected_revision=1, idempotency_key="once") == second


def test_a_repeated_request_is_answered_alike_after_its_entry_was_moved(memory: Memory, alice: Own) -> None:
    alice.create_space("attic")
    first = alice.remember("one", key="k", idempotency_key="once")
    moved = alice.rename("k", new_key="k", to_space="attic")
    with unchanged(memory):
        assert alice.remember("one", key="k", idempotency_key="once") == first
    assert (alice.list(), keys(alice.list(space="attic"))) == ([], ["k"])
    alice.rename(id=moved.id, new_key="back", to_space="user:alice")
    assert alice.remember("one", key="k", idempotency_key="once") == first
    assert keys(alice.list()) == ["back"]


def test_what_a_moved_entry_was_answered_goes_when_it_is_purged(alice: Own) -> None:
    alice.create_space("attic")
    first = alice.remember("one", key="k", idempotency_key="once")
    alice.purge(id=alice.rename("k", new_key="k", to_space="attic").id)
    again = alice.remember("one", key="k", idempotency_key="once")
    assert again.created
    assert again.id != first.id


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "\ud800", 5, b"x"])
@pytest.mark.parametrize("given", [None, "k"])
def test_an_idempotency_key_that_is_none_is_refused(
    memory: Memory, alice: Own, key: str, given: str | None
) -> None:
    with unchanged(memory), refused("invalid_field"):
        alice.remember("x", key=given, idempotency_key=key)


# Many


def test_many_are_remembered_with_one_outcome_a_row_in_order(alice: Own) -> None:
    outcomes = alice.remember_many(
        [
            {"text": "one", "key": "a", "tags": ["x"], "hint": "h", "category": "c", "ttl": 60},
            {"text": "two"},
            {"text": "three", "key": "a"},
        ]
    )
    assert [one.ok for one in outcomes] == [True] * 3
    done = [one.remembered for one in outcomes]
    assert [(one.created, one.revision) for one in done if one] == [(True, 1), (True, 1), (False, 2)]
    assert texts(alice, "a") == ["three", "one"]
    assert (alice.get("a").tags, alice.get("a").hint) == (("x",), "h")


def test_many_is_given_by_any_iterable_and_may_be_empty(alice: Own) -> None:
    assert alice.remember_many([]) == []
    assert (
        len(alice.remember_many({"text": f"{number}", "key": f"k{number}"} for number in range(300))) == 300
    )
    assert len(alice.list(limit=1_000)) == 300


def test_a_refused_row_takes_nothing_from_the_others(memory: Memory, alice: Own) -> None:
    rows: list[Any] = [
        {"text": "ok", "key": "a"},
        {"text": ""},
        {"key": "b"},
        {"text": "x", "key": ""},
        {"text": "x", "colour": "red"},
        {"text": "x", "tags": "no list"},
        {"text": "x", "ttl": 0},
        {"text": "x" * 65_537},
        {"text": "x", "space": "user:bob"},
        {"text": "x", "space": 5},
        {"text": "x", "key": "a", "expected_revision": 7},
        "no mapping",
        None,
        {5: "x"},
        {"text": "ok", "key": "c"},
    ]
    outcomes = alice.remember_many(rows)
    assert [one.error.code if one.error else "ok" for one in outcomes] == [
        "ok",
        "missing_value",
        "missing_value",
        "invalid_key",
        "invalid_field",
        "invalid_field",
        "ttl_too_short",
        "too_large",
        "access_denied",
        "invalid_field",
        "precondition_failed",
        "invalid_field",
        "invalid_field",
        "invalid_field",
        "ok",
    ]
    assert all((one.remembered is None) is (one.error is not None) for one in outcomes)
    assert keys(alice.list()) == ["c", "a"]
    assert "colour" in (outcomes[4].error.message if outcomes[4].error else "")


@pytest.mark.parametrize(
    "row",
    [
        {"text": "x", "space": []},
        {"text": "x", "space": {}},
        {"text": "x", "idempotency_key": 5},
        {"text": "x", "encrypted": "no"},
        {"text": "x", "category": 5},
        {"text": "x", "at": "yesterday"},
        {"text": 5},
        {"text": b"bytes"},
        {"text": None},
        {"text": "\ud800"},
        {"text": "x", "namespace": 5},
    ],
)
def test_a_row_that_remember_would_refuse_is_refused_alone(alice: Own, row: dict[str, Any]) -> None:
    outcomes = alice.remember_many([{"text": "ok", "key": "a"}, row, {"text": "ok", "key": "b"}])
    assert [one.ok for one in outcomes] == [True, False, True]
    assert keys(alice.list()) == ["b", "a"]


def test_a_quota_reached_midway_refuses_the_rest_and_keeps_the_first(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_ENTRIES", "3")
    memory = interface.open()
    alice = memory.user("alice")
    outcomes = alice.remember_many({"text": "x", "key": f"k{number}"} for number in range(5))
    assert [one.error.code if one.error else "ok" for one in outcomes] == ["ok", "ok", "ok", "quota", "quota"]
    assert keys(alice.list()) == ["k2", "k1", "k0"]
    mixed = alice.remember_many([{"text": "y", "key": "new"}, {"text": "y", "key": "k0"}])
    assert [one.ok for one in mixed] == [False, True]
    with unchanged(memory), refused("quota"):
        alice.remember("x", key="k9")
    alice.purge("k1")
    assert alice.remember("x", key="k9").created


def test_many_that_fill_the_disk_are_answered_as_far_as_they_were_kept_and_may_be_sent_again(
    memory: Memory, alice: Own
) -> None:
    alice.remember("small", key="first")
    rows = [
        {"text": f"{number} " + "x" * 2_000, "key": f"k{number}", "idempotency_key": f"row {number}"}
        for number in range(300)
    ]
    _leave_pages(memory, 250)
    outcomes = alice.remember_many(rows)
    kept = sum(one.ok for one in outcomes)
    assert kept in (128, 256)
    assert [one.error.code if one.error else "ok" for one in outcomes] == ["ok"] * kept + ["storage_full"] * (
        300 - kept
    )
    assert len(alice.list("k", limit=1_000)) == kept
    _leave_pages(memory, 10_000)
    again = alice.remember_many(rows)
    assert all(one.ok for one in again)
    assert again[:kept] == outcomes[:kept]
    assert len(alice.list("k", limit=1_000)) == 300


def test_many_that_do_not_fit_at_all_are_refused_as_a_whole(memory: Memory, alice: Own) -> None:
    alice.remember("small", key="first")
    _leave_pages(memory, 4)
    with unchanged(memory), refused("storage_full"):
        alice.remember_many({"text": "x" * 2_000, "key": f"k{number}"} for number in range(300))


def _leave_pages(memory: Memory, more: int) -> None:
    """The writer's connection may add this many pages and no more."""
    with engine_of(memory).sealed.store._connections.writing() as db:  # type: ignore[attr-defined]
        [(pages,)] = db.execute("PRAGMA page_count").fetchall()
        db.execute(f"PRAGMA max_page_count = {pages + more}").fetchall()


def test_many_rows_share_idempotency_with_single_ones(memory: Memory, alice: Own) -> None:
    first = alice.remember("x", key="k", idempotency_key="once")
    (again, other) = alice.remember_many(
        [
            {"text": "x", "key": "k", "idempotency_key": "once"},
            {"text": "y", "key": "k", "idempotency_key": "once"},
        ]
    )
    assert again.remembered == first
    assert other.error is not None
    assert other.error.code == "conflict"


def test_many_go_to_several_spaces(memory: Memory) -> None:
    agent = memory.agent("bot", user="alice", chat="c")
    outcomes = agent.remember_many(
        [{"text": "x", "key": "k", "space": space} for space in (None, "user:alice", "chat:c", "user:bob")]
    )
    assert [one.ok for one in outcomes] == [True, True, True, False]
    assert len({one.remembered.space for one in outcomes if one.remembered}) == 3
