"""What recall needs from a storage backend: the word index, what is derived from entries, and the models that do it.
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
    LexiconRow,
    ModelRow,
    OutlineRow,
    SpaceState,
    Visible,
)


class OutlineReads(Protocol):
    """What ranking knows of a space's entries. Takes no `visible`: it serves all callers of a space, each through a
    mask, and shows nothing; every hit is read again as shown."""

    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        """Live, indexed entries of every room above a sequence number, oldest change first."""
        ...

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        """The same entries whole, for what is derived from them; at most `limit`."""
        ...

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        """Numbers of the live entries that carry one of these labels."""
        ...


class TermReads(Protocol):
    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        """For each blind term every place where it stands in the word index, in no stated order: decimal numbers
        joined by commas, each made of the entry's number, the first letter of the field and the count of terms that
        come before it in that field, shifted as rows.PLACE_* say. One string costs a tenth of a row for each place."""
        ...

    def places_in(self, asked: Sequence[tuple[UUID, Sequence[str]]]) -> list[list[str]]:
        """The same for the terms of several spaces, in the order asked for."""
        ...


class StatesAhead(Protocol):
    def of(self, spaces: Sequence[UUID]) -> AbstractContextManager[Callable[[], list[SpaceState | None]]]:
        """Asks for the counters of these spaces when it is entered. The call gives them, in this order, as of a moment
        after that; what is done in between need not wait for the store."""
        ...


class LexiconReads(Protocol):
    """The word index to be opened whole, where asking for single words costs more than ranking does."""

    def of(self, space: UUID, numbers: Sequence[int] | None = None) -> list[LexiconRow]:
        """The index of these entries, or of all in the space; in no stated order, and none for what is not indexed."""
        ...

    def number(self, term: str) -> int:
        """Which number stands for a blind term in these rows."""
        ...


class TermWrites(Protocol):
    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:
        """Indexes an entry's blind terms, in place of earlier ones when `replaces`."""
        ...

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        """Takes entries out of the word index; needs no key."""
        ...

    def drop_space(self, space: UUID) -> None: ...


class DerivedReads(Protocol):
    def of(self, space: UUID, model: int, numbers: Sequence[int] | None = None) -> list[DerivedRow]:
        """What a model derived in a space, of these entries or of all; in no stated order."""
        ...

    def progress(self, model: int, space: UUID) -> int:
        """The sequence number up to which a model has derived everything; 0 at first."""
        ...

    def behind(self, model: int, limit: int) -> list[UUID]:
        """Spaces in which a model has something left to derive. Names no space: it serves the store."""
        ...

    def count_behind(self, model: int, visible: Visible | None = None) -> int:
        """How many entries wait for a model: of all spaces, or of what somebody may see of one."""
        ...

    def sealed_with(self, space: UUID, key_id: int, limit: int) -> list[DerivedRow]:
        """What is sealed under a key, of any model: for key rotation."""
        ...


class DerivedWrites(DerivedReads, Protocol):
    def put(self, space: UUID, row: DerivedRow) -> bool:
        """Adds or replaces, if the entry still stands at this revision; says whether it does."""
        ...

    def advance(self, model: int, space: UUID, seq: int) -> None:
        """Everything up to this sequence number is derived."""
        ...

    def fall_back(self, space: UUID, seq: int) -> None:
        """No model has derived more than what lies below this sequence number: an entry came back."""
        ...

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        """Removes everything derived from these entries; needs no key."""
        ...

    def drop_space(self, space: UUID) -> None: ...

    def drop_model(self, model: int, limit: int) -> int:
        """Removes what a model derived, a batch at a time; with the last batch its progress too."""
        ...


class VectorReads(Protocol):
    """Vectors of spaces too large to be opened, which the backend compares itself. They are rotated by a key of the
    space, which keeps every cosine."""

    def cosines(self, space: UUID, model: int, key_id: int, query: bytes, limit: int | None) -> str:
        """Of the vectors rotated by one key the nearest to a query rotated likewise (half precision), all of them
        without a limit: `number:cosine` pairs joined by commas, nearest first, ties by number."""
        ...

    def build_index(self, space: UUID, model: int, dimensions: int) -> str:
        """An index by which the nearest of one model in one space are found, nearly all of them; says its name. Others
        read and write meanwhile. InvalidField for more dimensions than the backend indexes."""
        ...

    def drop_index(self, space: UUID, model: int) -> None:
        """Does nothing when there is none."""
        ...


class ModelReads(Protocol):
    def all(self) -> list[ModelRow]:
        """Every model, oldest first."""
        ...


class ModelWrites(ModelReads, Protocol):
    def insert(self, name: str, dimensions: int, state: str, now: int) -> int:
        """A new model; returns its number, which is never given again."""
        ...

    def set_state(self, model: int, state: str, overlap: float | None) -> None: ...

    def delete(self, model: int) -> None: ...
