"""The boundary of readable text: opens stored rows as entries, principals and spaces. `sealed_transaction` writes."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeVar
from uuid import UUID

from holdfast.bounded_cache import BoundedCache
from holdfast.contracts.rows import (
    STORE,
    EntryRow,
    GrantRow,
    KeyRow,
    MemberRow,
    RevisionRow,
    SpaceRow,
    Visible,
)
from holdfast.contracts.storage import EntryReads, GrantReads, Store
from holdfast.crypto.blind import blind_label, blind_name, fingerprint
from holdfast.crypto.keys import DataKey, Master
from holdfast.crypto.sealing import seal_blob, unseal_blob
from holdfast.domain.access import AgentSettings, Grant, Level
from holdfast.domain.entry import Entry, Revision
from holdfast.domain.errors import InvalidField, Locked
from holdfast.domain.partition import OWNER_ONLY_IN_USER_SPACES, Partition
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.domain.space import Space, SpaceKind, SpaceName, own_space
from holdfast.storage.keyring import CLEAR, Keyring, SpaceKeys
from holdfast.storage.row_codec import (
    PREFIX_LEVELS,
    grant_code,
    member_code,
    open_agent,
    open_entry,
    open_revision,
    prefix_label,
    slash_prefixes,
)

T = TypeVar("T")
KNOWN_NAMES = 50_000
_PRIVATE = frozenset(partition.value for partition in OWNER_ONLY_IN_USER_SPACES)
_NONE_PRIVATE: frozenset[int] = frozenset()
_USER_SPACE = SpaceKind.USER
"""A constant, because looking up a member of an enum runs Python code."""

log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on entries, which must all hold; `prefix` is literal."""

    namespace: str | None = None
    prefix: str = ""
    category: str | None = None
    tag: str | None = None

    def matches(self, entry: Entry) -> bool:
        content = entry.content
        return (
            content.key.startswith(self.prefix)
            and (self.namespace is None or content.namespace == self.namespace)
            and (self.category is None or content.category == self.category)
            and (self.tag is None or self.tag in content.tags)
        )


class WriteTarget(NamedTuple):
    """A space ready for a write: its keys, and the rows that must be stored with the write because they are new."""

    space: Space
    keys: SpaceKeys
    new_space: SpaceRow | None = None
    new_key: KeyRow | None = None

    @property
    def key(self) -> DataKey:
        keys = self.keys
        return keys.readable.get(keys.writes) or keys.current


class OpenedRow(NamedTuple):
    """A row and its entry, which is None when the row is locked."""

    row: EntryRow
    entry: Entry | None


class PageRow(NamedTuple):
    """An opened row in a page, with its position in the order of that page."""

    position: int
    row: EntryRow
    entry: Entry | None


