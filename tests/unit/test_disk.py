"""Files written whole or not at all, and what the file system refuses."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from holdfast.disk import on_disk, write_atomically
from holdfast.domain.errors import StorageFull, Unavailable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_made_for_its_owner_alone_in_a_folder_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"

    write_atomically(path, b"text")

    assert path.read_bytes() == b"text"
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_there_is_replaced_with_the_permissions_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    write_atomically(path, b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert mode(path) == 0o640


def test_without_replacing_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    write_atomically(path, b"new", replace=False)

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("replace", [True, False])
def test_a_write_that_fails_leaves_neither_a_file_nor_a_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        write_atomically(tmp_path / "file", b"text", replace=replace)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("code", "refused"), [(errno.ENOSPC, StorageFull), (errno.EACCES, Unavailable)])
def test_what_the_file_system_refuses_is_an_error_of_the_product(
    code: int, refused: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(refused, match="file"), on_disk(tmp_path / "file"):
        raise OSError(code, os.strerror(code))
