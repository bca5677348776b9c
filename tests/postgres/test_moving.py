"""A store moved from SQLite to PostgreSQL and back: every row, every revision, every grant, words and meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

import holdfast
from holdfast.contracts.rows import EntryRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import Conflict
from holdfast.entrypoints.python.memory import Memory, move_store
from holdfast.storage import migrate_store
from holdfast.storage.keyring import SpaceKeys
from holdfast.storage.postgres.store import open_database
from tests.behaviours import embedders
from tests.behaviours.embedders import HERE, Switchboard
from tests.behaviours.looking import session_in
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


def asked_again(memory: Memory) -> object:
    """What the idempotency key of `fill` is answered; a store that knew nothing of it would write."""
    return memory.user("alice").facts.store(
        "prefs/lang", "prefers Python", tags=["a", "b"], idempotency_key="once"
    )


def told(memory: Memory) -> dict[str, object]:
    """Everything a person can see, by principal."""
    seen: dict[str, object] = {}
    for own in (memory.user("alice"), memory.user("bob"), memory.agent("helper")):
        for space in own.spaces():
            name = f"{session_in(own).caller.principal} {space.ref}"
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
        answer = asked_again(memory)
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
            assert asked_again(memory) == answer
        assert move_store(dsn, str(tmp_path / "back.db"), key=KEY).entries == moved.entries
    with opened(tmp_path / "back.db") as memory:
        memory.settle()
        assert told(memory) == before
        assert asked_again(memory) == answer
    assert len(board.notes) == made, "no vector is made again"


class Stopping:
    """Counts the rows that are put, and stops the move at one of its batches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[int] = []
        self.at: int | None = None
        self._real = migrate_store._put_entries
        monkeypatch.setattr(migrate_store, "_put_entries", self._put)

    def _put(self, tx: Transaction, space: UUID, keys: SpaceKeys, rows: Sequence[EntryRow]) -> None:
        if len(self.rows) == self.at:
            raise KeyboardInterrupt
        self._real(tx, space, keys, rows)
        self.rows.append(len(rows))


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def stopped(
    request: pytest.FixtureRequest, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str, Stopping, int]]:
    """Where from and where to, after a move that was stopped within its largest space; how many entries there are."""
    stopping = Stopping(monkeypatch)
    with empty_database() as database:
        places = str(source), url_of(database)
        if request.param == "to SQLite":
            move_store(*places, key=KEY)
            places = places[1], str(tmp_path / "target.db")
        whole = move_store(places[0], str(tmp_path / "whole.db"), key=KEY).entries
        stopping.rows, stopping.at = [], 3
        with pytest.raises(KeyboardInterrupt):
            move_store(*places, key=KEY)
        assert max(stopping.rows) == migrate_store.PAGE, "it stops after a page of a space that has more"
        stopping.at = None
        yield *places, stopping, whole


def test_moving_goes_on_where_it_stopped_within_a_space_too(stopped: tuple[str, str, Stopping, int]) -> None:
    origin, target, stopping, whole = stopped
    heard: list[int] = []
    assert move_store(origin, target, key=KEY, progress=heard.append).entries == heard[-1] == whole
    assert heard == sorted(heard)
    assert sum(stopping.rows) == whole, "no entry is put twice"


def test_what_changed_since_a_move_was_stopped_is_brought_as_it_is_now(
    stopped: tuple[str, str, Stopping, int],
) -> None:
    origin, target, _, _ = stopped
    with opened(origin) as memory:
        helper = memory.agent("helper")
        for number in range(0, 450, 10):
            helper.edit(f"n/{number}", text=f"note {number} rewritten")
        for number in range(5, 450, 10):
            helper.forget(f"key:n/{number}")
            helper.remember(f"note {number} anew", key=f"n/{number}")
        memory.settle()
        before = told(memory)
    move_store(origin, target, key=KEY)
    with opened(target) as memory:
        memory.settle()
        assert told(memory) == before
        hits = memory.agent("helper").recall("rewritten", limit=50)
        assert len([hit for hit in hits if "rewritten" in hit.text]) == 45


def test_how_much_a_key_has_sealed_is_brought_over(source: Path) -> None:
    with empty_database() as database:
        for _ in range(2):
            move_store(str(source), url_of(database), key=KEY)
        with opened(source) as memory:
            used = memory.keys.status().most_used
        with opened(url_of(database)) as memory:
            assert memory.keys.status().most_used == used > 450


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


def test_who_may_read_is_brought_over_by_moving_again_although_no_entry_changed(source: Path) -> None:
    with empty_database() as database:
        dsn = url_of(database)
        move_store(str(source), dsn, key=KEY)
        with opened(source) as memory:
            alice, root = memory.user("alice"), memory.administration("root")
            alice.unshare("user:bob", space="shared:team")
            alice.share("user:carol", space="shared:team", level="read")
            root.set_participants("chat-1", ["user:carol"])
            root.set_rules("intern", {"ai.memory.read": True})
            there = told(memory)
        move_store(str(source), dsn, key=KEY)
        with opened(dsn) as memory:
            assert told(memory) == there
            assert [space.ref for space in memory.user("carol").spaces() if space.kind == "shared"] == [
                "team"
            ]
            assert not [space for space in memory.user("bob").spaces() if space.kind == "shared"]


def test_answers_to_idempotency_keys_and_models_that_went_meanwhile_are_not_left_behind(source: Path) -> None:
    with empty_database() as database:
        dsn = url_of(database)
        move_store(str(source), dsn, key=KEY)
        with opened(source) as memory:
            store = memory._engine().sealed.store
            assert store.write(lambda tx: tx.receipts.delete_before(1 << 60, 100)) == 1
            [model] = store.models.all()
            store.write(lambda tx: tx.derived.drop_model(model.model, 10_000))
            store.write(lambda tx: tx.models.delete(model.model))
        move_store(str(source), dsn, key=KEY)
        moved = open_database(database)
        try:
            assert (moved.copies.receipts((b"", b""), 10), moved.models.all()) == ([], [])
        finally:
            moved.close()


def test_how_far_it_is_is_told_within_a_space_too(source: Path) -> None:
    heard: list[int] = []
    with empty_database() as database:
        moved = move_store(str(source), url_of(database), key=KEY, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == moved.entries
    assert len(set(heard)) > moved.spaces


@pytest.mark.parametrize("part", ["receipts", "models", "data_keys", "grants", "members", "revisions"])
def test_a_row_that_was_lost_on_the_way_is_found_by_comparing(
    source: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.storage import migrate_store

    with empty_database() as database:
        dsn, real = url_of(database), migrate_store.compare

        def lose_one(ours: object, target: object) -> object:
            with psycopg.connect(database, autocommit=True) as db:
                db.execute(f"DELETE FROM holdfast.{part}".encode())
            return real(ours, target)  # type: ignore[arg-type]

        monkeypatch.setattr(migrate_store, "compare", lose_one)
        with pytest.raises(Conflict, match="differ in"):
            move_store(str(source), dsn, key=KEY)


def test_another_store_in_the_target_is_left_alone(source: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other.db") as memory:
        memory.user("carol").remember("mine", key="k")
    with pytest.raises(Conflict):
        move_store(str(source), str(tmp_path / "other.db"), key=KEY)
    with opened(tmp_path / "other.db") as memory:
        assert memory.user("carol").get("k").text == "mine"
