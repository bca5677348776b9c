"""The PostgreSQL store: a pool of connections, the writer, and the contracts they fulfil."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from holdfast.contracts.rows import KeyRow
from holdfast.contracts.storage import Answer, Job
from holdfast.storage.postgres.access import GrantReads, MemberReads, RuleReads
from holdfast.storage.postgres.agents import AgentReads
from holdfast.storage.postgres.audit import AuditReads
from holdfast.storage.postgres.connections import Connections, Patience
from holdfast.storage.postgres.copies import CopyReads
from holdfast.storage.postgres.entries import EntryReads
from holdfast.storage.postgres.keys import KeyReads, NameReads
from holdfast.storage.postgres.leases import Leases
from holdfast.storage.postgres.migrate import migrate
from holdfast.storage.postgres.models import ModelReads
from holdfast.storage.postgres.proposals import ProposalReads
from holdfast.storage.postgres.ranking_rows import DerivedReads, OutlineReads
from holdfast.storage.postgres.receipts import ReceiptReads
from holdfast.storage.postgres.spaces import SpaceReads, StatesAhead
from holdfast.storage.postgres.vectors import VectorReads
from holdfast.storage.postgres.word_index import LexiconReads, TermReads
from holdfast.storage.postgres.writer import Writer

CONNECTIONS = 10
FOR_READERS = 2
"""So many connections are never taken by writers."""

T = TypeVar("T")


class PostgresStore:
    remote = True
    crowded = False

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writer = Writer(connections, at_once=max(1, connections.size - FOR_READERS))
        self.entries = EntryReads(connections)
        self.outlines = OutlineReads(connections)
        self.terms = TermReads(connections)
        self.lexicon = LexiconReads(connections)
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

    def submit(self, job: Job[T]) -> Future[T]:
        return self._writer.submit(job)

    def submit_to(self, job: Job[T], answer: Answer[T]) -> None:
        self._writer.submit_to(job, answer)

    def write(self, job: Job[T]) -> T:
        return self._writer.write(job)

    def tidy(self) -> bool:
        """The server looks after its own index."""
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
    """Opens or makes the store in a database. `prepared` keeps plans on the connections: quicker, where no pooler in
    transaction mode stands in between. `check` sees the store's own keys before anything is changed, and may refuse."""
    migrate(dsn, check=check)
    return PostgresStore(
        Connections(dsn, size=connections, patience=patience or Patience(), prepared=prepared)
    )
