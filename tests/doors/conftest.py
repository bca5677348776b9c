"""Every test of this folder runs once for each door."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from mcp.client import stdio

from holdfast.entrypoints.python.memory import Memory
from holdfast.recall import index
from tests.doors import embedders, piped
from tests.doors.embedders import Switchboard
from tests.doors.portal import STARTED, TALKED, Door, Portal
from tests.doors.served import Host
from tests.support import FixedClock

EVERYWHERE = ("python", "python, awaited", "http", "cli")
SPOKEN = frozenset(
    f"test_{name}"
    for name in (
        *("bad_input", "recall", "recall_words", "similar", "advice", "context", "forget", "access", "off"),
        *("facts", "corpus", "files", "assistant", "proposals", "quarantine"),
        *("kv", "stores", "store_access", "store_proposals", "agents", "anthropic"),
        *("history", "lifetime"),
    )
)
"""Where what is proven is offered as a tool: there the SDK's client calls it, over HTTP and stdio, in both eras.
Elsewhere MCP would be HTTP once more."""
COMMANDED = frozenset({"test_kv"})
"""Where `holdfast mcp` is started besides, which takes half a second each time."""


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    with Portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host() as host, patch.object(stdio, "_create_platform_compatible_process", piped.start):
        yield host


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "door" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        doors = [*EVERYWHERE, *TALKED] if module in SPOKEN else [*EVERYWHERE]
        doors += STARTED if module in COMMANDED else ()
        metafunc.parametrize("door", doors, indirect=True)


@pytest.fixture
def door(request: pytest.FixtureRequest, portal: Portal, host: Host, clock: FixedClock) -> Iterator[Door]:
    door = Door(request.param, clock, portal, host)
    yield door
    door.close()
    embedders.board.reset()  # other folders use the same embedders


@pytest.fixture
def memory(door: Door) -> Memory:
    return door.open()


@pytest.fixture
def board(door: Door, monkeypatch: pytest.MonkeyPatch) -> Iterator[Switchboard]:
    """What the embedders of tests noted, and how to break them. Asks for the door first, so that no model is held any
    more when the door closes."""
    monkeypatch.setattr(index, "RETRY_SECONDS", 0.05)
    embedders.board.reset()
    yield embedders.board
    embedders.board.broken = True
    embedders.board.gate.set()
