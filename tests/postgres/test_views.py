"""Spaces opened in several nodes at once: each follows what the others write, and the database compares what is too
large to be opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holdfast
from holdfast.entrypoints.python import Memory, Own
from tests.postgres.databases import empty_database, url_of
from tests.postgres.test_same_hits import KEY, fill, read, ticking

WORDS = "tests.postgres.test_same_hits:by_words"


def opened(dsn: str) -> Memory:
    return holdfast.open(url_of(dsn), key=KEY, embedder=WORDS, sweep_seconds=0, clock=ticking())


@pytest.fixture
def database() -> Iterator[str]:
    with empty_database() as dsn:
        yield dsn


@pytest.fixture
def nodes(database: str) -> Iterator[tuple[Memory, Memory]]:
    with opened(database) as first, opened(database) as second:
        yield first, second


def found(door: Own, question: str) -> list[str]:
    answer = door.recall(question, limit=3)
    assert not answer.degraded
    return [hit.key for hit in answer]


def test_what_one_node_writes_changes_and_forgets_another_finds_at_once(nodes: tuple[Memory, Memory]) -> None:
    writer, reader = (memory.user("alice") for memory in nodes)
    writer.remember("the harbour opens at dawn", key="harbour")
    assert found(reader, "harbour")[0] == "harbour"
    writer.remember("the lighthouse is red", key="lighthouse")
    assert found(reader, "lighthouse")[0] == "lighthouse"
    writer.remember("the ferry leaves at noon", key="harbour")
    assert found(reader, "ferry")[0] == "harbour"
    writer.purge("lighthouse")
    assert "lighthouse" not in found(reader, "lighthouse red")


def test_words_and_vectors_are_found_while_and_after_another_node_rotates_the_key(
    nodes: tuple[Memory, Memory],
) -> None:
    rotating, reader = nodes
    door = reader.user("alice")
    rotating.user("alice").remember_many(
        [{"text": f"note {n} of word{n}", "key": f"n/{n}"} for n in range(300)]
    )
    rotating.settle()
    before = [found(door, f"word{n}") for n in range(0, 300, 50)]
    space = next(iter(rotating.user("alice").spaces())).id
    meanwhile: list[list[str]] = []
    rotating.keys.rotate_data(space, progress=lambda done: meanwhile.append(found(door, "word100")))
    assert meanwhile
    assert all(keys[0] == "n/100" for keys in meanwhile)
    assert [found(door, f"word{n}") for n in range(0, 300, 50)] == before
    assert [found(rotating.user("alice"), f"word{n}") for n in range(0, 300, 50)] == before


def test_what_is_too_large_to_be_opened_the_database_compares_with_nearly_the_same_scores(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(database) as memory:
        fill(memory)
        asked = read("questions.jsonl")[::5]
        door = memory.user("alice")
        here = [{hit.key: hit.score for hit in door.recall(question["text"])} for question in asked]
    with opened(database) as memory:
        door = memory.user("alice")
        views = door._seat.engine.index.views
        monkeypatch.setattr(views, "_ceiling", 0)
        there = [{hit.key: hit.score for hit in door.recall(question["text"])} for question in asked]
        (kept,) = views._kept.values()
        assert kept.view.compared_there
        assert not kept.view.matrix.used
        assert kept.lexicon is None
    for one, other in zip(here, there, strict=True):
        assert sorted(other.values()) == pytest.approx(sorted(one.values()), abs=1e-3)
        assert len(one.keys() & other.keys()) >= len(one) - 1


def test_a_space_is_opened_until_it_outgrows_the_ceiling_and_again_when_it_is_half_of_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(database) as memory:
        door = memory.user("alice")
        door.remember_many([{"text": f"note {n}", "key": f"n/{n}"} for n in range(40)])
        memory.settle()
        views = door._seat.engine.index.views
        monkeypatch.setattr(views, "_ceiling", 50 * 384 * 4)
        compared = []
        for count in (60, -25, -20):
            if count > 0:
                door.remember_many([{"text": f"more {n}", "key": f"m/{n}"} for n in range(40, count)])
            else:
                for key in [entry.key for entry in door.list(limit=-count)]:
                    door.purge(key)
            memory.settle()
            assert found(door, "note 3")
            compared.append([kept.view.compared_there for kept in views._kept.values()])
    assert compared == [[True], [True], [False]]
