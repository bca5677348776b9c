"""What moving a store to another backend needs from both. The promises of contracts/storage.py hold here too."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import (
    EntryRow,
    KeyRow,
    MemberRow,
    ModelRow,
    NameRow,
    ReceiptRow,
    RevisionRow,
    WholeSpace,
)


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
