"""A store moved from SQLite to PostgreSQL and back: every row, every revision, every grant, words and meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.domain.errors import Conflict
from holdfast.entrypoints.moving import move_store
from holdfast.entrypoints.python import Memory
from tests.doors import embedders
from tests.doors.embedders import HERE, Switchboard
from tests.postgres.databases import empty_database, url_of

KEY = "11" * 32
SENSIBLE = f"{HERE}:sensible"


def opened(where: str | Path) -> Memory:
    return holdfast.open(where, key=KEY, sweep_seconds=0, embedder=SENSIBLE)


def fill(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("a red car stands in the garage", key="garage", tags=["home"], ttl=10_000)
    alice.remember("a blue car", key="garage")
    alice.remember("the cat sleeps on the sofa", key="sofa", category="pets", always_inject=True)
    alice.remember("to be trashed", key="trashed")
    alice.trash("trashed")
    alice.facts.store("prefs/lang", "prefers Python", tags=["a", "b"], idempotency_key="once")
    alice.create_space("team")
    alice.remember(
        "the harbour opens at dawn", key="harbour", space="shared:team", speaker="Ann", conversation="c"
    )
    alice.share("user:bob", space="shared:team", level="readwrite", ttl=5_000)
    memory.user("bob").remember("ships come late", key="ships", space="shared:team")
    memory.agent("helper").remember_many([{"text": f"note {n}", "key": f"n/{n}"} for n in range(450)])
    memory.administration("root").set_participants("chat-1", ["user:alice", "user:bob"])
    memory.administration("root").set_rules("intern", {"ai.memory.read": False})
    memory.settle()


def told(memory: Memory) -> dict[str, object]:
    """Everything a person can see, by principal."""
    seen: dict[str, object] = {}
    for own in (memory.user("alice"), memory.user("bob"), memory.agent("helper")):
        for space in own.spaces():
            name = f"{own._seat.caller.principal} {space.ref}"
            where = None if space.kind in ("user", "agent") else space.id
            entries = own.list(space=where, limit=1_000)
            seen[f"{name} list"] = list(entries)
            seen[f"{name} trash"] = list(own.trashed(space=where))
            seen[f"{name} history"] = [own.history(id=entry.id) for entry in entries[:20]]
            seen[f"{name} grants"] = own.grants(space=where)
            for question in ("automobile", "harbour ships", "note 17", "cat"):
                hits = own.recall(question, spaces=[where])
                seen[f"{name} {question}"] = [hit.key for hit in hits]
    return seen


@pytest.fixture
def board() -> Switchboard:
    embedders.board.reset()
    return embedders.board


@pytest.fixture
def source(tmp_path: Path, board: Switchboard) -> Path:
    with opened(tmp_path / "source.db") as memory:
        fill(memory)
    return tmp_path / "source.db"


def test_a_store_moved_there_and_back_is_the_same_to_everyone(
    source: Path, tmp_path: Path, board: Switchboard
) -> None:
    with opened(source) as memory:
        before = told(memory)
    made = len(board.notes)
    with empty_database() as database:
        dsn = url_of(database)
        moved = move_store(str(source), dsn, key=KEY)
        assert (moved.spaces, moved.unreadable) == (4, 0)
        assert moved.entries > 450
        assert moved.revisions == 1
        with opened(dsn) as memory:
            memory.settle()
            assert told(memory) == before
        assert move_store(dsn, str(tmp_path / "back.db"), key=KEY).entries == moved.entries
    with opened(tmp_path / "back.db") as memory:
        memory.settle()
        assert told(memory) == before
    assert len(board.notes) == made, "no vector is made again"


def test_moving_goes_on_where_it_stopped(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.storage import moving

    real, calls = moving._put_entries, []

    def stops(*args: object, **said: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*args, **said)  # type: ignore[arg-type]

    with empty_database() as database:
        dsn = url_of(database)
        monkeypatch.setattr(moving, "_put_entries", stops)
        with pytest.raises(KeyboardInterrupt):
            move_store(str(source), dsn, key=KEY)
        monkeypatch.setattr(moving, "_put_entries", real)
        heard: list[int] = []
        assert move_store(str(source), dsn, key=KEY, progress=heard.append).entries == heard[-1]
        assert heard == sorted(heard)


def test_what_was_written_meanwhile_is_brought_over_by_moving_again(source: Path) -> None:
    with empty_database() as database:
        dsn = url_of(database)
        move_store(str(source), dsn, key=KEY)
        with opened(source) as memory:
            memory.user("alice").remember("written later", key="later")
            memory.user("alice").forget("key:sofa")
        move_store(str(source), dsn, key=KEY)
        with opened(dsn) as memory:
            keys = [entry.key for entry in memory.user("alice").list()]
            assert "later" in keys
            assert "sofa" not in keys


def test_another_store_in_the_target_is_left_alone(source: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other.db") as memory:
        memory.user("carol").remember("mine", key="k")
    with pytest.raises(Conflict):
        move_store(str(source), str(tmp_path / "other.db"), key=KEY)
    with opened(tmp_path / "other.db") as memory:
        assert memory.user("carol").get("k").text == "mine"
