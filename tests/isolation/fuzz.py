"""A run: so many operations from one seed. Each operation draws from a chance of its own, so that a run in which some
were left out still makes sense, and a failure can be cut down to what brings it about."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

import holdfast
from holdfast.entrypoints.http.app import create_app
from holdfast.entrypoints.python.memory import Memory
from holdfast.settings import load
from tests.behaviours.served import SECRET, START
from tests.isolation import probes, steps
from tests.isolation.calling import Caller, InProcess
from tests.isolation.world import Leak, World
from tests.support import FixedClock

KEY = "5" * 64
ONLOOKERS = 0.06
OFTEN = 0.6
"""How often somebody looks on, and how often where a private row is written."""
EMBEDDER = "tests.behaviours.embedders:sensible"
TAILS = (50, 200, 1_000, 4_000)
SHRINKING_SECONDS = 60.0
TOLD = 200

_DO = [do for do, _ in steps.STEPS]
_WEIGHTS = [weight for _, weight in steps.STEPS]

Connect = Callable[[Memory], Caller]


def in_process(memory: Memory) -> Caller:
    return InProcess(create_app(memory.running, load(rate_per_minute=0), SECRET, lambda: START))


@contextmanager
def open_world(*, still: bool, connect: Connect = in_process) -> Iterator[World]:
    """`still`: nothing is embedded, so that what waits for it can be counted."""
    clock = FixedClock()
    memory = holdfast.open("sqlite://", key=KEY, sweep_seconds=0, embedder=EMBEDDER, clock=clock)
    caller = None
    try:
        if still:
            settler = memory.running._embedding_worker
            assert settler is not None
            settler.stop()
        caller = connect(memory)
        yield World(caller, memory, clock, still=still)
    finally:
        if caller is not None:
            caller.close()
        memory.close()


class Failed(Exception):
    """What went wrong, at which operation, and what had been said."""

    def __init__(self, error: BaseException, number: int, told: list[str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.number = number
        self.told = told


def play(world: World, seed: int, numbers: Iterable[int], *, tell: bool = False, progress: int = 0) -> None:
    told: list[str] = []
    began = time.monotonic()
    for done, number in enumerate(numbers, start=1):
        world.rng = Random(seed << 32 | number)
        world.trace = []
        do = world.rng.choices(_DO, _WEIGHTS)[0]
        try:
            share = OFTEN if do is steps.plant_private else ONLOOKERS
            onlooker = probes.Onlooker(world) if world.chance(share) else None
            world.look_again()
            do(world)
            world.look_again()
            if onlooker is not None:
                onlooker.look_again()
            world.count(do.__name__)
        except Exception as error:
            raise Failed(error, number, [*told, *world.trace]) from error
        if tell:
            told += [f"[{number} {do.__name__}] {line}" for line in world.trace]
        if progress and done % progress == 0:
            rate = done / (time.monotonic() - began)
            print(f"seed {seed}: {done} operations, {world.sent} requests, {rate:.0f}/s", flush=True)


def run(
    seed: int, operations: int, *, still: bool, connect: Connect = in_process, progress: int = 0
) -> Counter[str]:
    """Plays a seed; on a failure says how it can be seen again, as briefly as was found. Gives what came about."""
    try:
        with open_world(still=still, connect=connect) as world:
            play(world, seed, range(operations), progress=progress)
            return world.seen
    except Failed as failed:
        if not isinstance(failed.error, Leak) or connect is not in_process:
            print(*failed.told, sep="\n")
            raise failed.error from None
        raise AssertionError(_report(seed, failed, still=still)) from failed.error


def _report(seed: int, failed: Failed, *, still: bool) -> str:
    numbers, last = shrink(seed, failed, still=still)
    lines = "\n".join(last.told[-TOLD:])
    shown = f"range({len(numbers)})" if numbers == list(range(len(numbers))) else str(numbers)
    return (
        f"seed {seed}, operation {failed.number}: {failed}\n"
        f"After setting up, {len(numbers)} operations bring about: {last}\n{lines}\n"
        f"Again: python -c 'from tests.isolation.fuzz import *\n"
        f"with open_world(still={still}) as world: play(world, {seed}, {shown})'"
    )


def shrink(seed: int, failed: Failed, *, still: bool) -> tuple[list[int], Failed]:
    """The shortest tail that still fails, then without what it does not need, as long as there is time."""
    ends = time.monotonic() + SHRINKING_SECONDS
    last = failed

    def fails(numbers: Sequence[int]) -> bool:
        nonlocal last
        again = _failure(seed, numbers, still=still)
        if again is not None:
            last = again
        return again is not None

    numbers = next(
        (
            tail
            for size in TAILS
            if size < failed.number and fails(tail := list(range(failed.number - size, failed.number + 1)))
        ),
        list(range(failed.number + 1)),
    )
    step = max(1, len(numbers) // 2)
    while time.monotonic() < ends:
        at, smaller = 0, False
        while at < len(numbers) and time.monotonic() < ends:
            without = numbers[:at] + numbers[at + step :]
            if without and fails(without):
                numbers, smaller = without[: _place(without, last)], True
            else:
                at += step
        if step == 1 and not smaller:
            break
        step = max(1, step // 2)
    final = _failure(seed, numbers, still=still)
    return numbers, final or last


def _place(numbers: Sequence[int], last: Failed) -> int:
    return numbers.index(last.number) + 1


def _failure(seed: int, numbers: Sequence[int], *, still: bool) -> Failed | None:
    try:
        with open_world(still=still) as world:
            play(world, seed, numbers, tell=True)
    except Failed as failed:
        return failed
    return None
