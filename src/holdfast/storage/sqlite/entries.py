"""Entries, their superseded revisions and their labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter
from uuid import UUID

from holdfast.contracts.rows import EntryAddress, EntryRow, MovedRow, RevisionRow, Visible, partition_mask
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import Reader, Reads

NUMBER_MASK = (1 << NUMBER_BITS) - 1

HEAD = f"""entries.entry & {NUMBER_MASK}, entries.partition, entries.owner, entries.key, entries.revision,
       entries.born, entries.seq, entries.created_us, entries.updated_us, entries.expires_us, entries.trashed_us,
       entries.flags, entries.length, entries.key_id, entries.labels, entries.sealed"""

REVISION = f"""revisions.entry & {NUMBER_MASK}, revisions.revision, revisions.seq, revisions.updated_us,
       revisions.expires_us, revisions.flags, revisions.key_id, revisions.sealed"""

_SHOWN = """entries.space = ?1
   AND (?2 >> entries.partition) & 1
   AND ((?3 >> entries.partition) & 1 = 0 OR entries.owner = ?4)
   AND (entries.expires_us IS NULL OR entries.expires_us > ?5)"""

LIVE = f"""{_SHOWN}
   AND entries.trashed_us IS NULL"""

_HIGHEST = (1 << 62) - 1


_BY_KEY = f"""
SELECT {HEAD}
  FROM entries
 WHERE {LIVE}
   AND entries.key = ?6"""


_BY_NUMBER = f"""
SELECT {HEAD}
  FROM entries
 WHERE entries.entry = ?6
   AND {LIVE}"""


class EntryReads(Reads):
    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._look = reader.rows

    def _shown(self, visible: Visible) -> tuple[int, int, int, bytes, int]:
        space, partitions, viewer, now, private = visible
        return self._number_of(space), partition_mask(partitions), partition_mask(private), viewer, now

    def _heads(self, sql: str, values: Sequence[object]) -> list[EntryRow]:
        return list(map(EntryRow._make, self._reader.rows(sql, values)))

    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        """Sorted here: for one row, the usual case, SQLite's sorter takes six times as long as the read."""
        shown, found = self._shown(visible), []
        for key in keys:
            found += self._look(_BY_KEY, (*shown, key))
        if len(found) <= 1:
            return [EntryRow._make(row) for row in found]
        return sorted(map(EntryRow._make, found), key=attrgetter("seq"), reverse=True)

    def by_number(self, visible: Visible, number: int) -> EntryRow | None:
        shown = self._shown(visible)
        rows = self._reader.rows(_BY_NUMBER, (*shown, entry_number(shown[0], number)))
        return EntryRow._make(rows[0]) if rows else None

    def trashed_by_number(self, visible: Visible, number: int) -> EntryRow | None:
        shown = self._shown(visible)
        rows = self._heads(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE entries.entry = ?6
               AND {_SHOWN}
               AND entries.trashed_us IS NOT NULL
            """,
            (*shown, entry_number(shown[0], number)),
        )
        return rows[0] if rows else None

    def page(
        self, visible: Visible, labels: Sequence[bytes] | None, before: int | None, limit: int
    ) -> list[EntryRow]:
        shown = self._shown(visible)
        top = _HIGHEST if before is None else before
        if labels is None:
            found = [
                row for partition in visible.partitions for row in self._room(shown, partition, top, limit)
            ]
        else:
            carrying = [row for label in labels for row in self._labelled(shown, label, top, limit)]
            found = list({row.number: row for row in carrying}.values())
        return sorted(found, key=attrgetter("seq"), reverse=True)[:limit]

    def _room(self, shown: tuple[object, ...], partition: int, before: int, limit: int) -> list[EntryRow]:
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE {LIVE}
               AND entries.partition = ?6
               AND entries.seq < ?7
             ORDER BY entries.seq DESC
             LIMIT ?8
            """,
            (*shown, partition, before, limit),
        )

    def _labelled(self, shown: tuple[object, ...], label: bytes, before: int, limit: int) -> list[EntryRow]:
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM labels
              JOIN entries ON entries.entry = labels.entry
             WHERE labels.space = ?1
               AND labels.label = ?6
               AND labels.seq < ?7
               AND {LIVE}
             ORDER BY labels.seq DESC
             LIMIT ?8
            """,
            (*shown, label, before, limit),
        )

    def moved(
        self, visible: Visible, labels: Sequence[bytes] | None, since: int, before: int, limit: int
    ) -> list[MovedRow]:
        shown = self._shown(visible)
        if labels is None:
            found = [
                row for partition in visible.partitions for row in self._moved_in(shown, partition, since)
            ]
        else:
            carrying = [row for label in labels for row in self._moved_under(shown, label, since)]
            found = list({moved.row.number: moved for moved in carrying}.values())
        below = [moved for moved in found if moved.was < before]
        return sorted(below, key=attrgetter("was"), reverse=True)[:limit]

    def _moved_in(self, shown: tuple[object, ...], partition: int, since: int) -> list[MovedRow]:
        return self._moved(
            f"""
            SELECT (SELECT max(revisions.seq)
                      FROM revisions
                     WHERE revisions.entry = entries.entry
                       AND revisions.seq <= ?7), {HEAD}
              FROM entries
             WHERE {LIVE}
               AND entries.partition = ?6
               AND entries.seq > ?7
               AND entries.born <= ?7
            """,
            (*shown, partition, since),
        )

    def _moved_under(self, shown: tuple[object, ...], label: bytes, since: int) -> list[MovedRow]:
        return self._moved(
            f"""
            SELECT (SELECT max(revisions.seq)
                      FROM revisions
                     WHERE revisions.entry = entries.entry
                       AND revisions.seq <= ?7), {HEAD}
              FROM labels
              JOIN entries ON entries.entry = labels.entry
             WHERE labels.space = ?1
               AND labels.label = ?6
               AND labels.seq > ?7
               AND {LIVE}
               AND entries.born <= ?7
            """,
            (*shown, label, since),
        )

    def _moved(self, sql: str, values: Sequence[object]) -> list[MovedRow]:
        """An entry without history (a cache row) keeps its birth as its former position."""
        rows = self._reader.rows(sql, values)
        return [MovedRow(row[0] if row[0] is not None else row[6], EntryRow._make(row[1:])) for row in rows]

    def shown(self, visible: Visible, numbers: Sequence[int]) -> list[EntryRow]:
        """Uses the primary key alone: a join would take three times as long."""
        shown = self._shown(visible)
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries NOT INDEXED
             WHERE entries.entry IN (SELECT value FROM json_each(?6))
               AND {LIVE}
            """,
            (*shown, str([shown[0] << NUMBER_BITS | number for number in numbers])),
        )

    def flagged(self, visible: Visible, limit: int) -> list[EntryRow]:
        return self._with_flags(visible, 7, 1, limit)

    def quarantined(self, visible: Visible, limit: int) -> list[EntryRow]:
        return self._with_flags(visible, 4, 4, limit)

    def _with_flags(self, visible: Visible, mask: int, flags: int, limit: int) -> list[EntryRow]:
        """Scans the rows of the space: an index would fetch each by itself, in ten times the time."""
        shown = self._shown(visible)
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries NOT INDEXED
             WHERE entries.entry > ?6
               AND entries.entry < ?7
               AND entries.flags & ?8 = ?9
               AND {LIVE}
             ORDER BY entries.seq DESC
             LIMIT ?10
            """,
            (*shown, entry_number(shown[0], 0), entry_number(shown[0] + 1, 0), mask, flags, limit),
        )

    def expiring(self, visible: Visible, until: int, limit: int) -> list[EntryRow]:
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE {LIVE}
               AND entries.expires_us <= ?6
             ORDER BY entries.expires_us, entries.seq
             LIMIT ?7
            """,
            (*self._shown(visible), until, limit),
        )

    def trash(self, visible: Visible, before: int | None, limit: int) -> list[EntryRow]:
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE {_SHOWN}
               AND entries.trashed_us IS NOT NULL
               AND entries.seq < ?6
             ORDER BY entries.seq DESC
             LIMIT ?7
            """,
            (*self._shown(visible), _HIGHEST if before is None else before, limit),
        )

    def trashed_by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        found: list[EntryRow] = []
        for key in keys:
            found += self._heads(
                f"""
                SELECT {HEAD}
                  FROM entries
                 WHERE {_SHOWN}
                   AND entries.trashed_us IS NOT NULL
                   AND entries.key = ?6
                """,
                (*self._shown(visible), key),
            )
        return sorted(found, key=lambda row: (row.trashed_us or 0, row.seq), reverse=True)

    def history(self, visible: Visible, number: int, before: int, limit: int) -> list[RevisionRow]:
        shown = self._shown(visible)
        rows = self._reader.rows(
            f"""
            SELECT {REVISION}
              FROM revisions
             WHERE revisions.entry = ?6
               AND revisions.revision < ?7
               AND EXISTS (SELECT 1 FROM entries WHERE entries.entry = ?6 AND {_SHOWN})
             ORDER BY revisions.revision DESC
             LIMIT ?8
            """,
            (*shown, entry_number(shown[0], number), before, limit),
        )
        return [RevisionRow._make(row) for row in rows]

    def count(self, visible: Visible) -> int:
        return self._count(f"SELECT count(*) FROM entries WHERE {LIVE}", self._shown(visible))

    def count_locked(self, visible: Visible, readable: Sequence[int]) -> int:
        return self._count(
            f"""
            SELECT count(*)
              FROM entries
             WHERE {LIVE}
               AND entries.key_id NOT IN (SELECT value FROM json_each(?6))
            """,
            (*self._shown(visible), str(list(readable))),
        )

    def _count(self, sql: str, values: Sequence[object]) -> int:
        return int(self._reader.rows(sql, values)[0][0])

    def kept_elsewhere(self, owner: bytes) -> int:
        return self._count("SELECT count(*) FROM entries WHERE owner = ? AND flags & 8", (owner,))

    def expired(self, now: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        return self._addresses(
            f"""
            SELECT spaces.id, entries.entry & {NUMBER_MASK}
              FROM entries
              JOIN spaces ON spaces.space = entries.space
             WHERE entries.expires_us <= ?
               AND spaces.id NOT IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY entries.expires_us
             LIMIT ?
            """,
            (now, _ids(without), limit),
        )

    def trashed_before(self, moment: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        return self._addresses(
            f"""
            SELECT spaces.id, entries.entry & {NUMBER_MASK}
              FROM entries
              JOIN spaces ON spaces.space = entries.space
             WHERE entries.trashed_us < ?
               AND spaces.id NOT IN (SELECT unhex(value) FROM json_each(?))
             ORDER BY entries.trashed_us
             LIMIT ?
            """,
            (moment, _ids(without), limit),
        )

    def _addresses(self, sql: str, values: Sequence[object]) -> list[EntryAddress]:
        return [EntryAddress(UUID(bytes=row[0]), row[1]) for row in self._reader.rows(sql, values)]

    def by_numbers(self, space: UUID, numbers: Sequence[int]) -> list[EntryRow]:
        space_number = self._number_of(space)
        found: list[EntryRow] = []
        for number in numbers:
            found += self._heads(
                f"SELECT {HEAD} FROM entries WHERE entries.entry = ?", (entry_number(space_number, number),)
            )
        return found

    def sealed_with(self, space: UUID, key_id: int, after: int, limit: int) -> list[EntryRow]:
        space_number = self._number_of(space)
        return self._heads(
            f"""
            SELECT {HEAD}
              FROM entries
             WHERE entries.entry > ?1
               AND entries.entry < ?2
               AND entries.key_id = ?3
             ORDER BY entries.entry
             LIMIT ?4
            """,
            (entry_number(space_number, after), entry_number(space_number + 1, 0), key_id, limit),
        )

    def revisions_sealed_with(self, space: UUID, key_id: int, limit: int) -> list[RevisionRow]:
        space_number = self._number_of(space)
        return self._revisions(
            f"""
            SELECT {REVISION}
              FROM revisions
             WHERE revisions.entry > ?1
               AND revisions.entry < ?2
               AND revisions.key_id = ?3
             LIMIT ?4
            """,
            (entry_number(space_number, 0), entry_number(space_number + 1, 0), key_id, limit),
        )

    def revisions_of(self, space: UUID, number: int) -> list[RevisionRow]:
        return self._revisions(
            f"SELECT {REVISION} FROM revisions WHERE revisions.entry = ? ORDER BY revisions.revision",
            (entry_number(self._number_of(space), number),),
        )

    def _revisions(self, sql: str, values: Sequence[object]) -> list[RevisionRow]:
        return [RevisionRow._make(row) for row in self._reader.rows(sql, values)]


def _ids(spaces: Sequence[UUID]) -> str:
    return json.dumps([space.hex for space in spaces])


def entry_number(space_number: int, number: int) -> int:
    return space_number << NUMBER_BITS | number
