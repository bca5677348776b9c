"""Timing and telling. The machine is noisy, so the two sides of a ratio always take turns within one run and the
median of the pairs counts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"
CACHE = Path(__file__).parent / ".cache"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings from the command line, for every figure."""

    small: bool = False


class Cost(NamedTuple):
    """Seconds of one operation: on the processor (all threads of this process), and on the wall."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: the number that a target speaks of, and the absolute times beside it."""

    what: str
    value: float
    unit: str = "x"
    at_most: float | None = None
    at_least: float | None = None
    beside: str = ""

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:.3g}"
        return "" if self.at_least is None else f">= {self.at_least:.3g}"

    @property
    def verdict(self) -> str:
        if self.at_most is not None:
            return "met" if self.value <= self.at_most else "MISSED"
        if self.at_least is not None:
            return "met" if self.value >= self.at_least else "MISSED"
        return ""


@dataclass(frozen=True, slots=True)
class Turns:
    """Measures two sides in turns."""

    ours: list[Cost]
    bare: list[Cost]

    def cpu_ratio(self) -> float:
        return median(ours.cpu / bare.cpu for ours, bare in zip(self.ours, self.bare, strict=True))

    def wall_ratio(self) -> float:
        return median(ours.wall / bare.wall for ours, bare in zip(self.ours, self.bare, strict=True))

    def cpu(self) -> tuple[float, float]:
        return median(cost.cpu for cost in self.ours), median(cost.cpu for cost in self.bare)

    def wall(self) -> tuple[float, float]:
        return median(cost.wall for cost in self.ours), median(cost.wall for cost in self.bare)


def cost_of(operations: int, run: Callable[[], object]) -> Cost:
    """The cost of one of the operations that `run` carries out."""
    before = clocks()
    run()
    return cost_since(before, operations)


def clocks() -> Cost:
    return Cost(time.process_time(), time.perf_counter())


def cost_since(before: Cost, operations: int) -> Cost:
    now = clocks()
    return Cost((now.cpu - before.cpu) / operations, (now.wall - before.wall) / operations)


def take_turns(turns: int, ours: Callable[[], Cost], bare: Callable[[], Cost]) -> Turns:
    """Runs both sides once a turn; who goes first changes each time."""
    done = Turns([], [])
    for turn in range(turns):
        if turn % 2:
            done.bare.append(bare())
            done.ours.append(ours())
        else:
            done.ours.append(ours())
            done.bare.append(bare())
    return done


def micros(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


def tell(name: str, lines: Sequence[Line]) -> None:
    """Prints the table and keeps it as JSON."""
    width = max(len(line.what) for line in lines)
    print(f"\n{name}")
    for line in lines:
        value = f"{line.value:.3g} {line.unit}"
        print(f"  {line.what:{width}}  {value:>12}  {line.target:>9}  {line.verdict:6}  {line.beside}")
    RESULTS.mkdir(exist_ok=True)
    told = [asdict(line) | {"verdict": line.verdict} for line in lines]
    (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
