"""The stores the suite runs on: each test once for every backend, none skipped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.contracts.storage import Store
from tests.conformance.backends import BACKENDS, Backend
from tests.conformance.recording import noting

CALLS = "HOLDFAST_CONFORMANCE_CALLS"
"""The file to note in which methods were called; set by test_reflection, which runs the suite a second time."""

_called: set[str] = set()


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    folder = tmp_path / "store"
    folder.mkdir()
    return BACKENDS[request.param](folder)


@pytest.fixture
def opened(backend: Backend) -> Iterator[list[Store]]:
    """The store as it is, and after `reopen` the one that took its place."""
    stores = [backend.open()]
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: list[Store]) -> Store:
    return _noted(opened[0])


@pytest.fixture
def reopen(backend: Backend, opened: list[Store]) -> Callable[[], Store]:
    """Closes the store and gives it as the next program finds it."""

    def again() -> Store:
        opened.append(backend.reopen(opened[-1]))
        return _noted(opened[-1])

    return again


def _noted(store: Store) -> Store:
    return noting(store, _called) if CALLS in os.environ else store


def pytest_sessionfinish() -> None:
    if CALLS in os.environ:
        Path(os.environ[CALLS]).write_text(json.dumps(sorted(_called)), encoding="utf-8")
