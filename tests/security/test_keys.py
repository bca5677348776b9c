"""Master keys: a wrong one changes nothing, old ones are accepted, and rotation survives a crash at any point."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.contracts.storage import Job, Transaction
from holdfast.crypto.keyfile import adopt_next_key, next_key_file, stage_next_key
from holdfast.domain.errors import Conflict, InvalidField, Locked, NotFound, Unavailable
from holdfast.domain.ids import new_space_id
from holdfast.operations.rotate_keys import rotate_master
from holdfast.storage import keyring
from holdfast.storage.migrations import Step
from holdfast.storage.sqlite import migrate as migrating
from holdfast.storage.sqlite.migrate import steps
from tests.security.raw import (
    DATABASE,
    KEY,
    OTHER_KEY,
    digest,
    engine_of,
    files,
    open_store,
    run,
    stored_bytes,
)

KEY_FILE = "holdfast.key"


def _fill(memory: holdfast.Memory) -> None:
    for name in ("ada", "bob"):
        memory.user(name).remember(f"said by {name}", key="k")


def _says(memory: holdfast.Memory) -> list[str]:
    return [memory.user(name).get("k").text for name in ("ada", "bob")]


SAID = ["said by ada", "said by bob"]


# A wrong key


def test_a_wrong_key_is_refused_as_locked_and_no_byte_of_the_store_changes(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    before = digest(tmp_path)

    for _ in range(3):
        with pytest.raises(Locked) as refusal:
            open_store(tmp_path, key=OTHER_KEY)

    assert refusal.value.code == "locked"
    assert "nothing was read or written" in refusal.value.message
    assert digest(tmp_path) == before
    with open_store(tmp_path) as memory:
        assert _says(memory) == SAID


def test_a_wrong_key_changes_no_byte_of_a_store_that_is_open_elsewhere(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
        before = digest(tmp_path)

        with pytest.raises(Locked):
            open_store(tmp_path, key=OTHER_KEY)

        assert digest(tmp_path) == before
        assert _says(memory) == SAID


def test_a_wrong_key_changes_no_byte_of_a_store_that_a_crash_left_with_a_log(tmp_path: Path) -> None:
    living, crashed = tmp_path / "living", tmp_path / "crashed"
    with open_store(living) as memory:
        _fill(memory)
        shutil.copytree(living, crashed)
    (crashed / f"{DATABASE}-shm").unlink()
    before = digest(crashed)
    assert f"{DATABASE}-wal" in before

    with pytest.raises(Locked):
        open_store(crashed, key=OTHER_KEY)

    assert digest(crashed) == before
    with open_store(crashed) as memory:
        assert _says(memory) == SAID


def test_a_wrong_key_upgrades_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    before = digest(tmp_path)
    newer = [*steps(), Step(steps()[-1].number + 1, "more", "CREATE TABLE more (a INTEGER) STRICT")]
    monkeypatch.setattr(migrating, "steps", lambda: newer)

    with pytest.raises(Locked):
        open_store(tmp_path, key=OTHER_KEY)

    assert digest(tmp_path) == before


def test_a_key_file_that_is_missing_beside_an_existing_store_is_not_replaced_by_a_new_one(
    tmp_path: Path,
) -> None:
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
    key = (tmp_path / KEY_FILE).rename(tmp_path / "kept-elsewhere")
    before = digest(tmp_path)

    with pytest.raises(Locked):
        open_store(tmp_path, key=None)

    assert digest(tmp_path) == before
    key.rename(tmp_path / KEY_FILE)
    with open_store(tmp_path, key=None) as memory:
        assert _says(memory) == SAID


def test_with_required_false_a_wrong_key_gives_a_memory_that_is_off_and_says_why(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    before = digest(tmp_path)

    with open_store(tmp_path, key=OTHER_KEY, required=False) as memory:
        assert not memory.enabled
        assert memory.reason is not None
        assert "does not fit" in memory.reason
        assert memory.handle("ada") is None
        assert not memory.user("ada").remember("text", key="k").persisted
        assert memory.user("ada").list() == []
        with pytest.raises(Unavailable):
            memory.user("ada").get("k")

    assert digest(tmp_path) == before


@pytest.mark.parametrize("key", ["short", "zz" * 32])
def test_a_key_of_the_wrong_shape_is_refused_before_the_folder_is_touched(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidField):
        open_store(tmp_path / "new", key=key)

    assert not (tmp_path / "new" / DATABASE).exists()


def test_a_changed_canary_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    run(tmp_path, "UPDATE data_keys SET wrapped = randomblob(60) WHERE space = zeroblob(16)")

    with pytest.raises(Locked):
        open_store(tmp_path)


# Old keys and the rotation of a key from settings


def test_an_old_key_is_accepted_for_reading_and_writing_until_it_is_rotated_away(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)

    with open_store(tmp_path, key=OTHER_KEY, old_keys=KEY) as memory:
        assert _says(memory) == SAID
        memory.user("cy").remember("said by cy", key="k")
        status = memory.keys.status()
        assert (status.wrapped_by_others, status.locked) == (3, 0)
        rotated = memory.keys.rotate()
        assert (rotated.keys, rotated.locked) == (3, 0)
        assert memory.keys.status().wrapped_by_others == 0

    with open_store(tmp_path, key=OTHER_KEY) as memory:
        assert [*_says(memory), memory.user("cy").get("k").text] == [*SAID, "said by cy"]
    with pytest.raises(Locked):
        open_store(tmp_path, key=KEY)


def test_after_the_rotation_of_the_master_no_key_wrapped_by_the_old_one_is_in_any_byte(
    tmp_path: Path,
) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    with open_store(tmp_path, key=OTHER_KEY, old_keys=KEY) as memory:
        old = [wrapped for (wrapped,) in run(tmp_path, "SELECT wrapped FROM data_keys")]
        assert all(wrapped[12:28] in stored_bytes(tmp_path) for wrapped in old)

        memory.keys.rotate()

        assert [wrapped for wrapped in old if wrapped[12:28] in stored_bytes(tmp_path)] == []


def test_rotating_twice_changes_nothing_more(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
        memory.keys.rotate()
        before = run(tmp_path, "SELECT * FROM data_keys ORDER BY space, key_id")
        assert memory.keys.rotate().keys == 0
        assert run(tmp_path, "SELECT * FROM data_keys ORDER BY space, key_id") == before


def test_a_key_that_no_master_opens_is_counted_and_does_not_stop_the_rotation_of_the_others(
    tmp_path: Path,
) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
        bob = memory.user("bob").get("k").space
    run(tmp_path, "UPDATE data_keys SET master = randomblob(8) WHERE space = ?", (bob.bytes,))

    with open_store(tmp_path, key=OTHER_KEY, old_keys=KEY) as memory:
        rotated = memory.keys.rotate()
        assert (rotated.keys, rotated.locked) == (2, 1)
        assert memory.user("ada").get("k").text == "said by ada"


def test_a_throw_away_key_is_not_rotated(tmp_path: Path) -> None:
    with open_store(tmp_path, key="ephemeral") as memory, pytest.raises(Conflict):
        memory.keys.rotate()


# The rotation of a key file


def test_rotating_a_key_file_replaces_it_and_the_old_key_opens_nothing_more(tmp_path: Path) -> None:
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
        old = (tmp_path / KEY_FILE).read_text().strip()
        assert memory.keys.rotate().keys == 3
        assert _says(memory) == SAID
        memory.user("cy").remember("said by cy", key="k")

    assert (tmp_path / KEY_FILE).read_text().strip() != old
    assert not next_key_file(tmp_path / KEY_FILE).exists()
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    with open_store(tmp_path, key=None) as memory:
        assert [*_says(memory), memory.user("cy").get("k").text] == [*SAID, "said by cy"]
    with pytest.raises(Locked):
        open_store(tmp_path, key=old)


@pytest.mark.parametrize("crash", ["after staging", "after wrapping", "after adopting"])
def test_a_crash_during_the_rotation_of_a_key_file_loses_nothing_and_the_next_one_finishes_it(
    tmp_path: Path, crash: str
) -> None:
    path = tmp_path / KEY_FILE
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
        old = path.read_text().strip()
        master = stage_next_key(path)
        if crash != "after staging":
            engine_of(memory).sealed.keyring.use_master(master)
            rotate_master(engine_of(memory))
        if crash == "after adopting":
            adopt_next_key(path)

    with open_store(tmp_path, key=None) as memory:
        assert _says(memory) == SAID
        memory.user("cy").remember("said after the crash", key="k")
    with open_store(tmp_path, key=None) as memory:
        assert memory.user("cy").get("k").text == "said after the crash"
        memory.keys.rotate()
        assert memory.keys.status().wrapped_by_others == 0

    assert not next_key_file(path).exists()
    assert path.read_text().strip() != old
    with open_store(tmp_path, key=None) as memory:
        assert [*_says(memory), memory.user("cy").get("k").text] == [*SAID, "said after the crash"]
    with pytest.raises(Locked):
        open_store(tmp_path, key=old)


def test_what_another_open_memory_accepts_after_the_key_file_was_rotated_can_be_read_later(
    tmp_path: Path,
) -> None:
    """The command line rotates while the server runs: the server may refuse, but never store under a lost key."""
    with open_store(tmp_path, key=None) as server:
        _fill(server)
        with open_store(tmp_path, key=None) as command:
            command.keys.rotate()
        assert server.user("ada").get("k").text == "said by ada"
        accepted = True
        try:
            server.user("cy").remember("said by cy", key="k")
        except Locked:
            accepted = False

    with open_store(tmp_path, key=None) as memory:
        assert _says(memory) == SAID
        assert [entry.text for entry in memory.user("cy").list()] == ["said by cy"] * accepted


def test_another_open_memory_reads_every_space_after_the_key_file_was_rotated(tmp_path: Path) -> None:
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
    with open_store(tmp_path, key=None) as server:
        with open_store(tmp_path, key=None) as command:
            command.keys.rotate()

        assert _says(server) == SAID


def test_one_lost_key_does_not_keep_the_key_file_from_being_rotated(tmp_path: Path) -> None:
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
        bob = memory.user("bob").get("k").space
        run(tmp_path, "UPDATE data_keys SET master = randomblob(8) WHERE space = ?", (bob.bytes,))
        old = (tmp_path / KEY_FILE).read_text()

        rotated = memory.keys.rotate()

        assert (rotated.keys, rotated.locked) == (2, 1)
        assert (tmp_path / KEY_FILE).read_text() != old


# Throw-away keys, and none


def test_a_throw_away_key_warns_and_after_a_restart_old_rows_are_locked_and_new_ones_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "holdfast"), open_store(tmp_path, key="ephemeral") as memory:
        _fill(memory)
        assert _says(memory) == SAID
    assert any("ephemeral" in record.getMessage() for record in caplog.records)
    assert not (tmp_path / KEY_FILE).exists()

    with open_store(tmp_path, key="ephemeral") as memory:
        own = memory.user("ada")
        assert own.list() == []
        assert own.list().locked == 1
        with pytest.raises(Locked):
            own.get("k")
        assert own.remember("afresh", key="new").created
        assert own.get("new").text == "afresh"
        assert [entry.key for entry in own.list()] == ["new"]
        assert own.list().locked == 1
        with pytest.raises(Locked):
            own.forget("key:k")
        assert own.remember("over the locked one", key="k").created
        assert own.forget("all").deleted == 3
        assert own.list().locked == 0


def test_two_openings_with_throw_away_keys_change_and_undo_what_is_theirs_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes a key of its own for the space, and the other one's is no longer the current one."""
    monkeypatch.setattr(keyring, "FRESH_SECONDS", 0)
    with open_store(tmp_path, key="ephemeral") as first, open_store(tmp_path, key="ephemeral") as second:
        ada, other = first.user("ada"), second.user("ada")
        ada.remember("one", key="mine")
        other.remember("two", key="theirs")
        ada.edit("mine", text="changed")
        other.remember("three", key="theirs")
        assert ada.undo("mine").text == "one"
        other.remember("four", key="theirs")
        assert ada.rename("mine", new_key="moved").text == "one"
        assert (ada.get("moved").revision, other.get("theirs").revision) == (4, 3)


