"""The cost of purging one entry for good, word index and log included. No target; the price is stated."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median

import holdfast
from bench.measure import CACHE, Cost, Line, Options, cost_of, micros
from bench.notes import notes
from bench.population import MEASURED, populated
from holdfast.entrypoints.facade import Own

SIZES = (1_000, 10_000, 100_000)
PURGES = 9


def run(_options: Options) -> list[Line]:
    return [line for entries in SIZES for line in _purging(entries)]


def _purging(entries: int) -> list[Line]:
    """The first purge merges whatever lies unmerged in the index; the next ones find little to do."""
    with tempfile.TemporaryDirectory(prefix="erase-", dir=CACHE) as folder:
        store = shutil.copytree(populated(entries), Path(folder) / "store")
        with holdfast.open(store, sweep_seconds=0) as memory:
            door = memory.user(MEASURED)
            first, *next_ones = [_purge(door, note["key"]) for note in notes(MEASURED, PURGES)]
    return [
        _line(f"first purge of {entries:,}", first),
        _line("  later ones", Cost(median(c.cpu for c in next_ones), median(c.wall for c in next_ones))),
    ]


def _purge(door: Own, key: str) -> Cost:
    return cost_of(1, lambda: door.purge(key))


def _line(what: str, cost: Cost) -> Line:
    return Line(what, cost.cpu * 1e3, "ms CPU", beside=f"wall {micros(cost.wall)}")
