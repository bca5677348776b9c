"""Seals and blinds rows under another key of their space; content, revisions and times stay."""

from __future__ import annotations

from uuid import UUID

from holdfast.contracts.storage import Transaction
from holdfast.crypto.blind import blind_key
from holdfast.crypto.keys import DataKey
from holdfast.domain.errors import Locked
from holdfast.domain.partition import Partition
from holdfast.storage.features import reseal_features
from holdfast.storage.index_terms import index_text
from holdfast.storage.row_codec import labels_of, open_entry, open_revision_whole, seal_entry, seal_revision


def reseal_entries(tx: Transaction, space: UUID, old: DataKey, new: DataKey, limit: int) -> int:
    """Reseals one batch of heads; returns 0 when none is left under the old key."""
    rows = tx.entries.sealed_with(space, old.key_id, 0, limit)
    for row in rows:
        entry = open_entry(old, row)
        if entry is None:
            raise Locked(
                "A row was changed outside the engine and cannot be sealed anew; purge it by its id first."
            )
        content = entry.content
        resealed = row._replace(
            key=blind_key(new, content.namespace, content.key),
            key_id=new.key_id,
            labels=labels_of(new, Partition(row.partition), content),
        )
        tx.entries.restate(space, seal_entry(new, resealed, entry.owner, content))
        if row.length and row.trashed_us is None:
            tx.terms.put(space, row.number, index_text(new, content)[0], replaces=True)
    return len(rows)


def reseal_revisions(tx: Transaction, space: UUID, old: DataKey, new: DataKey, limit: int) -> int:
    rows = tx.entries.revisions_sealed_with(space, old.key_id, limit)
    for row in rows:
        whole = open_revision_whole(old, row)
        if whole is None:
            raise Locked(
                "A revision was changed outside the engine and cannot be sealed anew; purge its entry first."
            )
        tx.entries.add_revision(space, seal_revision(new, row._replace(key_id=new.key_id), *whole))
    return len(rows)


def reseal_derived(
    tx: Transaction, space: UUID, old: DataKey, new: DataKey, limit: int, *, compared_there: bool
) -> int:
    """Reseals derived rows, and drops those that do not open: they can be derived again."""
    rows = tx.derived.sealed_with(space, old.key_id, limit)
    for row in rows:
        resealed = reseal_features(old, new, row, compared_there=compared_there)
        if resealed is None or not tx.derived.put(space, resealed):
            tx.derived.drop(space, [row.number])
            tx.derived.fall_back(space, 1)
    return len(rows)
