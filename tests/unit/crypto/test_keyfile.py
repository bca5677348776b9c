"""Master keys from settings and from the key file."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from threading import Barrier, Thread

import pytest

from holdfast.crypto.keyfile import adopt_next_key, masters, next_key_file, parse_key, stage_next_key
from holdfast.crypto.keys import Master
from holdfast.domain.errors import InvalidField

ONE, TWO, THREE = "11" * 32, "22" * 32, "33" * 32


def _id(key: str) -> bytes:
    return Master(bytes.fromhex(key)).id


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_configured_key_comes_first_and_old_keys_are_accepted_after_it() -> None:
    found = masters(ONE, (TWO, THREE), None)

    assert [master.id for master in found.all] == [_id(ONE), _id(TWO), _id(THREE)]
    assert found.file is None
    assert not found.ephemeral


@pytest.mark.parametrize("key", ["", "11", "zz" * 32, "11" * 31, "11" * 33, "on", "é" * 64, "0x" + "11" * 31])
def test_a_key_that_is_not_64_hex_characters_is_refused(key: str) -> None:
    with pytest.raises(InvalidField, match="64 hex"):
        parse_key(key)


@pytest.mark.parametrize("key", ["11" * 32, "11" * 32 + "\n", "  " + "11" * 32, "AB" * 32])
def test_a_key_may_have_blanks_around_it_and_any_case(key: str) -> None:
    assert parse_key(key).hex() == key.strip().lower()


def test_a_bad_old_key_is_refused_before_any_key_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidField):
        masters(None, ("nonsense",), tmp_path / "holdfast.key")

    assert list(tmp_path.iterdir()) == []


def test_a_key_file_is_made_once_readable_by_its_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "data" / "holdfast.key"
    old = os.umask(0)
    try:
        with caplog.at_level(logging.WARNING, "holdfast"):
            first = masters(None, (), path)
            second = masters(None, (), path)
    finally:
        os.umask(old)

    assert [master.id for master in first.all] == [master.id for master in second.all]
    assert len(parse_key(path.read_text())) == 32
    assert _mode(path) == 0o600
    assert _mode(path.parent) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["holdfast.key"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert path.read_text().strip() not in caplog.text


def test_a_throw_away_key_is_new_each_time_leaves_no_file_and_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "holdfast"):
        one = masters("ephemeral", (), tmp_path / "holdfast.key")
        two = masters("ephemeral", (TWO,), tmp_path / "holdfast.key")

    assert one.ephemeral
    assert one.all[0].id != two.all[0].id
    assert two.all[1].id == _id(TWO)
    assert list(tmp_path.iterdir()) == []
    assert len(caplog.records) == 2


def test_a_store_in_memory_has_a_fresh_key_and_no_file() -> None:
    assert masters(None, (), None).all[0].id != masters(None, (), None).all[0].id
    assert masters(None, (), None).file is None


@pytest.mark.parametrize("body", [b"", b"11", b"\xff\xfe", b"not a key\n"])
def test_a_damaged_key_file_is_refused_and_left_as_it_is(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "holdfast.key"
    path.write_bytes(body)

    with pytest.raises(InvalidField):
        masters(None, (), path)

    assert path.read_bytes() == body


def test_a_key_file_that_is_a_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "holdfast.key").mkdir()

    with pytest.raises(InvalidField, match="cannot be read"):
        masters(None, (), tmp_path / "holdfast.key")


def test_a_staged_key_is_kept_until_it_is_adopted_and_accepted_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.key"
    [old] = masters(None, (), path).all
    staged = stage_next_key(path)

    assert stage_next_key(path).id == staged.id
    assert _mode(next_key_file(path)) == 0o600
    assert [master.id for master in masters(None, (), path).all] == [old.id, staged.id]

    adopt_next_key(path)

    assert [master.id for master in masters(None, (), path).all] == [staged.id]
    assert not next_key_file(path).exists()
    assert _mode(path) == 0o600


def test_many_threads_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.key"
    barrier = Barrier(8)
    found: list[bytes] = []

    def start() -> None:
        barrier.wait()
        found.append(masters(None, (), path).all[0].id)

    threads = [Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(found)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["holdfast.key"]
