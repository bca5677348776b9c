"""Every storage backend the suite runs on, and the few looks behind a contract that a test cannot do without.

Tests never name a backend: a new one joins by a class here and a line in BACKENDS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from holdfast.contracts.storage import Store
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite import store as sqlite
from tests.conformance.postgres_backend import Postgres


class Backend(Protocol):
    def open(self) -> Store:
        """The store of this test; a second call opens the same one again if it lasts."""
        ...

    def reopen(self, store: Store) -> Store:
        """Closes and opens again; a store that lives in memory only stays as it is."""
        ...

    def indexed(self, store: Store, space: UUID, term: str) -> list[int]:
        """Numbers of the entries that the word index holds under a blind term, asked beside the contract."""
        ...

    def every_byte(self, store: Store) -> bytes:
        """All that is kept, logs included."""
        ...


class SqliteMemory:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self) -> Store:
        return sqlite.open_memory()

    def reopen(self, store: Store) -> Store:
        return store

    def indexed(self, store: Store, space: UUID, term: str) -> list[int]:
        rows = _connections(store).rows(
            f"""
            SELECT terms.rowid & {(1 << NUMBER_BITS) - 1}
              FROM terms
             WHERE terms MATCH ?
               AND terms.rowid >> {NUMBER_BITS} = (SELECT space FROM spaces WHERE id = ?)
             ORDER BY terms.rowid
            """,
            (f'"{term}"', space.bytes),
        )
        return [number for (number,) in rows]

    def every_byte(self, store: Store) -> bytes:
        with _connections(store).writing() as db:
            kept: bytes = db.serialize("main")
        return kept


class SqliteFile(SqliteMemory):
    def open(self) -> Store:
        return sqlite.open_file(self._folder / "holdfast.db")

    def reopen(self, store: Store) -> Store:
        store.close()
        return self.open()

    def every_byte(self, store: Store) -> bytes:
        return b"".join(file.read_bytes() for file in sorted(self._folder.iterdir()))


def _connections(store: Any) -> Any:
    return store._connections


BACKENDS: Mapping[str, Callable[[Path], Backend]] = {
    "sqlite-memory": SqliteMemory,
    "sqlite-file": SqliteFile,
    "postgres": Postgres,
}
