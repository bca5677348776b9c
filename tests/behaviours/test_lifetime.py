"""How long entries, grants, trash and receipts live, to the microsecond, and that what is over is swept away."""

import threading
from datetime import timedelta
from functools import partial

import pytest

from holdfast.domain.profile import FILES
from holdfast.domain.retention import Ttl
from holdfast.domain.times import SECOND
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from holdfast.operations.sweep import sweep
from tests.behaviours.interface import Interface
from tests.behaviours.looking import engine_of, handle_of, keys, refused, texts, unchanged, write_as
from tests.support import FixedClock, until

YEAR = 31_536_000
DEFAULT = 7_776_000


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        (None, DEFAULT),
        (0, DEFAULT),
        (timedelta(0), DEFAULT),
        (3_600, 3_600),
        (YEAR, YEAR),
        (timedelta(hours=1), 3_600),
        (timedelta(days=365), YEAR),
    ],
)
def test_a_fact_lives_an_hour_to_a_year_and_ninety_days_by_default(
    memory: Memory, clock: FixedClock, ttl: Ttl, seconds: int
) -> None:
    stored = memory.user("alice").facts.store("a", "b", ttl_seconds=ttl)
    assert stored.expires_us == clock.now + seconds * SECOND


@pytest.mark.parametrize(
    ("ttl", "code"),
    [
        (1, "ttl_too_short"),
        (3_599, "ttl_too_short"),
        (-1, "ttl_too_short"),
        (-(10**30), "ttl_too_short"),
        (timedelta(seconds=3_599, microseconds=999_999), "ttl_too_short"),
        (timedelta(microseconds=1), "ttl_too_short"),
        (timedelta(days=-1), "ttl_too_short"),
        (YEAR + 1, "ttl_too_long"),
        (10**30, "ttl_too_long"),
        (timedelta.max, "ttl_too_long"),
        (True, "invalid_field"),
        (3_600.0, "invalid_field"),
        ("3600", "invalid_field"),
    ],
)
def test_a_lifetime_out_of_range_is_refused_and_never_clamped(memory: Memory, ttl: Ttl, code: str) -> None:
    with unchanged(memory), refused(code):
        memory.user("alice").facts.store("a", "b", ttl_seconds=ttl)