def test_keys_that_never_settle_are_told_by_a_code_of_the_list(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:

        def never(_tx: Transaction) -> None:
            raise keyring.StaleKeys(new_space_id())

        with pytest.raises(Unavailable):
            engine_of(memory).commit(lambda: Job(never))


def test_an_ephemeral_store_is_refused_with_a_lasting_key_and_stays_as_it_is(tmp_path: Path) -> None:
    with open_store(tmp_path, key="ephemeral") as memory:
        _fill(memory)
    before = digest(tmp_path)

    with pytest.raises(Locked, match="throw-away"):
        open_store(tmp_path)

    assert digest(tmp_path) == before


def test_a_lasting_store_is_refused_with_a_throw_away_key_and_stays_as_it_is(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
    before = digest(tmp_path)

    with pytest.raises(Locked):
        open_store(tmp_path, key="ephemeral")

    assert digest(tmp_path) == before


def test_memory_that_is_off_makes_no_file_and_keeps_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    with open_store(folder, key="off") as memory:
        answer = memory.user("ada").remember("text", key="k")
        assert not answer.persisted
        assert answer.note
        assert memory.user("ada").list() == []
        assert memory.user("ada").list().note
        assert memory.handle("ada") is None
        assert not memory.user("ada").forget("all").persisted
        with pytest.raises(Unavailable):
            memory.user("ada").get("k")

    assert not folder.exists()


# Permissions


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_the_folder_is_0700_and_the_key_the_database_its_log_and_its_index_are_0600(
    tmp_path: Path, umask: int
) -> None:
    folder = tmp_path / "deep" / "data"
    old = os.umask(umask)
    try:
        with open_store(folder, key=None) as memory:
            _fill(memory)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(old)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes == {
        KEY_FILE: 0o600,
        DATABASE: 0o600,
        f"{DATABASE}-wal": 0o600,
        f"{DATABASE}-shm": 0o600,
    }


def test_the_key_is_in_no_byte_of_the_store(tmp_path: Path) -> None:
    with open_store(tmp_path, key=None) as memory:
        _fill(memory)
        key = (tmp_path / KEY_FILE).read_text().strip()
        stored = stored_bytes(tmp_path)

    assert key.encode() not in stored
    assert bytes.fromhex(key) not in stored


def test_no_message_or_log_line_shows_a_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), open_store(tmp_path) as memory:
        _fill(memory)
        memory.keys.rotate()
    with pytest.raises(Locked) as refusal:
        open_store(tmp_path, key=OTHER_KEY)

    assert KEY not in caplog.text + str(refusal.value)
    assert OTHER_KEY not in caplog.text + str(refusal.value)


def test_a_missing_entry_is_still_not_found_with_a_good_key(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        _fill(memory)
        with pytest.raises(NotFound):
            memory.user("ada").get("nothing")


def test_a_folder_without_a_store_and_a_wrong_key_simply_becomes_a_new_store(tmp_path: Path) -> None:
    with open_store(tmp_path, key=OTHER_KEY) as memory:
        _fill(memory)

    assert set(files(tmp_path)) == {DATABASE}
    assert apsw.Connection(str(tmp_path / DATABASE)).pragma("application_id") == 0x486F6C64
