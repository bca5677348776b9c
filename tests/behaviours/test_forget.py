"""Trash can be undone, purging and forgetting cannot; each removes exactly what it names."""

from functools import partial
from pathlib import Path

import pytest

from holdfast.domain.profile import ASSISTANT, CACHE, FILES, RUNS, STORES
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from tests.behaviours.interface import Interface
from tests.behaviours.looking import (
    engine_of,
    handle_of,
    keys,
    refusal,
    refused,
    snapshot,
    texts,
    unchanged,
    write_as,
)
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


# Trash


def test_trash_hides_and_restore_brings_back_with_history(alice: Own, clock: FixedClock) -> None:
    alice.remember("one", key="k", tags=["x"])
    alice.remember("two", key="k", always_inject=True)
    before = alice.get("k")
    trashed = alice.trash("k")
    assert trashed.trashed_at is not None
    assert (alice.list(), alice.list(tag="x"), keys(alice.trashed())) == ([], [], ["k"])
    with refused("not_found"):
        alice.get("k")
    with refused("not_found"):
        alice.history(id=before.id)
    assert alice.restore("k") == before
    assert texts(alice, "k") == ["two", "one"]
    assert (keys(alice.list(tag="x")), alice.trashed()) == (["k"], [])


def test_restore_takes_the_last_trashed_of_a_key_and_the_rest_by_id(alice: Own, clock: FixedClock) -> None:
    ids = []
    for text in ("one", "two", "three"):
        ids.append(alice.remember(text, key="k").id)
        alice.trash("k")
        clock.advance(seconds=1)
    assert len(set(ids)) == 3
    assert [entry.text for entry in alice.trashed()] == ["three", "two", "one"]
    assert alice.restore("k").text == "three"
    alice.rename("k", new_key="l")
    assert alice.restore(id=ids[0]).text == "one"
    assert keys(alice.trashed()) == ["k"]


def test_a_restore_onto_a_taken_key_is_a_conflict(memory: Memory, alice: Own) -> None:
    alice.remember("old", key="k")
    alice.trash("k")
    alice.remember("new", key="k")
    with unchanged(memory), refused("conflict"):
        alice.restore("k")
    assert alice.get("k").text == "new"
    alice.rename("k", new_key="l")
    assert alice.restore("k").text == "old"


def test_restoring_what_is_not_in_the_trash_is_not_found(memory: Memory, alice: Own) -> None:
    entry = alice.remember("x", key="k").id
    for call in (
        partial(alice.restore, "k"),
        partial(alice.restore, id=entry),
        partial(alice.restore, "never"),
    ):
        with unchanged(memory), refused("not_found"):
            call()


