"""Spaces opened in several nodes at once: each follows what the others write, and the database compares what is too
large to be opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import session_in
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
        snapshots = session_in(door).engine.index.snapshots
        monkeypatch.setattr(snapshots, "_ceiling", 0)
        there = [{hit.key: hit.score for hit in door.recall(question["text"])} for question in asked]
        (kept,) = snapshots._kept.values()
        assert kept.snapshot.compared_there
        assert not kept.snapshot.matrix.used
        assert kept.word_table is None
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
        snapshots = session_in(door).engine.index.snapshots
        monkeypatch.setattr(snapshots, "_ceiling", 50 * 384 * 4)
        compared = []
        for count in (60, -25, -20):
            if count > 0:
                door.remember_many([{"text": f"more {n}", "key": f"m/{n}"} for n in range(40, count)])
            else:
                for key in [entry.key for entry in door.list(limit=-count)]:
                    door.purge(key)
            memory.settle()
            assert found(door, "note 3")
            compared.append([kept.snapshot.compared_there for kept in snapshots._kept.values()])
    assert compared == [[True], [True], [False]]


def asked_for(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The statements that go to the server from now on, those sent in one go together."""
    connections, sent = memory._engine().sealed.store._connections, list[list[str]]()  # type: ignore[attr-defined]
    send = connections.send

    def noted(db: Any, statements: Any, *also: Any) -> Any:
        sent.append([statement.name for statement, _ in statements])
        return send(db, statements, *also)

    monkeypatch.setattr(connections, "send", noted)
    return sent


def test_a_recall_in_opened_spaces_asks_for_all_counters_at_once_and_then_for_the_winners(
    nodes: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = nodes[0]
    door = node.user("alice")
    door.create_space("team")
    door.remember("the harbour opens at dawn", key="harbour")
    door.remember("the harbour closes at dusk", key="closing", space="shared:team")
    node.settle()
    assert set(found(door, "harbour")) == {"harbour", "closing"}
    sent = asked_for(node, monkeypatch)
    assert set(found(door, "harbour")) == {"harbour", "closing"}
    # What is known for a second (models, rules, spaces) may be asked for again on a slow machine.
    hot = [names for names in sent if names[0] in ("spaces.state", "entries.shown")]
    assert hot == [["spaces.state", "spaces.state"], ["entries.shown"], ["entries.shown"]]


def test_what_was_ranked_ahead_is_ranked_again_when_the_counters_say_so(
    nodes: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node writes after this one has ranked by what it had opened, and before it asked."""
    writer, reader = (memory.user("alice") for memory in nodes)
    writer.remember("the harbour opens at dawn", key="harbour")
    nodes[0].settle()
    assert found(reader, "harbour") == ["harbour"]
    snapshots = nodes[1]._engine().index.snapshots
    opened_before = snapshots.opened

    def overtaken(*told: Any) -> Any:
        snapshot = opened_before(*told)
        writer.remember("the ferry leaves at noon", key="ferry")
        return snapshot

    monkeypatch.setattr(snapshots, "opened", overtaken)
    assert found(reader, "ferry")[0] == "ferry"
