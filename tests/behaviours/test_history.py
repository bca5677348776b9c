"""Every write appends a revision: history, undo, editing, replacing, and what a revision is expected to be."""

from functools import partial
from typing import Any

import pytest

from holdfast.domain.errors import Conflict, PreconditionFailed
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refused, snapshot, texts, unchanged
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def test_history_shows_every_state_with_its_author_and_kind(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.remember("one", key="k")
    clock.advance(seconds=1)
    alice.remember("two", key="k")
    memory.agent("bot", user="alice").edit("k", text="three", space="user:alice")
    alice.rename("k", new_key="l")
    alice.undo("l", to_revision=1)
    history = alice.history("k")
    assert [(one.revision, one.text, one.change, one.by) for one in history] == [
        (5, "one", "undone", "user:alice"),
        (4, "three", "renamed", "user:alice"),
        (3, "three", "edited", "agent:bot"),
        (2, "two", "replaced", "user:alice"),
        (1, "one", "created", "user:alice"),
    ]
    assert [one.revision for one in alice.history("k", limit=2)] == [5, 4]


def test_undo_brings_back_the_state_before_and_again_the_one_before_that(alice: Own) -> None:
    for text in ("one", "two", "three", "four"):
        alice.remember(text, key="k")
    assert [alice.undo("k").text for _ in range(3)] == ["three", "two", "one"]
    with refused("conflict"):
        alice.undo("k")
    assert texts(alice, "k") == ["one", "two", "three", "four", "three", "two", "one"]


def test_undo_after_a_new_write_starts_from_there(alice: Own) -> None:
    for text in ("one", "two"):
        alice.remember(text, key="k")
    alice.undo("k")
    alice.remember("three", key="k")
    assert [alice.undo("k").text for _ in range(3)] == ["one", "two", "one"]


def test_undo_to_a_revision(alice: Own) -> None:
    for text in ("one", "two", "three"):
        alice.remember(text, key="k")
    undone = alice.undo("k", to_revision=1)
    assert (undone.text, undone.revision) == ("one", 4)
    assert alice.undo("k", to_revision=3).text == "three"


@pytest.mark.parametrize(
    ("to_revision", "code"),
    [
        (3, "conflict"),
        (4, "conflict"),
        (10**30, "conflict"),
        (0, "invalid_field"),
        (-1, "invalid_field"),
        (True, "invalid_field"),
        ("1", "invalid_field"),
        (1.0, "invalid_field"),
    ],
)
def test_undo_to_no_earlier_revision_is_refused(
    memory: Memory, alice: Own, to_revision: int, code: str
) -> None:
    for text in ("one", "two", "three"):
        alice.remember(text, key="k")
    with unchanged(memory), refused(code):
        alice.undo("k", to_revision=to_revision)


def test_undo_restores_hint_category_tags_and_flag(alice: Own) -> None:
    alice.remember("t", key="k", hint="h", category="c", tags=["x"], always_inject=True)
    alice.edit("k", text="u", hint="i", category="d", tags=[], always_inject=False)
    entry = alice.undo("k")
    assert (entry.text, entry.hint, entry.category, entry.tags, entry.always_inject) == (
        "t",
        "h",
        "c",
        ("x",),
        True,
    )


def test_undoing_a_rename_gives_the_old_key_back_or_conflicts_when_it_is_taken(
    memory: Memory, alice: Own
) -> None:
    alice.remember("mine", key="a")
    alice.rename("a", new_key="b")
    alice.remember("other", key="a")
    with unchanged(memory), refused("conflict"):
        alice.undo("b")
    alice.trash("a")
    assert alice.undo("b").key == "a"
    assert alice.get("a").text == "mine"
    with refused("not_found"):
        alice.get("b")


def test_only_so_many_revisions_are_kept(
    memory: Memory, alice: Own, monkeypatch: pytest.MonkeyPatch, interface: Interface
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_REVISIONS", "3")
    own = interface.open().user("alice")
    for number in range(10):
        own.remember(f"{number}", key="k")
    kept = [one.text for one in own.history("k")]
    assert kept in (["9", "8", "7"], ["9", "8", "7", "6"])
    with refused("conflict"):
        own.undo("k", to_revision=1)


def test_an_edit_keeps_what_is_left_out(memory: Memory, alice: Own, clock: FixedClock) -> None:
    made = alice.remember(
        "t",
        key="k",
        hint="h",
        category="c",
        tags=["x"],
        ttl=100,
        always_inject=True,
        speaker="s",
        conversation="v",
    )
    clock.advance(seconds=1)
    changes: tuple[dict[str, Any], ...] = (
        {"text": "u"},
        {"hint": "i"},
        {"category": "d"},
        {"tags": ["y"]},
        {"always_inject": False},
    )
    for change in changes:
        before = alice.get("k")
        alice.edit("k", **change)
        after = alice.get("k")
        names = (
            "text",
            "hint",
            "category",
            "tags",
            "always_inject",
            "speaker",
            "conversation",
            "expires_at",
            "created_at",
            "id",
        )
        assert {name for name in names if getattr(before, name) != getattr(after, name)} == set(change)
    assert alice.get("k").expires_at == made.expires_at
    assert alice.edit("k", ttl=50).expires_us == clock.now + 50_000_000


def test_an_edit_clears_what_is_given_empty(alice: Own) -> None:
    alice.remember("t", key="k", hint="h", category="c", tags=["x"])
    entry = alice.edit("k", hint="", category="", tags=[])
    assert (entry.text, entry.hint, entry.category, entry.tags) == ("t", "", "", ())


def test_remembering_again_keeps_hint_category_tags_and_flag_that_are_left_out(alice: Own) -> None:
    alice.remember("t", key="k", hint="h", category="c", tags=["x"], always_inject=True)
    alice.remember("u", key="k")
    entry = alice.get("k")
    assert (entry.text, entry.hint, entry.category, entry.tags, entry.always_inject) == (
        "u",
        "h",
        "c",
        ("x",),
        True,
    )
    alice.remember("v", key="k", hint="", tags=[], always_inject=False)
    entry = alice.get("k")
    assert (entry.hint, entry.category, entry.tags, entry.always_inject) == ("", "c", (), False)


def test_replacing_changes_the_first_occurrence_and_counts_them_all(alice: Own) -> None:
    alice.remember("one two one two one", key="k")
    replaced = alice.replace("k", old="one", new="1")
    assert (replaced.entry.text, replaced.occurrences) == ("1 two one two one", 3)
    assert alice.get("k").text == "1 two one two one"


@pytest.mark.parametrize("new", ["$&", r"\1 \g<0>", "$1", "%s", "", "{0}"])
def test_replacing_is_literal(alice: Own, new: str) -> None:
    alice.remember("a.b [x] a.b", key="k")
    assert alice.replace("k", old="[x]", new=new).entry.text == f"a.b {new} a.b"
    alice.remember("aXb a.b", key="k")
    assert alice.replace("k", old="a.b", new=new).entry.text == f"aXb {new}"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("absent", "x", "edit_no_match"),
        ("TEXT", "x", "edit_no_match"),
        ("", "x", "missing_field"),
        (None, "x", "missing_field"),
        ("text", None, "missing_field"),
        ("text", "", "missing_value"),
        ("text", "\ud800", "invalid_field"),
        ("text", "\x00", "invalid_field"),
        ("text", "x" * 65_537, "too_large"),
    ],
)
def test_a_replacement_that_cannot_be_made_changes_nothing(
    memory: Memory, alice: Own, old: str, new: str, code: str
) -> None:
    alice.remember("text", key="k")
    with unchanged(memory), refused(code):
        alice.replace("k", old=old, new=new)


