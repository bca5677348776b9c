"""The word index: blind terms in FTS5. Rows are collected while jobs run and written once, in order, before the
commit: out of order FTS5 starts a new segment for every row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from uuid import UUID

import apsw

from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT, IndexText
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import OnConnection, Reader

_NOTHING = IndexText("", "", "", "")


MOST_PLACES = 65_536
"""A word that stands in so many places tells little; past them it is not followed, so that a huge space stays quick."""

MERGED_SEGMENTS = 2
"""So many of one level are merged when the store is tidied; FTS5 itself waits for four."""
MERGED_PAGES = 64
"""Written in one step of tidying, in a few milliseconds."""

_NUMBER, _FIELD = 1 << PLACE_NUMBER_SHIFT, 1 << PLACE_FIELD_SHIFT

_PLACES = f"""
SELECT wanted.key,
       (SELECT group_concat(place)
          FROM (SELECT (doc - ?2) * {_NUMBER} + unicode(col) * {_FIELD} + offset AS place
                  FROM temp.places
                 WHERE term = wanted.value
                   AND doc BETWEEN ?2 AND ?3
                 LIMIT {MOST_PLACES}))
  FROM json_each(?1) AS wanted"""
"""All terms at once: FTS5 prepares a statement of its own whenever its list is opened."""

_PLACES_IN = f"""
SELECT (SELECT group_concat(place)
          FROM (SELECT (doc - (wanted.value ->> 1)) * {_NUMBER} + unicode(col) * {_FIELD} + offset AS place
                  FROM temp.places
                 WHERE term = wanted.value ->> 0
                   AND doc BETWEEN wanted.value ->> 1 AND wanted.value ->> 2
                 LIMIT {MOST_PLACES}))
  FROM json_each(?1) AS wanted
 ORDER BY wanted.key"""
"""Each term with the numbers that its space begins and ends with."""


class TermReads:
    """`temp.places` is FTS5's own list of where a term stands; every connection has it."""

    def __init__(self, reader: Reader, number_of: Callable[[UUID], int]) -> None:
        self._reader = reader
        self._number_of = number_of

    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        place = self._number_of(space)
        first, last = place << NUMBER_BITS, (place + 1 << NUMBER_BITS) - 1
        rows = self._reader.rows(_PLACES, (json.dumps(terms), first, last)) if terms else []
        found: dict[int, str | None] = dict(rows)
        return [found[at] or "" for at in range(len(terms))]

    def places_in(self, asked: Sequence[tuple[UUID, Sequence[str]]]) -> list[list[str]]:
        wanted: list[tuple[str, int, int]] = []
        for space, terms in asked:
            place = self._number_of(space)
            first, last = place << NUMBER_BITS, (place + 1 << NUMBER_BITS) - 1
            wanted += ((term, first, last) for term in terms)
        found = iter(self._reader.rows(_PLACES_IN, (json.dumps(wanted),)) if wanted else ())
        return [[next(found)[0] or "" for _ in terms] for _, terms in asked]


def merge_some(db: apsw.Connection) -> bool:
    """Merges the index a little; True when more is left. A word is looked up in every segment, and every commit begins
    a new one. Two of about a size are made one, so that each term is rewritten a few times at most, however the index
    grows."""
    if not db.execute("SELECT 1 FROM terms_config WHERE k = 'usermerge'").fetchall():
        db.execute("INSERT INTO terms (terms, rank) VALUES ('usermerge', ?)", (MERGED_SEGMENTS,)).fetchall()
    before = db.total_changes()
    db.execute("INSERT INTO terms (terms, rank) VALUES ('merge', ?)", (MERGED_PAGES,)).fetchall()
    return db.total_changes() - before > 1


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
        """In the order of entries. Most are new: those up to the next that replaces one are written together."""
        new: list[tuple[int | str, ...]] = []
        for entry, (text, replaces) in sorted(self._kept.items()):
            if replaces:
                self._insert(new)
                new = []
                self._tx.run("DELETE FROM terms WHERE rowid = ?", (entry,))
            if text is not _NOTHING:
                new.append((entry, *text))
        self._insert(new)
        self._kept.clear()

    def _insert(self, rows: list[tuple[int | str, ...]]) -> None:
        if rows:
            self._tx.run_many("INSERT INTO terms (rowid, hint, tags, key, body) VALUES (?, ?, ?, ?, ?)", rows)