class SealedStore:
    def __init__(self, store: Store, keyring: Keyring, store_key: DataKey) -> None:
        self.store = store
        self.keyring = keyring
        self.store_key = store_key
        self.log_end = b""
        """The code of the audit log's end as this process left it; a log that still ends there needs no check."""
        self._blinds: BoundedCache[Principal, bytes] = BoundedCache(KNOWN_NAMES)
        self._codes: BoundedCache[int, bytes] = BoundedCache(KNOWN_NAMES)
        self._names: BoundedCache[bytes, Principal] = BoundedCache(KNOWN_NAMES)
        self._spaces: BoundedCache[SpaceName, Space] = BoundedCache(KNOWN_NAMES)
        self._own: BoundedCache[Principal, Space] = BoundedCache(KNOWN_NAMES)
        self._opened: BoundedCache[SpaceRow, Space] = BoundedCache(KNOWN_NAMES)

    def close(self) -> None:
        self.store.close()

    # Principals and spaces

    def blind(self, principal: Principal) -> bytes:
        blind = self._blinds.get(principal)
        if blind is None:
            blind = blind_name(self.store_key, "principal", principal.kind.value, principal.id)
            self._blinds[principal] = blind
        return blind

    def space_code(self, space: UUID) -> bytes:
        """The id of a space in the audit log."""
        code = self._codes.get(space.int)
        if code is None:
            code = self._codes[space.int] = fingerprint(self.store_key, space.bytes)
        return code

    def blind_member(self, member: str) -> bytes:
        """The blind id of a member of an access list, such as `user:alice` or `team:platform`."""
        return blind_name(self.store_key, "member", member)

    def blind_space(self, name: SpaceName) -> bytes:
        return blind_name(self.store_key, "space", *name.parts())

    def principal(self, blind: bytes) -> Principal | None:
        """Returns the readable principal, or None when it was never stored or does not open."""
        known = self._names.get(blind)
        if known is None:
            sealed = self.store.names.get(blind)
            plain = None if sealed is None else unseal_blob(self.store_key, b"name" + blind, sealed)
            if plain is None:
                return None
            kind, _, subject = plain.decode().partition(":")
            known = Principal(PrincipalKind(kind), subject)
            self._names[blind] = known
        return known

    def own_space(self, principal: Principal) -> Space | None:
        """Returns the principal's own space, or None before it is stored."""
        space = self._own.get(principal)
        if space is None and (space := self.space_named(own_space(principal))) is not None:
            self._own[principal] = space
        return space

    def space_named(self, name: SpaceName) -> Space | None:
        """Returns a stored space. Those with an owner never change and are cached; chats and systems are read each
        time."""
        known = self._spaces.get(name)
        if known is not None:
            return known
        row = self.store.spaces.by_name(self.blind_space(name))
        if row is None:
            return None
        space = self.open_space(row)
        if space.name != name:
            raise Locked("The name of this space was changed outside the engine.")
        if name.owner is not None:
            self._spaces[name] = space
        return space

    def space(self, space: UUID) -> Space | None:
        row = self.store.spaces.by_id(space)
        return None if row is None else self._try_open(row)

    def spaces_of(self, owner: Principal) -> list[Space]:
        """Returns the spaces of an owner, without those whose row was changed outside the engine."""
        opened = (self._try_open(row) for row in self.store.spaces.owned_by(self.blind(owner)))
        return [space for space in opened if space is not None]

    def membership(self, space: UUID, members: Sequence[str]) -> Level | None:
        """Returns the highest level an access list gives to these names. A line changed in the file gives nothing."""
        rows = self.store.members.levels(space, [self.blind_member(name) for name in members])
        levels = [Level(row.level) for row in rows if member_code(self.store_key, space, row) == row.mac]
        return max(levels, default=None)

    def agent_settings(self, agent: Principal) -> AgentSettings:
        return open_agent(self.store_key, self.store.agents.get(self.blind(agent)))

    def member_row(self, space: UUID, member: str, level: Level) -> MemberRow:
        row = MemberRow(self.blind_member(member), level, b"")
        return row._replace(mac=member_code(self.store_key, space, row))

    def write_target(self, space: Space, now: int) -> WriteTarget:
        """Prepares a space for a write. Raises Locked when its key is not configured."""
        if not space.stored:
            key, key_row = self.keyring.mint(space.id, 1, now)
            return WriteTarget(space, SpaceKeys({1: key}, (1,), 1), self._space_row(space), key_row)
        keys = self.keyring.of(space.id)
        if keys.writes not in keys.readable and (self.keyring.ephemeral or not keys.known):
            key, key_row = self.keyring.mint(space.id, keys.writes + 1, now)
            renewed = SpaceKeys({**keys.readable, key.key_id: key}, (*keys.known, key.key_id), key.key_id)
            return WriteTarget(space, renewed, new_key=key_row)
        return WriteTarget(space, keys)

    def _space_row(self, space: Space) -> SpaceRow:
        owner = space.owner
        plain = json.dumps([space.ref, None if owner is None else [owner.kind.value, owner.id]]).encode()
        row = SpaceRow(
            id=space.id,
            kind=space.kind,
            name=self.blind_space(space.name),
            owner=None if owner is None else self.blind(owner),
            listed=space.listed,
            key_id=1,
            created_us=space.created_us,
            sealed=b"",
        )
        return row._replace(sealed=seal_blob(self.store_key, _space_purpose(row), plain))

    def _try_open(self, row: SpaceRow) -> Space | None:
        try:
            return self.open_space(row)
        except Locked:
            log.warning("the space %s was changed outside the engine; it is locked", row.id)
            return None

    def open_space(self, row: SpaceRow) -> Space:
        """Opens a space. The cache goes by the whole row, so that a row changed in any column is opened again."""
        space = self._opened.get(row)
        if space is not None:
            return space
        plain = unseal_blob(self.store_key, _space_purpose(row), row.sealed)
        if plain is None:
            raise Locked("The name of this space does not open with the configured key.")
        ref, owner = json.loads(plain)
        principal = None if owner is None else Principal(PrincipalKind(owner[0]), owner[1])
        name = SpaceName(SpaceKind(row.kind), ref, principal)
        space = self._opened[row] = Space(row.id, name, row.created_us, listed=row.listed)
        return space

    def grants(self, rows: Sequence[GrantRow]) -> list[Grant]:
        """Opens grants, without those that were changed in the file or name nobody known."""
        opened = []
        for row in rows:
            grantee, granter = self.principal(row.grantee), self.principal(row.granted_by)
            if grantee and granter and grant_code(self.store_key, row) == row.mac:
                opened.append(
                    Grant(row.space, grantee, Level(row.level), granter, row.created_us, row.expires_us)
                )
        return opened

    def grants_held(self, space: UUID, principal: Principal, reads: GrantReads | None = None) -> list[Grant]:
        return self.grants((reads or self.store.grants).of(space, self.blind(principal)))

    # Entries

    def visible(
        self, space: Space, viewer: Principal, partitions: tuple[Partition, ...], now: int
    ) -> Visible:
        """The part of a space that a principal may see of these partitions."""
        private = _PRIVATE if space.name.kind is _USER_SPACE else _NONE_PRIVATE
        return Visible(space.id, partitions, self.blind(viewer), now, private)

    def by_key(self, visible: Visible, namespace: str, key: str) -> list[OpenedRow]:
        """Returns live entries with this key, newest change first. After a miss the keys are read again."""
        reads, keys = self.store.entries, self.keyring.of(visible.space)
        if keys.readable and (heads := self.rows_by_key(reads, keys, visible, namespace, key)):
            return heads
        fresh = self.keyring.look_again(visible.space)
        if fresh is keys and keys.readable:
            return []
        return self.rows_by_key(reads, fresh, visible, namespace, key)

    def rows_by_key(
        self, reads: EntryReads, keys: SpaceKeys, visible: Visible, namespace: str, key: str
    ) -> list[OpenedRow]:
        if not keys.readable:
            raise Locked
        return [self.open_row(keys, row) for row in reads.by_key(visible, keys.blinds(namespace, key))]

    def by_number(self, visible: Visible, number: int) -> OpenedRow | None:
        keys = self.keyring.of(visible.space)
        row = self.store.entries.by_number(visible, number)
        return None if row is None else self.open_row(keys, row)

    def open_row(self, keys: SpaceKeys, row: EntryRow) -> OpenedRow:
        """Opens a row. Take `keys` before reading it: a rotation that ends in between destroys older keys, while a
        newer one is looked up here."""
        key = keys.readable.get(row.key_id) or self._newer_key(keys, row.key_id)
        entry = None if key is None else open_entry(key, row)
        if entry is None and key is not None:
            log.warning("an entry in space %s was changed outside the engine; it is locked", key.space)
        return OpenedRow(row, entry)

    def under_every_key(self, space: UUID, read: Callable[[list[DataKey]], T]) -> T:
        """Returns the result of `read` under all keys of a space, and reads again when they changed meanwhile. A
        rotation moves rows only after every process has had the time to read under both keys."""
        while True:
            keys = self.keyring.of(space)
            found = read(keys.all())
            if self.keyring.of(space) is keys:
                return found

    def _newer_key(self, keys: SpaceKeys, key_id: int) -> DataKey | None:
        """Returns a key that a rotation published since these keys were taken."""
        if not keys.readable or key_id <= max(keys.known):
            return None
        space = next(iter(keys.readable.values())).space
        return self.keyring.look_again(space).get(key_id)

    def page(self, visible: Visible, filters: Filter, since: int, before: int, limit: int) -> list[PageRow]:
        """Returns rows below `before` in their order at sequence `since`, newest first, locked ones included."""
        keys = self.keyring.look_again(visible.space)
        labels = self._labels(keys, visible, filters)
        rows = [(row.seq, row) for row in self.store.entries.page(visible, labels, before, limit)]
        moved = self.store.entries.moved(visible, labels, since, before, limit)
        if moved:
            rows = sorted([*rows, *moved], key=itemgetter(0), reverse=True)
        return [PageRow(position, *self.open_row(keys, row)) for position, row in rows[:limit]]

    def _labels(self, keys: SpaceKeys, visible: Visible, filters: Filter) -> list[bytes] | None:
        """Returns the narrowest label that covers the filter, under every key and partition; None without such a
        label."""
        prefixes = slash_prefixes(filters.prefix)[:PREFIX_LEVELS]
        label: Callable[[DataKey, int], bytes]
        if prefixes and filters.namespace is not None:
            namespace, prefix = filters.namespace, prefixes[-1]
            label = lambda key, room: prefix_label(key, room, namespace, prefix)  # noqa: E731
        elif (tag := filters.tag) is not None:
            label = lambda key, room: blind_label(key, room, "tag", tag)  # noqa: E731
        elif category := filters.category:
            label = lambda key, room: blind_label(key, room, "category", category)  # noqa: E731
        else:
            return None
        return [label(key, room) for key in keys.all() for room in visible.partitions]

    def open_rows(self, visible: Visible, rows: Sequence[EntryRow]) -> list[OpenedRow]:
        keys = self.keyring.of(visible.space)
        return [self.open_row(keys, row) for row in rows]

    def history(self, visible: Visible, number: int, before: int, limit: int) -> list[Revision]:
        keys = self.keyring.of(visible.space)
        rows = self.store.entries.history(visible, number, before, limit)
        return [open_revision(keys.get(row.key_id), row) for row in rows]

    def revision(self, space: UUID, row: RevisionRow) -> Revision:
        return open_revision(self.keyring.of(space).get(row.key_id), row)

    def count_locked(self, visible: Visible) -> int:
        keys = self.keyring.of(visible.space)
        if keys.readable and len(keys.readable) == len(keys.known):
            return 0
        return self.store.entries.count_locked(visible, list(keys.readable))

    # Cursors

    def seal_cursor(self, request: bytes, position: Sequence[int]) -> str:
        sealed = seal_blob(self.store_key, b"cursor" + request, json.dumps(list(position)).encode())
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open_cursor(self, request: bytes, cursor: str) -> list[int]:
        """Opens a cursor; InvalidField unless it continues the request it came from."""
        try:
            sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except (ValueError, binascii.Error, TypeError):
            sealed = b""
        plain = unseal_blob(self.store_key, b"cursor" + request, sealed)
        if plain is None:
            raise InvalidField("This cursor does not belong to this request; start again without one.")
        return [int(part) for part in json.loads(plain)]


