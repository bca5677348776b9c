"""Entries, their superseded revisions and their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any
from uuid import UUID

from holdfast.contracts.rows import LABEL_BYTES, EntryRow, MovedRow, PlacedRow, RevisionRow, Visible
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import OnConnection, Reader, Row
from holdfast.storage.postgres.statements import Statement, Values, of_space, of_store

HEAD = ", ".join(f"entries.{column}" for column in EntryRow._fields)
_REVISION = ", ".join(f"revisions.{column}" for column in RevisionRow._fields)
_NEW_HEAD = ", ".join(f"%({column})s" for column in EntryRow._fields)
_NEW_REVISION = ", ".join(f"%({column})s" for column in RevisionRow._fields)

_SHOWN = """entries.space_id = %(space)s
   AND (%(rooms)s::integer >> entries.partition) & 1 = 1
   AND ((%(private)s::integer >> entries.partition) & 1 = 0 OR entries.owner = %(viewer)s)
   AND (entries.expires_us IS NULL OR entries.expires_us > %(now)s)"""

_LIVE = f"""{_SHOWN}
   AND entries.trashed_us IS NULL"""

_HIGHEST = (1 << 62) - 1

_HEAD_ROW: Callable[[Row], EntryRow] = partial(tuple.__new__, EntryRow)
"""EntryRow._make without its length check, a third of its price."""


class EntryReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def _heads(self, statement: Statement, values: Values) -> list[EntryRow]:
        return list(map(_HEAD_ROW, self._reader.rows(statement, values)))

    def _head(self, statement: Statement, values: Values) -> EntryRow | None:
        rows = self._heads(statement, values)
        return rows[0] if rows else None

    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        return self._heads(_BY_KEY, {**_shown(visible), "keys": list(keys)})

    def by_number(self, visible: Visible, number: int) -> EntryRow | None:
        return self._head(_BY_NUMBER, {**_shown(visible), "number": number})

    def trashed_by_number(self, visible: Visible, number: int) -> EntryRow | None:
        return self._head(_TRASHED_BY_NUMBER, {**_shown(visible), "number": number})

    def page(
        self, visible: Visible, labels: Sequence[bytes] | None, before: int | None, limit: int
    ) -> list[EntryRow]:
        values = {**_shown(visible), "before": _HIGHEST if before is None else before, "limit": limit}
        if labels is None:
            return self._heads(_PAGE, {**values, "partitions": list(map(int, visible.partitions))})
        carrying = self._heads(_LABELLED_PAGE, {**values, "labels": list(labels)})
        found = {row.number: row for row in carrying}.values()
        return sorted(found, key=attrgetter("seq"), reverse=True)[:limit]

    def moved(
        self, visible: Visible, labels: Sequence[bytes] | None, since: int, before: int, limit: int
    ) -> list[MovedRow]:
        values = {**_shown(visible), "since": since, "before": before, "limit": limit}
        if labels is None:
            rows = self._reader.rows(_MOVED, {**values, "partitions": list(map(int, visible.partitions))})
        else:
            rows = self._reader.rows(_LABELLED_MOVED, {**values, "labels": list(labels)})
        return [MovedRow(row[0], EntryRow._make(row[1:])) for row in rows]

    def shown(self, visible: Visible, numbers: Sequence[int]) -> list[EntryRow]:
        return self._heads(_SHOWN_NUMBERS, {**_shown(visible), "numbers": list(numbers)})

    def expiring(self, visible: Visible, until: int, limit: int) -> list[EntryRow]:
        return self._heads(_EXPIRING, {**_shown(visible), "until": until, "limit": limit})

    def trash(self, visible: Visible, before: int | None, limit: int) -> list[EntryRow]:
        top = _HIGHEST if before is None else before
        return self._heads(_TRASH, {**_shown(visible), "before": top, "limit": limit})

    def trashed_by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        return self._heads(_TRASHED_BY_KEY, {**_shown(visible), "keys": list(keys)})

    def history(self, visible: Visible, number: int, before: int, limit: int) -> list[RevisionRow]:
        values = {**_shown(visible), "number": number, "before": before, "limit": limit}
        return self._revisions(_HISTORY, values)

    def count(self, visible: Visible) -> int:
        return self._count(_COUNT, _shown(visible))

    def count_locked(self, visible: Visible, readable: Sequence[int]) -> int:
        return self._count(_COUNT_LOCKED, {**_shown(visible), "readable": list(readable)})

    def _count(self, statement: Statement, values: Values) -> int:
        return int(self._reader.rows(statement, values)[0][0])

    def kept_elsewhere(self, owner: bytes) -> int:
        return self._count(_KEPT_ELSEWHERE, {"owner": owner})

    def expired(self, now: int, limit: int) -> list[PlacedRow]:
        return list(map(PlacedRow._make, self._reader.rows(_EXPIRED, {"now": now, "limit": limit})))

    def trashed_before(self, moment: int, limit: int) -> list[PlacedRow]:
        rows = self._reader.rows(_TRASHED_BEFORE, {"moment": moment, "limit": limit})
        return list(map(PlacedRow._make, rows))

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
     WHERE {_LIVE}
       AND entries.key = ANY (%(keys)s::bytea[])
     ORDER BY entries.seq DESC
    """,
)
_BY_NUMBER = of_space(
    "entries.by_number",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE entries.number = %(number)s
       AND {_LIVE}
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
                          WHERE {_LIVE}
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
                            AND {_LIVE}
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
"""An entry without history (a cache row) keeps its birth as its former place."""

_MOVED = of_space(
    "entries.moved",
    f"""
    SELECT place.was, {HEAD}
      FROM holdfast.entries
     CROSS JOIN LATERAL (SELECT {_FORMER_PLACE} AS was) AS place
     WHERE {_LIVE}
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
     WHERE {_LIVE}
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
     WHERE {_LIVE}
       AND entries.number = ANY (%(numbers)s::bigint[])
    """,
)
_EXPIRING = of_space(
    "entries.expiring",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {_LIVE}
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
       AND entries.key = ANY (%(keys)s::bytea[])
     ORDER BY entries.trashed_us DESC, entries.seq DESC
    """,
)
_HISTORY = of_space(
    "entries.history",
    f"""
    SELECT {_REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.number = %(number)s
       AND revisions.revision < %(before)s
       AND EXISTS (SELECT 1 FROM holdfast.entries WHERE entries.number = %(number)s AND {_SHOWN})
     ORDER BY revisions.revision DESC
     LIMIT %(limit)s
    """,
)
_COUNT = of_space("entries.count", f"SELECT count(*) FROM holdfast.entries WHERE {_LIVE}")
_COUNT_LOCKED = of_space(
    "entries.count_locked",
    f"""
    SELECT count(*)
      FROM holdfast.entries
     WHERE {_LIVE}
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
    SELECT {_REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.key_id = %(key_id)s
     LIMIT %(limit)s
    """,
)
_REVISIONS_OF = of_space(
    "entries.revisions_of",
    f"""
    SELECT {_REVISION}
      FROM holdfast.revisions
     WHERE revisions.space_id = %(space)s
       AND revisions.number = %(number)s
     ORDER BY revisions.revision
    """,
)


class EntryWrites(EntryReads):
    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx

    def insert(self, space: UUID, row: EntryRow) -> bool:
        if self._tx.rows(_INSERT, _new_head(space, row))[0][0]:
            return True
        if self._tx.rows(_NUMBER_TAKEN, {"space": space, "number": row.number}):
            return False
        raise Conflict("An entry with this key exists already; read it again and retry.")

    def revise(self, space: UUID, row: EntryRow, superseded: RevisionRow | None) -> None:
        if superseded is not None:
            self.add_revision(space, superseded)
        self.restate(space, row)

    def restate(self, space: UUID, row: EntryRow) -> None:
        """In two steps: a label that is taken away and one that is set may be the same row."""
        values = _new_head(space, row)
        for (taken,) in self._tx.rows(_UNLABEL, values):
            if taken:
                raise Conflict("A live entry with this key exists already; rename or remove it first.")
            self._tx.run(_RESTATE, values)

    def add_revision(self, space: UUID, row: RevisionRow) -> None:
        self._tx.run(_ADD_REVISION, {"space": space, **row._asdict()})

    def prune(self, space: UUID, number: int, below: int) -> int:
        return self._tx.count(_PRUNE, {"space": space, "number": number, "below": below})

    def delete(self, space: UUID, numbers: Sequence[int]) -> int:
        return int(self._tx.rows(_DELETE, {"space": space, "numbers": list(numbers)})[0][0])

    def delete_space(self, space: UUID) -> int:
        self._tx.run(_DELETE_LABELS, {"space": space})
        self._tx.run(_DELETE_REVISIONS, {"space": space})
        return self._tx.count(_DELETE_SPACE, {"space": space})


_INSERT = of_space(
    "entries.insert",
    f"""
    WITH inserted AS (
        INSERT INTO holdfast.entries (space_id, {", ".join(EntryRow._fields)})
        VALUES (%(space)s, {_NEW_HEAD})
        ON CONFLICT DO NOTHING
        RETURNING number, seq
    ), labelled AS (
        INSERT INTO holdfast.labels (space_id, label, seq, number)
        SELECT %(space)s, wanted.label, inserted.seq, inserted.number
          FROM inserted
         CROSS JOIN unnest(%(shown_labels)s::bytea[]) AS wanted (label)
        ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM inserted
    """,
)
_NUMBER_TAKEN = of_space(
    "entries.insert, taken",
    "SELECT 1 FROM holdfast.entries WHERE space_id = %(space)s AND number = %(number)s",
)
_UNLABEL = of_space(
    "entries.restate, labels",
    f"""
    WITH old AS (
        SELECT entries.labels, entries.seq,
               %(trashed_us)s::bigint IS NULL
               AND EXISTS (SELECT 1
                             FROM holdfast.entries AS other
                            WHERE other.space_id = %(space)s
                              AND other.key = %(key)s
                              AND other.partition = %(partition)s
                              AND other.owner = %(owner)s
                              AND other.number <> %(number)s
                              AND other.trashed_us IS NULL) AS taken
          FROM holdfast.entries
         WHERE entries.space_id = %(space)s
           AND entries.number = %(number)s
    ), unlabelled AS (
        DELETE FROM holdfast.labels
         USING old, generate_series(1, length(old.labels), {LABEL_BYTES}) AS start
         WHERE NOT old.taken
           AND labels.space_id = %(space)s
           AND labels.label = substring(old.labels FROM start FOR {LABEL_BYTES})
           AND labels.seq = old.seq
           AND labels.number = %(number)s
    )
    SELECT taken FROM old
    """,
)
_RESTATE = of_space(
    "entries.restate",
    f"""
    WITH restated AS (
        UPDATE holdfast.entries
           SET ({", ".join(EntryRow._fields)}) = ROW ({_NEW_HEAD})
         WHERE space_id = %(space)s
           AND number = %(number)s
        RETURNING number, seq
    )
    INSERT INTO holdfast.labels (space_id, label, seq, number)
    SELECT %(space)s, wanted.label, restated.seq, restated.number
      FROM restated
     CROSS JOIN unnest(%(shown_labels)s::bytea[]) AS wanted (label)
    ON CONFLICT DO NOTHING
    """,
)
_ADD_REVISION = of_space(
    "entries.add_revision",
    f"""
    INSERT INTO holdfast.revisions (space_id, {", ".join(RevisionRow._fields)})
    VALUES (%(space)s, {_NEW_REVISION})
    ON CONFLICT (space_id, number, revision)
    DO UPDATE SET ({", ".join(RevisionRow._fields)}) = ROW ({_NEW_REVISION})
    """,
)
_PRUNE = of_space(
    "entries.prune",
    """
    DELETE FROM holdfast.revisions
     WHERE space_id = %(space)s
       AND number = %(number)s
       AND revision < %(below)s
    """,
)
_DELETE = of_space(
    "entries.delete",
    f"""
    WITH deleted AS (
        DELETE FROM holdfast.entries
         WHERE space_id = %(space)s
           AND number = ANY (%(numbers)s::bigint[])
        RETURNING number, seq, labels
    ), without_labels AS (
        DELETE FROM holdfast.labels
         USING deleted, generate_series(1, length(deleted.labels), {LABEL_BYTES}) AS start
         WHERE labels.space_id = %(space)s
           AND labels.label = substring(deleted.labels FROM start FOR {LABEL_BYTES})
           AND labels.seq = deleted.seq
           AND labels.number = deleted.number
    ), without_history AS (
        DELETE FROM holdfast.revisions
         WHERE space_id = %(space)s
           AND number = ANY (%(numbers)s::bigint[])
    )
    SELECT count(*) FROM deleted
    """,
)
_DELETE_LABELS = of_space(
    "entries.delete_space, labels", "DELETE FROM holdfast.labels WHERE space_id = %(space)s"
)
_DELETE_REVISIONS = of_space(
    "entries.delete_space, revisions", "DELETE FROM holdfast.revisions WHERE space_id = %(space)s"
)
_DELETE_SPACE = of_space("entries.delete_space", "DELETE FROM holdfast.entries WHERE space_id = %(space)s")


def _shown(visible: Visible) -> dict[str, Any]:
    space, partitions, viewer, now, private = visible
    return {
        "space": space,
        "rooms": _mask(partitions),
        "private": _mask(private),
        "viewer": viewer,
        "now": now,
    }


def _new_head(space: UUID, row: EntryRow) -> dict[str, Any]:
    labels = [] if row.trashed_us is not None else _split(row.labels)
    return {"space": space, **row._asdict(), "partition": int(row.partition), "shown_labels": labels}


@lru_cache(maxsize=256)
def _mask(partitions: Iterable[int]) -> int:
    return sum(1 << partition for partition in partitions)


def _split(labels: bytes) -> list[bytes]:
    return [labels[start : start + LABEL_BYTES] for start in range(0, len(labels), LABEL_BYTES)]
