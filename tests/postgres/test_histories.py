"""The state machine of the conformance suite on PostgreSQL: random histories through the Python door."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from hypothesis import settings

from holdfast.contracts.storage import Store
from tests.conformance.postgres_backend import Postgres
from tests.conformance.test_state_machine import HISTORIES, LONG, Histories


class HistoriesOnPostgres(Histories):
    def open(self) -> None:
        with patch("holdfast.storage.sqlite.store.open_memory", _open_database):
            super().open()


def _open_database() -> Store:
    """In place of the store in memory, which it stands for: empty at first, and gone with the next history."""
    return Postgres(Path()).open()


TestHistoriesOnPostgres = HistoriesOnPostgres.TestCase
TestHistoriesOnPostgres.settings = settings(HISTORIES, max_examples=1_500 if LONG else 5)
