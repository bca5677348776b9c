"""Agents, idempotency receipts, the audit log, proposals and store copies, as a storage backend keeps them.
The promises of contracts/storage.py hold here too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import (
    AgentRow,
    AuditHead,
    AuditRow,
    EntryRow,
    KeyRow,
    MemberRow,
    ModelRow,
    NameRow,
    ProposalRow,
    ReceiptRow,
    RevisionRow,
    WholeSpace,
)


class AgentReads(Protocol):
    def get(self, agent: bytes) -> AgentRow | None: ...

    def all(self) -> list[AgentRow]:
        """In the order of their blind ids."""
        ...


class AgentWrites(AgentReads, Protocol):
    def put(self, row: AgentRow) -> None:
        """One line an agent: a new one replaces the old."""
        ...


class ReceiptReads(Protocol):
    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None: ...


class ReceiptWrites(ReceiptReads, Protocol):
    def put(self, row: ReceiptRow) -> None: ...

    def delete_before(self, moment: int, limit: int) -> int: ...

    def move(self, principal: bytes, space: UUID, number: int, to_space: UUID, to_number: int) -> int:
        """What a principal was answered about one entry is about another from now on. Says how many answers."""
        ...

    def delete_entry(self, space: UUID, number: int) -> int: ...

    def delete_space(self, space: UUID) -> int: ...


class AuditReads(Protocol):
    def last(self) -> AuditRow | None: ...

    def head(self) -> AuditHead:
        """Where the log ends; position 0 when nothing was ever logged."""
        ...

    def after(self, position: int, limit: int) -> list[AuditRow]:
        """Lines in order, after the first `position` lines."""
        ...

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        """Lines of these operations that name an object, newest first. Looks at the whole log."""
        ...


class AuditWrites(AuditReads, Protocol):
    def append(self, row: AuditRow, code: bytes = b"") -> None:
        """Adds a line; `code` is that of the head it makes."""
        ...


class ProposalReads(Protocol):
    def get(self, id: UUID) -> ProposalRow | None:
        """Whatever became of it. In a transaction nobody else answers it before that ends."""
        ...

    def waiting(self, person: bytes, spaces: Sequence[UUID], now: int, limit: int) -> list[ProposalRow]:
        """Those that ask this person or concern one of these spaces, and still can be answered; newest first."""
        ...


class ProposalWrites(ProposalReads, Protocol):
    def insert(self, row: ProposalRow) -> None: ...

    def answer(self, id: UUID, answer: int) -> bool:
        """Keeps the answer and removes what was sealed; False when it was answered before."""
        ...

    def delete_before(self, moment: int, limit: int) -> int:
        """Removes those that expired before a moment, answered or not."""
        ...

    def delete_of(self, principal: bytes) -> int:
        """Removes those that ask a principal or that it made."""
        ...

    def delete_entry(self, space: UUID, number: int) -> int: ...

    def delete_space(self, space: UUID) -> int: ...


class CopyReads(Protocol):
    """Whole tables in pages, for moving a store to another backend. Names no caller: it serves who owns the store, and
    rows stay sealed as they are. What other contracts list whole (keys, grants, rules, audit, models) is not here."""

    def spaces(self, after: UUID | None, limit: int) -> list[WholeSpace]:
        """In the order of ids."""
        ...

    def entries(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        """In whatever state, by number."""
        ...

    def revisions(self, space: UUID, after: tuple[int, int], limit: int) -> list[RevisionRow]:
        """By number and revision."""
        ...

    def names(self, after: bytes, limit: int) -> list[NameRow]: ...

    def members(self, space: UUID) -> list[MemberRow]: ...

    def receipts(self, after: tuple[bytes, bytes], limit: int) -> list[ReceiptRow]:
        """By principal and key."""
        ...


class CopyWrites(Protocol):
    """Rows as another store had them. Each adds, or replaces what is there."""

    def put_space(self, space: WholeSpace) -> None: ...

    def put_key(self, row: KeyRow) -> None: ...

    def put_entry(self, space: UUID, row: EntryRow) -> None:
        """With its labels while it is live, and without any earlier revision."""
        ...

    def put_model(self, row: ModelRow) -> None: ...
