"""What waits for a person's yes, as a store keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import ProposalRow


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
