"""Every behaviour is proven through Python and one remote interface: the real client against a real server. What exists
in Python alone is marked with the interfaces it has; tests/transports has the other transports."""

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast.entrypoints.python.memory import Memory
from holdfast.recall import index
from tests.behaviours import embedders
from tests.behaviours.awaited import Portal
from tests.behaviours.embedders import Switchboard
from tests.behaviours.interface import AWAITED, HTTP, PYTHON, Interface, Opener
from tests.behaviours.served import Host, Served
from tests.support import FixedClock


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    with Portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "interface" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("interfaces")
        metafunc.parametrize("interface", marker.args if marker else (PYTHON, HTTP), indirect=True)


@pytest.fixture
def interface(
    request: pytest.FixtureRequest, portal: Portal, host: Host, clock: FixedClock
) -> Iterator[Interface]:
    def served(*args: Any, **options: Any) -> Served:
        return Served(holdfast.open(*args, **options), host)

    openers: dict[str, Opener] = {PYTHON: holdfast.open, AWAITED: portal.open, HTTP: served}
    interface = Interface(request.param, openers[request.param], clock)
    yield interface
    interface.close()
    embedders.board.reset()  # other folders use the same embedders


@pytest.fixture
def memory(interface: Interface) -> Memory:
    return interface.open()


@pytest.fixture
def board(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> Iterator[Switchboard]:
    """What the embedders of tests noted, and how to break them. Requests the interface first, so that no model is held
    any more when the interface closes."""
    monkeypatch.setattr(index, "RETRY_SECONDS", 0.05)
    embedders.board.reset()
    yield embedders.board
    embedders.board.broken = True
    embedders.board.gate.set()
