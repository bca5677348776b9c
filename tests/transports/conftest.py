"""The transports beside Python and the REST client: awaited Python, the command line, and MCP. What a call does is
proven in tests/behaviours; here, that each transport carries every call, answer and refusal."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from mcp.client import stdio

import holdfast
from tests.behaviours.awaited import Portal
from tests.behaviours.interface import AWAITED, HTTP, PYTHON, Interface, Opener
from tests.behaviours.served import Host, Served
from tests.support import FixedClock
from tests.transports import piped
from tests.transports.agents import SpokenMemory
from tests.transports.commands import TypedMemory
from tests.transports.names import CLI, TALKED


@pytest.fixture(scope="session")
def portal() -> Iterator[Portal]:
    with Portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host() as host, patch.object(stdio, "_create_platform_compatible_process", piped.start):
        yield host


@pytest.fixture
def openers(portal: Portal, host: Host) -> dict[str, Opener]:
    def over(served: Any, *args: Any, **options: Any) -> Any:
        return served(holdfast.open(*args, **options), host)

    talked = {name: partial(over, partial(SpokenMemory, connect=connect)) for name, connect in TALKED.items()}
    return {
        PYTHON: holdfast.open,
        AWAITED: portal.open,
        HTTP: partial(over, Served),
        CLI: partial(over, TypedMemory),
        **talked,
    }


@pytest.fixture
def interface(request: pytest.FixtureRequest, openers: dict[str, Opener]) -> Iterator[Interface]:
    """Each test is parametrised with the transports it is about."""
    interface = Interface(request.param, openers[request.param], FixedClock())
    yield interface
    interface.close()


@pytest.fixture
def python(openers: dict[str, Opener]) -> Iterator[Interface]:
    """Python by itself, to compare with."""
    interface = Interface(PYTHON, openers[PYTHON], FixedClock())
    yield interface
    interface.close()
