"""Writes of entries, their superseded revisions and their labels.

New entries are deferred and sent together with the commit, or before a statement that reads entries. If a number or
key of theirs turns out to be taken, the job runs again with every entry inserted by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from holdfast.contracts.rows import LABEL_BYTES, EntryRow, RevisionRow, split_labels
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import OnConnection, Writes
from holdfast.storage.postgres.entries import EntryReads
from holdfast.storage.postgres.statements import Bound, Values, of_space

_NEW_HEAD = ", ".join(f"%({column})s" for column in EntryRow._fields)
_NEW_REVISION = ", ".join(f"%({column})s" for column in RevisionRow._fields)


class EntryWrites(EntryReads, Writes):
    def __init__(self, tx: OnConnection, *, collects: bool = True) -> None:
        super().__init__(tx)
        self._collects = collects
        self._new: dict[UUID, list[EntryRow]] = {}
        self._taken: set[tuple[Any, ...]] = set()
        tx.keep_back((b"holdfast.entries", b"holdfast.labels"), self.left)

    def insert(self, space: UUID, row: EntryRow) -> bool:
        number, key = (space, row.number), (space, row.key, row.partition, row.owner)
        if not self._collects or number in self._taken or key in self._taken:
            return self._insert(space, row)
        self._taken |= {number, key}
        self._new.setdefault(space, []).append(row)
        return True

    def left(self) -> list[Bound]:
        """Hands over the deferred statements and forgets them."""
        new, self._new = self._new, {}
        self._taken.clear()
        return [
            bound
            for space, rows in new.items()
            for bound in ((_INSERT_MANY, _columns(space, rows)), (_LABEL_MANY, _labels(space, rows)))
        ]

    def _insert(self, space: UUID, row: EntryRow) -> bool:
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
        """Removes labels, then adds labels: both may be the same row."""
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
_INSERT_MANY = of_space(
    "entries.insert, many",
    f"""
    INSERT INTO holdfast.entries (space_id, {", ".join(EntryRow._fields)})
    SELECT %(space)s, row.*
      FROM unnest(%(number)b::bigint[], %(partition)b::smallint[], %(owner)b::bytea[], %(key)b::bytea[],
                  %(revision)b::bigint[], %(born)b::bigint[], %(seq)b::bigint[], %(created_us)b::bigint[],
                  %(updated_us)b::bigint[], %(expires_us)b::bigint[], %(trashed_us)b::bigint[],
                  %(flags)b::integer[], %(length)b::integer[], %(key_id)b::integer[], %(labels)b::bytea[],
                  %(sealed)b::bytea[]) AS row
    """,
)
_LABEL_MANY = of_space(
    "entries.insert, labels of many",
    """
    INSERT INTO holdfast.labels (space_id, label, seq, number)
    SELECT %(space)s, row.*
      FROM unnest(%(label)b::bytea[], %(seq)b::bigint[], %(number)b::bigint[]) AS row
    ON CONFLICT DO NOTHING
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


def _new_head(space: UUID, row: EntryRow) -> dict[str, Any]:
    labels = [] if row.trashed_us is not None else split_labels(row.labels)
    return {"space": space, **row._asdict(), "partition": int(row.partition), "shown_labels": labels}


def _columns(space: UUID, rows: list[EntryRow]) -> Values:
    columns = dict(zip(EntryRow._fields, map(list, zip(*rows, strict=True)), strict=True))
    return {"space": space, **columns, "partition": [int(row.partition) for row in rows]}


def _labels(space: UUID, rows: list[EntryRow]) -> Values:
    shown = [
        (label, row.seq, row.number)
        for row in rows
        if row.trashed_us is None
        for label in split_labels(row.labels)
    ]
    return {
        "space": space,
        "label": [label for label, _, _ in shown],
        "seq": [seq for _, seq, _ in shown],
        "number": [number for _, _, number in shown],
    }
