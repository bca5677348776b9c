"""The data keys of spaces: loaded from the store, unwrapped by a master key, cached for a second.

Another process may rotate or destroy keys at any time. So the cache expires after a second, writes check in their
transaction that they sealed with the current key, and rotation waits longer than that second."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from holdfast.bounded_cache import BoundedCache
from holdfast.contracts.rows import STORE, KeyRow
from holdfast.contracts.storage import Store
from holdfast.crypto.blind import blind_key
from holdfast.crypto.keys import DataKey, Master, new_data_secret
from holdfast.domain.errors import Locked

CLEAR = bytes(8)
"""`master` of a key stored in the clear: the store's own key under an ephemeral master."""

FRESH_SECONDS = 1.0
CACHED_SPACES = 1_024


class StaleKeys(Exception):
    """A write was prepared with keys, or for a space, that changed meanwhile. The caller prepares it again."""


@dataclass(frozen=True, slots=True)
class SpaceKeys:
    """The keys of one space that a configured master opens."""

    readable: Mapping[int, DataKey]
    known: tuple[int, ...]
    """Ids of all keys of the space, readable or not."""
    writes: int = 0
    """The id of the key that new writes use."""

    def blinds(self, namespace: str, name: str) -> list[bytes]:
        """The blind name of an entry under every readable key; during a rotation there are two."""
        return [blind_key(key, namespace, name) for key in self.readable.values()]

    def all(self) -> list[DataKey]:
        return list(self.readable.values())

    def get(self, key_id: int) -> DataKey | None:
        return self.readable.get(key_id)

    @property
    def current(self) -> DataKey:
        """The key to write with; Locked when it is not readable."""
        key = self.readable.get(self.writes)
        if key is None:
            raise Locked
        return key


class Keyring:
    def __init__(
        self,
        masters: tuple[Master, ...],
        store: Store,
        *,
        ephemeral: bool = False,
        reload: Callable[[], tuple[Master, ...]] | None = None,
    ) -> None:
        self._masters = masters
        self._reload = reload
        self._store = store
        self._cache: BoundedCache[int, tuple[float, SpaceKeys]] = BoundedCache(CACHED_SPACES)
        self._uses: dict[tuple[UUID, int], list[int]] = {}
        self.ephemeral = ephemeral

    @property
    def master(self) -> Master:
        return self._masters[0]

    def use_master(self, master: Master) -> None:
        """Wraps new keys with this master from now on; the others are still accepted for reading."""
        self._masters = (master, *(known for known in self._masters if known.id != master.id))

    def is_current(self, row: KeyRow, store_keys: list[KeyRow]) -> bool:
        """Returns True when a new key is wrapped by a master that still opens the store. After a rotation elsewhere the
        masters are read again, and False means: wrap the key again. Locked when no master opens the store any more."""
        if self.ephemeral or not store_keys:
            return True
        if self._knows(store_keys[-1].master):
            return self._knows(row.master)
        self.reload_masters()
        if not self._knows(store_keys[-1].master):
            raise Locked("The master key was rotated elsewhere; open the store again with the new key.")
        return False

    def is_configured_for(self, rows: list[KeyRow]) -> bool:
        """Returns True when one of these keys was wrapped by a master that is configured now."""
        configured = self._masters if self._reload is None else self._reload()
        return any(row.master == master.id for row in rows for master in configured)

    def _knows(self, master: bytes) -> bool:
        return any(known.id == master for known in self._masters)

    def reload_masters(self) -> None:
        """Reads the masters from the configuration again."""
        if self._reload is not None and not self.ephemeral:
            self._masters = self._reload()

    def of(self, space: UUID) -> SpaceKeys:
        cached = self._cache.get(space.int)
        if cached is not None and time.monotonic() - cached[0] < FRESH_SECONDS:
            return cached[1]
        return self.look_again(space)

    def look_again(self, space: UUID) -> SpaceKeys:
        """Reads the keys from the store, past the cache."""
        rows, current = self._store.keys.with_current(space)
        known = tuple(row.key_id for row in rows)
        writes = max(known, default=0) if current is None else current
        cached = self._cache.get(space.int)
        if cached is not None and cached[1].known == known and cached[1].writes == writes:
            keys = cached[1]
        else:
            if not all(row.master == CLEAR or self._knows(row.master) for row in rows):
                self.reload_masters()
            keys = SpaceKeys(self._readable(rows), known, writes)
        self._cache[space.int] = time.monotonic(), keys
        return keys

    def drop(self, space: UUID) -> None:
        self._cache.pop(space.int, None)

    def mint(self, space: UUID, key_id: int, now: int) -> tuple[DataKey, KeyRow]:
        secret = new_data_secret()
        return self._key(space, key_id, secret), self._row(space, key_id, secret, now)

    def uncounted(self) -> dict[tuple[UUID, int], int]:
        """The number of messages each key sealed in this process since the last call."""
        counted = {}
        for key, uses in list(self._uses.items()):
            if count := uses[0]:
                uses[0] -= count
                counted[key] = count
        return counted

    def _key(self, space: UUID, key_id: int, secret: bytes) -> DataKey:
        """Loads a key. Its uses are counted in one list, however often it is loaded."""
        return DataKey(space, key_id, secret, self._uses.setdefault((space, key_id), [0]))

    def rewrapped(self, row: KeyRow) -> KeyRow | None:
        """The key wrapped by the current master; None when no configured master opens it."""
        secret = self._unwrap(row)
        return None if secret is None else self._row(row.space, row.key_id, secret, row.created_us)

    def _row(self, space: UUID, key_id: int, secret: bytes, now: int) -> KeyRow:
        if self.ephemeral and space == STORE:
            return KeyRow(space, key_id, CLEAR, now, secret)
        return KeyRow(space, key_id, self.master.id, now, self.master.wrap(space, key_id, secret))

    def _readable(self, rows: list[KeyRow]) -> dict[int, DataKey]:
        readable = {}
        for row in rows:
            secret = self._unwrap(row)
            if secret is not None:
                readable[row.key_id] = self._key(row.space, row.key_id, secret)
        return readable

    def _unwrap(self, row: KeyRow) -> bytes | None:
        if row.master == CLEAR:
            return row.wrapped if self.ephemeral else None
        for master in self._masters:
            if master.id == row.master:
                return master.unwrap(row.space, row.key_id, row.wrapped)
        return None
