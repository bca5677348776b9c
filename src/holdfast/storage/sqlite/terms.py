"""The word index: blind terms in FTS5. Rows are collected while jobs run and written once, in order, before the
commit: out of order FTS5 starts a new segment for every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT, IndexText
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import OnConnection, Reader

_NOTHING = IndexText("", "", "", "")


MOST_PLACES = 65_536
"""A word that stands in so many places tells little; past them it is not followed, so that a huge space stays quick."""

_PLACES = f"""
SELECT group_concat(place)
  FROM (SELECT ((doc - ?2) << {PLACE_NUMBER_SHIFT}) | (unicode(col) << {PLACE_FIELD_SHIFT}) | offset AS place
          FROM temp.places
         WHERE term = ?1
           AND doc BETWEEN ?2 AND ?3
         LIMIT {MOST_PLACES})"""


class TermReads:
    """`temp.places` is FTS5's own list of where a term stands; every connection has it."""

    def __init__(self, reader: Reader, number_of: Callable[[UUID], int]) -> None:
        self._reader = reader
        self._number_of = number_of

    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        place = self._number_of(space)
        first, last = place << NUMBER_BITS, (place + 1 << NUMBER_BITS) - 1
        return [self._reader.rows(_PLACES, (term, first, last))[0][0] or "" for term in terms]


class TermWrites:
    def __init__(self, tx: OnConnection, number_of: Callable[[UUID], int]) -> None:
        self._tx = tx
        self._number_of = number_of
        self._kept: dict[int, tuple[IndexText, bool]] = {}
        self._job: dict[int, tuple[IndexText, bool]] = {}

    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:
        entry = self._number_of(space) << NUMBER_BITS | number
        before = self._job.get(entry) or self._kept.get(entry)
        self._job[entry] = text, replaces or (before is not None and before[1])

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        place = self._number_of(space) << NUMBER_BITS
        for number in numbers:
            self._job[place | number] = _NOTHING, True

    def drop_space(self, space: UUID) -> None:
        place = self._number_of(space)
        """Asks the index itself what it holds: the entries may be gone already."""
        rows = self._tx.rows(
            "SELECT id FROM terms_docsize WHERE id > ? AND id < ?",
            (place << NUMBER_BITS, (place + 1) << NUMBER_BITS),
        )
        for (entry,) in rows:
            self._job[entry] = _NOTHING, True

    def keep_job(self) -> None:
        self._kept.update(self._job)
        self._job.clear()

    def forget_job(self) -> None:
        self._job.clear()

    def flush(self) -> None:
        for entry, (text, replaces) in sorted(self._kept.items()):
            if replaces:
                self._tx.run("DELETE FROM terms WHERE rowid = ?", (entry,))
            if text is not _NOTHING:
                self._tx.run(
                    "INSERT INTO terms (rowid, hint, tags, key, body) VALUES (?, ?, ?, ?, ?)", (entry, *text)
                )
        self._kept.clear()
