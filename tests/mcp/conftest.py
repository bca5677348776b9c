"""One server with the door for agents, for all tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.http.serving import Service, serving
from tests.mcp.talking import ERAS


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with serving(embedder="none") as service:
        yield service


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def who(request: pytest.FixtureRequest) -> str:
    """Somebody new in every test, so that they share a server and nothing else."""
    return f"user of {request.node.name}"