def test_an_edit_keeps_the_bounds_of_a_fact(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.facts.store("a", "b")
    with unchanged(memory), refused("ttl_too_short"):
        alice.edit("a", ttl=3_599)
    with unchanged(memory), refused("ttl_too_long"):
        alice.edit("a", ttl=YEAR + 1)
    clock.advance(seconds=5)
    assert alice.edit("a", ttl=3_600).expires_us == clock.now + 3_600 * SECOND


@pytest.mark.parametrize(
    ("ttl", "code"),
    [
        (0, "ttl_too_short"),
        (timedelta(0), "ttl_too_short"),
        (-1, "ttl_too_short"),
        (timedelta(microseconds=999_999), "ttl_too_short"),
        (10**30, "ttl_too_long"),
        (True, "invalid_field"),
        (1.5, "invalid_field"),
        (float("nan"), "invalid_field"),
        ("90d", "invalid_field"),
    ],
)
def test_a_note_refuses_a_lifetime_of_nothing(memory: Memory, ttl: Ttl, code: str) -> None:
    with unchanged(memory), refused(code):
        memory.user("alice").remember("x", key="a", ttl=ttl)


@pytest.mark.parametrize("ttl", [1, 100, timedelta(days=365)])
def test_files_and_assistant_memories_are_given_no_lifetime(memory: Memory, ttl: Ttl) -> None:
    alice = memory.user("alice")
    file = write_as(
        memory, FILES, "alice", NoteInput("Short", "style", hint="How we write", category="user")
    ).id
    saved = alice.assistant.save_memory("user", "where to file infra tickets", "File them in INFRA").id
    for id in (file, saved):
        for change in (partial(alice.edit, id=id, ttl=ttl), partial(alice.renew, id=id, ttl=ttl)):
            with unchanged(memory), refused("invalid_field"):
                change()
        with unchanged(memory), refused("invalid_field"):
            alice.renew(id=id)
        assert alice.get(id=id).expires_at is None
        assert alice.edit(id=id, no_expiry=True).expires_at is None


def test_a_note_lives_for_ever_unless_asked_otherwise(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    assert alice.remember("x", key="a").expires_at is None
    assert alice.remember("x", key="b", ttl=1).expires_us == clock.now + SECOND
    clock.advance(days=36_500)
    assert keys(alice.list()) == ["a"]


@pytest.mark.parametrize("ttl", [None, 0, timedelta(0)])
def test_tool_data_without_a_lifetime_stays_for_ever(memory: Memory, clock: FixedClock, ttl: Ttl) -> None:
    handle = handle_of(memory)
    assert handle.store("a", b"v", ttl=ttl).expires_at is None
    clock.advance(days=36_500)
    assert handle.recall("a").value == b"v"


@pytest.mark.parametrize(
    ("ttl", "code"), [(-1, "ttl_too_short"), (10**30, "ttl_too_long"), (True, "invalid_field")]
)
def test_tool_data_refuses_an_impossible_lifetime(memory: Memory, ttl: Ttl, code: str) -> None:
    with unchanged(memory), refused(code):
        handle_of(memory).store("a", b"v", ttl=ttl)


def test_an_entry_is_there_until_the_last_microsecond_and_gone_at_its_expiry(
    memory: Memory, clock: FixedClock
) -> None:
    alice, handle = memory.user("alice"), handle_of(memory)
    note = alice.remember("x", key="note", ttl=3_600)
    alice.facts.store("fact", "x", ttl_seconds=3_600)
    handle.store("tool", b"x", ttl=3_600)
    clock.advance(seconds=3_600, us=-1)
    assert alice.get("note").text == alice.facts.get("fact").text == handle.recall("tool").text == "x"
    assert keys(alice.list()) == ["fact", "note"]
    clock.advance(us=1)
    assert alice.list() == []
    assert alice.facts.list() == []
    assert handle.list() == []
    assert handle.context() == {}
    assert alice.facts.my_memory().categories == ()
    for look in (
        lambda: alice.get("note"),
        lambda: alice.get(id=note.id),
        lambda: alice.history("note"),
        lambda: alice.facts.get("fact"),
        lambda: handle.recall("tool"),
        lambda: alice.edit("note", text="y"),
        lambda: alice.replace("note", old="x", new="y"),
        lambda: alice.rename("note", new_key="other"),
        lambda: alice.undo("note"),
        lambda: alice.trash("note"),
    ):
        with unchanged(memory), refused("not_found"):
            look()


def test_an_expired_key_written_again_is_a_new_entry_without_the_old_history(
    memory: Memory, clock: FixedClock
) -> None:
    alice = memory.user("alice")
    first = alice.remember("old", key="k", ttl=10)
    alice.remember("older still", key="k", ttl=10)
    clock.advance(seconds=10)
    second = alice.remember("new", key="k")
    assert (second.created, second.revision, second.expires_at) == (True, 1, None)
    assert second.id != first.id
    assert texts(alice, "k") == ["new"]
    assert alice.get("k").created_us == clock.now
    with refused("conflict"):
        alice.undo("k")


def test_an_expired_fact_stored_again_starts_anew(memory: Memory, clock: FixedClock) -> None:
    facts = memory.user("alice").facts
    facts.store("k", "old", ttl_seconds=3_600)
    clock.advance(hours=1)
    again = facts.store("k", "new")
    assert (again.created, again.revision) == (True, 1)
    assert [one.text for one in facts.history("k")] == ["new"]


def test_expected_revision_zero_creates_over_an_expired_entry_only(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("old", key="k", ttl=10)
    with refused("precondition_failed"):
        alice.remember("new", key="k", expected_revision=0)
    clock.advance(seconds=10)
    assert alice.remember("new", key="k", expected_revision=0).revision == 1


def test_a_key_whose_holder_has_expired_is_free_for_a_rename(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("over", key="taken", ttl=10)
    alice.remember("mine", key="draft")
    clock.advance(seconds=10)
    assert alice.rename("draft", new_key="taken").key == "taken"
    assert alice.get("taken").text == "mine"


def test_a_key_whose_holder_has_expired_is_free_for_a_restore(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("first", key="k")
    alice.trash("k")
    alice.remember("over", key="k", ttl=10)
    clock.advance(seconds=10)
    assert alice.restore("k").text == "first"
    assert alice.get("k").text == "first"


def test_a_key_whose_holder_has_expired_is_free_for_an_undone_rename(
    memory: Memory, clock: FixedClock
) -> None:
    alice = memory.user("alice")
    alice.remember("mine", key="a")
    alice.rename("a", new_key="b")
    alice.remember("over", key="a", ttl=10)
    clock.advance(seconds=10)
    assert alice.undo("b").key == "a"


def test_undo_never_brings_back_an_expiry_that_has_passed(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("first", key="k", ttl=10)
    alice.edit("k", text="second", ttl=1_000)
    clock.advance(seconds=10)
    alice.undo("k")
    assert alice.get("k").text == "first"


def test_a_grant_ends_at_its_moment(memory: Memory, clock: FixedClock) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.remember("x", key="k")
    assert alice.share("user:bob", ttl=60).expires_us == clock.now + 60 * SECOND
    clock.advance(seconds=60, us=-1)
    assert bob.get("k", space="user:alice").text == "x"
    assert [space.ref for space in bob.spaces()] == ["bob", "alice"]
    clock.advance(us=1)
    with refused("access_denied"):
        bob.get("k", space="user:alice")
    assert [space.ref for space in bob.spaces()] == ["bob"]
    assert alice.grants() == []


@pytest.mark.parametrize("ttl", [None, 0])
def test_a_grant_without_a_lifetime_stays(memory: Memory, clock: FixedClock, ttl: Ttl) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="k")
    assert alice.share("user:bob", ttl=ttl).expires_at is None
    clock.advance(days=36_500)
    assert memory.user("bob").get("k", space="user:alice").text == "x"


@pytest.mark.parametrize(
    ("ttl", "code"),
    [(-1, "ttl_too_short"), (10**30, "ttl_too_long"), (1.5, "invalid_field"), (True, "invalid_field")],
)
def test_a_grant_refuses_an_impossible_lifetime(memory: Memory, ttl: Ttl, code: str) -> None:
    with unchanged(memory), refused(code):
        memory.user("alice").share("user:bob", ttl=ttl)


def test_sharing_again_replaces_level_and_expiry(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.share("user:bob", level="read", ttl=60)
    alice.share("user:bob", level="readwrite")
    (grant,) = alice.grants()
    assert (grant.level.label, grant.expires_at) == ("readwrite", None)
    alice.share("user:bob", level="search", ttl=30)
    (grant,) = alice.grants()
    assert (grant.level.label, grant.expires_us) == ("search", clock.now + 30 * SECOND)


def test_trash_is_restorable_for_thirty_days_and_then_swept(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="a")
    alice.trash("a")
    clock.advance(days=30)
    assert memory.sweep().trash == 0
    assert alice.restore("a").text == "x"
    alice.trash("a")
    clock.advance(days=30, us=1)
    assert memory.sweep().trash == 1
    assert alice.trashed() == []
    with refused("not_found"):
        alice.restore("a")


def test_what_expires_in_the_trash_cannot_be_restored(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="a", ttl=60)
    alice.trash("a")
    clock.advance(seconds=60)
    assert alice.trashed() == []
    with refused("not_found"):
        alice.restore("a")


def test_a_sweep_counts_what_it_removes_and_leaves_the_rest(memory: Memory, clock: FixedClock) -> None:
    alice, handle = memory.user("alice"), handle_of(memory, "bob", "s1")
    alice.remember("x", key="gone", ttl=10)
    alice.facts.store("fact", "x", ttl_seconds=3_600)
    handle.store("tool", b"x", ttl=10)
    handle.store("kept", b"x")
    alice.remember("x", key="trashed")
    alice.trash("trashed")
    alice.remember("x", key="stays", idempotency_key="once")
    alice.share("user:bob", ttl=10)
    assert memory.sweep().purged == 0
    clock.advance(seconds=10)
    first = memory.sweep()
    assert (first.expired, first.trash, first.grants, first.receipts) == (2, 0, 1, 0)
    clock.advance(days=31)
    second = memory.sweep()
    assert (second.expired, second.trash, second.grants) == (1, 1, 0)
    assert second.receipts >= 1
    assert second.purged == 2
    assert memory.sweep().purged == 0
    assert keys(alice.list()) == ["stays"]
    assert keys(handle.list()) == ["kept"]


def test_a_sweep_frees_the_room_that_expired_entries_took(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    space = alice.remember("x", key="a", ttl=10).space
    assert space is not None
    clock.advance(seconds=10)
    memory.sweep()
    counts = engine_of(memory).sealed.store.spaces.counts(space)
    assert counts is not None
    assert (counts.entries, counts.indexed, counts.length) == (0, 0, 0)


def test_a_sweep_works_in_bounded_batches_and_goes_on_next_time(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.remember_many({"text": "x", "key": f"k{number}", "ttl": 10} for number in range(25))
    clock.advance(seconds=10)
    engine = engine_of(memory)
    assert sweep(engine, batch=5, batches=3).expired == 15
    assert sweep(engine, batch=5, batches=3).expired == 10
    assert sweep(engine, batch=5, batches=3).expired == 0


def test_the_sweep_really_runs_in_the_background(interface: Interface, clock: FixedClock) -> None:
    memory = interface.open(sweep_seconds=0.05)
    alice = memory.user("alice")
    space = alice.remember("x", key="gone", ttl=10).space
    alice.remember("x", key="stays")
    assert space is not None
    clock.advance(seconds=10)
    store = engine_of(memory).sealed.store

    def swept() -> bool:
        counts = store.spaces.counts(space)
        return counts is None or counts.entries == 1

    until(swept, "a sweep")
    assert keys(alice.list()) == ["stays"]


def test_closing_ends_the_background_sweep(interface: Interface) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    memory = interface.open(sweep_seconds=0.05)
    started = [thread for thread in threading.enumerate() if thread.ident not in before]
    assert any("sweep" in thread.name for thread in started)
    memory.close()
    assert not [thread for thread in started if "sweep" in thread.name and thread.is_alive()]


def test_writing_a_note_again_without_a_lifetime_takes_its_expiry_away(
    memory: Memory, clock: FixedClock
) -> None:
    """remember(): the time to live is what this call says, none unless given."""
    alice = memory.user("alice")
    alice.remember("first", key="k", ttl=100)
    clock.advance(seconds=1)
    assert alice.remember("second", key="k").expires_at is None
    assert alice.get("k").expires_at is None
