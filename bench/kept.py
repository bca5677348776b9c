"""Stores with vectors, built once through the door and kept in bench/.cache. Do not write to them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import holdfast
from bench.embedder import BY_WORDS
from bench.measure import CACHE
from bench.population import fingerprint
from bench.texts import wordy_notes
from holdfast.entrypoints.python.memory import Memory

OWNER = "alice"
_BATCH = 1_000
_SETTLE_SECONDS = 7_200


def kept_notes(name: str, entries: int, embedder: str) -> Path:
    """One user's notes, with the vectors of this embedder."""

    def build(memory: Memory) -> None:
        door = memory.user(OWNER)
        for start in range(0, entries, _BATCH):
            door.remember_many(wordy_notes(OWNER, min(_BATCH, entries - start), start))

    return _built(f"recall-{name}-{entries}", embedder, build)


def kept_spaces(spaces: int, entries: int) -> Path:
    """Many users `space-N` with a few notes each."""

    def build(memory: Memory) -> None:
        for number in range(spaces):
            memory.user(f"space-{number}").remember_many(wordy_notes(f"space-{number}", entries))

    return _built(f"recall-{spaces}-spaces", BY_WORDS, build)


def _built(name: str, embedder: str, build: Callable[[Memory], None]) -> Path:
    folder = CACHE / f"{name}-{fingerprint()}"
    if folder.is_dir():
        return folder
    for outdated in CACHE.glob(f"{name}-*"):
        shutil.rmtree(outdated)
    draft = Path(tempfile.mkdtemp(prefix="unfinished-", dir=CACHE))
    began = time.perf_counter()
    print(f"  building {name} ...", flush=True)
    with holdfast.open(draft, embedder=embedder, durability="relaxed", sweep_seconds=0) as memory:
        build(memory)
        memory.settle(timeout=_SETTLE_SECONDS)
        memory.sweep()  # as any process does that stays open
    print(f"  built in {time.perf_counter() - began:.0f} s", flush=True)
    return draft.rename(folder)
