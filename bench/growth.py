"""get and list in a space of 1,000 entries, in a large file and in a small one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import holdfast
from bench.measure import Cost, Line, Options, cost_of, micros, take_turns
from bench.notes import notes
from bench.population import MEASURED, SPACE, file_of, populated
from holdfast.entrypoints.facade import Own

SMALL = 10_000
LARGE = 1_000_000
QUICK = 100_000
TURNS = 15
GETS = 1_000
LISTS = 3

RATIO = 1.5
PREFIX = "prefs/"

Run = Callable[[Own], int]
"""Does something with the measured space and says how many operations that were."""


def run(options: Options) -> list[Line]:
    large = QUICK if options.small else LARGE
    small_store, large_store = populated(SMALL), populated(large)
    with (
        holdfast.open(large_store, sweep_seconds=0) as much,
        holdfast.open(small_store, sweep_seconds=0) as little,
    ):
        lines = [
            _compare(f"{what}, {large:,} against {SMALL:,}", do, much.user(MEASURED), little.user(MEASURED))
            for what, do in RUNS.items()
        ]
    size = file_of(large_store).stat().st_size / large
    return [
        *lines,
        Line("file size a short entry", size, "bytes", beside=f"{large:,} entries of ~120 characters"),
    ]


def _compare(what: str, do: Run, much: Own, little: Own) -> Line:
    operations = do(much)
    do(little)

    def timed(door: Own) -> Cost:
        return cost_of(operations, lambda: do(door))

    turns = take_turns(TURNS, lambda: timed(much), lambda: timed(little))
    cpu, small_cpu = turns.cpu()
    return Line(
        what, turns.cpu_ratio(), at_most=RATIO, beside=f"CPU {micros(cpu)}, small {micros(small_cpu)}"
    )


_KEYS = [note["key"] for note in notes(MEASURED, SPACE)]
Random(1).shuffle(_KEYS)


def _get(door: Own) -> int:
    for key in _KEYS[:GETS]:
        door.get(key)
    return GETS


def _pages(door: Own, prefix: str) -> int:
    """Every page of 100 from the first to the last; counts pages."""
    pages = 0
    cursor: str | None = None
    while pages == 0 or cursor is not None:
        page = door.list(prefix, limit=100, cursor=cursor)
        cursor, pages = page.cursor, pages + 1
    return pages


def _list(door: Own) -> int:
    return sum(_pages(door, "") for _ in range(LISTS))


def _list_prefix(door: Own) -> int:
    return sum(_pages(door, PREFIX) for _ in range(LISTS))


RUNS: dict[str, Run] = {
    "get": _get,
    "list, a page of 100": _list,
    f"list under {PREFIX}, a page of 100": _list_prefix,
}
