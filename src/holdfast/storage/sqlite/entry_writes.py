"""Writes of entries, their superseded revisions and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import EntryRow, RevisionRow, Visible, split_labels
from holdfast.domain.errors import Conflict
from holdfast.domain.ids import NUMBER_BITS
from holdfast.storage.sqlite.connections import Batch, OnConnection, Row, Writes
from holdfast.storage.sqlite.entries import EntryReads, entry_number

_INSERT = """
INSERT INTO entries (entry, space, partition, owner, key, revision, born, seq, created_us, updated_us, expires_us,
                     trashed_us, flags, length, key_id, labels, sealed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_INSERT_IF_FREE = f"{_INSERT} ON CONFLICT (entry) DO NOTHING"
_LABEL = "INSERT INTO labels (space, label, seq, entry) VALUES (?, ?, ?, ?)"


class EntryWrites(EntryReads, Writes):
    """Defers new entries and writes them together, on the likely assumption that their numbers and keys are free. If
    one is not, the batch is undone and its jobs run again, with every entry written at once."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._look = tx.look
        self._new: list[Row] = []
        self._labels: list[Row] = []
        self._new_keys: set[bytes] = set()
        tx.keep_back(self._left)

    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        if not self._new_keys.isdisjoint(keys):
            self._tx.catch_up()
        return EntryReads.by_key(self, visible, keys)

    def insert(self, space: UUID, row: EntryRow) -> bool:
        space_number = self._number_of(space)
        entry = space_number << NUMBER_BITS | row.number
        values = (entry, space_number, *row[1:])
        if not self._tx.at_once:
            self._tx.kept += 1
            self._new.append(values)
            self._new_keys.add(row.key)
            self._labels += _label_rows(space_number, entry, row)
            return True
        try:
            inserted = self._tx.count(_INSERT_IF_FREE, values) > 0
        except Conflict:
            raise Conflict("An entry with this key exists already; read it again and retry.") from None
        if inserted and row.labels:
            self._tx.run_many(_LABEL, _label_rows(space_number, entry, row))
        return inserted

    def _left(self) -> list[Batch]:
        left: list[Batch] = [(_INSERT, self._new), (_LABEL, self._labels)] if self._new else []
        self._new, self._labels = [], []
        self._new_keys.clear()
        return left

    def revise(self, space: UUID, row: EntryRow, superseded: RevisionRow | None) -> None:
        if superseded is not None:
            self.add_revision(space, superseded)
        self.restate(space, row)

    def restate(self, space: UUID, row: EntryRow) -> None:
        space_number = self._number_of(space)
        entry = entry_number(space_number, row.number)
        old = self._tx.rows("SELECT labels, seq FROM entries WHERE entry = ?", (entry,))
        try:
            self._tx.run(
                """
                UPDATE entries
                   SET partition = ?, owner = ?, key = ?, revision = ?, born = ?, seq = ?, created_us = ?,
                       updated_us = ?, expires_us = ?, trashed_us = ?, flags = ?, length = ?, key_id = ?,
                       labels = ?, sealed = ?
                 WHERE entry = ?
                """,
                (*row[1:], entry),
            )
        except Conflict:
            raise Conflict("A live entry with this key exists already; rename or remove it first.") from None
        for labels, seq in old:
            self._unlabel(space_number, entry, labels, seq)
        if row.trashed_us is None:
            self._tx.run_many(_LABEL, _label_rows(space_number, entry, row))

    def _unlabel(self, space_number: int, entry: int, labels: bytes, seq: int) -> None:
        for label in split_labels(labels):
            self._tx.run(
                "DELETE FROM labels WHERE space = ? AND label = ? AND seq = ? AND entry = ?",
                (space_number, label, seq, entry),
            )

    def add_revision(self, space: UUID, row: RevisionRow) -> None:
        self._tx.run(
            """
            INSERT OR REPLACE INTO revisions (entry, revision, seq, updated_us, expires_us, flags, key_id, sealed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (entry_number(self._number_of(space), row.number), *row[1:]),
        )

    def prune(self, space: UUID, number: int, below: int) -> int:
        return self._tx.count(
            "DELETE FROM revisions WHERE entry = ? AND revision < ?",
            (entry_number(self._number_of(space), number), below),
        )

    def delete(self, space: UUID, numbers: Sequence[int]) -> int:
        space_number = self._number_of(space)
        deleted = 0
        for number in numbers:
            entry = entry_number(space_number, number)
            for labels, seq in self._tx.rows("SELECT labels, seq FROM entries WHERE entry = ?", (entry,)):
                self._unlabel(space_number, entry, labels, seq)
            self._tx.run("DELETE FROM revisions WHERE entry = ?", (entry,))
            deleted += self._tx.count("DELETE FROM entries WHERE entry = ?", (entry,))
        return deleted

    def delete_space(self, space: UUID) -> int:
        space_number = self._number_of(space)
        first, last = entry_number(space_number, 0), entry_number(space_number + 1, 0)
        self._tx.run("DELETE FROM labels WHERE space = ?", (space_number,))
        self._tx.run("DELETE FROM revisions WHERE entry > ? AND entry < ?", (first, last))
        return self._tx.count("DELETE FROM entries WHERE entry > ? AND entry < ?", (first, last))


def _label_rows(space_number: int, entry: int, row: EntryRow) -> list[Row]:
    return [(space_number, label, row.seq, entry) for label in split_labels(row.labels)]
