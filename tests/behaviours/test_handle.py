"""What tool code keeps: opaque bytes under a subject or one of its sessions, out of every model's sight."""

import hashlib
from datetime import timedelta

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import AWAITED, PYTHON, Interface
from tests.behaviours.looking import handle_of, keys, refused, unchanged
from tests.support import FixedClock

pytestmark = pytest.mark.interfaces(PYTHON, AWAITED)


def test_a_value_comes_back_with_category_tags_times_and_fingerprint(
    memory: Memory, clock: FixedClock
) -> None:
    handle = handle_of(memory)
    stored = handle.store(
        "repo/notes", b"\x00\xff bytes", ttl=timedelta(minutes=5), category="solver", tags=["a", "b"]
    )
    assert handle.recall("repo/notes") == stored
    assert (stored.key, stored.value, stored.category, stored.tags) == (
        "repo/notes",
        b"\x00\xff bytes",
        "solver",
        ("a", "b"),
    )
    assert (stored.created_us, stored.updated_us) == (clock.now, clock.now)
    assert stored.expires_us == clock.now + 300_000_000
    assert stored.expires_at is not None
    assert len(stored.fingerprint) == 16


@pytest.mark.parametrize("value", [b"", b"\x00", "text", "漢字", bytes(range(256)), b"x" * 1_048_576])
def test_values_are_opaque_bytes(memory: Memory, value: bytes | str) -> None:
    stored = handle_of(memory).store("k", value)
    assert stored.value == (value.encode() if isinstance(value, str) else value)


def test_the_text_of_bytes_that_are_no_text_is_refused_by_its_code(memory: Memory) -> None:
    handle = handle_of(memory)
    assert handle.store("words", "漢字".encode()).text == "漢字"
    handle.store("bytes", b"\xff\xfe")
    with refused("not_text"):
        _ = handle.recall("bytes").text


def test_equal_values_have_equal_fingerprints_that_nobody_can_guess_without_the_key(memory: Memory) -> None:
    handle = handle_of(memory)
    first, second = handle.store("a", b"yes"), handle.store("b", b"yes")
    assert first.fingerprint == second.fingerprint != handle.store("c", b"no").fingerprint
    assert first.fingerprint != hashlib.sha256(b"yes").hexdigest()[:16]
    assert first.fingerprint != handle_of(memory, "bob").store("a", b"yes").fingerprint


def test_writing_again_leaves_one_entry_and_keeps_its_birth(memory: Memory, clock: FixedClock) -> None:
    handle = handle_of(memory)
    born = handle.store("k", b"1", category="c", tags=["t"]).created_us
    clock.advance(seconds=1)
    again = handle.store("k", b"2")
    assert (again.created_us, again.updated_us, again.value) == (born, clock.now, b"2")
    assert (again.category, again.tags) == ("", ())
    assert keys(handle.list()) == ["k"]


def test_a_missing_key_is_not_found(memory: Memory) -> None:
    handle = handle_of(memory)
    with refused("not_found"):
        handle.recall("nothing")
    handle.store("k", b"1")
    with refused("not_found"):
        handle.recall("nothing")


def test_deleting_is_final_and_a_missing_key_is_no_error(memory: Memory) -> None:
    handle = handle_of(memory)
    handle.store("k", b"1")
    assert handle.delete("k") is True
    assert handle.delete("k") is False
    with refused("not_found"):
        handle.recall("k")
    assert memory.user("alice").trashed() == []


def test_a_list_is_newest_first_under_a_literal_prefix(memory: Memory) -> None:
    handle = handle_of(memory)
    for key in ("a_c", "abc", "a%c", "a/1", "a/2", "A/3"):
        handle.store(key, b"v")
    handle.store("a/1", b"again")
    assert keys(handle.list("a_")) == ["a_c"]
    assert keys(handle.list("a%")) == ["a%c"]
    assert keys(handle.list("a/")) == ["a/1", "a/2"]
    assert keys(handle.list()) == ["a/1", "A/3", "a/2", "a%c", "abc", "a_c"]
    assert handle.list("nothing") == []


