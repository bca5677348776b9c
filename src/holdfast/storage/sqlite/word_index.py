"""The word index: blind terms in FTS5. Rows are collected while jobs run and written in order before the commit: out
of order, FTS5 starts a new segment for every row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

import apsw

from holdfast.contracts.rows import PLACE_FIELD_SHIFT, PLACE_NUMBER_SHIFT, IndexText
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import OnConnection, Reads, Writes

_NOTHING = IndexText("", "", "", "")


MOST_PLACES = 65_536
"""The most places of a word that are read. A word with more tells little, and a huge space stays fast."""

MERGED_SEGMENTS = 2
"""The number of segments of one level that tidying merges; FTS5 itself waits for four."""
MERGED_PAGES = 64
"""Pages written in one step of tidying, in a few milliseconds."""

_INSERT = "INSERT INTO terms (rowid, hint, tags, key, body) VALUES (?, ?, ?, ?, ?)"
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
"""All terms at once, because FTS5 prepares a statement whenever its list is opened."""

_PLACES_IN = f"""
SELECT (SELECT group_concat(place)
          FROM (SELECT (doc - (wanted.value ->> 1)) * {_NUMBER} + unicode(col) * {_FIELD} + offset AS place
                  FROM temp.places
                 WHERE term = wanted.value ->> 0
                   AND doc BETWEEN wanted.value ->> 1 AND wanted.value ->> 2
                 LIMIT {MOST_PLACES}))
  FROM json_each(?1) AS wanted
 ORDER BY wanted.key"""
"""Each term with the first and last number of its space."""


class TermReads(Reads):
    """Reads `temp.places`, FTS5's list of the places of terms, which every connection has."""

    def places(self, space: UUID, terms: Sequence[str]) -> list[str]:
        space_number = self._number_of(space)
        first, last = space_number << NUMBER_BITS, (space_number + 1 << NUMBER_BITS) - 1
        rows = self._reader.rows(_PLACES, (json.dumps(terms), first, last)) if terms else []
        found: dict[int, str | None] = dict(rows)
        return [found[at] or "" for at in range(len(terms))]

    def places_in(self, requests: Sequence[tuple[UUID, Sequence[str]]]) -> list[list[str]]:
        lookups: list[tuple[str, int, int]] = []
        for space, terms in requests:
            space_number = self._number_of(space)
            first, last = space_number << NUMBER_BITS, (space_number + 1 << NUMBER_BITS) - 1
            lookups += ((term, first, last) for term in terms)
        found = iter(self._reader.rows(_PLACES_IN, (json.dumps(lookups),)) if lookups else ())
        return [[next(found)[0] or "" for _ in terms] for _, terms in requests]


def merge_some(db: apsw.Connection) -> bool:
    """Merges the index a little; True when more is left. A lookup reads every segment, and every commit begins a new
    one. Two segments of similar size become one, so that each term is rewritten a few times at most, however the
    index grows."""
    if not db.execute("SELECT 1 FROM terms_config WHERE k = 'usermerge'").fetchall():
        db.execute("INSERT INTO terms (terms, rank) VALUES ('usermerge', ?)", (MERGED_SEGMENTS,)).fetchall()
    before = db.total_changes()
    db.execute("INSERT INTO terms (terms, rank) VALUES ('merge', ?)", (MERGED_PAGES,)).fetchall()
    return db.total_changes() - before > 1


class TermWrites(Writes):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._kept: dict[int, tuple[IndexText, bool]] = {}
        self._job: dict[int, tuple[IndexText, bool]] = {}

    def put(self, space: UUID, number: int, text: IndexText, *, replaces: bool) -> None:
        entry = self._number_of(space) << NUMBER_BITS | number
        before = self._job.get(entry) or self._kept.get(entry)
        self._job[entry] = text, replaces or (before is not None and before[1])

    def drop(self, space: UUID, numbers: Sequence[int]) -> None:
        base = self._number_of(space) << NUMBER_BITS
        for number in numbers:
            self._job[base | number] = _NOTHING, True

    def drop_space(self, space: UUID) -> None:
        """Reads the numbers from the index itself, because the entries may be gone already."""
        space_number = self._number_of(space)
        rows = self._tx.rows(
            "SELECT id FROM terms_docsize WHERE id > ? AND id < ?",
            (space_number << NUMBER_BITS, (space_number + 1) << NUMBER_BITS),
        )
        for (entry,) in rows:
            self._job[entry] = _NOTHING, True

    def keep_job(self) -> None:
        self._kept.update(self._job)
        self._job.clear()

    def forget_job(self) -> None:
        self._job.clear()

    def flush(self) -> None:
        """Writes in the order of entries. New ones, up to the next that replaces one, go together."""
        new: list[tuple[int | str, ...]] = []
        for entry, (text, replaces) in sorted(self._kept.items()):
            if replaces:
                if new:
                    self._tx.run_many(_INSERT, new)
                    new = []
                self._tx.run("DELETE FROM terms WHERE rowid = ?", (entry,))
            if text is not _NOTHING:
                new.append((entry, *text))
        if new:
            self._tx.run_many(_INSERT, new)
        self._kept.clear()
