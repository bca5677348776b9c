"""One server for all tests of a worker that do not need settings of their own."""

from collections.abc import Iterator

import pytest

from tests.http.serving import Service, serving


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with serving() as service:
        yield service
