"""Whole tables in pages, and rows put unchanged, for moving a store to another backend."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.rows import (
    EntryRow,
    KeyRow,
    MemberRow,
    ModelRow,
    NameRow,
    ReceiptRow,
    RevisionRow,
    SpaceCounts,
    SpaceRow,
    SpaceState,
    WholeSpace,
)
from holdfast.domain.errors import Conflict
from holdfast.storage.postgres.connections import OnConnection, Reads
from holdfast.storage.postgres.entries import HEAD, REVISION
from holdfast.storage.postgres.entry_writes import EntryWrites
from holdfast.storage.postgres.statements import of_space, of_store, shared

_OF_STORE = "a store is moved whole"


class CopyReads(Reads):
    def spaces(self, after: UUID | None, limit: int) -> list[WholeSpace]:
        rows = self._reader.rows(_SPACES, {"after": after, "limit": limit})
        return [
            WholeSpace(
                SpaceRow._make(row[:8]),
                SpaceCounts._make((*row[8:12], row[5])),
                SpaceState(row[8], row[12], row[13]),
            )
            for row in rows
        ]

    def entries(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        rows = self._reader.rows(_ENTRIES, {"space": space, "after": after, "limit": limit})
        return list(map(EntryRow._make, rows))

    def revisions(self, space: UUID, after: tuple[int, int], limit: int) -> list[RevisionRow]:
        values = {"space": space, "number": after[0], "revision": after[1], "limit": limit}
        return list(map(RevisionRow._make, self._reader.rows(_REVISIONS, values)))

    def names(self, after: bytes, limit: int) -> list[NameRow]:
        return list(map(NameRow._make, self._reader.rows(_NAMES, {"after": after, "limit": limit})))

    def members(self, space: UUID) -> list[MemberRow]:
        return list(map(MemberRow._make, self._reader.rows(_MEMBERS, {"space": space})))

    def receipts(self, after: tuple[bytes, bytes], limit: int) -> list[ReceiptRow]:
        values = {"principal": after[0], "key": after[1], "limit": limit}
        return list(map(ReceiptRow._make, self._reader.rows(_RECEIPTS, values)))


_SPACES = of_store(
    "copies.spaces",
    """
    SELECT space_id, kind, name, owner, listed, key_id, created_us, sealed,
           seq, entries, indexed, length, removed, settled
      FROM holdfast.spaces
     WHERE %(after)s::uuid IS NULL OR space_id > %(after)s
     ORDER BY space_id
     LIMIT %(limit)s
    """,
    because=_OF_STORE,
)
_ENTRIES = of_space(
    "copies.entries",
    f"""
    SELECT {HEAD}
      FROM holdfast.entries
     WHERE space_id = %(space)s
       AND number > %(after)s
     ORDER BY number
     LIMIT %(limit)s
    """,
)
_REVISIONS = of_space(
    "copies.revisions",
    f"""
    SELECT {REVISION}
      FROM holdfast.revisions
     WHERE space_id = %(space)s
       AND (number, revision) > (%(number)s, %(revision)s)
     ORDER BY number, revision
     LIMIT %(limit)s
    """,
)
_NAMES = shared(
    "copies.names",
    "SELECT name, sealed FROM holdfast.names WHERE name > %(after)s ORDER BY name LIMIT %(limit)s",
    because=_OF_STORE,
)
_MEMBERS = of_space(
    "copies.members",
    "SELECT member, level, mac FROM holdfast.members WHERE space_id = %(space)s ORDER BY member",
)
_RECEIPTS = shared(
    "copies.receipts",
    """
    SELECT principal, key, space_id, number, request, answer, created_us
      FROM holdfast.receipts
     WHERE (principal, key) > (%(principal)s, %(key)s)
     ORDER BY principal, key
     LIMIT %(limit)s
    """,
    because=_OF_STORE,
)


class CopyWrites:
    def __init__(self, tx: OnConnection, entries: EntryWrites) -> None:
        self._tx = tx
        self._entries = entries

    def put_space(self, space: WholeSpace) -> None:
        values = {
            "space": space.row.id,
            **space.row._asdict(),
            **space.counts._asdict(),
            **space.state._asdict(),
            "kind": int(space.row.kind),
        }
        self._tx.run(_PUT_SPACE, values)
        self._tx.run(_PUT_NAME, values)

    def put_key(self, row: KeyRow) -> None:
        self._tx.run(_PUT_KEY, row._asdict())

    def put_entry(self, space: UUID, row: EntryRow) -> None:
        self._entries.delete(space, [row.number])
        if not self._entries.insert(space, row):
            raise Conflict
        if row.trashed_us is not None:
            self._entries.restate(space, row)  # takes its labels away

    def put_model(self, row: ModelRow) -> None:
        self._tx.run(_PUT_MODEL, row._asdict())
        self._tx.run(_COUNT_MODELS)


_PUT_SPACE = of_space(
    "copies.put_space",
    """
    INSERT INTO holdfast.spaces (space_id, kind, name, owner, listed, key_id, created_us, sealed,
                                 seq, entries, indexed, length, removed, settled)
    VALUES (%(space)s, %(kind)s, %(name)s, %(owner)s, %(listed)s, %(key_id)s, %(created_us)s, %(sealed)s,
            %(seq)s, %(entries)s, %(indexed)s, %(length)s, %(removed)s, %(settled)s)
    ON CONFLICT (space_id)
    DO UPDATE SET listed = excluded.listed, key_id = excluded.key_id, seq = excluded.seq,
                  entries = excluded.entries, indexed = excluded.indexed, length = excluded.length,
                  removed = excluded.removed, settled = excluded.settled
    """,
)
_PUT_NAME = shared(
    "copies.put_name",
    """
    INSERT INTO holdfast.space_names (name, space_id)
    VALUES (%(name)s, %(space)s)
    ON CONFLICT (name) DO NOTHING
    """,
    because="a name is taken once in the whole store",
)
_PUT_KEY = of_space(
    "copies.put_key",
    """
    INSERT INTO holdfast.data_keys (space_id, key_id, master, created_us, wrapped)
    VALUES (%(space)s, %(key_id)s, %(master)s, %(created_us)s, %(wrapped)s)
    ON CONFLICT (space_id, key_id)
    DO UPDATE SET master = excluded.master, created_us = excluded.created_us, wrapped = excluded.wrapped
    """,
)
_PUT_MODEL = shared(
    "copies.put_model",
    """
    INSERT INTO holdfast.models (model, name, dimensions, state, overlap, created_us)
    OVERRIDING SYSTEM VALUE
    VALUES (%(model)s, %(name)s, %(dimensions)s, %(state)s, %(overlap)s, %(created_us)s)
    ON CONFLICT (model)
    DO UPDATE SET name = excluded.name, dimensions = excluded.dimensions, state = excluded.state,
                  overlap = excluded.overlap, created_us = excluded.created_us
    """,
    because=_OF_STORE,
)
_COUNT_MODELS = shared(
    "copies.count_models",
    """
    SELECT setval(pg_get_serial_sequence('holdfast.models', 'model'),
                  (SELECT max(model) FROM holdfast.models))
    """,
    because="the next model gets a number of its own",
)
