"""Starting: `import holdfast` against a bare interpreter, and opening a file that holds much already. Every sample is a
process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median

from bench.measure import Cost, Line, Options, micros, take_turns
from bench.population import FIRST_KEY, MEASURED, populated

TURNS = 20
OPENINGS = 7
ENTRIES = 100_000

IMPORT_RATIO = 6
OPEN_SECONDS = 0.3

_DOOR = "import holdfast; holdfast.open"
"""`import holdfast` defers its imports; naming the door carries them out."""

_OPEN = """
import sys, time, holdfast
started = time.process_time()
holdfast.open
imported = time.process_time()
memory = holdfast.open(sys.argv[1])
opened = time.process_time()
memory.user(sys.argv[2]).get(sys.argv[3])
print(opened - started, opened - imported, time.process_time() - opened)
memory.close()
"""


def run(_options: Options) -> list[Line]:
    return [
        _importing("import holdfast, against a bare start", "import holdfast", IMPORT_RATIO),
        _importing("the same with holdfast.open named", _DOOR, None),
        *_opening(),
    ]


def _importing(what: str, code: str, at_most: float | None) -> Line:
    _started(code)
    turns = take_turns(TURNS, lambda: _started(code), lambda: _started("pass"))
    cpu, bare_cpu = turns.cpu()
    wall, bare_wall = turns.wall()
    return Line(
        what,
        turns.cpu_ratio(),
        at_most=at_most,
        beside=f"CPU {micros(cpu)}, bare {micros(bare_cpu)}; wall {micros(wall)}, bare {micros(bare_wall)}",
    )


def _started(code: str) -> Cost:
    """Cost of an interpreter that runs this and ends: user and system time, as the kernel counts them."""
    began = time.perf_counter()
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"`{code}` ended with status {status}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began)


def _opening() -> list[Line]:
    store = populated(ENTRIES)
    samples = []
    for _ in range(OPENINGS):
        told = subprocess.run(
            [sys.executable, "-c", _OPEN, str(store), MEASURED, FIRST_KEY],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        samples.append([float(part) for part in told])
    whole, opening, getting = (median(column) for column in zip(*samples, strict=True))
    return [
        Line(
            f"open() of {ENTRIES:,} entries, CPU",
            whole,
            "s",
            at_most=OPEN_SECONDS,
            beside=f"{micros(opening)} without its deferred imports",
        ),
        Line("first get after it, CPU", getting, "s", beside=micros(getting)),
    ]