def test_every_change_can_expect_a_revision(memory: Memory, alice: Own) -> None:
    alice.remember("one", key="k")
    alice.remember("two", key="k", expected_revision=1)
    for call in (
        lambda: alice.remember("x", key="k", expected_revision=1),
        lambda: alice.remember("x", key="k", expected_revision=0),
        lambda: alice.remember("x", key="new", expected_revision=1),
        lambda: alice.edit("k", text="x", expected_revision=1),
        lambda: alice.replace("k", old="two", new="x", expected_revision=3),
        lambda: alice.rename("k", new_key="l", expected_revision=1),
        lambda: alice.undo("k", expected_revision=1),
        lambda: alice.trash("k", expected_revision=1),
    ):
        with unchanged(memory), refused("precondition_failed"):
            call()
    assert alice.edit("k", text="three", expected_revision=2).revision == 3
    assert alice.replace("k", old="three", new="four", expected_revision=3).entry.revision == 4
    assert alice.undo("k", expected_revision=4).revision == 5
    assert alice.rename("k", new_key="l", expected_revision=5).revision == 6
    assert alice.trash("l", expected_revision=6).revision == 6
    assert alice.remember("first", key="k", expected_revision=0).created


def test_a_failed_expectation_is_a_conflict_that_names_both_revisions(alice: Own) -> None:
    alice.remember("one", key="k")
    with pytest.raises(PreconditionFailed, match=r"1.*7") as caught:
        alice.edit("k", text="x", expected_revision=7)
    assert isinstance(caught.value, Conflict)


