"""What ranking knows of the entries of a space: their outlines, and which of them carry a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from holdfast.contracts.rows import EntryRow, OutlineRow
from holdfast.storage.sqlite.connections import Reader
from holdfast.storage.sqlite.entries import HEAD, NUMBER_MASK

_NEWER = """entries.space = ?1
   AND entries.partition IN (1, 2, 3, 4, 5, 6, 7, 8, 9)
   AND entries.seq > ?2
   AND entries.trashed_us IS NULL
   AND entries.length > 0"""
"""Every room by its number, so that the index by room and sequence is used."""


class OutlineReads:
    def __init__(self, reader: Reader, number_of: Callable[[UUID], int]) -> None:
        self._reader = reader
        self._number_of = number_of

    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        rows = self._reader.rows(
            f"""
            SELECT entries.entry & {NUMBER_MASK}, entries.partition, entries.owner, entries.revision, entries.seq,
                   entries.updated_us, entries.expires_us, entries.flags, entries.length
              FROM entries
             WHERE {_NEWER}
             ORDER BY entries.seq
            """,
            (self._number_of(space), after),
        )
        return list(map(OutlineRow._make, rows))

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        rows = self._reader.rows(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE {_NEWER}
             ORDER BY entries.seq
             LIMIT ?3
            """,
            (self._number_of(space), after, limit),
        )
        return list(map(EntryRow._make, rows))

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        place = self._number_of(space)
        found: set[int] = set()
        for label in labels:
            rows = self._reader.rows(
                f"SELECT entry & {NUMBER_MASK} FROM labels WHERE space = ? AND label = ?", (place, label)
            )
            found.update(number for (number,) in rows)
        return list(found)
