"""The part of a storage backend that recall uses: the word index, rows derived from entries, and embedding models.
The promises of contracts/storage.py hold here too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from holdfast.contracts.rows import (
    DerivedRow,
    EntryRow,
    IndexText,
    ModelRow,
    OutlineRow,
    SpaceState,
    Visible,
    WordTableRow,
)


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