@pytest.mark.parametrize("expected", ["1", 1.0, True, -1])
def test_an_expected_revision_is_a_whole_number_from_zero(memory: Memory, alice: Own, expected: int) -> None:
    alice.remember("one", key="k")
    for call in (
        lambda: alice.remember("x", key="k", expected_revision=expected),
        lambda: alice.edit("k", text="x", expected_revision=expected),
    ):
        with unchanged(memory), refused("invalid_field"):
            call()


# Renaming


def test_a_rename_keeps_history_lifetime_flags_and_owner(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.remember("one", key="a", hint="h", category="c", tags=["x"], ttl=100, always_inject=True)
    alice.remember("two", key="a", ttl=100)
    before = alice.get("a")
    clock.advance(seconds=1)
    renamed = alice.rename("a", new_key=" b/c ")
    assert renamed == alice.get("b/c")
    for name in (
        "id",
        "text",
        "hint",
        "category",
        "tags",
        "always_inject",
        "expires_at",
        "created_at",
        "owner",
    ):
        assert getattr(renamed, name) == getattr(before, name)
    assert texts(alice, "b/c") == ["two", "two", "one"]
    assert [entry.key for entry in alice.list("b/")] == ["b/c"]
    with refused("not_found"):
        alice.get("a")


def test_a_rename_into_another_space_keeps_history_lifetime_flags_and_owner(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    alice.create_space("team")
    alice.share("user:bob", space="team")
    alice.remember("one", key="a", hint="h", category="c", tags=["x"], ttl=100, always_inject=True)
    alice.remember("two", key="a", ttl=100)
    before = alice.get("a")
    clock.advance(seconds=1)
    moved = alice.rename("a", new_key="a", to_space="team")
    assert moved.space == alice.list(space="team")[0].space != before.space
    for name in ("text", "hint", "category", "tags", "always_inject", "expires_at", "created_at", "owner"):
        assert getattr(moved, name) == getattr(before, name)
    bob = memory.user("bob")
    assert texts(bob, "a", "team") == ["two", "two", "one"]
    assert [one.revision for one in bob.history("a", space="team")] == [3, 2, 1]
    for look in (partial(alice.get, "a"), partial(alice.get, id=before.id), partial(alice.restore, "a")):
        with refused("not_found"):
            look()
    assert alice.undo("a", space="team", to_revision=1).text == "one"


def test_a_rename_to_the_same_key_changes_nothing(memory: Memory, alice: Own) -> None:
    alice.remember("x", key="k")
    before = alice.get("k")
    with unchanged(memory):
        assert alice.rename("k", new_key="k") == before


def test_a_renamed_entry_without_a_word_is_counted_by_the_words_of_its_key(
    memory: Memory, alice: Own
) -> None:
    alice.remember("!!!")
    alice.rename(id=alice.list()[0].id, new_key="house rules")
    (counts,) = [one for one in snapshot(memory)[1].values() if one]
    assert (counts.entries, counts.indexed, counts.length) == (1, 1, 2)


def test_a_rename_onto_a_taken_key_is_a_conflict_and_loses_nothing(memory: Memory, alice: Own) -> None:
    alice.create_space("team")
    alice.remember("one", key="a")
    alice.remember("two", key="b")
    alice.remember("three", key="a", space="team")
    with unchanged(memory), refused("conflict"):
        alice.rename("a", new_key="b")
    with unchanged(memory), refused("conflict"):
        alice.rename("a", new_key="a", to_space="team")
    assert (alice.get("a").text, alice.get("b").text, alice.get("a", space="team").text) == (
        "one",
        "two",
        "three",
    )


def test_a_rename_needs_write_on_both_sides(memory: Memory, alice: Own) -> None:
    bob = memory.user("bob")
    alice.remember("x", key="k")
    alice.share("user:bob", level="read")
    bob.remember("y", key="k")
    with unchanged(memory), refused("access_denied"):
        bob.rename("k", new_key="l", space="user:alice")
    with unchanged(memory), refused("access_denied"):
        bob.rename("k", new_key="l", to_space="user:alice")


def test_a_rename_respects_the_quota_of_the_other_space(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_ENTRIES", "1")
    memory = interface.open()
    alice = memory.user("alice")
    alice.create_space("team")
    alice.remember("x", key="k", space="team")
    alice.remember("y", key="l")
    with unchanged(memory), refused("quota"):
        alice.rename("l", new_key="l", to_space="team")
    assert alice.get("l").text == "y"


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("", "invalid_key"),
        (" ", "invalid_key"),
        (None, "invalid_key"),
        ("a\x00", "invalid_key"),
        ("\ud800", "invalid_key"),
        ("k" * 513, "too_large"),
    ],
)
def test_a_rename_to_no_key_is_refused(memory: Memory, alice: Own, key: str, code: str) -> None:
    alice.remember("x", key="k")
    with unchanged(memory), refused(code):
        alice.rename("k", new_key=key)
