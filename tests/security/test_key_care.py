"""Keys over the years: counted uses, a backup of wrapped keys, a destroyed key, and the recovery drill."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.contracts.rows import STORE
from holdfast.domain.errors import Conflict, InvalidField, Locked, NotFound
from holdfast.operations import rotate_keys
from holdfast.storage import keyring
from tests.security.raw import run


def opened(folder: Path, key: str | None = None) -> holdfast.Memory:
    return holdfast.open(folder, embedder="none", key=key)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotate_keys, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(keyring, "FRESH_SECONDS", 0.0)


def uses(memory: holdfast.Memory) -> dict[bool, int]:
    """Whether a key is the store's own -> its uses."""
    memory.keys.status()
    engine = memory._opened.engine
    assert engine is not None
    return {key.space == STORE: key.uses for key in engine.sealed.store.keys.most_used(10)}


def test_every_message_sealed_is_counted_over_restarts(tmp_path: Path) -> None:
    for _ in range(3):
        with opened(tmp_path) as memory:
            for number in range(10):
                memory.user("alice").remember(f"note {number}", key=f"k/{number}")
    with opened(tmp_path) as memory:
        # A new entry is one seal; a revision is two, for the one it supersedes is sealed as history.
        assert uses(memory)[False] == 10 + 20 + 20
        assert memory.keys.status().most_used == 50


def test_a_key_that_sealed_enough_is_changed_by_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as memory:
        alice = memory.user("alice")
        alice.remember_many({"text": f"note {n}", "key": f"k/{n}"} for n in range(30))
        monkeypatch.setattr(rotate_keys, "WORN", 31)
        memory.sweep()
        assert {row[0] for row in run(tmp_path, "SELECT key_id FROM entries")} == {1}
        alice.remember("one too many", key="more")
        assert memory.keys.status().worn == 1
        memory.sweep()
        assert {row[0] for row in run(tmp_path, "SELECT key_id FROM entries")} == {2}
        assert alice.get("k/7").text == "note 7"


def test_a_sixteenth_of_what_gcm_allows_is_enough() -> None:
    assert rotate_keys.WORN * 16 <= 2**32


def test_a_backup_holds_wrapped_keys_alone_and_is_for_its_owner(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as memory:
        memory.user("alice").remember("x", key="k")
        assert memory.keys.backup(tmp_path / "keys.json") == 2
        with pytest.raises(Conflict):
            memory.keys.backup(tmp_path / "keys.json")
    saved = tmp_path / "keys.json"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert {key["space"] for key in json.loads(saved.read_text())["keys"]} >= {str(STORE)}
    master = (tmp_path / "store" / "holdfast.key").read_text().strip()
    assert master not in saved.read_text()


def test_lost_keys_are_put_back_from_the_backup_and_everything_opens_again(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as memory:
        kept = memory.user("alice").remember("the text", key="k")
        memory.keys.backup(tmp_path / "keys.json")
        space = kept.space
        assert space is not None
        memory._opened.engine.run_job(lambda tx: tx.keys.delete(space))  # type: ignore[union-attr]
    with opened(tmp_path / "store") as memory:
        with pytest.raises(Locked):
            memory.user("alice").get("k")
        assert memory.keys.restore(tmp_path / "keys.json").restored == 1
        assert memory.user("alice").get("k").text == "the text"
        assert memory.keys.restore(tmp_path / "keys.json").present == 2


def test_what_rotation_destroyed_is_not_put_back(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as memory:
        memory.user("alice").remember("the text", key="k")
        memory.keys.backup(tmp_path / "keys.json")
        memory.keys.rotate_data()
        done = memory.keys.restore(tmp_path / "keys.json")
    assert (done.restored, done.present, done.unneeded) == (0, 1, 1)


def test_keys_under_another_master_and_other_files_are_not_taken(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as memory:
        memory.user("alice").remember("x", key="k")
        memory.keys.backup(tmp_path / "keys.json")
    with opened(tmp_path / "two") as memory:
        assert memory.keys.restore(tmp_path / "keys.json").restored == 0
        (tmp_path / "other.json").write_text("{}")
        with pytest.raises(InvalidField):
            memory.keys.restore(tmp_path / "other.json")


def test_a_throw_away_key_is_not_backed_up(tmp_path: Path) -> None:
    with opened(tmp_path, key="ephemeral") as memory, pytest.raises(Conflict):
        memory.keys.backup(tmp_path / "keys.json")


def test_a_space_whose_keys_are_destroyed_is_unreadable_in_old_copies_too(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as memory:
        alice, bob = memory.user("alice"), memory.user("bob")
        kept = alice.remember("never again", key="k")
        bob.remember("stays", key="k")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("holdfast.db", "holdfast.key"):
        (copy / name).write_bytes((tmp_path / "store" / name).read_bytes())
    with apsw.Connection(str(copy / "holdfast.db")) as db:
        db.execute("DELETE FROM data_keys").fetchall()  # a backup without wrapped keys
    with opened(tmp_path / "store") as memory:
        assert kept.space is not None
        assert memory.keys.destroy(kept.space) == 1
        with pytest.raises(Locked):
            memory.user("alice").get("k")
        assert memory.user("bob").get("k").text == "stays"
        memory.user("alice").remember("with a new key", key="new")
        assert memory.user("alice").get("new").text == "with a new key"
        memory.keys.backup(tmp_path / "after.json")
        assert "destroy keys" in [line.operation for line in memory.administration("root").audit()]
        with pytest.raises(NotFound):
            memory.keys.destroy(STORE)
    assert holdfast_restore(copy, tmp_path / "after.json")
    with opened(copy) as memory:
        assert memory.user("bob").get("k").text == "stays"
        with pytest.raises(Locked):
            memory.user("alice").get("k")


def holdfast_restore(folder: Path, backup: Path) -> int:
    from holdfast.entrypoints.python.maintenance import read_file
    from holdfast.settings import load
    from holdfast.wiring import put_back_keys

    return put_back_keys(load(data_dir=str(folder), embedder="none"), read_file(backup)).restored


def test_a_store_whose_own_key_is_gone_opens_again_with_the_backup(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as memory:
        memory.user("alice").remember("the text", key="k")
        memory.keys.backup(tmp_path / "keys.json")
    with apsw.Connection(str(tmp_path / "store" / "holdfast.db")) as db:
        db.execute("DELETE FROM data_keys").fetchall()
    with pytest.raises(Locked):
        opened(tmp_path / "store")
    assert holdfast_restore(tmp_path / "store", tmp_path / "keys.json") == 2
    with opened(tmp_path / "store") as memory:
        assert memory.user("alice").get("k").text == "the text"


def test_the_drill_finds_what_could_not_be_recovered(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for name in ("alice", "bob"):
            memory.user(name).remember("x", key="k")
        drilled = memory.keys.drill()
        assert (drilled.works, drilled.keys, drilled.opened) == (True, 3, 2)
    with apsw.Connection(str(tmp_path / "holdfast.db")) as db:
        db.execute(
            "UPDATE data_keys SET wrapped = zeroblob(60) WHERE space = (SELECT max(space) FROM data_keys)"
        )
    with opened(tmp_path) as memory:
        assert (memory.keys.drill().works, memory.keys.drill().locked) == (False, 1)
