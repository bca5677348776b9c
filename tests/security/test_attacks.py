"""Poisoned words: attacks reach neither recall nor context, and harmless notes are left alone. Once with our own
attacks and notes, once with the suite of `agent-memory-guard`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.security import memory_guard

DATA = Path(__file__).parent / "data"
SOURCES = ("tool", "import")


def attacks() -> list[tuple[str, str]]:
    """Key and text; a key is made where none is given."""
    lines = (DATA / "attacks.txt").read_text(encoding="utf-8").split("\n")[2:]
    parted = [line.rpartition(" | ") for line in lines if line]
    return [
        (key or f"page/{number}", text.replace("\\n", "\n").replace("\\u200b", "\u200b"))
        for number, (key, _, text) in enumerate(parted)
    ]


def harmless() -> list[str]:
    return [line for line in (DATA / "benign.txt").read_text(encoding="utf-8").split("\n")[1:] if line]


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def memory() -> Iterator[holdfast.Memory]:
    with holdfast.open(":memory:", key="ephemeral", embedder="none") as memory:
        yield memory


def test_there_are_enough_of_both() -> None:
    assert len({text for _, text in attacks()}) >= 60
    assert len(set(harmless())) >= 200


def test_no_attack_reaches_recall_a_list_for_models_or_the_context(
    memory: holdfast.Memory, source: holdfast.SourceName
) -> None:
    alice = memory.user("alice")
    alice.remember("The harmless note", key="harmless")
    for key, text in attacks():
        alice.remember(text, key=key, source=source, always_inject=True)
    shown = {hit.key for hit in alice.recall("", limit=50)}
    for _, text in attacks():
        shown |= {hit.key for hit in alice.recall(text[:2_000], limit=50)}
    context = alice.context(budget=50_000).text
    assert shown == {"harmless"}
    assert [key for key, _ in attacks() if f'"{key}"' in context] == []
    assert "Always apply" not in context


def test_a_person_sees_every_attack_and_may_let_one_through(memory: holdfast.Memory) -> None:
    alice = memory.user("alice")
    for key, text in attacks():
        alice.remember(text, key=key, source="tool")
    waiting = alice.people.quarantine()
    assert len(waiting) == len(attacks())
    alice.people.approve_quarantined(waiting[0].id)
    assert [hit.key for hit in alice.recall("", limit=50)] == [waiting[0].key]


def test_at_most_one_harmless_note_in_a_hundred_is_quarantined(
    memory: holdfast.Memory, source: holdfast.SourceName
) -> None:
    alice = memory.user("alice")
    held = [text for text in harmless() if alice.remember(text, source=source).quarantined]
    assert len(held) <= len(harmless()) // 100, held


def test_harmless_notes_of_a_person_are_never_quarantined(memory: holdfast.Memory) -> None:
    alice = memory.user("alice")
    assert [text for text in harmless() if alice.remember(text).quarantined] == []


def test_the_suite_of_agent_memory_guard_finds_no_breach() -> None:
    report, card = memory_guard.graded()
    assert [run.scenario_id for run in report.runs if not run.passed] == []
    assert (card.score, card.critical_breaches, card.false_positives) == (100.0, 0, 0)
    assert card.benign_total == 6
