"""Every test of this folder runs once for each door."""

from collections.abc import Iterator

import pytest

from holdfast.entrypoints.python import Memory
from holdfast.operations import index
from tests.doors import embedders
from tests.doors.embedders import Switchboard
from tests.doors.portal import Door, Portal
from tests.doors.served import Host
from tests.support import FixedClock

DOORS = ("python", "python, awaited", "http")
SPOKEN = frozenset(
    f"test_{name}"
    for name in (
        *("bad_input", "recall", "context", "forget", "access", "off", "facts", "corpus", "files", "kv"),
        *("stores", "store_access", "store_proposals", "agents", "anthropic"),
        *("assistant", "proposals", "quarantine"),
    )
)
"""Where what is proven is offered as a tool: there MCP is a door too; elsewhere it would be HTTP once more."""
IN_SESSIONS = frozenset(
    f"test_{name}"
    for name in ("facts", "forget", "corpus", "context", "files", "kv", "stores", "assistant", "proposals")
)
"""Where the SDK's client calls the tools too, in the handshake era."""
PIPED = frozenset(f"test_{name}" for name in ("facts", "kv", "corpus"))
PIPED_ALONE = frozenset(f"test_{name}" for name in ("facts", "kv", "files"))
"""Where it does so over stdio, in a session or call by call: a process is started for each of these."""
TYPED = frozenset(f"test_{name}" for name in ("bad_input", "facts", "files", "assistant", "forget"))
"""Where a user's calls are proven that `holdfast call` makes too."""


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
    if "door" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        doors = {"mcp": SPOKEN, "mcp, sessions": IN_SESSIONS, "cli": TYPED}
        doors |= {"mcp, stdio": PIPED, "mcp, stdio, call by call": PIPED_ALONE}
        more = [name for name, modules in doors.items() if module in modules]
        metafunc.parametrize("door", [*DOORS, *more], indirect=True)


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
