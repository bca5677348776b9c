"""Every test of this folder runs once for each door."""

from collections.abc import Iterator

import pytest

from holdfast.entrypoints.python import Memory
from tests.doors.portal import Door, Portal
from tests.support import FixedClock

DOORS = ("python", "python, awaited")


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    with Portal() as portal:
        yield portal


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, portal: Portal, clock: FixedClock) -> Iterator[Door]:
    door = Door(request.param, clock, portal)
    yield door
    door.close()


@pytest.fixture
def memory(door: Door) -> Memory:
    return door.open()
