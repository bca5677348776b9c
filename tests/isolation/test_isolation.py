"""Nobody sees, counts or senses what is not theirs, whatever anybody does. Each run is one store, eight callers and a
model beside them; HOLDFAST_FAULTS=long plays a million operations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.served import Host
from tests.isolation.calling import Caller, OverSocket
from tests.isolation.fuzz import run
from tests.isolation.steps import STEPS

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
SEED = int(os.environ.get("HOLDFAST_ISOLATION_SEED", "2026"))
ROUNDS = 50 if LONG else 1
OPERATIONS = 10_000
"""In a round, of which there are two runs: one in which nothing happens in the background, one with vectors."""
OVER_SOCKETS = 5_000 if LONG else 400


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(14_400 if LONG else 900)
@pytest.mark.parametrize("still", [True, False], ids=["still", "with vectors"])
def test_nobody_is_shown_or_can_sense_what_is_not_theirs(still: bool) -> None:
    for number in range(ROUNDS):
        seed = SEED + 2 * number + still
        print(f"seed {seed}, round {number + 1} of {ROUNDS}", flush=True)
        _was_busy(run(seed, OPERATIONS, still=still, progress=OPERATIONS if LONG else 0))


def _was_busy(seen: Counter[str]) -> None:
    """A run in which everything was refused would prove nothing."""
    done = {what.split()[0] for what in seen if what.endswith(" 200")}
    assert {do.__name__ for do, _ in STEPS} - done <= {"time_passes", "sweep", "say_again", "plant_private"}
    assert seen["repeated"] > 0
    assert seen["looked on"] > OPERATIONS // 200
    refused = sum(count for what, count in seen.items() if what[-3:] in ("403", "404"))
    assert refused > OPERATIONS // 10


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_same_holds_over_sockets(host: Host) -> None:
    def connect(memory: Memory) -> Caller:
        url = urlsplit(host.serve(memory))
        assert url.hostname is not None
        assert url.port is not None
        return OverSocket(url.hostname, url.port, url.path)

    run(SEED - 1, OVER_SOCKETS, still=False, connect=connect)
