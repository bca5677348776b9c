"""Both backends answer the questions of bench/data with the same entries in the same order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

import holdfast
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.fetched_model import fetched_model
from tests.postgres.databases import empty_database, url_of

DATA = Path(__file__).parents[2] / "bench" / "data"
KEY = "6b" * 32
LIMIT = 10


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


class WordVectors:
    """The mean of a fixed random direction a word: the same text has the same vector in every process. Those that lean
    all point one way, as a small model's do, so that many cosines are nearly equal."""

    dimensions = 384

    def __init__(self, lean: float) -> None:
        self.model_id = f"test-words-{lean}"
        self._lean = lean * _direction("")

    def embed(self, text: str) -> Any:
        total = np.sum([_direction(word) for word in text.lower().split()], axis=0) + self._lean
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    embed_query = embed


def _direction(word: str) -> NDArray[np.float64]:
    drawn = np.random.default_rng(crc32(word.encode())).standard_normal(WordVectors.dimensions)
    return drawn / np.linalg.norm(drawn)


def by_words() -> WordVectors:
    return WordVectors(0.0)


def leaning() -> WordVectors:
    return WordVectors(12.0)


def ticking() -> Callable[[], int]:
    """Every reading is a second later: entries have the same age in both stores."""
    seconds = itertools.count(1_900_000_000)
    return lambda: next(seconds) * 1_000_000


def fill(memory: Memory) -> None:
    door, ids = memory.user("alice"), dict[str, Any]()
    for note in read("memories.jsonl"):
        name, old = note.pop("id"), note.pop("supersedes", None)
        ids[name] = door.remember(**{"key": name, **note}, supersedes=ids.get(old)).id
    memory.settle()


@pytest.fixture
def memories(embedder: str, tmp_path: Path) -> Iterator[tuple[Memory, Memory]]:
    """The same notes on SQLite and on PostgreSQL."""
    if embedder == "default":
        fetched_model()
    with empty_database() as dsn:
        first, second = (
            holdfast.open(where, key=KEY, embedder=embedder, sweep_seconds=0, clock=ticking())
            for where in (tmp_path, url_of(dsn))
        )
        with first, second:
            fill(first)
            fill(second)
            yield first, second


@pytest.fixture
def doors(memories: tuple[Memory, Memory]) -> list[Own]:
    return [memory.user("alice") for memory in memories]


def hits(door: Own, question: str) -> list[tuple[str, float]]:
    answer = door.recall(question, limit=LIMIT)
    assert not answer.degraded
    return [(hit.key, hit.score) for hit in answer]


@pytest.mark.parametrize("embedder", ["none", f"{__name__}:by_words", f"{__name__}:leaning", "default"])
def test_the_same_entries_come_in_the_same_order_with_the_same_scores(doors: list[Own]) -> None:
    on_sqlite, on_postgres = doors
    for question in read("questions.jsonl"):
        assert hits(on_postgres, question["text"]) == hits(on_sqlite, question["text"]), question["text"]


@pytest.mark.parametrize("embedder", [f"{__name__}:leaning"])
def test_they_do_so_too_after_some_notes_changed_and_others_went(
    memories: tuple[Memory, Memory], doors: list[Own]
) -> None:
    for memory, door in zip(memories, doors, strict=True):
        hits(door, "what is known already")
        for number, entry in enumerate(list(door.list(limit=1_000))[::7]):
            if number % 2:
                door.remember(f"{entry.text} Changed since.", key=entry.key)
            else:
                door.trash(entry.key)
        memory.settle()
    on_sqlite, on_postgres = doors
    for question in read("questions.jsonl"):
        assert hits(on_postgres, question["text"]) == hits(on_sqlite, question["text"]), question["text"]


@pytest.mark.parametrize("embedder", ["none", f"{__name__}:leaning"])
def test_they_do_so_too_over_many_spaces_that_are_ranked_together(
    memories: tuple[Memory, Memory], doors: list[Own]
) -> None:
    for memory, door in zip(memories, doors, strict=True):
        for number in range(6):
            door.create_space(f"space{number}")
        for number, note in enumerate(read("memories.jsonl")):
            door.remember(note["text"], key=f"other-{number}", space=f"shared:space{number % 6}")
        memory.settle()
    on_sqlite, on_postgres = doors
    for question in read("questions.jsonl")[:20] * 2:  # the second time by what is opened already
        there = on_postgres.recall(question["text"], explain=True)
        assert [(hit.key, hit.score, hit.why) for hit in there] == [
            (hit.key, hit.score, hit.why) for hit in on_sqlite.recall(question["text"], explain=True)
        ], question["text"]


@pytest.mark.parametrize("embedder", ["none"])
def test_a_namespace_narrows_a_search_on_both(memories: tuple[Memory, Memory]) -> None:
    for memory in memories:
        bot = memory.agent("bot")
        for number in range(LIMIT):
            bot.stores.memory("create", key=f"plain-{number}", content="walrus walrus")
        bot.stores.memory("create", key="of-billing", content="a walrus", namespace="billing")
        found = bot.stores.memory("search", query="walrus", namespace="billing", limit=5)["entries"]
        assert [(hit["key"], hit["namespace"]) for hit in found] == [("of-billing", "billing")]
