"""A desk for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mirror.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Desk(tmp_path) as desk:
        yield desk
