"""The PostgreSQL store: the reads, and the writer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.contracts.rows import KeyRow
from holdfast.settings import Settings
from holdfast.storage.postgres.access import AgentReads, GrantReads, MemberReads, RuleReads
from holdfast.storage.postgres.audit import AuditReads
from holdfast.storage.postgres.connections import Connections, Patience
from holdfast.storage.postgres.copies import CopyReads
from holdfast.storage.postgres.entries import EntryReads
from holdfast.storage.postgres.keys import KeyReads, NameReads
from holdfast.storage.postgres.leases import Leases
from holdfast.storage.postgres.migrate import migrate
from holdfast.storage.postgres.proposals import ProposalReads
from holdfast.storage.postgres.ranking_rows import DerivedReads, ModelReads, OutlineReads
from holdfast.storage.postgres.receipts import ReceiptReads
from holdfast.storage.postgres.spaces import SpaceReads, StatesAhead
from holdfast.storage.postgres.vectors import VectorReads
from holdfast.storage.postgres.word_index import TermReads, WordTableReads
from holdfast.storage.postgres.writer import Writer

CONNECTIONS = 10
FOR_READERS = 2
"""Connections that writers never take."""


class PostgresStore:
    remote = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writer = writer = Writer(connections, at_once=max(1, connections.size - FOR_READERS))
        self.submit = writer.submit
        self.write = writer.write
        self.entries = EntryReads(connections)
        self.outlines = OutlineReads(connections)
        self.terms = TermReads(connections)
        self.word_table = WordTableReads(connections)
        self.derived = DerivedReads(connections)
        self.models = ModelReads(connections)
        self.copies = CopyReads(connections)
        self.vectors = VectorReads(connections)
        self.spaces = SpaceReads(connections)
        self.ahead = StatesAhead(connections)
        self.names = NameReads(connections)
        self.keys = KeyReads(connections)
        self.grants = GrantReads(connections)
        self.members = MemberReads(connections)
        self.rules = RuleReads(connections)
        self.agents = AgentReads(connections)
        self.receipts = ReceiptReads(connections)
        self.proposals = ProposalReads(connections)
        self.audit = AuditReads(connections)
        self.leases = Leases(connections)

    @property
    def unclean(self) -> bool:
        return self._writer.unclean

    def tidy(self) -> bool:
        """Does nothing: the server tidies its own index."""
        return False

    def close(self) -> None:
        self._writer.close()
        self._connections.close()


def open_database(
    dsn: str,
    *,
    connections: int = CONNECTIONS,
    patience: Patience | None = None,
    prepared: bool = False,
    check: Callable[[list[KeyRow]], None] | None = None,
) -> PostgresStore:
    """Opens or makes the store in a database. `prepared` keeps plans on the connections: faster, where no pooler in
    transaction mode stands in between. `check` sees the store's own keys before anything is changed, and may
    refuse."""
    migrate(dsn, check=check)
    return PostgresStore(
        Connections(dsn, size=connections, patience=patience or Patience(), prepared=prepared)
    )


def open_store(
    settings: Settings,
    file: Path | None,  # noqa: ARG001
    check: Callable[[list[KeyRow]], None],
) -> PostgresStore:
    assert settings.database_url is not None
    return open_database(
        settings.database_url,
        connections=settings.pool_size,
        prepared=settings.prepared_statements,
        check=check,
    )
