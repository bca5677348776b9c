"""Recall by meaning: vectors are made after the write, kept over restarts, and missed without any harm."""

from pathlib import Path
from uuid import UUID

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.recall import embed_pending
from tests.behaviours.embedders import HERE, Switchboard
from tests.behaviours.interface import Interface
from tests.behaviours.looking import derived_from, keys, refused
from tests.behaviours.neighbour import Neighbour
from tests.support import FixedClock, until

SENSIBLE = f"{HERE}:sensible"
pytestmark = pytest.mark.usefixtures("board")

PLAIN = {
    "garage": "Alice bought a red car in spring",
    "sofa": "The cat sleeps all day",
    "clinic": "The doctor called on Monday",
    "harbour": "Ships leave at dawn",
}


def fill(own: Own) -> dict[str, UUID]:
    kept = {key: own.remember(text, key=key).id for key, text in PLAIN.items()}
    return {key: entry for key, entry in kept.items() if entry is not None}


def many(own: Own, count: int, first: int = 0) -> None:
    own.remember_many(
        [
            {"text": f"note {number} on topic{number % 7} with item{number % 11}", "key": f"n{number}"}
            for number in range(first, first + count)
        ]
    )


def test_a_note_is_found_without_any_of_its_words(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    status = memory.settle()
    assert (status.pending, status.embedder, status.following, status.note) == (0, "sensible-1", None, None)
    hits = alice.recall("automobile", explain=True)
    assert keys(hits)[0] == "garage"
    assert not hits.degraded
    assert hits[0].why is not None
    assert (hits[0].why.words, hits[0].why.meaning > 0) == (0, True)
    assert keys(alice.recall("kitten"))[0] == "sofa"


def test_a_slip_is_mended_although_every_note_has_a_vector(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    many(alice, 300)
    alice.remember("Deploys go through Konflux", key="k")
    memory.settle()
    hits = alice.recall("Konlfux", explain=True)
    assert "k" in keys(hits)
    assert [hit.key for hit in hits if hit.why is not None and hit.why.words > 0] == ["k"]


def test_the_only_note_of_a_space_is_found_by_meaning(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    memory.user("alice").remember("a red car", key="k")
    memory.settle()
    assert keys(memory.user("alice").recall("automobile")) == ["k"]


def test_words_and_meaning_add_up_in_an_explained_score(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    fill(memory.user("alice"))
    memory.settle()
    for hit in memory.user("alice").recall("the red automobile of Alice", explain=True):
        why = hit.why
        assert why is not None
        whole = (why.words + why.meaning + why.conversation) * (1 + sum(why.factors.values())) * why.role
        assert whole == pytest.approx(hit.score, rel=1e-5)


def test_a_write_does_not_wait_for_its_vector_and_is_found_by_words_at_once(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=f"{HERE}:held")
    alice = memory.user("alice")
    fill(alice)
    assert keys(alice.recall("dawn")) == ["harbour"]
    assert board.notes == []
    assert memory.index().pending == 4
    board.gate.set()
    memory.settle()
    assert sorted(board.notes) == sorted(PLAIN.values())
    assert memory.index().pending == 0


def test_the_first_recall_of_a_new_store_is_not_degraded(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedder works, and there is no other whose vectors would have to be made anew."""
    monkeypatch.setattr(embed_pending, "STEP_SECONDS", 60)
    memory = interface.open(embedder=SENSIBLE)
    memory.user("alice").remember("the cat", key="k")
    hits = memory.user("alice").recall("cat")
    assert (keys(hits), hits.degraded, hits.note) == (["k"], False, None)


def test_settling_has_an_end_and_says_what_still_waits(interface: Interface, board: Switchboard) -> None:
    memory = interface.open(embedder=f"{HERE}:held")
    fill(memory.user("alice"))
    with pytest.raises(Exception, match="4 entries still wait") as caught:
        memory.settle(timeout=0.2)
    assert getattr(caught.value, "code", "") == "unavailable"


def test_only_what_can_be_found_gets_a_vector(interface: Interface, board: Switchboard) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    alice.remember("seen", key="seen")
    alice.remember("encrypted", key="encrypted", encrypted=True)
    alice.remember("internal", key="internal", in_context=False)
    handle = memory.handle("alice")
    assert handle is not None
    handle.store("handler", "handler value")
    memory.settle()
    assert board.notes == ["seen"]


def test_what_changes_gets_a_new_vector_and_nothing_else_does(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    memory.settle()
    board.notes.clear()
    alice.edit("sofa", text="An automobile is parked outside")
    memory.settle()
    assert board.notes == ["An automobile is parked outside"]
    assert set(keys(alice.recall("vehicle"))[:2]) == {"garage", "sofa"}


def test_a_hint_and_the_note_before_in_a_conversation_are_embedded_with_the_text(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    alice.remember("Did you buy it?", key="q", conversation="c", at="2026-01-01T10:00:00Z")
    alice.remember("Yes, in May!", key="a", conversation="c", at="2026-01-01T10:01:00Z")
    alice.remember("text", key="h", hint="the hint")
    memory.settle()
    assert board.notes == ["Did you buy it?", "Did you buy it?\nYes, in May!", "the hint\ntext"]


def test_a_restored_note_is_found_by_meaning_again_without_being_embedded_again(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    memory.settle()
    alice.trash("garage")
    assert "garage" not in keys(alice.recall("automobile"))
    alice.restore("garage")
    assert keys(alice.recall("automobile"))[0] == "garage"
    memory.settle()
    assert len(board.notes) == 4


def test_a_note_restored_before_it_had_a_vector_gets_one(interface: Interface, board: Switchboard) -> None:
    memory = interface.open(embedder=f"{HERE}:held")
    alice = memory.user("alice")
    fill(alice)
    alice.trash("garage")
    board.gate.set()
    memory.settle()
    alice.restore("garage")
    memory.settle()
    assert keys(alice.recall("automobile"))[0] == "garage"


def test_a_note_restored_while_others_are_embedded_gets_its_vector(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=f"{HERE}:held")
    alice = memory.user("alice")
    ids = fill(alice)
    alice.trash("garage")
    with refused("unavailable"):
        memory.settle(timeout=0.3)
    alice.restore("garage")
    board.gate.set()
    memory.settle()
    assert derived_from(memory, ids["garage"]) == ["sensible-1"]


# Restarts and other processes


def test_vectors_outlive_a_restart_without_being_made_again(
    interface: Interface, board: Switchboard, tmp_path: Path
) -> None:
    first = interface.open(tmp_path / "m.db", embedder=SENSIBLE)
    fill(first.user("alice"))
    first.settle()
    before = [(hit.key, hit.score) for hit in first.user("alice").recall("automobile")]
    first.close()
    board.notes.clear()
    again = interface.open(tmp_path / "m.db", embedder=SENSIBLE)
    assert again.settle().pending == 0
    assert [(hit.key, hit.score) for hit in again.user("alice").recall("automobile")] == before
    assert board.notes == []
    assert board.opened == 2


def test_work_that_stopped_half_way_goes_on_where_it_stopped(
    interface: Interface, board: Switchboard, tmp_path: Path
) -> None:
    """Vectors are kept in batches; what was embedded in a batch that did not end is embedded again, nothing else."""
    first = interface.open(tmp_path / "m.db", embedder=SENSIBLE)
    board.breaks_after = 40
    many(first.user("alice"), 100)
    with refused("unavailable"):
        first.settle()
    left = first.index().pending
    assert 60 <= left < 100
    first.close()
    board.reset()
    again = interface.open(tmp_path / "m.db", embedder=SENSIBLE)
    assert again.index().pending == left
    assert again.settle().pending == 0
    assert len(board.notes) == left


def test_notes_kept_without_an_embedder_get_their_vectors_once_there_is_one(
    interface: Interface, board: Switchboard, tmp_path: Path
) -> None:
    words = interface.open(tmp_path / "m.db")
    fill(words.user("alice"))
    assert words.user("alice").recall("automobile") == []
    words.close()
    memory = interface.open(tmp_path / "m.db", embedder=SENSIBLE)
    assert memory.index().pending == 4
    memory.settle()
    assert keys(memory.user("alice").recall("automobile"))[0] == "garage"
    memory.close()
    without = interface.open(tmp_path / "m.db").user("alice").recall("automobile")
    assert (list(without), without.degraded) == ([], False)


def test_another_process_goes_on_where_the_first_was_killed(interface: Interface, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory = interface.open(path)
    many(memory.user("alice"), 150)
    memory.close()
    with Neighbour(path, SENSIBLE) as first:
        assert first.call("pending") <= 150
        first.kill()
    with Neighbour(path, SENSIBLE) as second:
        second.call("remember", "a red car", key="car")
        assert second.call("settle") == 0
        assert second.call("recall", "automobile")[0] == "car"
    again = interface.open(path, embedder=SENSIBLE)
    assert again.index().pending == 0
    assert keys(again.user("alice").recall("automobile"))[0] == "car"


def test_vectors_that_another_process_makes_are_used_at_once(
    interface: Interface, board: Switchboard, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    here = interface.open(path, embedder=f"{HERE}:held")
    alice = here.user("alice")
    fill(alice)
    assert alice.recall("automobile") == []
    with Neighbour(path, SENSIBLE) as there:
        assert there.call("settle") == 0
        assert keys(alice.recall("automobile"))[0] == "garage"
        there.call("purge", "garage")
        assert "garage" not in keys(alice.recall("automobile"))
    assert board.notes == []


# An embedder that breaks


def test_a_broken_embedder_leaves_word_results_and_says_so_until_it_recovers(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    memory.settle()
    board.broken = True
    hits = alice.recall("the cat")
    assert (keys(hits), hits.degraded) == (["sofa"], True)
    assert "RuntimeError" in (hits.note or "")
    assert "RuntimeError" in (memory.index().note or "")
    assert alice.recall("automobile") == []
    alice.remember("A new kitten came", key="new")
    assert keys(alice.recall("kitten")) == ["new"]
    with refused("unavailable"):
        memory.settle(timeout=0.3)
    board.broken = False
    until(lambda: not alice.recall("automobile").degraded)
    memory.settle()
    assert keys(alice.recall("automobile"))[0] == "garage"
    assert {"sofa", "new"} >= set(keys(alice.recall("feline"))[:2])
    assert memory.index().note is None


def test_an_embedder_that_cannot_be_opened_leaves_words_and_is_tried_again(
    interface: Interface, board: Switchboard
) -> None:
    board.broken = True
    memory = interface.open(embedder=f"{HERE}:unopened")
    alice = memory.user("alice")
    fill(alice)
    hits = alice.recall("cat")
    assert (keys(hits), hits.degraded) == (["sofa"], True)
    assert "no such model" in (hits.note or "")
    board.broken = False
    until(lambda: not alice.recall("cat").degraded)
    memory.settle()
    assert keys(alice.recall("automobile"))[0] == "garage"


@pytest.mark.parametrize("name", ["no.such.module:make", f"{HERE}:missing"])
def test_an_embedder_that_does_not_exist_leaves_words(interface: Interface, name: str) -> None:
    memory = interface.open(embedder=name)
    alice = memory.user("alice")
    alice.remember("the cat", key="k")
    hits = alice.recall("cat")
    assert (keys(hits), hits.degraded, hits.note is not None) == (["k"], True, True)
    with refused("unavailable"):
        memory.settle(timeout=0.2)


def test_an_empty_question_needs_no_embedder(interface: Interface, board: Switchboard) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    memory.settle()
    board.broken = True
    hits = alice.recall("")
    assert (len(hits), hits.degraded) == (4, False)


def test_a_text_that_the_model_cannot_take_leaves_the_others_their_vectors(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    board.poison = "unspeakable"
    alice.remember("an unspeakable thing", key="bad")
    fill(alice)
    memory.settle()
    assert keys(alice.recall("automobile"))[0] == "garage"


# What may be seen


def test_the_nearest_note_of_another_principal_is_absent_and_not_lower(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice, bob = memory.user("alice"), memory.user("bob")
    fill(alice)
    bob.remember("The garden needs rain", key="bobs")
    bob.remember("Taxes are due", key="taxes")
    memory.settle()
    assert keys(alice.recall("automobile"))[0] == "garage"
    assert set(keys(bob.recall("automobile"))) <= {"bobs", "taxes"}


def test_filters_hold_for_what_is_found_by_meaning(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    alice.remember("Another car", key="tagged", tags=["t"])
    alice.remember("Something else", key="else", tags=["t"])
    memory.settle()
    assert keys(alice.recall("automobile", tags=["t"]))[:1] == ["tagged"]
    assert "garage" not in keys(alice.recall("automobile", tags=["t"]))


def test_an_expired_trashed_or_purged_note_is_not_found_by_meaning(
    interface: Interface, clock: FixedClock
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    fill(alice)
    alice.remember("A fast car", key="expiring", ttl=60)
    alice.remember("A slow car", key="trashed")
    alice.remember("A blue car", key="purged")
    memory.settle()
    assert set(keys(alice.recall("automobile"))[:4]) == {"garage", "expiring", "trashed", "purged"}
    clock.advance(seconds=60)
    alice.trash("trashed")
    alice.purge("purged")
    assert {"expiring", "trashed", "purged"} & set(keys(alice.recall("automobile"))) == set()
    assert keys(alice.recall("automobile"))[0] == "garage"


def test_purging_and_forgetting_remove_what_was_derived(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    ids = fill(alice)
    memory.settle()
    assert {key: derived_from(memory, entry) for key, entry in ids.items()} == {
        key: ["sensible-1"] for key in ids
    }
    alice.purge("garage")
    alice.forget("key:sofa")
    assert [derived_from(memory, ids[key]) for key in ("garage", "sofa", "clinic")] == [
        [],
        [],
        ["sensible-1"],
    ]
    alice.forget("all")
    assert derived_from(memory, ids["clinic"]) == []
    assert memory.settle().pending == 0


def test_a_moved_note_takes_its_meaning_along_and_leaves_nothing_behind(interface: Interface) -> None:
    memory = interface.open(embedder=SENSIBLE)
    alice = memory.user("alice")
    alice.create_space("team")
    alice.remember("The ferry is late", key="other", space="shared:team")
    ids = fill(alice)
    memory.settle()
    moved = alice.rename("garage", new_key="garage", to_space="shared:team")
    memory.settle()
    assert derived_from(memory, ids["garage"]) == []
    assert derived_from(memory, moved.id) == ["sensible-1"]
    assert keys(alice.recall("automobile", spaces=["team"]))[0] == "garage"


@pytest.mark.parametrize("name", ["held", "held_signed"])
def test_a_note_that_waits_for_its_vector_is_no_hit_for_what_it_does_not_say(
    interface: Interface, board: Switchboard, name: str
) -> None:
    memory = interface.open(embedder=f"{HERE}:{name}")
    alice = memory.user("alice")
    board.gate.set()
    fill(alice)
    alice.remember("Taxes are due in autumn", key="taxes")
    memory.settle()
    board.gate.clear()
    alice.remember("Rain is good for the garden", key="waiting")
    assert not alice.recall("automobile").degraded
    assert "waiting" in keys(alice.recall("garden"))
    assert "waiting" not in keys(alice.recall("automobile"))


@pytest.mark.parametrize("text", ["", " ", "wal\0rus", "\ud800", "x" * 1_000_000, 'a" OR b*'])
def test_any_text_is_a_question_for_an_embedder_too(interface: Interface, text: str) -> None:
    memory = interface.open(embedder=SENSIBLE)
    fill(memory.user("alice"))
    memory.settle()
    assert not memory.user("alice").recall(text).degraded


def test_opening_and_writing_do_not_load_the_embedder_until_it_is_needed(
    interface: Interface, board: Switchboard
) -> None:
    memory = interface.open(embedder=SENSIBLE)
    memory.index()
    assert memory.user("alice").list() == []
    assert board.opened == 0
