"""One key file for each store of a folder, whatever their suffixes."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.crypto.keyfile import key_file_of, next_key_file, stage_next_key
from holdfast.domain.errors import InvalidField, Locked
from holdfast.entrypoints.python.memory import move_store
from holdfast.operations.rotate_keys import rotate_master
from tests.security.raw import KEY, OTHER_KEY, digest, engine_of, open_store

NAMES = ("notes.db", "notes.sqlite", "notes.sqlite.db", "notes.old.db", "notes.old", "notes")


def _open(path: Path, key: str | None = None) -> holdfast.Memory:
    return open_store(f"sqlite:///{path}", key=key)  # type: ignore[arg-type]


def _fill(path: Path, key: str | None = None) -> None:
    with _open(path, key) as memory:
        memory.user("ada").remember(f"kept in {path.name}", key="k")


def _opens(path: Path) -> bool:
    with _open(path) as memory:
        return memory.user("ada").get("k").text == f"kept in {path.name}"


def _rotate(path: Path) -> None:
    with _open(path) as memory:
        assert memory.keys.rotate().keys == 2


def test_every_store_of_a_folder_has_a_key_file_of_its_own(tmp_path: Path) -> None:
    for name in NAMES:
        _fill(tmp_path / name)

    keys = {path.name: path.read_text() for path in tmp_path.glob("*[.-]key")}
    assert set(keys) == {
        "notes.key",
        "notes.sqlite-key",
        "notes.sqlite.key",
        "notes.old.key",
        "notes.old-key",
        "notes-key",
    }
    assert len(set(keys.values())) == len(NAMES)


@pytest.mark.parametrize("rotated", NAMES)
def test_rotating_the_key_of_a_store_leaves_those_beside_it_readable(tmp_path: Path, rotated: str) -> None:
    for name in NAMES:
        _fill(tmp_path / name)

    _rotate(tmp_path / rotated)

    assert all(_opens(tmp_path / name) for name in NAMES)


def test_a_new_store_never_joins_the_key_file_of_another(tmp_path: Path) -> None:
    (tmp_path / "notes.key").write_text(KEY)

    _fill(tmp_path / "notes.sqlite")

    with pytest.raises(Locked):
        _open(tmp_path / "notes.sqlite", KEY)


def test_a_store_that_is_moved_beside_another_gets_its_key_file_of(tmp_path: Path) -> None:
    _fill(tmp_path / "elsewhere" / "notes.sqlite")
    _fill(tmp_path / "notes.db")

    move_store(tmp_path / "elsewhere" / "notes.sqlite", tmp_path / "notes.sqlite")

    assert _opens(tmp_path / "notes.sqlite")
    assert _opens(tmp_path / "notes.db")


def test_a_link_to_a_store_is_the_store_itself(tmp_path: Path) -> None:
    _fill(tmp_path / "notes.db")
    link = tmp_path / "notes.sqlite"
    link.symlink_to(tmp_path / "notes.db")

    _rotate(link)

    assert _opens(tmp_path / "notes.db")
    with _open(link) as memory:
        assert memory.user("ada").purge("k") == 1
        assert not engine_of(memory).sealed.store.unclean
    assert {path.name for path in tmp_path.glob("notes*key")} == {"notes.key"}


def test_a_relative_path_stays_what_it_was_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _fill(tmp_path / name / "notes.db")
    monkeypatch.chdir(tmp_path / "one")
    with open_store("sqlite:///notes.db", key=None) as memory:  # type: ignore[arg-type]
        monkeypatch.chdir(tmp_path / "two")
        assert memory.keys.rotate().keys == 2
    assert _opens(tmp_path / "one" / "notes.db")
    assert _opens(tmp_path / "two" / "notes.db")


def test_a_key_file_that_is_not_the_stores_own_is_not_replaced(tmp_path: Path) -> None:
    _fill(tmp_path / "notes.db")
    with _open(tmp_path / "notes.db") as memory:
        (tmp_path / "notes.key").write_text(OTHER_KEY)
        with pytest.raises(Locked, match="no longer holds the key"):
            memory.keys.rotate()
        assert memory.user("ada").get("k").text == "kept in notes.db"
    assert (tmp_path / "notes.key").read_text() == OTHER_KEY


def test_a_link_to_itself_is_told_like_any_file_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "notes.db").symlink_to(tmp_path / "notes.db")
    memory = holdfast.open(tmp_path / "notes.db", required=False)
    assert not memory.enabled
    assert "notes.db" in (memory.reason or "")
    memory.close()


def test_a_rotation_that_was_cut_short_is_finished_for_its_store_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "notes.db", tmp_path / "notes.sqlite"
    for path in (one, other):
        _fill(path)
    with _open(other) as memory:
        engine_of(memory).sealed.keyring.use_master(stage_next_key(key_file_of(other)))
        rotate_master(engine_of(memory))
    staged = next_key_file(key_file_of(other)).read_text()

    assert _opens(other)

    assert key_file_of(other).read_text() == staged
    assert not next_key_file(key_file_of(other)).exists()
    assert _opens(one)


# Names


@pytest.mark.parametrize(
    "name", ["store.key", "store.KEY", "store.db-key", "store.key.next", "store-key.lock"]
)
@pytest.mark.parametrize("folder", ["", "new/"])
def test_a_database_named_like_a_key_file_is_refused_and_nothing_is_made(
    tmp_path: Path, name: str, folder: str
) -> None:
    with pytest.raises(InvalidField, match=r"for example store\.db"):
        _open(tmp_path / f"{folder}{name}")

    assert list(tmp_path.iterdir()) == []
    with holdfast.open(tmp_path / f"{folder}{name}", required=False) as off:
        assert "key file" in (off.reason or "")
    assert list(tmp_path.iterdir()) == []


def test_a_database_named_like_a_key_file_still_opens_with_a_key_from_settings(tmp_path: Path) -> None:
    _fill(tmp_path / "store.key", KEY)
    before = digest(tmp_path)

    with _open(tmp_path / "store.key", KEY) as memory:
        assert memory.user("ada").get("k").text == "kept in store.key"

    with pytest.raises(InvalidField):
        _open(tmp_path / "store.key")
    assert set(digest(tmp_path)) == set(before)
