"""Whoever speaks whichever vocabulary, nobody is shown what is not theirs, and everybody finds what is."""

import os

import pytest

import holdfast
from tests.isolation.vocabularies import STEPS, World, play
from tests.support import FixedClock

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
RUNS = 160 if LONG else 8
OPERATIONS = 1_250


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(RUNS))
def test_no_vocabulary_shows_what_another_keeps_from_somebody(seed: int) -> None:
    clock = FixedClock()
    with holdfast.open(":memory:", key="5e" * 32, clock=clock, embedder="none", sweep_seconds=0) as memory:
        world = World(memory, clock)
        play(world, seed, OPERATIONS)
    assert {do.__name__ for do, _ in STEPS} <= set(world.done)
