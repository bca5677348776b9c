"""What says nearly the same, and what takes the place of what."""

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.embedders import HERE
from tests.behaviours.interface import Interface
from tests.behaviours.looking import keys, refused
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def test_the_answer_to_remember_lists_what_says_nearly_the_same(alice: Own) -> None:
    alice.remember("Deploys to prod on Fridays are forbidden", key="old")
    again = alice.remember("Deploy to prod on Fridays is forbidden", key="new", similar=True)
    assert [(one.key, one.verdict, one.guard) for one in again.similar or ()] == [("old", "same", None)]


def test_a_substituted_word_is_named_as_what_keeps_two_notes_apart(alice: Own) -> None:
    alice.remember("Deploys to prod on Fridays are forbidden", key="prod")
    staging = alice.remember("Deploys to staging on Fridays are forbidden", key="staging", similar=True)
    assert staging.similar is not None
    [one] = staging.similar
    assert (one.key, one.verdict, one.guard) == ("prod", "similar", "substituted word")
    assert 0.6 <= one.jaccard < 1


def test_nothing_is_similar_to_a_note_on_its_own(alice: Own) -> None:
    alice.remember("The harbour opens at dawn", key="harbour")
    assert alice.remember("Tabs are four wide", key="tabs", similar=True).similar == []


def test_similar_looks_into_the_same_room_of_the_same_space_alone(memory: Memory, alice: Own) -> None:
    alice.facts.store("fact", "Deploys to prod on Fridays are forbidden")
    memory.user("bob").remember("Deploys to prod on Fridays are forbidden", key="bobs")
    alice.create_space("team")
    alice.remember("Deploys to prod on Fridays are forbidden", key="teams", space="shared:team")
    assert alice.remember("Deploys to prod on Fridays are forbidden", key="mine", similar=True).similar == []
    assert alice.similar("mine") == []


def test_similar_can_be_asked_for_later_and_follows_what_changed(alice: Own) -> None:
    alice.remember("Deploys to prod on Fridays are forbidden", key="a")
    alice.remember("Deploy to prod on Fridays is forbidden", key="b")
    assert keys(alice.similar("a")) == ["b"]
    alice.trash("b")
    assert alice.similar("a") == []
    with refused("not_found"):
        alice.similar("b")


@pytest.mark.usefixtures("board")
def test_the_nearest_in_meaning_is_similar_however_many_newer_ones_are_near(interface: Interface) -> None:
    memory = interface.open(embedder=f"{HERE}:sensible")
    alice = memory.user("alice")
    alice.remember("vehicle", key="same")
    alice.remember_many([{"text": f"{'automobile ' * 5} x{n}", "key": f"near{n}"} for n in range(30)])
    alice.remember("car", key="asked")
    memory.settle()
    found = alice.similar("asked", limit=50)
    assert len(found) == 20
    assert "same" in keys(found)


def test_many_rows_are_not_compared(alice: Own) -> None:
    alice.remember("Deploys to prod on Fridays are forbidden", key="a")
    [outcome] = alice.remember_many([{"text": "Deploys to prod on Fridays are forbidden", "key": "b"}])
    assert outcome.remembered is not None
    assert outcome.remembered.similar is None


def test_what_is_superseded_goes_to_the_trash_with_the_write_and_can_come_back(alice: Own) -> None:
    old = alice.remember("We deploy with Jenkins", key="old").id
    alice.remember("We deploy with Tekton", key="new", supersedes=old)
    assert keys(alice.list()) == keys(alice.recall("deploy")) == ["new"]
    assert keys(alice.trashed()) == ["old"]
    alice.restore("old")
    assert sorted(keys(alice.recall("deploy"))) == ["new", "old"]


def test_superseding_itself_is_an_ordinary_revision(alice: Own) -> None:
    old = alice.remember("We deploy with Jenkins", key="k").id
    again = alice.remember("We deploy with Tekton", key="k", supersedes=old)
    assert (again.id, again.revision, keys(alice.trashed())) == (old, 2, [])


def test_what_cannot_be_superseded_leaves_nothing_written(memory: Memory, alice: Own) -> None:
    foreign = memory.user("bob").remember("Bob's own", key="k").id
    fact = alice.facts.store("fact", "a fact").id
    for id, code in ((foreign, "not_found"), (fact, "not_found"), ("nonsense", "not_found")):
        with refused(code):
            alice.remember("new", key="new", supersedes=id)
    assert alice.list(partition="notes") == []


def test_superseding_a_note_of_another_in_a_shared_space_needs_the_right_to_remove_it(
    memory: Memory, alice: Own
) -> None:
    alice.create_space("team")
    old = alice.remember("We deploy with Jenkins", key="old", space="shared:team").id
    alice.share("user:bob", space="shared:team", level="readwrite")
    bob = memory.user("bob")
    with refused("access_denied"):
        bob.remember("We deploy with Tekton", key="new", space="shared:team", supersedes=old)
    assert keys(alice.list(space="shared:team")) == ["old"]


def test_a_repeated_request_supersedes_once(alice: Own, clock: FixedClock) -> None:
    old = alice.remember("We deploy with Jenkins", key="old").id
    first = alice.remember("We deploy with Tekton", key="new", supersedes=old, idempotency_key="i")
    clock.advance(seconds=1)
    assert alice.remember("We deploy with Tekton", key="new", supersedes=old, idempotency_key="i") == first
