"""Reads of entries, their superseded revisions and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from holdfast.contracts.rows import EntryAddress, EntryRow, MovedRow, RevisionRow, Visible, partition_mask
from holdfast.storage.postgres.connections import BigintArray, Reads
from holdfast.storage.postgres.statements import Statement, Values, of_space, of_store

HEAD = ", ".join(f"entries.{column}" for column in EntryRow._fields)
REVISION = ", ".join(f"revisions.{column}" for column in RevisionRow._fields)

_SHOWN = """entries.space_id = %(space)s
   AND (%(rooms)s::integer >> entries.partition) & 1 = 1
   AND ((%(private)s::integer >> entries.partition) & 1 = 0 OR entries.owner = %(viewer)s)
   AND (entries.expires_us IS NULL OR entries.expires_us > %(now)s)"""

LIVE = f"""{_SHOWN}
   AND entries.trashed_us IS NULL"""

_LIVE_BY_NUMBER = f"""{_SHOWN}
   AND coalesce(entries.trashed_us, -1) = -1"""
"""A live entry by number, in words that fit no index over live entries. Without statistics PostgreSQL would take such
an index and read the whole space, instead of the few rows of the primary key."""

_HIGHEST = (1 << 62) - 1


class EntryReads(Reads):
    def _heads(self, statement: Statement, values: Values) -> list[EntryRow]:
        return list(map(EntryRow._make, self._reader.rows(statement, values)))

    def _head(self, statement: Statement, values: Values) -> EntryRow | None:
        rows = self._heads(statement, values)
        return rows[0] if rows else None

    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        return self._heads(_BY_KEY, {**shown(visible), "keys": list(keys)})

    def by_number(self, visible: Visible, number: int) -> EntryRow | None:
        return self._head(_BY_NUMBER, {**shown(visible), "number": number})

    def trashed_by_number(self, visible: Visible, number: int) -> EntryRow | None:
        return self._head(_TRASHED_BY_NUMBER, {**shown(visible), "number": number})

    def page(
        self, visible: Visible, labels: Sequence[bytes] | None, before: int | None, limit: int
    ) -> list[EntryRow]:
        values = {**shown(visible), "before": _HIGHEST if before is None else before, "limit": limit}
        if labels is None:
            return self._heads(_PAGE, {**values, "partitions": list(map(int, visible.partitions))})
        carrying = self._heads(_LABELLED_PAGE, {**values, "labels": list(labels)})
        found = {row.number: row for row in carrying}.values()
        return sorted(found, key=attrgetter("seq"), reverse=True)[:limit]

    def moved(
        self, visible: Visible, labels: Sequence[bytes] | None, since: int, before: int, limit: int
    ) -> list[MovedRow]:
        values = {**shown(visible), "since": since, "before": before, "limit": limit}
        if labels is None:
            rows = self._reader.rows(_MOVED, {**values, "partitions": list(map(int, visible.partitions))})
        else:
            rows = self._reader.rows(_LABELLED_MOVED, {**values, "labels": list(labels)})
        return [MovedRow(row[0], EntryRow._make(row[1:])) for row in rows]

    def shown(self, visible: Visible, numbers: Sequence[int]) -> list[EntryRow]:
        return self._heads(_SHOWN_NUMBERS, {**shown(visible), "numbers": BigintArray.of(list(numbers))})

    def flagged(self, visible: Visible, limit: int) -> list[EntryRow]:
        return self._heads(_FLAGGED, {**shown(visible), "limit": limit})

    def quarantined(self, visible: Visible, limit: int) -> list[EntryRow]:
        return self._heads(_QUARANTINED, {**shown(visible), "limit": limit})

    def expiring(self, visible: Visible, until: int, limit: int) -> list[EntryRow]:
        return self._heads(_EXPIRING, {**shown(visible), "until": until, "limit": limit})

    def trash(self, visible: Visible, before: int | None, limit: int) -> list[EntryRow]:
        top = _HIGHEST if before is None else before
        return self._heads(_TRASH, {**shown(visible), "before": top, "limit": limit})

    def trashed_by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        return self._heads(_TRASHED_BY_KEY, {**shown(visible), "keys": list(keys)})

    def history(self, visible: Visible, number: int, before: int, limit: int) -> list[RevisionRow]:
        values = {**shown(visible), "number": number, "before": before, "limit": limit}
        return self._revisions(_HISTORY, values)

    def count(self, visible: Visible) -> int:
        return self._count(_COUNT, shown(visible))

    def count_locked(self, visible: Visible, readable: Sequence[int]) -> int:
        return self._count(_COUNT_LOCKED, {**shown(visible), "readable": list(readable)})

    def _count(self, statement: Statement, values: Values) -> int:
        return int(self._reader.rows(statement, values)[0][0])

    def kept_elsewhere(self, owner: bytes) -> int:
        return self._count(_KEPT_ELSEWHERE, {"owner": owner})

    def expired(self, now: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        return self._addresses(_EXPIRED, {"now": now, "limit": limit, "without": list(without)})

    def trashed_before(self, moment: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        return self._addresses(_TRASHED_BEFORE, {"moment": moment, "limit": limit, "without": list(without)})

    def _addresses(self, statement: Statement, values: Values) -> list[EntryAddress]:
        return list(map(EntryAddress._make, self._reader.rows(statement, values)))

    def by_numbers(self, space: UUID, numbers: Sequence[int]) -> list[EntryRow]:
        return self._heads(_BY_NUMBERS, {"space": space, "numbers": list(numbers)})

    def sealed_with(self, space: UUID, key_id: int, after: int, limit: int) -> list[EntryRow]:
        values = {"space": space, "key_id": key_id, "after": after, "limit": limit}
        return self._heads(_SEALED_WITH, values)

    def revisions_sealed_with(self, space: UUID, key_id: int, limit: int) -> list[RevisionRow]:
        return self._revisions(_REVISIONS_SEALED_WITH, {"space": space, "key_id": key_id, "limit": limit})

    def revisions_of(self, space: UUID, number: int) -> list[RevisionRow]:
        return self._revisions(_REVISIONS_OF, {"space": space, "number": number})

    def _revisions(self, statement: Statement, values: Values) -> list[RevisionRow]:
        return list(map(RevisionRow._make, self._reader.rows(statement, values)))


_BY_KEY = of_space(
    "entries.by_key",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {LIVE}
       AND entries.key = ANY (%(keys)b::bytea[])
     ORDER BY entries.seq DESC
    """,
)
_BY_NUMBER = of_space(
    "entries.by_number",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.number = %(number)s
       AND {_LIVE_BY_NUMBER}
    """,
)
_TRASHED_BY_NUMBER = of_space(
    "entries.trashed_by_number",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.number = %(number)s
       AND {_SHOWN}
       AND entries.trashed_us IS NOT NULL
    """,
)
_PAGE = of_space(
    "entries.page",
    f"""
    SELECT {HEAD}
      FROM unnest(%(partitions)s::smallint[]) AS room (partition)
     CROSS JOIN LATERAL (SELECT *
                           FROM holdfast.entries
                          WHERE {LIVE}
                            AND entries.partition = room.partition
                            AND entries.seq < %(before)s
                          ORDER BY entries.seq DESC
                          LIMIT %(limit)s) AS entries
     ORDER BY entries.seq DESC
     LIMIT %(limit)s
    """,
)
_LABELLED_PAGE = of_space(
    "entries.page, labelled",
    f"""
    SELECT {HEAD}
      FROM unnest(%(labels)s::bytea[]) AS wanted (label)
     CROSS JOIN LATERAL (SELECT entries.*
                           FROM holdfast.labels
                           JOIN holdfast.entries ON entries.space_id = labels.space_id
                                                AND entries.number = labels.number
                          WHERE labels.space_id = %(space)s
                            AND labels.label = wanted.label
                            AND labels.seq < %(before)s
                            AND {LIVE}
                          ORDER BY labels.seq DESC
                          LIMIT %(limit)s) AS entries
    """,
)
"""An entry that carries two of the labels comes twice."""

