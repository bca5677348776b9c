"""Spaces and their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from holdfast.contracts.rows import SpaceCounts, SpaceRow, SpaceState
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import Connections, OnConnection, Reads, Writes
from holdfast.storage.postgres.pipeline import Row
from holdfast.storage.postgres.statements import NOTHING, Bound, of_space, of_store, shared

_COLUMNS = "space_id, kind, name, owner, listed, key_id, created_us, sealed"


class SpaceReads(Reads):
    def by_id(self, space: UUID) -> SpaceRow | None:
        return _one(self._reader.rows(_BY_ID, {"space": space}))

    def by_name(self, name: bytes) -> SpaceRow | None:
        return _one(self._reader.rows(_BY_NAME, {"name": name}))

    def owned_by(self, owner: bytes) -> list[SpaceRow]:
        return list(map(SpaceRow._make, self._reader.rows(_OWNED_BY, {"owner": owner})))

    def all_after(self, after: UUID | None, limit: int) -> list[SpaceRow]:
        rows = self._reader.rows(_ALL_AFTER, {"after": after, "limit": limit})
        return list(map(SpaceRow._make, rows))

    def counts(self, space: UUID) -> SpaceCounts | None:
        rows = self._reader.rows(_COUNTS, {"space": space})
        return SpaceCounts(*rows[0]) if rows else None

    def state(self, space: UUID) -> SpaceState | None:
        rows = self._reader.rows(_STATE, {"space": space})
        return SpaceState(*rows[0]) if rows else None

    def states(self, spaces: Sequence[UUID]) -> list[SpaceState | None]:
        """Reads one space after the other, because a statement reads one space. `StatesAhead` reads many at once."""
        return [self.state(space) for space in spaces]

    def totals(self) -> tuple[int, int]:
        [(spaces, entries)] = self._reader.rows(_TOTALS, NOTHING)
        return spaces, entries


class StatesAhead:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def of(self, spaces: Sequence[UUID]) -> Iterator[Callable[[], list[SpaceState | None]]]:
        with self._connections.ahead([(_STATE, {"space": space}) for space in spaces]) as answers:
            yield lambda: [SpaceState(*rows[0]) if rows else None for rows in answers()]


_BY_ID = of_space("spaces.by_id", f"SELECT {_COLUMNS} FROM holdfast.spaces WHERE space_id = %(space)s")
_BY_NAME = of_store(
    "spaces.by_name",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.spaces
     WHERE space_id = (SELECT space_id FROM holdfast.space_names WHERE name = %(name)s)
    """,
    because="a name is how a space is found",
)
_OWNED_BY = of_store(
    "spaces.owned_by",
    f"SELECT {_COLUMNS} FROM holdfast.spaces WHERE owner = %(owner)s ORDER BY stored",
    because="lists the spaces of a principal",
)
_ALL_AFTER = of_store(
    "spaces.all_after",
    f"""
    SELECT {_COLUMNS}
      FROM holdfast.spaces
     WHERE %(after)s::uuid IS NULL OR space_id > %(after)s
     ORDER BY space_id
     LIMIT %(limit)s
    """,
    because="rotation and administration walk through all spaces",
)
_COUNTS = of_space(
    "spaces.counts",
    "SELECT seq, entries, indexed, length, key_id FROM holdfast.spaces WHERE space_id = %(space)s",
)
_STATE = of_space(
    "spaces.state", "SELECT seq, removed, settled FROM holdfast.spaces WHERE space_id = %(space)s"
)

_TOTALS = of_store(
    "spaces.totals",
    "SELECT count(*), coalesce(sum(entries), 0)::bigint FROM holdfast.spaces",
    because="counts all spaces, for an administrator",
)


