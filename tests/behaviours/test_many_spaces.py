"""A search over many spaces: it finds what a search of each by itself would, and nothing that was just withdrawn."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.recall import ranker
from tests.behaviours.embedders import HERE
from tests.behaviours.interface import Interface
from tests.behaviours.looking import keys

NEVER = 1_000_000
SPACES = 7
LONG = " ".join(["The harbour is quiet in winter, and the boats wait."] * 30)
NOTES: tuple[dict[str, Any], ...] = (
    {"text": "Alice bought a red car in spring", "tags": ["car"]},
    {"text": "Shall we sell the boat?", "speaker": "Mia", "conversation": "one"},
    {"text": "Yes, in May!", "speaker": "Anna", "conversation": "one"},
    {"text": "The red boat was sold", "at": datetime(2023, 5, 8, tzinfo=UTC), "category": "boats"},
    {"text": LONG, "hint": "boats in winter"},
    {"text": "Always write to Mia about the boat", "always_inject": True},
)
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("red boat", {}),
    ("When was the boat of Mia sold in May 2023?", {"explain": True}),
    ("red", {"tags": ["car"]}),
    ("boat", {"category": "boats", "limit": 3}),
    ("boat", {"until": datetime(2024, 1, 1, tzinfo=UTC)}),
    ("harbur", {"explain": True}),
    ("automobile", {"explain": True}),
    ("", {}),
)


def fill(alice: Own) -> None:
    for number in range(SPACES):
        alice.create_space(f"space{number}")
        for at, note in enumerate(NOTES[number % 3 :]):
            alice.remember(**note, key=f"{number}-{at}", space=f"shared:space{number}")
    alice.create_space("empty")
    alice.remember("a boat of her own", key="own")


@pytest.fixture(params=["none", f"{HERE}:sensible"], ids=["words", "words and vectors"])
def alice(interface: Interface, request: pytest.FixtureRequest, board: object) -> Own:
    memory = interface.open(embedder=request.param)
    fill(memory.user("alice"))
    memory.settle()
    return memory.user("alice")


def told(own: Own) -> list[Any]:
    hits = [own.recall(query, **{"limit": 100, **asked}) for query, asked in ASKED]
    return [[(hit.entry.key, hit.score, hit.why and asdict(hit.why)) for hit in each] for each in hits]


def test_spaces_that_are_ranked_together_give_the_hits_of_each_by_itself(
    alice: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = told(alice)
    monkeypatch.setattr(ranker, "JOINED_FROM", NEVER)
    assert together == told(alice)
    assert sum(map(len, together)) > 40


def test_why_not_agrees_with_a_search_over_many_spaces(alice: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [hit.entry for hit in alice.recall("", limit=100)]
    hits = keys(alice.recall("red boat", limit=100))
    together = [alice.why_not("red boat", entry.id, limit=5) for entry in everything]
    for entry, why in zip(everything, together, strict=True):
        assert why.rank == (hits.index(entry.key) + 1 if entry.key in hits else None)
    monkeypatch.setattr(ranker, "JOINED_FROM", NEVER)
    assert together == [alice.why_not("red boat", entry.id, limit=5) for entry in everything]


def test_large_spaces_stand_beside_joined_ones(alice: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    before = told(alice)
    monkeypatch.setattr(ranker, "SMALL", 7)
    assert told(alice) == before
    monkeypatch.setattr(ranker, "JOINED", 20)
    assert told(alice) == before


def test_what_is_written_or_removed_shows_in_the_next_search_over_many_spaces(alice: Own) -> None:
    before = keys(alice.recall("red boat", limit=100))
    alice.remember("another red boat", key="new", space="shared:space3")
    assert set(keys(alice.recall("red boat", limit=100))) == {*before, "new"}
    alice.trash("new", space="shared:space3")
    assert keys(alice.recall("red boat", limit=100)) == before


def test_a_grant_withdrawn_closes_its_space_to_the_next_search_over_many(memory: Memory) -> None:
    owners = [memory.user(f"owner{number}") for number in range(6)]
    for number, owner in enumerate(owners):
        owner.remember("a red boat", key=f"boat{number}")
        owner.share("user:bob", level="read")
    bob = memory.user("bob")
    assert sorted(keys(bob.recall("boat"))) == [f"boat{number}" for number in range(6)]
    owners[2].unshare("user:bob")
    assert sorted(keys(bob.recall("boat"))) == ["boat0", "boat1", "boat3", "boat4", "boat5"]
    owners[2].share("user:bob", level="search")
    assert len(bob.recall("boat")) == 6
