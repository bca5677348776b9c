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
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import OnConnection, Reads
from holdfast.storage.sqlite.entries import HEAD, REVISION
from holdfast.storage.sqlite.entry_writes import EntryWrites
from holdfast.storage.sqlite.receipts import receipt_of


class CopyReads(Reads):
    def spaces(self, after: UUID | None, limit: int) -> list[WholeSpace]:
        rows = self._reader.rows(
            """
            SELECT id, kind, name, owner, listed, key_id, created_us, sealed,
                   seq, entries, indexed, length, removed, settled
              FROM spaces
             WHERE id > ?
             ORDER BY id
             LIMIT ?
            """,
            (after.bytes if after else b"", limit),
        )
        return [
            WholeSpace(
                SpaceRow._make((UUID(bytes=row[0]), *row[1:4], bool(row[4]), *row[5:8])),
                SpaceCounts._make((*row[8:12], row[5])),
                SpaceState(row[8], row[12], row[13]),
            )
            for row in rows
        ]

    def entries(self, space: UUID, after: int, limit: int) -> list[EntryRow]:
        base = self._number_of(space) << NUMBER_BITS
        rows = self._reader.rows(
            f"SELECT {HEAD} FROM entries WHERE entry > ? AND entry < ? ORDER BY entry LIMIT ?",
            (base | after, base + (1 << NUMBER_BITS), limit),
        )
        return list(map(EntryRow._make, rows))

    def revisions(self, space: UUID, after: tuple[int, int], limit: int) -> list[RevisionRow]:
        base = self._number_of(space) << NUMBER_BITS
        rows = self._reader.rows(
            f"""
            SELECT {REVISION}
              FROM revisions
             WHERE (entry, revision) > (?, ?)
               AND entry < ?
             ORDER BY entry, revision
             LIMIT ?
            """,
            (base | after[0], after[1], base + (1 << NUMBER_BITS), limit),
        )
        return list(map(RevisionRow._make, rows))

    def names(self, after: bytes, limit: int) -> list[NameRow]:
        rows = self._reader.rows(
            "SELECT name, sealed FROM names WHERE name > ? ORDER BY name LIMIT ?", (after, limit)
        )
        return list(map(NameRow._make, rows))

    def members(self, space: UUID) -> list[MemberRow]:
        rows = self._reader.rows(
            "SELECT member, level, mac FROM members WHERE space = ? ORDER BY member", (space.bytes,)
        )
        return list(map(MemberRow._make, rows))

    def receipts(self, after: tuple[bytes, bytes], limit: int) -> list[ReceiptRow]:
        rows = self._reader.rows(
            """
            SELECT principal, key, space, number, request, answer, created_us
              FROM receipts
             WHERE (principal, key) > (?, ?)
             ORDER BY principal, key
             LIMIT ?
            """,
            (*after, limit),
        )
        return list(map(receipt_of, rows))


class CopyWrites:
    def __init__(self, tx: OnConnection, entries: EntryWrites) -> None:
        self._tx = tx
        self._entries = entries

    def put_space(self, space: WholeSpace) -> None:
        row, counts, state = space
        self._tx.run(
            """
            INSERT INTO spaces (id, kind, name, owner, listed, key_id, created_us, sealed,
                                seq, entries, indexed, length, removed, settled)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id)
            DO UPDATE SET listed = excluded.listed, key_id = excluded.key_id, seq = excluded.seq,
                          entries = excluded.entries, indexed = excluded.indexed, length = excluded.length,
                          removed = excluded.removed, settled = excluded.settled
            """,
            (
                *(row.id.bytes, *row[1:4], int(row.listed), *row[5:]),
                *(counts.seq, counts.entries, counts.indexed, counts.length, state.removed, state.settled),
            ),
        )

    def put_key(self, row: KeyRow) -> None:
        self._tx.run(
            "INSERT OR REPLACE INTO data_keys (space, key_id, master, created_us, wrapped) VALUES (?, ?, ?, ?, ?)",
            (row.space.bytes, *row[1:]),
        )

    def put_entry(self, space: UUID, row: EntryRow) -> None:
        self._entries.delete(space, [row.number])
        self._entries.insert(space, row)
        if row.trashed_us is not None:
            self._entries.restate(space, row)  # takes its labels away

    def put_model(self, row: ModelRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO models (model, name, dimensions, state, overlap, created_us)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            row,
        )