def test_the_trash_is_listed_in_pages(alice: Own) -> None:
    for number in range(7):
        alice.remember("x", key=f"k{number}")
        alice.trash(f"k{number}")
    found, cursor = [], None
    while True:
        page = alice.trashed(limit=3, cursor=cursor)
        found += keys(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [f"k{number}" for number in reversed(range(7))]
    with refused("invalid_field"):
        alice.list(cursor=alice.trashed(limit=3).cursor)


def test_trash_counts_towards_the_quota_until_it_is_purged(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_ENTRIES", "2")
    alice = interface.open().user("alice")
    alice.remember("x", key="a")
    alice.remember("x", key="b")
    alice.trash("a")
    with refused("quota"):
        alice.remember("x", key="c")
    alice.remember("y", key="b")
    alice.purge("a")
    assert alice.remember("x", key="c").created


def test_a_purge_removes_live_and_trashed_for_good(alice: Own) -> None:
    first = alice.remember("one", key="k").id
    alice.trash("k")
    second = alice.remember("two", key="k").id
    alice.remember("x", key="trashed")
    alice.trash("trashed")
    assert alice.purge("trashed") == 1
    assert alice.purge(id=first) == 1
    assert alice.get("k").text == "two"
    assert alice.purge(id=second) == 1
    for call in (lambda: alice.purge("k"), lambda: alice.purge(id=first), lambda: alice.restore(id=first)):
        with refused("not_found"):
            call()
    assert alice.trashed() == alice.list() == []


def test_a_purge_compares_the_expected_revision_with_the_live_entry_whatever_lies_in_the_trash(
    memory: Memory, alice: Own
) -> None:
    alice.remember("old", key="k")
    alice.trash("k")
    alice.remember("one", key="k")
    alice.remember("two", key="k")
    with unchanged(memory), refused("precondition_failed"):
        alice.purge("k", expected_revision=1)
    assert alice.purge("k", expected_revision=2) == 2
    assert alice.list() == alice.trashed() == []


def test_who_expects_the_revision_of_an_entry_they_may_not_remove_loses_nothing_else(
    memory: Memory, alice: Own
) -> None:
    bob = memory.user("bob")
    alice.share("user:bob", level="readwrite")
    bob.remember("of bob", key="k", space="user:alice")
    bob.trash("k", space="user:alice")
    alice.remember("of alice", key="k")
    shown = bob.get("k", space="user:alice")
    assert shown.text == "of alice"
    with unchanged(memory), refused("access_denied"):
        bob.purge("k", space="user:alice", expected_revision=shown.revision)
    assert bob.purge("k", space="user:alice") == 1
    assert alice.get("k").text == "of alice"


def test_without_a_live_entry_a_purge_compares_with_the_one_trashed_last(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.remember("old", key="k")
    alice.trash("k")
    clock.advance(seconds=1)
    alice.remember("one", key="k")
    alice.remember("two", key="k")
    alice.trash("k")
    with unchanged(memory), refused("precondition_failed"):
        alice.purge("k", expected_revision=1)
    assert alice.purge("k", expected_revision=2) == 2
    assert alice.trashed() == []


# Forget one


def test_key_forgets_exactly_one_key(memory: Memory, alice: Own) -> None:
    names = [
        "prefs/lang",
        "prefs/language",
        "Prefs/Lang",
        "prefs/lang/x",
        "prefs",
        "prefs/lan_",
        "prefs/lan%",
    ]
    for name in names:
        alice.facts.store(name, "v")
        memory.user("bob").facts.store(name, "v")
    forgotten = alice.facts.forget("key:prefs/lang")
    assert (forgotten.scope, forgotten.deleted, forgotten.persisted) == ("key:prefs/lang", 1, True)
    assert sorted(keys(alice.facts.list())) == sorted(set(names) - {"prefs/lang"})
    assert alice.facts.forget("key:prefs/lan_").deleted == 1
    assert alice.facts.forget("key:prefs/lan%").deleted == 1
    assert alice.facts.forget("key:PREFS/LANG").deleted == 0
    assert alice.facts.forget("key:prefs/").deleted == 0
    assert alice.facts.forget("key: Prefs/Lang ").deleted == 1
    assert alice.facts.forget("key:prefs/lang").deleted == 0
    assert sorted(keys(alice.facts.list())) == ["prefs", "prefs/lang/x", "prefs/language"]
    assert len(memory.user("bob").facts.list()) == len(names)


def test_a_forgotten_key_has_no_history_and_no_trash(alice: Own, clock: FixedClock) -> None:
    alice.remember("trashed", key="k")
    alice.trash("k")
    alice.remember("one", key="k")
    alice.remember("two", key="k")
    assert alice.forget("key:k").deleted == 2
    assert alice.trashed() == []
    assert alice.remember("new", key="k").revision == 1
    assert texts(alice, "k") == ["new"]


def test_a_key_may_hold_a_colon(alice: Own) -> None:
    alice.remember("x", key="key:a:b")
    assert alice.forget("key:key:a:b").deleted == 1


def test_the_facts_vocabulary_forgets_only_facts(alice: Own) -> None:
    alice.remember("note", key="k")
    alice.facts.store("k", "fact")
    assert alice.facts.forget("key:k").deleted == 1
    assert alice.get("k").text == "note"
    with refused("not_found"):
        alice.facts.get("k")


def test_a_person_reaches_by_key_what_they_are_shown_notes_first(alice: Own) -> None:
    alice.facts.store("k", "fact")
    alice.remember("note", key="k")
    alice.facts.store("k", "newer fact")
    assert alice.get("k").text == "note"
    assert alice.forget("key:k").deleted == 1
    assert alice.get("k").text == "newer fact"
    assert alice.forget("key:k").deleted == 1


def test_an_entry_is_forgotten_by_its_id(alice: Own) -> None:
    note, fact = alice.remember("x", key="a").id, alice.facts.store("b", "x").id
    alice.trash("a")
    assert alice.forget(f"id:{note}").deleted == 1
    assert alice.forget(f"id:{fact}").deleted == 1
    assert alice.forget(f"id:{fact}").deleted == 0
    assert alice.list() == alice.trashed() == []


@pytest.mark.parametrize(
    "scope",
    [
        "",
        " ",
        "ALL",
        "all ",
        "everything",
        "key",
        "key:",
        "key:  ",
        "id:",
        "pack:",
        "pipeline: ",
        "packs:x",
        "all:x",
        "prefix:a",
        None,
        5,
        b"all",
        ["all"],
    ],
)
def test_a_scope_that_is_not_one_is_refused_and_forgets_nothing(
    memory: Memory, alice: Own, scope: str
) -> None:
    alice.remember("x", key="k")
    for forget in (alice.forget, alice.facts.forget):
        with unchanged(memory), refused("invalid_scope"):
            forget(scope)


# Forget what has expired and was not swept yet


def test_forgetting_a_key_removes_and_counts_what_has_expired_under_it(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.remember("one", key="k", ttl=60)
    alice.remember("two", key="k", ttl=60)
    alice.facts.store("k", "fact", ttl_seconds=3_600)
    alice.facts.store("only a fact", "x", ttl_seconds=3_600)
    clock.advance(hours=1)
    assert alice.forget("key:k").deleted == 2
    assert alice.forget("key:k").deleted == 0
    assert alice.facts.forget("key:only a fact").deleted == 1
    assert _entries(memory) == 0
    assert memory.sweep().expired == 0


def test_forgetting_a_key_removes_the_live_entry_with_what_was_trashed_and_expired_under_it(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.remember("trashed", key="k", ttl=60)
    alice.trash("k")
    alice.remember("trashed for good", key="k")
    alice.trash("k")
    alice.facts.store("k", "over", ttl_seconds=3_600)
    clock.advance(hours=1)
    alice.remember("live", key="k")
    assert alice.forget("key:k").deleted == 4
    assert _entries(memory) == 0


@pytest.mark.parametrize("trashed", [False, True])
def test_what_has_expired_is_forgotten_by_its_id(
    memory: Memory, alice: Own, clock: FixedClock, trashed: bool
) -> None:
    entry = alice.remember("x", key="k", ttl=60).id
    if trashed:
        alice.trash("k")
    clock.advance(seconds=60)
    assert alice.forget(f"id:{entry}").deleted == 1
    assert alice.forget(f"id:{entry}").deleted == 0
    assert _entries(memory) == 0


@pytest.mark.parametrize("trashed", [False, True])
@pytest.mark.parametrize("by_id", [False, True])
def test_what_has_expired_is_purged(
    memory: Memory, alice: Own, clock: FixedClock, trashed: bool, by_id: bool
) -> None:
    entry = alice.remember("x", key="k", ttl=60).id
    if trashed:
        alice.trash("k")
    clock.advance(seconds=60)
    purge = partial(alice.purge, id=entry) if by_id else partial(alice.purge, "k")
    with unchanged(memory), refused("precondition_failed"):
        purge(expected_revision=2)
    assert purge(expected_revision=1) == 1
    with refused("not_found"):
        purge()
    assert _entries(memory) == 0


def test_what_expired_under_a_key_does_not_keep_its_live_entry_from_being_purged_at_its_revision(
    alice: Own, clock: FixedClock
) -> None:
    alice.facts.store("k", "fact", ttl_seconds=3_600)
    clock.advance(hours=1)
    alice.remember("one", key="k")
    alice.remember("two", key="k")
    assert alice.purge("k", expected_revision=2) == 2


def test_tool_code_deletes_what_has_expired(memory: Memory, clock: FixedClock) -> None:
    handle = handle_of(memory)
    handle.store("k", b"x", ttl=60)
    clock.advance(seconds=60)
    assert handle.delete("k") is True
    assert handle.delete("k") is False
    assert _entries(memory) == 0


def test_runs_that_have_expired_are_forgotten_too(memory: Memory, alice: Own, clock: FixedClock) -> None:
    for key in ("pack_history/git/1", "pack_history/git/2", "pipeline_history/git/1"):
        write_as(memory, RUNS, "alice", NoteInput(b"{}", key))
    clock.advance(days=30)
    assert alice.forget("pack:git").deleted == 2
    assert alice.forget("pipelines").deleted == 1
    assert _entries(memory) == 0


def test_who_may_not_remove_an_entry_is_not_told_that_it_expired(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    bob, carol = memory.user("bob"), memory.user("carol")
    alice.share("user:bob", level="readwrite")
    alice.share("user:carol", level="manage")
    entry = alice.remember("x", key="k", ttl=60).id
    alice.remember("x", key="trashed", ttl=60)
    alice.trash("trashed")
    clock.advance(seconds=60)
    never = refusal(partial(bob.purge, "never", space="user:alice"))
    with unchanged(memory):
        assert refusal(partial(bob.purge, "k", space="user:alice")) == never
        assert refusal(partial(bob.purge, "trashed", space="user:alice")) == never
        assert refusal(partial(bob.purge, id=entry)) == never
        assert bob.forget(f"id:{entry}").deleted == 0
    assert carol.purge("k", space="user:alice") == 1
    assert carol.purge("trashed", space="user:alice") == 1


def test_who_purges_a_key_removes_their_own_that_expired_and_leaves_those_of_others(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    bob = memory.user("bob")
    alice.share("user:bob", level="readwrite")
    alice.remember("hers", key="k", ttl=60)
    bob.remember("his", key="k", ttl=60, space="user:alice")
    clock.advance(seconds=60)
    assert bob.purge("k", space="user:alice") == 1
    assert _entries(memory) == 1
    assert alice.purge("k") == 1


def _entries(memory: Memory) -> int:
    """All that is stored, whoever sees it."""
    return sum(counts.entries for counts in snapshot(memory)[1].values() if counts)


# Forget runs


def test_runs_are_forgotten_by_kind_and_id_and_facts_never_with_them(memory: Memory, alice: Own) -> None:
    for key in (
        "pack_history/git/1",
        "pack_history/git/2",
        "pack_history/github/1",
        "pipeline_history/git/1",
    ):
        write_as(memory, RUNS, "alice", NoteInput(b"{}", key))
    alice.facts.store("packs/git", "fact")
    alice.remember("note", key="git")
    assert alice.forget("pack:git").deleted == 2
    assert alice.forget("pack:git").deleted == 0
    assert alice.forget("pipeline:gi").deleted == 0
    assert alice.facts.forget("packs").deleted == 1
    assert alice.forget("pipelines").deleted == 1
    assert sorted(keys(alice.list())) == ["git", "packs/git"]


def test_a_note_posing_as_a_run_is_no_run(alice: Own) -> None:
    alice.remember("x", key="pack_history/git/1")
    assert alice.forget("packs").deleted == 0
    assert alice.get("pack_history/git/1").text == "x"


# Forget all


def test_forget_all_removes_every_room_session_and_the_trash_of_the_caller(
    memory: Memory, alice: Own
) -> None:
    alice.remember("x", key="note")
    alice.facts.store("fact", "x")
    alice.remember("x", key="internal", in_context=False)
    alice.remember("x", key="trashed")
    alice.trash("trashed")
    for profile, draft in (
        (STORES, NoteInput("x", "store")),
        (FILES, NoteInput("x", "file")),
        (ASSISTANT, NoteInput("x")),
        (RUNS, NoteInput(b"x", "pack_history/a/1")),
        (CACHE, NoteInput(b"x", "a/b", ttl=60)),
    ):
        write_as(memory, profile, "alice", draft)
    handles = [handle_of(memory), handle_of(memory, "alice", "s1"), handle_of(memory, "alice", "s2")]
    for handle in handles:
        handle.store("k", b"x")
    forgotten = alice.forget("all")
    assert (forgotten.deleted, forgotten.kept_elsewhere) == (12, 0)
    assert alice.list() == alice.trashed() == []
    assert [handle.list() for handle in handles] == [[], [], []]
    assert alice.forget("all").deleted == 0
    assert all(counts is None or counts.entries == 0 for counts in snapshot(memory)[1].values())


def test_forget_all_through_the_facts_vocabulary_is_the_same(alice: Own) -> None:
    alice.facts.store("a", "x")
    alice.remember("x", key="b")
    assert alice.facts.forget("all").deleted == 2


def test_forget_all_leaves_everyone_else_alone(memory: Memory, alice: Own) -> None:
    others = [
        memory.user("bob"),
        memory.agent("alice"),
        memory.service("alice"),
        memory.user("alice:s1"),
        memory.user("Alice"),
    ]
    for own in (alice, *others):
        own.remember("x", key="k")
    others[0].share("user:alice", level="manage")
    handle_of(memory, "alice:s1").store("k", b"x")
    alice.forget("all")
    assert [keys(own.list()) for own in others] == [["k"]] * len(others)
    assert keys(handle_of(memory, "alice:s1").list()) == ["k"]


def test_forget_all_counts_what_is_kept_elsewhere(memory: Memory, alice: Own) -> None:
    memory.user("bob").share("user:alice", level="readwrite")
    alice.remember("x", key="at-bob", space="user:bob")
    memory.administration("root").set_participants("c", ["user:alice"])
    alice.remember("x", key="in-chat", space="chat:c")
    alice.remember("x", key="own")
    forgotten = alice.forget("all")
    assert (forgotten.deleted, forgotten.kept_elsewhere) == (1, 2)
    assert keys(memory.user("bob").list()) == ["at-bob"]


def test_forget_all_counts_what_is_kept_in_a_space_the_caller_made_to_be_shared(alice: Own) -> None:
    """DESIGN 4: rows of theirs in other spaces stay and are counted."""
    alice.create_space("team")
    alice.remember("x", key="k", space="team")
    forgotten = alice.forget("all")
    assert keys(alice.list(space="team")) == ["k"]
    assert (forgotten.deleted, forgotten.kept_elsewhere) == (0, 1)


def test_forget_all_removes_what_an_agent_wrote_into_the_users_space(memory: Memory, alice: Own) -> None:
    memory.agent("bot", user="alice").remember("x", key="k", space="user:alice")
    assert alice.forget("all").deleted == 1


def test_after_forgetting_all_a_caller_starts_anew(alice: Own) -> None:
    alice.remember("old", key="k", idempotency_key="once")
    alice.forget("all")
    again = alice.remember("new", key="k", idempotency_key="once")
    assert (again.created, again.revision) == (True, 1)
    assert texts(alice, "k") == ["new"]


def test_forgetting_is_recorded_without_any_text(memory: Memory, alice: Own) -> None:
    alice.remember("MARKERTEXT", key="MARKERKEY")
    alice.forget("key:MARKERKEY")
    alice.forget("all")
    lines = engine_of(memory).sealed.store.audit.after(0, 100)
    asked = {"propose", "approve"}  # where a model wanted it, and a person agreed
    assert [line.operation for line in lines if line.operation not in asked] == [
        "remember",
        "forget",
        "forget all",
    ]
    assert "MARKER" not in repr(lines)


def test_what_was_forgotten_stays_forgotten_after_opening_again(interface: Interface, tmp_path: Path) -> None:
    memory = interface.open(tmp_path / "m.db")
    alice = memory.user("alice")
    alice.remember("x", key="gone")
    alice.remember("x", key="kept")
    alice.forget("key:gone")
    memory.close()
    assert keys(interface.open(tmp_path / "m.db").user("alice").list()) == ["kept"]


def test_the_counts_of_a_space_return_to_nothing_with_its_entries(memory: Memory, alice: Own) -> None:
    """Recall weighs words by these counts, so entries without a word must not make them drift."""
    wordless = alice.remember("!!!").id
    alice.edit(id=wordless, text="???")
    alice.edit(id=wordless, text="words now")
    alice.edit(id=wordless, text="...")
    alice.remember("plain words", key="k")
    alice.trash("k")
    alice.restore("k")
    alice.purge(id=wordless)
    alice.purge("k")
    (counts,) = [one for one in snapshot(memory)[1].values() if one]
    assert (counts.entries, counts.indexed, counts.length) == (0, 0, 0)
