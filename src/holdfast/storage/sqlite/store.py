"""The SQLite store: the reads, and the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from holdfast.contracts.rows import KeyRow
from holdfast.disk import on_disk
from holdfast.settings import Settings
from holdfast.storage.sqlite.access import AgentReads, GrantReads, MemberReads, RuleReads
from holdfast.storage.sqlite.audit import AuditReads
from holdfast.storage.sqlite.connections import (
    Connections,
    FileConnections,
    MemoryConnection,
    OnConnection,
    translated,
)
from holdfast.storage.sqlite.copies import CopyReads
from holdfast.storage.sqlite.entries import EntryReads
from holdfast.storage.sqlite.keys import KeyReads, NameReads
from holdfast.storage.sqlite.migrate import look_first, migrate, open_untouched
from holdfast.storage.sqlite.proposals import ProposalReads
from holdfast.storage.sqlite.ranking_rows import DerivedReads, ModelReads, OutlineReads
from holdfast.storage.sqlite.receipts import ReceiptReads
from holdfast.storage.sqlite.spaces import SpaceReads
from holdfast.storage.sqlite.word_index import TermReads, merge_some
from holdfast.storage.sqlite.writer import Writer


class SqliteStore:
    remote = False

    def __init__(self, connections: Connections) -> None:
        try:
            migrate(connections)
            self._writer = writer = Writer(connections)
        except BaseException:
            connections.close()
            raise
        self._connections = connections
        self.submit = writer.submit
        self.write = writer.write
        self.entries = EntryReads(connections)
        self.outlines = OutlineReads(connections)
        self.terms = TermReads(connections)
        self.derived = DerivedReads(connections)
        self.models = ModelReads(connections)
        self.copies = CopyReads(connections)
        self.ahead = None
        self.word_table = None
        self.vectors = None
        self.leases = None
        self.spaces = SpaceReads(connections)
        self.names = NameReads(connections)
        self.keys = KeyReads(connections)
        self.grants = GrantReads(connections)
        self.members = MemberReads(connections)
        self.rules = RuleReads(connections)
        self.agents = AgentReads(connections)
        self.receipts = ReceiptReads(connections)
        self.proposals = ProposalReads(connections)
        self.audit = AuditReads(connections)

    @property
    def unclean(self) -> bool:
        return self._writer.unclean

    def tidy(self) -> bool:
        try:
            with self._connections.writing() as db:
                return merge_some(db)
        except apsw.Error as error:
            raise translated(error) from error

    def close(self) -> None:
        self._writer.close()
        self._connections.close()


def open_file(
    path: Path, *, durable: bool = True, check: Callable[[list[KeyRow]], None] | None = None
) -> SqliteStore:
    """Opens or makes a file. `check` sees the store's own keys before anything is changed, and may refuse."""
    look_first(path, check)
    with on_disk(path):
        return SqliteStore(FileConnections(path, durable=durable))


def open_memory() -> SqliteStore:
    return SqliteStore(MemoryConnection())


def open_store(settings: Settings, file: Path | None, check: Callable[[list[KeyRow]], None]) -> SqliteStore:
    return open_memory() if file is None else open_file(file, durable=settings.durable, check=check)


@contextmanager
def looking(path: Path) -> Iterator[tuple[KeyReads, EntryReads]]:
    """Lends the keys and entries of a file for reading without changing it."""
    db = open_untouched(path)
    try:
        reader = OnConnection(db)
        yield KeyReads(reader), EntryReads(reader)
    except apsw.Error as error:
        raise translated(error) from error
    finally:
        db.close()
