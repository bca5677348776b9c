"""Stores of many entries, built once and kept in bench/.cache: spaces of 1,000 notes, all written through the door.

Other processes fill the spaces around; the space that is measured gets a few notes after every hundredth of them, so
that its rows are scattered over the whole file and not laid out luckily."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import holdfast
from bench.measure import CACHE
from bench.notes import notes
from holdfast.entrypoints.python.memory import Memory

MEASURED = "measured"
SPACE = 1_000
"""Entries of a space, the measured one included."""
FIRST_KEY = notes(MEASURED, 1)[0]["key"]

_STEPS = 100
_CHUNK = 100
_GROUP = 10
"""Spaces that grow side by side."""
_PROCESSES = 2
_FORMAT = 1
_WHAT_A_ROW_IS_MADE_BY = (
    "storage/row_codec.py",
    "storage/row_codec.py",
    "storage/features.py",
    "recall/cosine.py",
    "storage/sqlite/ranking_rows.py",
    "storage/sqlite/ranking_rows.py",
    "storage/sqlite/word_index.py",
    "storage/sqlite/migrations/*.sql",
    "crypto/*.py",
    "text/analyser.py",
    "text/traits.py",
)

Chunk = tuple[str, int]


def populated(entries: int) -> Path:
    """The folder of a store with so many entries. Do not write to it; take a copy for that."""
    folder = CACHE / f"{entries}-{fingerprint()}"
    if not folder.is_dir():
        CACHE.mkdir(exist_ok=True)
        draft = CACHE / f"unfinished-{folder.name}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        began = time.perf_counter()
        print(f"  building a store of {entries:,} entries ...", flush=True)
        _build(draft, entries)
        print(f"  built in {time.perf_counter() - began:.0f} s", flush=True)
        draft.rename(folder)
    return folder


def file_of(store: Path) -> Path:
    return store / "holdfast.db"


def fingerprint() -> str:
    """A store built by other code is another store."""
    package = Path(holdfast.__file__).parent
    made_by = sha256(repr((_FORMAT, SPACE, _STEPS, _CHUNK, _GROUP)).encode())
    for pattern in _WHAT_A_ROW_IS_MADE_BY:
        for file in sorted(package.glob(pattern)):
            made_by.update(file.read_bytes())
    return made_by.hexdigest()[:12]


def _build(folder: Path, entries: int) -> None:
    chunks = _chunks(entries // SPACE - 1)
    each_step = -(-(entries - SPACE) // _CHUNK // _STEPS)
    with holdfast.open(folder, durability="relaxed", sweep_seconds=0) as memory:
        measured = memory.user(MEASURED)
        with get_context("spawn").Pool(_PROCESSES, _enter, (str(folder),)) as pool:
            for step in range(_STEPS):
                pool.map(_fill, list(islice(chunks, each_step)), chunksize=1)
                measured.remember_many(notes(MEASURED, SPACE // _STEPS, step * SPACE // _STEPS))
            pool.close()
            pool.join()


def _chunks(spaces: int) -> Iterator[Chunk]:
    for group in range(0, spaces, _GROUP):
        for start in range(0, SPACE, _CHUNK):
            for space in range(group, min(group + _GROUP, spaces)):
                yield f"user-{space}", start


class _Worker:
    memory: Memory


def _enter(folder: str) -> None:
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    _Worker.memory = holdfast.open(folder, durability="relaxed", sweep_seconds=0)


def _fill(chunk: Chunk) -> None:
    name, start = chunk
    _Worker.memory.user(name).remember_many(notes(name, _CHUNK, start))