def test_a_list_is_complete_however_long(
    memory: Memory, interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_LIST_ROWS", "3")
    handle = handle_of(interface.open())
    for number in range(8):
        handle.store(f"k{number}", b"v")
    assert len(handle.list()) == 8
    assert sum(len(group) for group in handle.context(7).values()) == 7


def test_context_groups_the_newest_entries_with_values_by_category(memory: Memory) -> None:
    handle = handle_of(memory)
    for number in range(60):
        handle.store(f"old{number}", b"v", category="old")
    handle.store("loose", b"1")
    handle.store("a", b"2", category="findings")
    handle.store("b", b"3", category="findings")
    context = handle.context()
    assert list(context) == ["findings", "uncategorized", "old"]
    assert [(entry.key, entry.value) for entry in context["findings"]] == [("b", b"3"), ("a", b"2")]
    assert keys(context["uncategorized"]) == ["loose"]
    assert sum(len(group) for group in context.values()) == 50
    assert {name: keys(group) for name, group in handle.context(limit=2).items()} == {"findings": ["b", "a"]}


@pytest.mark.parametrize("limit", [0, -1, True, "5", 1.0])
def test_context_refuses_an_impossible_limit(memory: Memory, limit: int) -> None:
    with refused("invalid_field"):
        handle_of(memory).context(limit)


def test_the_namespace_is_the_subject_or_subject_and_session(memory: Memory) -> None:
    assert handle_of(memory, "alice").namespace() == "alice"
    assert handle_of(memory, "alice", "s1").namespace() == "alice:s1"
    assert handle_of(memory, "").namespace() == "unknown"
    assert handle_of(memory, "", "s1").namespace() == "unknown:s1"


def test_sessions_and_subjects_do_not_mix(memory: Memory) -> None:
    places = [
        handle_of(memory, "a"),
        handle_of(memory, "a", "b"),
        handle_of(memory, "a", "c"),
        handle_of(memory, "a:b"),
        handle_of(memory, "b"),
        handle_of(memory, "a:b", "c"),
        handle_of(memory, "a", "b:c"),
        handle_of(memory, "user:a"),
    ]
    for number, place in enumerate(places):
        place.store("k", f"{number}")
    assert [place.recall("k").text for place in places] == [str(number) for number in range(len(places))]
    assert [keys(place.list()) for place in places] == [["k"]] * len(places)
    assert places[1].delete("k")
    assert [place.list() == [] for place in places].count(True) == 1


def test_what_the_next_session_is_to_find_goes_to_the_subject(memory: Memory) -> None:
    handle_of(memory, "alice", "s1").across_sessions().store("solver/repo", "note")
    assert handle_of(memory, "alice", "s2").across_sessions().recall("solver/repo").text == "note"
    with refused("not_found"):
        handle_of(memory, "alice", "s2").recall("solver/repo")


def test_tool_data_is_invisible_to_every_model_facing_call(memory: Memory) -> None:
    handle_of(memory).store("tool/state", "SECRET", category="cache")
    alice = memory.user("alice")
    assert alice.list() == alice.facts.list() == alice.trashed() == []
    assert alice.facts.my_memory().categories == ()
    for look in (alice.get, alice.history, alice.trash, alice.purge, alice.facts.get):
        with refused("not_found"):
            look("tool/state")
    assert alice.forget("key:tool/state").deleted == 0
    assert handle_of(memory).recall("tool/state").text == "SECRET"


def test_tool_data_is_kept_as_it_is_even_when_it_looks_like_a_secret(memory: Memory) -> None:
    token = "ghp_" + "a1B2" * 9
    assert handle_of(memory).store("k", f"token={token}").text == f"token={token}"


def test_a_handle_of_one_subject_is_not_the_agent_of_that_name(memory: Memory) -> None:
    handle_of(memory, "bot").store("k", "x")
    agent = memory.agent("bot")
    agent.remember("y", key="k")
    assert keys(agent.list()) == ["k"]
    assert handle_of(memory, "bot").recall("k").text == "x"


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("", b"v", "missing_key"),
        ("  ", b"v", "missing_key"),
        (None, b"v", "missing_key"),
        (5, b"v", "invalid_key"),
        ("a\x00", b"v", "invalid_key"),
        ("\ud800", b"v", "invalid_key"),
        ("k" * 513, b"v", "too_large"),
        ("k", None, "invalid_field"),
        ("k", 5, "invalid_field"),
        ("k", ["v"], "invalid_field"),
        ("k", "\ud800", "invalid_field"),
        ("k", b"x" * 1_048_577, "too_large"),
    ],
)
def test_a_value_that_cannot_be_kept_says_why_and_writes_nothing(
    memory: Memory, key: str, value: bytes, code: str
) -> None:
    with unchanged(memory), refused(code):
        handle_of(memory).store(key, value)


def test_a_store_whose_caller_may_write_but_not_read_does_not_fail_after_writing(memory: Memory) -> None:
    """A refusal must mean that nothing was written."""
    handle = handle_of(memory)
    handle.store("before", b"x")
    memory.administration("root").set_rules("member", {"ai.memory.read": False})
    try:
        handle.store("k", b"v")
        refused_it = False
    except Exception:
        refused_it = True
    memory.administration("root").set_rules("member", {})
    assert ("k" in keys(handle.list())) is not refused_it


@pytest.mark.parametrize("session", [5, "\ud800"])
def test_a_session_that_is_no_name_is_refused(memory: Memory, session: str) -> None:
    with refused("invalid_field"):
        handle_of(memory, "alice", session).store("k", b"v")


def test_an_empty_session_is_none(memory: Memory) -> None:
    handle_of(memory, "alice", "").store("k", b"v")
    assert handle_of(memory, "alice").recall("k").value == b"v"
    assert handle_of(memory, "alice", "").namespace() == "alice"
