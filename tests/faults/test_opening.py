"""A disk that lets nobody open the store: an error of ours that names the file, or a memory that is off and says so."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import holdfast
from holdfast.domain.errors import HoldfastError, StorageFull, Unavailable
from holdfast.storage.sqlite import store

pytestmark = pytest.mark.faults

TOO_LONG = "x" * 300
"""No file may have this name: the file system refuses to look, even for root, as it does where others may not enter."""
Trouble = Callable[[Path, pytest.MonkeyPatch], Path]
"""Brings it about in a folder, and says which file is in the way."""


def failing(code: int) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


def database_not_writable(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(store, "FileConnections", failing(errno.EACCES))
    return folder / "holdfast.db"


def folder_not_writable(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(tempfile, "mkstemp", failing(errno.EACCES))
    return folder / "holdfast.key"


def disk_full(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(tempfile, "mkstemp", failing(errno.ENOSPC))
    return folder / "holdfast.key"


def quota_full(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    patch.setattr(os, "fsync", failing(errno.EDQUOT))
    return folder / "holdfast.key"


def settings_not_readable(folder: Path, _patch: pytest.MonkeyPatch) -> Path:
    (folder / "holdfast.toml").mkdir()
    return folder / "holdfast.toml"


TROUBLES: dict[str, tuple[Trouble, type[HoldfastError]]] = {
    "database not writable": (database_not_writable, Unavailable),
    "folder not writable": (folder_not_writable, Unavailable),
    "disk full": (disk_full, StorageFull),
    "quota full": (quota_full, StorageFull),
    "settings not readable": (settings_not_readable, Unavailable),
}


@pytest.mark.parametrize(("trouble", "kind"), TROUBLES.values(), ids=TROUBLES)
def test_what_the_disk_refuses_is_one_of_our_errors_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble, kind: type[HoldfastError]
) -> None:
    file = trouble(tmp_path, monkeypatch)

    with pytest.raises(kind) as refusal:
        holdfast.open(tmp_path)

    assert type(refusal.value) is kind
    assert str(file) in refusal.value.message
    assert ("Free some space" if kind is StorageFull else "permissions") in refusal.value.message


@pytest.mark.parametrize(("trouble", "kind"), TROUBLES.values(), ids=TROUBLES)
def test_with_required_false_what_the_disk_refuses_gives_a_memory_that_is_off_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble, kind: type[HoldfastError]
) -> None:
    file = trouble(tmp_path, monkeypatch)

    with holdfast.open(tmp_path, required=False) as memory:
        assert not memory.enabled
        assert str(file) in (memory.reason or "")
        assert not memory.user("ada").remember("text", key="k").persisted
        assert memory.running.readiness()["store"] == memory.reason

    async def awaited() -> str | None:
        async with await holdfast.aopen(tmp_path, required=False) as memory:
            return memory.reason

    assert str(file) in (asyncio.run(awaited()) or "")


@pytest.mark.parametrize("trouble", [disk_full, quota_full], ids=["disk full", "quota full"])
def test_a_disk_too_full_for_the_key_leaves_nothing_and_opens_once_there_is_room(
    tmp_path: Path, trouble: Trouble
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        trouble(tmp_path, patch)
        with pytest.raises(StorageFull):
            holdfast.open(tmp_path)
    assert list(tmp_path.iterdir()) == []

    with holdfast.open(tmp_path, sweep_seconds=0) as memory:
        assert memory.user("ada").remember("there is room", key="k").created


@pytest.mark.parametrize(
    "where",
    [
        TOO_LONG,
        f"{TOO_LONG}.db",
        f"{TOO_LONG}/notes.db",
        "x" * 251 + ".db",
        f"sqlite:///{TOO_LONG}.db",
        "sqlite:///" + "x" * 251 + ".db",
    ],
    ids=["folder", "file", "file in a folder", "key file", "file by URL", "key file by URL"],
)
def test_a_place_that_cannot_be_looked_at_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA_DIR", str(tmp_path))

    with pytest.raises(Unavailable, match="too long"):
        holdfast.open(where)
    with holdfast.open(where, required=False) as memory:
        assert "too long" in (memory.reason or "")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")

    with pytest.raises(Unavailable, match="is not a folder"):
        holdfast.open(f"sqlite:///{tmp_path}/data/notes.db")


def test_a_key_that_cannot_be_staged_stops_a_rotation_before_anything_is_wrapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holdfast.open(tmp_path, sweep_seconds=0) as memory:
        memory.user("ada").remember("kept", key="k")
        with monkeypatch.context() as patch:
            disk_full(tmp_path, patch)
            with pytest.raises(StorageFull):
                memory.keys.rotate()

    with holdfast.open(tmp_path, sweep_seconds=0) as memory:
        assert memory.user("ada").get("k").text == "kept"
        assert memory.keys.rotate().keys == 2


OPEN_WITHOUT_ROOM = """
import resource, sys
import holdfast
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
with holdfast.open(sys.argv[1], required=False) as memory:
    print(memory.running.opened.failed)
"""


def test_no_room_for_the_index_of_the_log_is_storage_full(tmp_path: Path) -> None:
    """SQLite calls it a disk that failed. A limit on the size of files stands for the disk."""
    with holdfast.open(tmp_path, sweep_seconds=0) as memory:
        memory.user("ada").remember("kept", key="k")

    done = subprocess.run(
        [sys.executable, "-c", OPEN_WITHOUT_ROOM, str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "storage_full\n"
    with holdfast.open(tmp_path, sweep_seconds=0) as memory:
        assert memory.user("ada").get("k").text == "kept"
