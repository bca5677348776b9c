"""Facts: what a user told an agent, bounded in time, replaced wholly, grouped by category."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.domain.errors import HoldfastError
from holdfast.domain.times import to_datetime
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import keys, refused, unchanged
from tests.support import FixedClock

DAY = 86_400


def test_key_and_value_are_trimmed_and_category_and_lifetime_have_defaults(
    memory: Memory, clock: FixedClock
) -> None:
    alice = memory.user("alice")
    stored = alice.facts.store("  prefs/editor ", "\n vim \t")
    fact = alice.facts.get("prefs/editor")
    assert (stored.key, stored.created, stored.persisted) == ("prefs/editor", True, True)
    assert (fact.text, fact.category, fact.tags) == ("vim", "user_facts", ())
    assert stored.expires_at == fact.expires_at == to_datetime(clock.now + 90 * DAY * 1_000_000)


def test_a_fact_may_hold_prose_json_or_code(memory: Memory) -> None:
    facts = memory.user("alice").facts
    for value in ("I prefer tabs.", '{"a": [1, 2]}', "def f():\n\treturn 'é 漢字 🙂'"):
        facts.store("anything", value)
        assert facts.get("anything").text == value


def test_category_is_trimmed_and_tags_are_kept_in_order(memory: Memory) -> None:
    facts = memory.user("alice").facts
    facts.store("a", "b", category="  decisions ", tags=["z", " a ", "z"])
    assert (facts.get("a").category, facts.get("a").tags) == ("decisions", ("z", "a"))


def test_a_blank_category_is_the_default_category(memory: Memory) -> None:
    facts = memory.user("alice").facts
    facts.store("a", "b", category="   ")
    assert facts.get("a").category == "user_facts"


def test_tags_given_by_a_generator_are_kept(memory: Memory) -> None:
    facts = memory.user("alice").facts
    facts.store("a", "b", tags=(tag for tag in ("x", "y")))
    assert facts.get("a").tags == ("x", "y")


@pytest.mark.parametrize("category", ["pack_history", "pipeline_history", "plan_history", " pack_history "])
def test_a_reserved_category_is_refused_and_nothing_written(memory: Memory, category: str) -> None:
    with unchanged(memory), refused("reserved_category"):
        memory.user("alice").facts.store("a", "b", category=category)


@pytest.mark.parametrize(
    "key", ["pack_history/x/1", "pipeline_history/x", "plan_history/p", " pack_history/x", "pack_history"]
)
def test_a_fact_cannot_pose_as_recorded_history_by_its_key(memory: Memory, key: str) -> None:
    with unchanged(memory), refused("reserved_key"):
        memory.user("alice").facts.store(key, '{"tool": "x", "ok": true}')


@pytest.mark.parametrize("key", ["pack_history_of_mine", "my/pack_history/x", "packs"])
def test_a_key_that_only_resembles_a_reserved_head_is_accepted(memory: Memory, key: str) -> None:
    assert memory.user("alice").facts.store(key, "b").persisted


def test_an_edit_cannot_bring_in_a_reserved_category_or_key(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.facts.store("a", "b")
    with unchanged(memory), refused("reserved_category"):
        alice.edit("a", category="pack_history")
    with unchanged(memory), refused("reserved_key"):
        alice.rename("a", new_key="pack_history/a/1")


def test_a_fact_named_like_a_cached_result_stays_a_fact(memory: Memory) -> None:
    alice = memory.user("alice")
    key = "github.list_issues/" + "ab" * 32
    alice.facts.store(key, "poison")
    assert memory.handle("alice") is not None
    with refused("not_found"):
        memory.handle("alice").recall(key)  # type: ignore[union-attr]


def test_the_same_key_again_replaces_the_fact_wholly_and_keeps_its_birth(
    memory: Memory, clock: FixedClock
) -> None:
    facts = memory.user("alice").facts
    first = facts.store("lang", "Python", category="prefs", tags=["x"], ttl_seconds=3_600)
    born = clock.now
    clock.advance(seconds=60)
    again = facts.store("lang", "Rust")
    fact = facts.get("lang")
    assert (again.id, again.revision, again.created, again.updated) == (first.id, 2, False, True)
    assert (fact.text, fact.category, fact.tags) == ("Rust", "user_facts", ())
    assert (fact.created_us, fact.updated_us) == (born, clock.now)
    assert fact.expires_us == clock.now + 90 * DAY * 1_000_000


def test_the_trajectory_of_a_key_is_kept_newest_first(memory: Memory, clock: FixedClock) -> None:
    facts = memory.user("alice").facts
    for value in ("Python", "Rust", "Zig"):
        facts.store("lang", value)
        clock.advance(days=1)
    history = facts.history("lang")
    assert [(one.revision, one.text) for one in history] == [(3, "Zig"), (2, "Rust"), (1, "Python")]
    assert [one.by for one in history] == ["user:alice"] * 3
    assert history[0].at > history[1].at > history[2].at
    assert [one.text for one in facts.history("lang", limit=1)] == ["Zig"]


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("", "b", "missing_key"),
        (" \t\n", "b", "missing_key"),
        (None, "b", "missing_key"),
        ("a", "", "missing_value"),
        ("a", " \n ", "missing_value"),
        (7, "b", "invalid_key"),
        ("a", 7, "invalid_field"),
        ("a", None, "missing_value"),
        ("a", b"bytes", "invalid_field"),
        ("a\x00b", "b", "invalid_key"),
        ("a\nb", "b", "invalid_key"),
        ("\ud800", "b", "invalid_key"),
        ("a", "\udfff", "invalid_field"),
        ("a", "x\x00y", "invalid_field"),
        ("k" * 513, "b", "too_large"),
        ("é" * 257, "b", "too_large"),
        ("a", "v" * 65_537, "too_large"),
    ],
)
def test_a_fact_that_cannot_be_stored_says_why_and_writes_nothing(
    memory: Memory, key: str, value: str, code: str
) -> None:
    with unchanged(memory), refused(code):
        memory.user("alice").facts.store(key, value)


def test_refusals_name_the_limit_or_show_an_example(memory: Memory) -> None:
    facts = memory.user("alice").facts
    with pytest.raises(HoldfastError, match="preferences/editor"):
        facts.store("", "b")
    with pytest.raises(HoldfastError, match="preferences"):
        facts.store("a", "b", category="pack_history")
    with pytest.raises(HoldfastError, match="3600"):
        facts.store("a", "b", ttl_seconds=1)
    with pytest.raises(HoldfastError, match="31536000"):
        facts.store("a", "b", ttl_seconds=31_536_001)
    with pytest.raises(HoldfastError, match="512"):
        facts.store("k" * 513, "b")


def test_facts_are_listed_by_literal_prefix_newest_change_first(memory: Memory) -> None:
    facts = memory.user("alice").facts
    for key in ("prefs/a", "prefs/b", "prefsx", "other", "prefs/c"):
        facts.store(key, "v")
    facts.store("prefs/a", "again")
    assert keys(facts.list("prefs/")) == ["prefs/a", "prefs/c", "prefs/b"]
    assert keys(facts.list()) == ["prefs/a", "prefs/c", "other", "prefsx", "prefs/b"]


def test_a_fact_of_alice_is_invisible_to_bob(memory: Memory) -> None:
    memory.user("alice").facts.store("prefs/editor", "vim")
    bob = memory.user("bob")
    assert bob.facts.list() == []
    for look in (bob.facts.get, bob.facts.history, bob.get):
        with refused("not_found"):
            look("prefs/editor")
    assert bob.facts.forget("key:prefs/editor").deleted == 0
    assert memory.user("alice").facts.get("prefs/editor").text == "vim"


def test_an_empty_subject_is_the_caller_unknown(memory: Memory) -> None:
    memory.user("").facts.store("a", "b")
    assert memory.user("unknown").facts.get("a").text == "b"
    assert memory.user("").facts.my_memory().scope == "caller=unknown"


def test_my_memory_shows_counts_and_the_five_newest_keys_and_never_a_value(
    memory: Memory, clock: FixedClock
) -> None:
    alice = memory.user("alice")
    for number in range(7):
        alice.facts.store(f"f{number}", "SECRETVALUE")
    alice.facts.store("one", "SECRETVALUE", category="decisions")
    alice.remember("SECRETVALUE", key="note", category="decisions")
    index = alice.facts.my_memory()
    assert index.scope == "caller=alice"
    assert index.fetched_at == to_datetime(clock.now)
    assert [(one.name, one.count, one.recent_keys) for one in index.categories] == [
        ("decisions", 2, ("note", "one")),
        ("user_facts", 7, ("f6", "f5", "f4", "f3", "f2")),
    ]
    assert index.note is None
    assert "SECRETVALUE" not in repr(index)


def test_a_note_that_calls_itself_history_is_none_in_my_memory(memory: Memory) -> None:
    alice = memory.user("alice")
    for name in ("pack_history", "pipeline_history", "plan_history"):
        alice.remember("x", key=f"{name}/ok/1", category=name)
    (shown,) = alice.facts.my_memory().categories
    assert (shown.name, shown.count) == ("uncategorized", 3)
    assert '- "uncategorized": 3 (' in alice.context().text


def test_my_memory_shows_neither_tool_data_nor_internal_entries(memory: Memory) -> None:
    alice = memory.user("alice")
    handle = memory.handle("alice")
    assert handle is not None
    handle.store("solver/note", b"x", category="cache")
    alice.remember("skill secret", key="secret", in_context=False)
    assert alice.facts.my_memory().categories == ()
    assert alice.facts.my_memory().note


def test_expiry_is_a_moment_in_utc(memory: Memory) -> None:
    stored = memory.user("alice").facts.store("a", "b", ttl_seconds=3_600)
    assert isinstance(stored.expires_at, datetime)
    assert stored.expires_at.tzinfo is UTC


def test_the_answer_to_a_store_names_the_category(memory: Memory) -> None:
    """INTERFACE: memory/store answers {key, category, expires_at, persisted}; the vocabulary of facts can too."""
    stored = memory.user("alice").facts.store("a", "b")
    assert getattr(stored, "category", None) == "user_facts"


def test_a_stored_fact_is_answered_with_its_category(memory: Memory) -> None:
    facts = memory.user("alice").facts
    assert facts.store("k", "v").category == "user_facts"
    assert facts.store("k", "v", category="prefs", idempotency_key="once").category == "prefs"
    assert facts.store("k", "v", category="prefs", idempotency_key="once").category == "prefs"


# What ends soon, and renewing it


def test_facts_that_end_soon_are_listed_the_first_to_end_first(memory: Memory) -> None:
    alice = memory.user("alice")
    for key, days in (("month", 30), ("day", 1), ("week", 7)):
        alice.facts.store(key, "v", ttl_seconds=days * DAY)
    alice.remember("a note", key="note", ttl=3_600)
    assert keys(alice.facts.list(expiring_within=10 * DAY)) == ["day", "week"]
    page = alice.facts.list(expiring_within=10 * DAY, limit=1)
    assert keys(page) == ["day"]
    assert keys(alice.facts.list(expiring_within=10 * DAY, limit=1, cursor=page.cursor)) == ["week"]


def test_one_call_renews_a_fact_for_as_long_again_or_for_a_given_time(
    memory: Memory, clock: FixedClock
) -> None:
    facts = memory.user("alice").facts
    facts.store("lang", "Python", category="prefs", tags=["x"], ttl_seconds=7 * DAY)
    clock.advance(days=6)
    renewed = facts.renew("lang")
    assert renewed.expires_us == clock.now + 7 * DAY * 1_000_000
    assert (renewed.text, renewed.category, renewed.tags) == ("Python", "prefs", ("x",))
    assert facts.renew("lang", ttl_seconds=3_600).expires_us == clock.now + 3_600_000_000
    assert facts.renew("lang", ttl_seconds=0).expires_us == clock.now + 90 * DAY * 1_000_000


@pytest.mark.parametrize(("ttl", "code"), [(1, "ttl_too_short"), (366 * DAY, "ttl_too_long")])
def test_a_renewal_keeps_the_bounds_of_a_fact(memory: Memory, ttl: int, code: str) -> None:
    facts = memory.user("alice").facts
    facts.store("a", "b")
    with unchanged(memory), refused(code):
        facts.renew("a", ttl_seconds=ttl)


def test_only_ones_own_facts_that_still_live_are_renewed(memory: Memory, clock: FixedClock) -> None:
    memory.user("alice").facts.store("a", "b", ttl_seconds=3_600)
    memory.user("alice").remember("a note", key="note", ttl=3_600)
    for key, who in (("a", "bob"), ("note", "alice"), ("never", "alice")):
        with unchanged(memory), refused("not_found"):
            memory.user(who).facts.renew(key)
    clock.advance(hours=2)
    with unchanged(memory), refused("not_found"):
        memory.user("alice").facts.renew("a")


# Recall


def test_facts_are_recalled_by_key_by_prefix_by_question_or_the_newest(memory: Memory) -> None:
    facts = memory.user("alice").facts
    facts.store("prefs/editor", "neovim with tabs")
    facts.store("prefs/shell", "fish")
    facts.store("konflux/deploy", "Deploys go through Konflux")
    assert [fact.text for fact in facts.recall("prefs/editor")] == ["neovim with tabs"]
    assert keys(facts.recall(prefix="prefs/")) == ["prefs/shell", "prefs/editor"]
    assert keys(facts.recall(query="how do we deploy?"))[0] == "konflux/deploy"
    assert keys(facts.recall(limit=1)) == ["konflux/deploy"]
    assert facts.recall("never") == []
    with refused("invalid_field"):
        facts.recall("prefs/editor", query="which editor?")


def test_a_recall_of_facts_stays_with_facts_and_with_their_owner(memory: Memory) -> None:
    memory.user("alice").remember("Konflux is a note", key="note")
    memory.user("bob").facts.store("his", "Konflux is his")
    memory.user("alice").facts.store("mine", "Konflux is mine")
    assert keys(memory.user("alice").facts.recall(query="Konflux")) == ["mine"]
    assert keys(memory.user("bob").facts.recall(query="Konflux")) == ["his"]


# Who calls


def test_who_calls_sees_their_own_counts_and_an_administrator_all_of_them(memory: Memory) -> None:
    for number in range(3):
        memory.user("alice").facts.store(f"f{number}", "v")
    memory.user("bob").remember("x", key="k")
    handle = memory.handle("alice", session="s1")
    assert handle is not None
    handle.store("k", b"v")
    assert [(one.caller, one.namespace, one.entries) for one in memory.user("alice").facts.callers()] == [
        ("user:alice", "alice", 3),
        ("user:alice", "alice:s1", 1),
    ]
    everyone = memory.user("root", roles=["admin"]).facts.callers()
    assert [(one.namespace, one.session, one.entries) for one in everyone] == [
        ("alice", None, 3),
        ("alice:s1", "s1", 1),
        ("bob", None, 1),
    ]
    assert [one.namespace for one in memory.user("root", roles=["admin"]).facts.callers(limit=1)] == ["alice"]
    assert memory.user("carol").facts.callers() == []


def test_spaces_made_to_be_shared_are_no_callers(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.create_space("team")
    alice.remember("x", space="team")
    assert alice.facts.callers() == memory.user("root", roles=["admin"]).facts.callers() == []


def test_a_fact_is_there_in_a_later_session(interface: Interface, tmp_path: Path) -> None:
    memory = interface.open(tmp_path / "m.db")
    memory.user("alice").facts.store("konflux/deploy", "Always through Konflux")
    memory.close()
    assert (
        interface.open(tmp_path / "m.db").user("alice").facts.get("konflux/deploy").text
        == "Always through Konflux"
    )


def test_a_credential_in_a_fact_is_left_out_and_counted(memory: Memory) -> None:
    facts = memory.user("alice").facts
    stored = facts.store("ci", "the token is ghp_x7Kq9ZtB2mWc4Rv8Ls1Nd6Yf3Hj5Gp0Ua2Qe")
    assert stored.redacted == 1
    assert "ghp_" not in facts.get("ci").text
