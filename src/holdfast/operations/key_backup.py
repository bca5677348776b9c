"""Backup of wrapped keys apart from the data they seal: writing, restoring, destroying a space's keys for good, and the
drill that shows if all of it would work."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from holdfast.contracts.rows import STORE, KeyRow
from holdfast.contracts.storage import EntryReads, KeyReads, Store, Transaction
from holdfast.crypto.keys import DataKey, Master
from holdfast.domain.errors import Conflict, InvalidField, NotFound
from holdfast.operations.engine import Engine
from holdfast.storage.audit_chain import add_line
from holdfast.storage.keyring import CLEAR
from holdfast.storage.row_codec import open_entry

FORMAT = "holdfast key backup 1"
ALL = 10_000_000
SAMPLED = 200
"""Spaces that a drill opens an entry of."""


@dataclass(frozen=True, slots=True)
class PutBack:
    restored: int
    present: int = 0
    """Keys that the store has."""
    unneeded: int = 0
    """Keys that nothing in the store is sealed with any more: they stay destroyed."""
    locked: int = 0
    """Keys that no configured master opens."""


@dataclass(frozen=True, slots=True)
class Drilled:
    keys: int
    locked: int
    """Keys of a fresh backup that the configured masters do not open."""
    opened: int
    unopened: int
    """Entries that their key from the backup does not open."""

    @property
    def works(self) -> bool:
        return not self.locked and not self.unopened


def every_key(keys: KeyReads) -> list[KeyRow]:
    return keys.not_under(b"", ALL)


def written(rows: Iterable[KeyRow]) -> str:
    """A backup of wrapped keys: without the master it opens nothing, without it no copy of the store does."""
    kept = [
        {
            "space": str(row.space),
            "key": row.key_id,
            "master": row.master.hex(),
            "created_us": row.created_us,
            "wrapped": base64.b64encode(row.wrapped).decode(),
        }
        for row in rows
    ]
    if any(row["master"] == CLEAR.hex() for row in kept):
        raise Conflict("A throw-away key is not backed up; set HOLDFAST_MEMORY_KEY to keep memories.")
    return json.dumps({"format": FORMAT, "keys": kept}, indent=1)


def read_back(text: str) -> list[KeyRow]:
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError
        return [
            KeyRow(
                UUID(row["space"]),
                int(row["key"]),
                bytes.fromhex(row["master"]),
                int(row["created_us"]),
                base64.b64decode(row["wrapped"], validate=True),
            )
            for row in document["keys"]
        ]
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise InvalidField("This file is no key backup of Holdfast.") from error


def put_back(store: Store, masters: Sequence[Master], rows: Iterable[KeyRow]) -> PutBack:
    """Puts back what the store misses and needs. What rotation destroyed stays destroyed."""
    restored = present = unneeded = locked = 0
    for row in rows:
        if any(there.key_id == row.key_id for there in store.keys.of(row.space)):
            present += 1
        elif _secret(masters, row) is None:
            locked += 1
        elif not _is_needed(store, row):
            unneeded += 1
        else:
            store.write(lambda tx, row=row: tx.keys.insert(row))  # type: ignore[misc]
            restored += 1
    return PutBack(restored, present, unneeded, locked)


def _is_needed(store: Store, row: KeyRow) -> bool:
    if row.space == STORE:
        return not store.keys.of(STORE)
    _, current = store.keys.with_current(row.space)
    return (
        current == row.key_id
        or bool(store.entries.sealed_with(row.space, row.key_id, 0, 1))
        or bool(store.entries.revisions_sealed_with(row.space, row.key_id, 1))
    )


def _secret(masters: Sequence[Master], row: KeyRow) -> bytes | None:
    for master in masters:
        if master.id == row.master:
            return master.unwrap(row.space, row.key_id, row.wrapped)
    return None


def destroy_keys(engine: Engine, space: UUID) -> int:
    """Makes a space unreadable for good, also in every copy of the store that has no keys of its own. Later writes
    there get a new key."""
    if engine.sealed.store.spaces.by_id(space) is None:
        raise NotFound("There is no such space.")
    now = engine.clock()

    def write(tx: Transaction) -> int:
        tx.erase()
        destroyed = tx.keys.delete(space)
        sealed = engine.sealed
        add_line(sealed, tx.audit, now, "destroy keys", b"", sealed.space_code(space), b"", 0)
        return destroyed

    destroyed = engine.run_job(write)
    engine.sealed.keyring.drop(space)
    return destroyed


def drill(keys: KeyReads, entries: EntryReads, masters: Sequence[Master]) -> Drilled:
    """Takes a backup of the keys, reads it back, and opens with it one entry of each key: nothing that this process
    knows already is used."""
    rows = read_back(written(every_key(keys)))
    locked = opened = unopened = 0
    for row in rows:
        secret = _secret(masters, row)
        if secret is None:
            locked += 1
        elif row.space != STORE and opened + unopened < SAMPLED:
            key = DataKey(row.space, row.key_id, secret)
            for sealed in entries.sealed_with(row.space, row.key_id, 0, 1):
                if open_entry(key, sealed) is None:
                    unopened += 1
                else:
                    opened += 1
    return Drilled(len(rows), locked, opened, unopened)
