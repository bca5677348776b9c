"""Agents, idempotency receipts, the audit log, proposals and store copies in a storage backend. The promises of
contracts/storage.py hold here too."""

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
        """Every agent's row, in the order of blind ids."""
        ...


class AgentWrites(AgentReads, Protocol):
    def put(self, row: AgentRow) -> None:
        """Adds or replaces the row of an agent."""
        ...


class ReceiptReads(Protocol):
    def get(self, principal: bytes, key: bytes) -> ReceiptRow | None: ...


class ReceiptWrites(ReceiptReads, Protocol):
    def put(self, row: ReceiptRow) -> None: ...

    def delete_before(self, moment: int, limit: int) -> int: ...

    def move(self, principal: bytes, space: UUID, number: int, to_space: UUID, to_number: int) -> int:
        """Makes a principal's receipts about one entry be about another; returns their number."""
        ...

    def delete_entry(self, space: UUID, number: int) -> int: ...

    def delete_space(self, space: UUID) -> int: ...


class AuditReads(Protocol):
    def last(self) -> AuditRow | None: ...

    def head(self) -> AuditHead:
        """The end of the log; position 0 for an empty log."""
        ...

    def after(self, position: int, limit: int) -> list[AuditRow]:
        """Lines in order, after the first `position` lines."""
        ...

    def about(self, object: bytes, operations: Sequence[str], limit: int) -> list[AuditRow]:
        """Lines of these operations that name an object, newest first. Reads the whole log."""
        ...


class AuditWrites(AuditReads, Protocol):
    def append(self, row: AuditRow, code: bytes = b"") -> None:
        """Adds a line; `code` is the code of the head it makes."""
        ...


class ProposalReads(Protocol):
    def get(self, id: UUID) -> ProposalRow | None:
        """A proposal, answered or not. In a transaction it is locked against other answers until the end."""
        ...

    def waiting(self, person: bytes, spaces: Sequence[UUID], now: int, limit: int) -> list[ProposalRow]:
        """Proposals that ask this person or concern one of these spaces and can still be answered, newest first."""
        ...


class ProposalWrites(ProposalReads, Protocol):
    def insert(self, row: ProposalRow) -> None: ...

    def answer(self, id: UUID, answer: int) -> bool:
        """Stores the answer and removes the sealed call; False when it was answered before."""
        ...

    def delete_before(self, moment: int, limit: int) -> int:
        """Removes proposals that expired before a moment, answered or not."""
        ...

    def delete_of(self, principal: bytes) -> int:
        """Removes proposals that a principal made or is asked to answer."""
        ...

    def delete_entry(self, space: UUID, number: int) -> int: ...

    def delete_space(self, space: UUID) -> int: ...


class CopyReads(Protocol):
    """Whole tables in pages, for moving a store to another backend. Rows stay sealed. Tables that other contracts
    list whole (keys, grants, rules, audit, models) are not here."""

    def spaces(self, after: UUID | None, limit: int) -> list[WholeSpace]:
        """Spaces in the order of ids."""
        ...

    def entries(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        """Entries in any state, by number."""
        ...

    def revisions(self, space: UUID, after: tuple[int, int], limit: int) -> list[RevisionRow]:
        """Revisions by number and revision."""
        ...

    def names(self, after: bytes, limit: int) -> list[NameRow]: ...

    def members(self, space: UUID) -> list[MemberRow]: ...

    def receipts(self, after: tuple[bytes, bytes], limit: int) -> list[ReceiptRow]:
        """Receipts by principal and key."""
        ...


class CopyWrites(Protocol):
    """Rows exactly as another store had them. Each call adds a row or replaces it."""

    def put_space(self, space: WholeSpace) -> None: ...

    def put_key(self, row: KeyRow) -> None: ...

    def put_entry(self, space: UUID, row: EntryRow) -> None:
        """Puts an entry, with its labels while it is live, without earlier revisions."""
        ...

    def put_model(self, row: ModelRow) -> None: ...