def _space_purpose(row: SpaceRow) -> bytes:
    """The purpose a space's name is sealed for: all columns that define the space."""
    return b"space" + row.id.bytes + bytes([row.kind]) + row.name + (row.owner or b"")


def check_canary(rows: Sequence[KeyRow], masters: tuple[Master, ...], *, ephemeral: bool) -> None:
    """Raises Locked unless a master opens the store's own key. Called before anything is written."""
    if not rows:
        return
    newest = rows[-1]
    if newest.master == CLEAR:
        if not ephemeral:
            raise Locked(_WAS_EPHEMERAL)
        return
    if ephemeral:
        raise Locked(_WAS_LASTING)
    if not any(master.unwrap(STORE, newest.key_id, newest.wrapped) for master in masters):
        raise Locked(_WRONG_KEY)


def open_sealed_store(
    store: Store,
    masters: tuple[Master, ...],
    now: int,
    *,
    ephemeral: bool = False,
    reload: Callable[[], tuple[Master, ...]] | None = None,
) -> SealedStore:
    keyring = Keyring(masters, store, ephemeral=ephemeral, reload=reload)
    check_canary(store.keys.of(STORE), masters, ephemeral=ephemeral)
    if not store.keys.of(STORE):
        if store.spaces.all_after(None, 1):
            raise Locked(_STORE_KEY_GONE)
        _, row = keyring.mint(STORE, 1, now)
        store.write(lambda tx: None if tx.keys.of(STORE) else tx.keys.insert(row))
    return SealedStore(store, keyring, keyring.look_again(STORE).current)


_WRONG_KEY = (
    "The memory key does not fit this store; nothing was read or written. Set HOLDFAST_MEMORY_KEY (or the key file) to "
    "the key it was made with, or name that key in HOLDFAST_MEMORY_OLD_KEYS."
)
_WAS_LASTING = (
    "This store was made with a lasting key; a throw-away key (HOLDFAST_MEMORY_KEY=ephemeral) cannot open it. Choose "
    "another data directory, or leave HOLDFAST_MEMORY_KEY unset."
)
_STORE_KEY_GONE = "The store's own key is gone from the file, so nothing in it can be read; restore a backup."
_WAS_EPHEMERAL = (
    "This store was made with a throw-away key (HOLDFAST_MEMORY_KEY=ephemeral) and cannot be opened with a lasting "
    "one; choose another data directory."
)
