"""A store on PostgreSQL, empty at the start of each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.storage.postgres.store import PostgresStore, open_database
from tests.conformance.postgres_backend import Postgres, database


@pytest.fixture
def dsn() -> str:
    Postgres(Path())
    return database()


@pytest.fixture
def store(dsn: str) -> Iterator[PostgresStore]:
    opened = open_database(dsn)
    yield opened
    opened.close()