_FORMER_PLACE = """coalesce((SELECT max(revisions.seq)
                     FROM holdfast.revisions
                    WHERE revisions.space_id = %(space)s
                      AND revisions.number = entries.number
                      AND revisions.seq <= %(since)s), entries.born)"""
"""An entry without history (a cache row) keeps its birth as its former position."""

_MOVED = of_space(
    "entries.moved",
    f"""
    SELECT place.was, {HEAD}
      FROM holdfast.entries
     CROSS JOIN LATERAL (SELECT {_FORMER_PLACE} AS was) AS place
     WHERE {LIVE}
       AND entries.partition = ANY (%(partitions)s::smallint[])
       AND entries.seq > %(since)s
       AND entries.born <= %(since)s
       AND place.was < %(before)s
     ORDER BY place.was DESC
     LIMIT %(limit)s
    """,
)
_LABELLED_MOVED = of_space(
    "entries.moved, labelled",
    f"""
    SELECT place.was, {HEAD}
      FROM holdfast.entries
     CROSS JOIN LATERAL (SELECT {_FORMER_PLACE} AS was) AS place
     WHERE {LIVE}
       AND entries.number IN (SELECT labels.number
                                FROM holdfast.labels
                               WHERE labels.space_id = %(space)s
                                 AND labels.label = ANY (%(labels)s::bytea[])
                                 AND labels.seq > %(since)s)
       AND entries.born <= %(since)s
       AND place.was < %(before)s
     ORDER BY place.was DESC
     LIMIT %(limit)s
    """,
)
_SHOWN_NUMBERS = of_space(
    "entries.shown",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.number = ANY (%(numbers)s::bigint[])
       AND {_LIVE_BY_NUMBER}
    """,
)
_FLAGGED = of_space(
    "entries.flagged",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {LIVE}
       AND entries.flags & 7 = 1
     ORDER BY entries.seq DESC
     LIMIT %(limit)s
    """,
)
_QUARANTINED = of_space(
    "entries.quarantined",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {LIVE}
       AND entries.flags & 4 = 4
     ORDER BY entries.seq DESC
     LIMIT %(limit)s
    """,
)
_EXPIRING = of_space(
    "entries.expiring",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {LIVE}
       AND entries.expires_us <= %(until)s
     ORDER BY entries.expires_us, entries.seq
     LIMIT %(limit)s
    """,
)
_TRASH = of_space(
    "entries.trash",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {_SHOWN}
       AND entries.trashed_us IS NOT NULL
       AND entries.seq < %(before)s
     ORDER BY entries.seq DESC
     LIMIT %(limit)s
    """,
)
_TRASHED_BY_KEY = of_space(
    "entries.trashed_by_key",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {_SHOWN}
       AND entries.trashed_us IS NOT NULL
       AND entries.key = ANY (%(keys)b::bytea[])
     ORDER BY entries.trashed_us DESC, entries.seq DESC
    """,
)
_HISTORY = of_space(
    "entries.history",
    f"""
    SELECT {REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.number = %(number)s
       AND revisions.revision < %(before)s
       AND EXISTS (SELECT 1 FROM holdfast.entries WHERE entries.number = %(number)s AND {_SHOWN})
     ORDER BY revisions.revision DESC
     LIMIT %(limit)s
    """,
)
_COUNT = of_space("entries.count", f"SELECT count(*) FROM holdfast.entries WHERE {LIVE}")
_COUNT_LOCKED = of_space(
    "entries.count_locked",
    f"""
    SELECT count(*)
      FROM holdfast.entries
     WHERE {LIVE}
       AND entries.key_id <> ALL (%(readable)s::integer[])
    """,
)
_KEPT_ELSEWHERE = of_store(
    "entries.kept_elsewhere",
    "SELECT count(*) FROM holdfast.entries WHERE owner = %(owner)s AND flags & 8 <> 0",
    because="counts what a principal has in spaces of others; shows none of it",
)
_EXPIRED = of_store(
    "entries.expired",
    """
    SELECT space_id, number
      FROM holdfast.entries
     WHERE expires_us <= %(now)s
       AND space_id <> ALL (%(without)s::uuid[])
     ORDER BY expires_us
     LIMIT %(limit)s
    """,
    because="the sweep serves the store, not a caller",
)
_TRASHED_BEFORE = of_store(
    "entries.trashed_before",
    """
    SELECT space_id, number
      FROM holdfast.entries
     WHERE trashed_us < %(moment)s
       AND space_id <> ALL (%(without)s::uuid[])
     ORDER BY trashed_us
     LIMIT %(limit)s
    """,
    because="the sweep serves the store, not a caller",
)
_BY_NUMBERS = of_space(
    "entries.by_numbers",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.space_id = %(space)s
       AND entries.number = ANY (%(numbers)s::bigint[])
    """,
)
_SEALED_WITH = of_space(
    "entries.sealed_with",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.space_id = %(space)s
       AND entries.number > %(after)s
       AND entries.key_id = %(key_id)s
     ORDER BY entries.number
     LIMIT %(limit)s
    """,
)
_REVISIONS_SEALED_WITH = of_space(
    "entries.revisions_sealed_with",
    f"""
    SELECT {REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.key_id = %(key_id)s
     LIMIT %(limit)s
    """,
)
_REVISIONS_OF = of_space(
    "entries.revisions_of",
    f"""
    SELECT {REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.number = %(number)s
     ORDER BY revisions.revision
    """,
)


def shown(visible: Visible) -> dict[str, Any]:
    space, partitions, viewer, now, private = visible
    return {
        "space": space,
        "rooms": partition_mask(partitions),
        "private": partition_mask(private),
        "viewer": viewer,
        "now": now,
    }
