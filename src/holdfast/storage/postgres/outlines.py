"""What ranking knows of the entries of a space: their outlines, and which of them carry a label."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import EntryRow, OutlineRow
from holdfast.storage.postgres.connections import Reader
from holdfast.storage.postgres.entries import HEAD
from holdfast.storage.postgres.statements import of_space

_NEWER = """entries.space_id = %(space)s
   AND entries.seq > %(after)s
   AND entries.trashed_us IS NULL
   AND entries.length > 0"""

_OUTLINE = ", ".join(f"entries.{column}" for column in OutlineRow._fields)


class OutlineReads:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def of(self, space: UUID, after: int) -> list[OutlineRow]:
        return list(map(OutlineRow._make, self._reader.rows(_OF, {"space": space, "after": after})))

    def changed(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        rows = self._reader.rows(_CHANGED, {"space": space, "after": after, "limit": limit})
        return list(map(EntryRow._make, rows))

    def labelled(self, space: UUID, labels: Sequence[bytes]) -> list[int]:
        rows = self._reader.rows(_LABELLED, {"space": space, "labels": list(labels)})
        return [number for (number,) in rows]


_OF = of_space(
    "outlines.of",
    f"""
    SELECT {_OUTLINE}
      FROM holdfast.entries
     WHERE {_NEWER}
       AND entries.partition BETWEEN 1 AND 9
     ORDER BY entries.seq
    """,
)
_CHANGED = of_space(
    "outlines.changed",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE {_NEWER}
       AND entries.partition BETWEEN 1 AND 9
     ORDER BY entries.seq
     LIMIT %(limit)s
    """,
)
_LABELLED = of_space(
    "outlines.labelled",
    """
    SELECT DISTINCT labels.number
      FROM holdfast.labels
     WHERE labels.space_id = %(space)s
       AND labels.label = ANY (%(labels)s::bytea[])
    """,
)
