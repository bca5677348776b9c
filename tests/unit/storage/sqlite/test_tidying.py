"""SQLite's word index is merged in quiet moments, by whoever has the file open."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.recall import embed_pending
from holdfast.storage.sqlite.store import open_file
from tests.support import until

NOTES = 9


def keep_notes(folder: Path) -> None:
    """Each in a commit of its own, and nobody tidies up after them."""
    with holdfast.open(folder, embedder="none", sweep_seconds=0) as memory:
        for number in range(NOTES):
            memory.user("alice").remember(f"note {number} about the garden", key=f"notes/{number}")


@pytest.fixture
def never_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_pending, "QUIET_SECONDS", 600.0)


def segments(folder: Path) -> int:
    db = apsw.Connection(str(folder / "holdfast.db"))
    try:
        return len(db.execute("SELECT DISTINCT segid FROM terms_idx").fetchall())
    finally:
        db.close()


def garden(folder: Path) -> list[tuple[str, float]]:
    with holdfast.open(folder, embedder="none", sweep_seconds=0) as memory:
        return [(hit.key, hit.score) for hit in memory.user("alice").recall("garden", limit=NOTES)]


@pytest.mark.usefixtures("never_quiet")
def test_a_sweep_merges_what_others_left(tmp_path: Path) -> None:
    keep_notes(tmp_path)
    before, found = segments(tmp_path), garden(tmp_path)
    with holdfast.open(tmp_path, embedder="none", sweep_seconds=0) as memory:
        memory.sweep()
    assert segments(tmp_path) < before
    assert garden(tmp_path) == found


def test_an_open_store_is_tidied_once_it_is_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as busy:
        busy.setattr(embed_pending, "QUIET_SECONDS", 600.0)
        keep_notes(tmp_path)
    before = segments(tmp_path)
    with holdfast.open(tmp_path, embedder="none", sweep_seconds=0):
        until(lambda: segments(tmp_path) < before, "the store to be tidied")


@pytest.mark.usefixtures("never_quiet")
def test_a_tidy_store_is_not_written_again(tmp_path: Path) -> None:
    keep_notes(tmp_path)
    store = open_file(tmp_path / "holdfast.db")
    try:
        while store.tidy():
            pass
        tidied = (tmp_path / "holdfast.db-wal").stat()
        assert not store.tidy()
        after = (tmp_path / "holdfast.db-wal").stat()
        assert (after.st_size, after.st_mtime_ns) == (tidied.st_size, tidied.st_mtime_ns)
    finally:
        store.close()
