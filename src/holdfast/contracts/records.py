"""The other records of a storage backend: agents, idempotency receipts, the audit log, proposals and store copies; for
recall the word index, rows derived from entries, and embedding models. The promises of contracts/storage.py hold here
too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import (
    AgentRow,
    AuditHead,
    AuditRow,
    DerivedRow,
    EntryRow,
    IndexText,
    KeyRow,
    MemberRow,
    ModelRow,
    NameRow,
    OutlineRow,
    ProposalRow,
    ReceiptRow,
    RevisionRow,
    SpaceState,
    Visible,
    WholeSpace,
    WordTableRow,
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


class OutlineReads(Protocol):
    """Outlines: the columns of a space's entries that ranking needs. Takes no `visible`, because one snapshot serves
    all callers of a space, each through a mask; every hit is read again through `visible`."""

    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        """Live, indexed entries of every partition above a sequence number, oldest change first."""
        ...

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        """Whole rows of the entries that `of` outlines, at most `limit`; for deriving features and vectors."""
        ...

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        """Numbers of the live entries that carry one of these labels."""
        ...


class TermReads(Protocol):
    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        """For each blind term all its places in the word index, in no stated order: decimal numbers joined by commas.
        Each packs the entry's number, the field's first letter and the count of terms before it in that field
        (rows.PLACE_*). One string takes a tenth of the time of a row for each place."""
        ...

    def places_in(self, requests: Sequence[tuple[UUID, Sequence[str]]]) -> list[list[str]]:
        """The places of terms of several spaces, in the order of the request."""
        ...


class StatesAhead(Protocol):
    def of(self, spaces: Sequence[UUID]) -> AbstractContextManager[Callable[[], list[SpaceState | None]]]:
        """Requests the counters of these spaces on entry. The call returns them in this order, as of a moment after
        the request; the caller may work in between."""
        ...


class WordTableReads(Protocol):
    """The word index read whole, where asking for single terms costs more than ranking does."""

    def of(self, space: UUID, numbers: Sequence[int] | None = None) -> list[WordTableRow]:
        """The index rows of these entries, or of all in the space, in no stated order; none for entries without an
        index row."""
        ...

    def number(self, term: str) -> int:
        """The number that stands for a blind term in these rows."""
        ...


class TermWrites(Protocol):
    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:
        """Indexes the blind terms of an entry; `replaces` says that it has earlier ones."""
        ...

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        """Removes entries from the word index; needs no key."""
        ...

    def drop_space(self, space: UUID) -> None: ...


class DerivedReads(Protocol):
    def of(self, space: UUID, model: int, numbers: Sequence[int] | None = None) -> list[DerivedRow]:
        """The rows a model derived in a space, of these entries or of all, in no stated order."""
        ...

    def progress(self, model: int, space: UUID) -> int:
        """The sequence number up to which a model has derived everything; 0 at first."""
        ...

    def behind(self, model: int, limit: int) -> list[UUID]:
        """Spaces in which a model has something left to derive. Takes no space, because it serves the whole store."""
        ...

    def count_behind(self, model: int, visible: Visible | None = None) -> int:
        """The number of entries that wait for a model: of all spaces, or of the visible part of one."""
        ...

    def sealed_with(self, space: UUID, key_id: int, limit: int) -> list[DerivedRow]:
        """Rows of any model sealed under a key, for key rotation."""
        ...


class DerivedWrites(DerivedReads, Protocol):
    def put(self, space: UUID, row: DerivedRow) -> bool:
        """Adds or replaces a row; False when the entry is no longer at this revision."""
        ...

    def advance(self, model: int, space: UUID, seq: int) -> None:
        """Records that everything up to this sequence number is derived."""
        ...

    def fall_back(self, space: UUID, seq: int) -> None:
        """Lowers the progress of every model to below this sequence number, because an entry came back."""
        ...

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        """Removes everything derived from these entries; needs no key."""
        ...

    def drop_space(self, space: UUID) -> None: ...

    def drop_model(self, model: int, limit: int) -> int:
        """Removes a batch of a model's rows, and its progress with the last batch; returns the number of rows
        removed."""
        ...


class VectorReads(Protocol):
    """Vectors of spaces too large for a snapshot, which the backend compares itself. They are rotated by a key of the
    space, which keeps every cosine."""

    def cosines(self, space: UUID, model: int, key_id: int, query: bytes, limit: int | None) -> str:
        """The nearest vectors to a query in half precision, both rotated by the key named; all of them without a
        limit. Returns `number:cosine` pairs joined by commas, nearest first, ties by number."""
        ...

    def build_index(self, space: UUID, model: int, dimensions: int) -> str:
        """Builds an approximate index over one model's vectors in one space and returns its name. Others read and
        write meanwhile. InvalidField for more dimensions than the backend indexes."""
        ...

    def drop_index(self, space: UUID, model: int) -> None:
        """Drops the index of one model in one space, if there is one."""
        ...


class ModelReads(Protocol):
    def all(self) -> list[ModelRow]:
        """Every model, oldest first."""
        ...


class ModelWrites(ModelReads, Protocol):
    def insert(self, name: str, dimensions: int, state: str, now: int) -> int:
        """Adds a model and returns its number, which is never reused."""
        ...

    def set_state(self, model: int, state: str, overlap: float | None) -> None: ...

    def delete(self, model: int) -> None: ...
