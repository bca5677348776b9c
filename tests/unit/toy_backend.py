"""A storage backend for one test: SQLite in memory, under a scheme of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.contracts.rows import KeyRow
from holdfast.contracts.storage import Store
from holdfast.settings import Settings
from holdfast.storage.sqlite.store import open_memory

opened: list[str | None] = []


def open_store(settings: Settings, file: Path | None, check: Callable[[list[KeyRow]], None]) -> Store:
    opened.append(settings.database_url)
    assert file is None
    check([])
    return open_memory()
