"""Secure erasure: deleted terms are merged out of the index, the unused space of pages is cleared, copies made before
upgrades go, and the write-ahead log is emptied.

`secure_delete` zeroes deleted rows, but when SQLite moves a row to another page, the old copy stays in the unused
space of the first page. That space belongs to no row, so it can be cleared in the file itself while nobody writes."""

from __future__ import annotations

import logging
import os
import time
from io import FileIO
from pathlib import Path

import apsw

MERGE_PAGES = 200
CHUNK_PAGES = 256
_LEAF_OR_INTERIOR = {2: 12, 5: 12, 10: 8, 13: 8}
"""Kinds of b-tree pages, with the sizes of their headers."""
_FILE_HEADER = 100

log = logging.getLogger("holdfast")


def merge_slice(db: apsw.Connection) -> bool:
    """Merges the index one step towards a single segment, which drops deleted terms; True when none is left."""
    before = db.total_changes()
    db.execute("INSERT INTO terms (terms, rank) VALUES ('merge', ?)", (-MERGE_PAGES,)).fetchall()
    return db.total_changes() - before < 2


def clear_file(db: apsw.Connection, path: Path, file: FileIO, patience: float) -> bool:
    """Clears everything outside live rows from the files of a store. False when a reader was in the way for longer than
    `patience` seconds."""
    obstacle = _remove_copies(path)
    deadline = time.monotonic() + patience
    while True:
        if _empty_log(db) and _clear_unused_space(db, path, file) and _empty_log(db):
            if obstacle is not None:
                raise obstacle
            return True
        if time.monotonic() > deadline:
            log.warning(
                "another process reads the memory file without pause; erasing what was purged goes on later"
            )
            return False
        time.sleep(0.01)


def copy_before_upgrade(path: Path, version: int | str) -> Path:
    return path.with_name(f"{path.name}.before-v{version}")


def copies_before_upgrades(path: Path) -> list[Path]:
    return sorted(path.parent.glob(copy_before_upgrade(path, "*").name))


def _remove_copies(path: Path) -> OSError | None:
    """Removes copies made before upgrades, which would keep purged rows. One that cannot be removed is logged and
    stops nothing else."""
    obstacle = None
    for copy in copies_before_upgrades(path):
        try:
            copy.unlink(missing_ok=True)
            log.warning("removed %s: something was purged, and the copy would have kept it", copy.name)
        except OSError as error:
            obstacle = error
    return obstacle


def _empty_log(db: apsw.Connection) -> bool:
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    return True


def _clear_unused_space(db: apsw.Connection, path: Path, file: FileIO) -> bool:
    """Holds the write lock on an empty log: the file is then complete, and nobody changes it. The commit at the end
    makes every other connection drop its cached pages, which still hold the cleared bytes."""
    db.execute("BEGIN IMMEDIATE").fetchall()
    try:
        if path.with_name(path.name + "-wal").stat().st_size:
            db.execute("ROLLBACK").fetchall()
            return False
        if _clear_pages(file, int(db.pragma("page_size"))):
            db.release_memory()
            db.execute("UPDATE sqlite_sequence SET seq = seq").fetchall()
        db.execute("COMMIT").fetchall()
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK").fetchall()
        raise
    return True


def _clear_pages(file: FileIO, size: int) -> int:
    """Zeroes the gap between a page's cell pointers and its cells wherever a byte is left in it."""
    cleared = number = 0
    file.seek(0)
    while chunk := file.read(size * CHUNK_PAGES):
        for start in range(0, len(chunk) - size + 1, size):
            gap = _gap(chunk[start : start + size], _FILE_HEADER if number == 0 else 0)
            if gap is not None:
                at = number * size + gap[0]
                file.seek(at)
                file.write(bytes(gap[1] - gap[0]))
                cleared += 1
            number += 1
        file.seek(number * size)
    if cleared:
        os.fsync(file.fileno())
    return cleared


def _gap(page: bytes, header: int) -> tuple[int, int] | None:
    """The range of unused space of a b-tree page, if it is not clean; None for every other page."""
    header_size = _LEAF_OR_INTERIOR.get(page[header])
    if header_size is None:
        return None
    cells = int.from_bytes(page[header + 3 : header + 5])
    first = header + header_size + 2 * cells
    last = int.from_bytes(page[header + 5 : header + 7]) or 65_536
    if not first < last <= len(page) or page.count(0, first, last) == last - first:
        return None
    return first, last