class SpaceWrites(SpaceReads, Writes):
    """Counts in memory while a job writes many entries: nobody else is in the space. The row is written once, with
    the commit or before the next read of it."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._counted: dict[UUID, SpaceCounts] = {}
        tx.keep_back((b"holdfast.spaces",), self.left)

    def by_name(self, name: bytes) -> SpaceRow | None:
        """Locks the name in a transaction, so that two writers cannot both make its space."""
        self._tx.lock(b"name" + name)
        return super().by_name(name)

    def insert(self, row: SpaceRow) -> None:
        """Inserts id and name into two tables, each of which may refuse."""
        values = {"space": row.id, **row._asdict(), "kind": int(row.kind)}
        if not self._tx.count(_INSERT, values):
            raise Conflict
        if not self._tx.count(_INSERT_NAME, values):
            self._tx.run(_TAKE_BACK, values)
            raise Conflict

    def advance(self, space: UUID, *, entries: int, indexed: int, length: int) -> SpaceCounts | None:
        counts = self._counted.get(space) or self.counts(space)
        if counts is None:
            return None
        counts = SpaceCounts(
            counts.seq + 1,
            counts.entries + entries,
            counts.indexed + indexed,
            counts.length + length,
            counts.key_id,
        )
        self._counted[space] = counts
        return counts

    def left(self) -> list[Bound]:
        """Hands over the deferred statements and forgets them."""
        counted, self._counted = self._counted, {}
        return [(_SET_COUNTS, {"space": space, **counts._asdict()}) for space, counts in counted.items()]

    def recount(self, space: UUID, *, entries: int, indexed: int, length: int) -> None:
        self._tx.run(_RECOUNT, {"space": space, "entries": entries, "indexed": indexed, "length": length})

    def use_key(self, space: UUID, key_id: int) -> None:
        self._tx.run(_USE_KEY, {"space": space, "key_id": key_id})

    def mark_listed(self, space: UUID) -> None:
        self._tx.run(_MARK_LISTED, {"space": space})

    def empty(self, space: UUID) -> None:
        self._tx.run(_EMPTY, {"space": space})

    def count_settled(self, space: UUID) -> None:
        self._tx.run(_COUNT_SETTLED, {"space": space})


_INSERT = of_space(
    "spaces.insert",
    f"""
    INSERT INTO holdfast.spaces ({_COLUMNS})
    VALUES (%(space)s, %(kind)s, %(name)s, %(owner)s, %(listed)s, %(key_id)s, %(created_us)s, %(sealed)s)
    ON CONFLICT DO NOTHING
    """,
)
_INSERT_NAME = shared(
    "spaces.insert, name",
    """
    INSERT INTO holdfast.space_names (name, space_id)
    VALUES (%(name)s, %(space)s)
    ON CONFLICT DO NOTHING
    """,
    because="a name is taken once in the whole store",
)
_TAKE_BACK = of_space("spaces.insert, refused", "DELETE FROM holdfast.spaces WHERE space_id = %(space)s")
_SET_COUNTS = of_space(
    "spaces.advance",
    """
    UPDATE holdfast.spaces
       SET seq = %(seq)s, entries = %(entries)s, indexed = %(indexed)s, length = %(length)s
     WHERE space_id = %(space)s
    """,
)
_RECOUNT = of_space(
    "spaces.recount",
    """
    UPDATE holdfast.spaces
       SET entries = entries + %(entries)s,
           indexed = indexed + %(indexed)s,
           length = length + %(length)s,
           removed = removed + 1
     WHERE space_id = %(space)s
    """,
)
_USE_KEY = of_space(
    "spaces.use_key", "UPDATE holdfast.spaces SET key_id = %(key_id)s WHERE space_id = %(space)s"
)
_MARK_LISTED = of_space(
    "spaces.mark_listed", "UPDATE holdfast.spaces SET listed = true WHERE space_id = %(space)s"
)
_EMPTY = of_space(
    "spaces.empty",
    """
    UPDATE holdfast.spaces
       SET entries = 0, indexed = 0, length = 0, removed = removed + 1
     WHERE space_id = %(space)s
    """,
)
_COUNT_SETTLED = of_space(
    "spaces.count_settled", "UPDATE holdfast.spaces SET settled = settled + 1 WHERE space_id = %(space)s"
)


def _one(rows: list[Row]) -> SpaceRow | None:
    return SpaceRow._make(rows[0]) if rows else None
