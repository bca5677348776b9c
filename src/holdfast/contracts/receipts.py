"""What idempotency keys were answered, as a store keeps it."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import ReceiptRow


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
