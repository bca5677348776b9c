"""Writing entries: what `sealed` is for reading. One instance serves one job inside a backend's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from holdfast.contracts.rows import (
    BEFORE_ALL_TIME,
    GUEST,
    STORE,
    EntryRow,
    GrantRow,
    IndexText,
    KeyRow,
    ReceiptRow,
    RevisionRow,
    Visible,
)
from holdfast.contracts.storage import Transaction
from holdfast.crypto.blind import blind_key, blind_name, fingerprint
from holdfast.crypto.keys import DataKey
from holdfast.crypto.sealing import seal_blob, unseal_blob
from holdfast.domain.entry import Content, Entry, Revision
from holdfast.domain.errors import Conflict, Locked, Quota
from holdfast.domain.grant import Grant
from holdfast.domain.ids import new_number, split_entry_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.domain.retention import IDEMPOTENCY_US
from holdfast.domain.space import SpaceKind
from holdfast.storage.audit_chain import add_line
from holdfast.storage.index_terms import Words, index_text
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.row_codec import (
    State,
    entry_of,
    grant_code,
    labels_of,
    name_label,
    seal_entry,
    seal_revision,
    sealed_row,
    superseded,
)
from holdfast.storage.sealed_store import OpenedRow, SealedStore, WriteTarget


class SealedTransaction:
    def __init__(self, sealed: SealedStore, tx: Transaction, now: int) -> None:
        self._sealed = sealed
        self.tx = tx
        self.now = now
        self._ahead: dict[_Own, EntryRow | None] = {}
        self._settled: tuple[UUID, ...] = ()

    # Spaces

    def settle(self, place: WriteTarget) -> None:
        """Stores the space or the key that is new, once. Whoever was quicker wins; the write is then prepared again."""
        if place.new_key is None or place.space.id in self._settled:
            return
        if place.new_space is not None:
            if self.tx.spaces.by_name(place.new_space.name) is not None:
                raise StaleKeys(place.space.id)
            self.tx.spaces.insert(place.new_space)
            if place.space.owner is not None:
                self.name(place.space.owner)
        elif any(row.key_id >= place.new_key.key_id for row in self.tx.keys.of(place.space.id)):
            raise StaleKeys(place.space.id)
        self.insert_key(place.new_key)
        self.tx.spaces.use_key(place.space.id, place.new_key.key_id)
        if place.new_space is None:
            self._sealed.keyring.drop(place.space.id)
        self._settled = (*self._settled, place.space.id)

    def insert_key(self, row: KeyRow) -> None:
        """Stores a data key. Under a master that was rotated away meanwhile it would be lost with it."""
        if not self._sealed.keyring.is_current(row, self.tx.keys.of(STORE)):
            raise StaleKeys(row.space)
        self.tx.keys.insert(row)

    def name(self, principal: Principal) -> bytes:
        """Keeps the readable principal, so that grants and owners can be shown."""
        blind = self._sealed.blind(principal)
        sealed = seal_blob(self._sealed.store_key, b"name" + blind, str(principal).encode())
        self.tx.names.put(blind, sealed)
        return blind

    # Reading inside the transaction

    def by_key(self, place: WriteTarget, visible: Visible, namespace: str, key: str) -> list[OpenedRow]:
        return self._sealed.heads_by_key(self.tx.entries, place.keys, visible, namespace, key)

    def by_number(
        self, place: WriteTarget, visible: Visible, number: int, *, trashed: bool = False
    ) -> OpenedRow | None:
        find = self.tx.entries.trashed_by_number if trashed else self.tx.entries.by_number
        row = find(visible, number)
        return None if row is None else self._sealed.head(place.keys, row)

    def require_all_keys(self, place: WriteTarget) -> None:
        """What is not found under some of a space's keys may lie under others: keys that changed are read again."""
        made = () if place.new_key is None else (place.new_key.key_id,)
        stored = tuple(row.key_id for row in self.tx.keys.of(place.space.id))
        if stored + made != place.keys.known:
            raise StaleKeys(place.space.id)

    def has_locked(self, place: WriteTarget, visible: Visible) -> bool:
        keys = place.keys
        if len(keys.readable) == len(keys.known) and place.new_key is None:
            return False
        return self.tx.entries.count_locked(visible, list(keys.readable)) > 0

    def trashed_by_key(
        self, place: WriteTarget, visible: Visible, namespace: str, key: str
    ) -> list[OpenedRow]:
        blinds = place.keys.blinds(namespace, key)
        rows = self.tx.entries.trashed_by_key(visible, blinds)
        return [self._sealed.head(place.keys, row) for row in rows]

    def own(
        self, place: WriteTarget, partition: Partition, owner: Principal, namespace: str, key: str
    ) -> OpenedRow | None:
        """The caller's own live row, expired ones included: they still hold the key until they are removed."""
        if self._ahead and (name := (place.space.id, partition, owner, namespace, key)) in self._ahead:
            ahead = self._ahead.pop(name)
            return None if ahead is None else self._sealed.head(place.keys, ahead)
        visible = self._sealed.visible(place.space, owner, (partition,), BEFORE_ALL_TIME)
        for row in self.tx.entries.by_key(visible, place.keys.blinds(namespace, key)):
            if row.owner == visible.viewer:
                return self._sealed.head(place.keys, row)
        return None

    def refuse_twin(self, place: WriteTarget, owner: Principal, name: str, number: int | None = None) -> None:
        """Conflict when another file of the owner has this name in another spelling; `number` is the file itself."""
        visible = self._sealed.visible(place.space, owner, (Partition.FILES,), BEFORE_ALL_TIME)
        labels = [name_label(key, name) for key in place.keys.all()]
        for row in self.tx.entries.page(visible, labels, None, _TWINS):
            twin = self._sealed.head(place.keys, row).entry
            if twin is not None and row.number != number and row.owner == visible.viewer and twin.key != name:
                raise Conflict(f"There is a file `{twin.key}` already; names must differ in more than case.")

    def look_ahead(
        self, place: WriteTarget, partition: Partition, owner: Principal, names: Sequence[tuple[str, str]]
    ) -> None:
        """Reads what `own` is going to be asked for, each (namespace, key) once, in one go. A name that comes twice is
        left out: the second must find what the first wrote."""
        once = [name for name, times in Counter(names).items() if times == 1]
        if len(once) < _WORTH_LOOKING_AHEAD:
            return
        named = {blind: name for name in once for blind in place.keys.blinds(*name)}
        visible = self._sealed.visible(place.space, owner, (partition,), BEFORE_ALL_TIME)
        found: dict[tuple[str, str], EntryRow] = {}
        for row in self.tx.entries.by_key(visible, list(named)):
            if row.owner == visible.viewer:
                found.setdefault(named[row.key], row)
        for name in once:
            self._ahead[(place.space.id, partition, owner, *name)] = found.get(name)

    # Writing entries

    def free_expired(
        self, place: WriteTarget, partition: Partition, owner: Principal, namespace: str, key: str
    ) -> None:
        """Removes the row that still holds this key although its time is over."""
        holder = self.own(place, partition, owner, namespace, key)
        if holder and holder.row.expires_us is not None and holder.row.expires_us <= self.now:
            self.purge(place.space.id, [holder.row], erase=False)

    def create(
        self,
        place: WriteTarget,
        partition: Partition,
        owner: Principal,
        content: Content,
        state: State,
        *,
        indexed: bool,
        cap: int,
        words: Words | None = None,
        created_us: int | None = None,
    ) -> Entry:
        key = place.key
        text, length = _index_text(key, content, words, indexed=indexed)
        seq = self._advance(place, 1, int(length > 0), length, cap)
        name = place.space.name
        guest = 0 if name.owner == owner and name.kind is not SpaceKind.SHARED else GUEST
        revision, trashed_us = 1, None
        columns = (
            partition,
            self._sealed.blind(owner),
            blind_key(key, content.namespace, content.key),
            revision,
            seq,
            seq,
            self.now if created_us is None else created_us,
            self.now,
            state.expires_us,
            trashed_us,
            state.flags | guest,
            length,
            key.key_id,
            labels_of(key, partition, content),
        )
        row = sealed_row(key, (new_number(), *columns), owner, content)
        while not self.tx.entries.insert(place.space.id, row):
            row = sealed_row(key, (new_number(), *columns), owner, content)
        if text is not None:
            self.tx.terms.put(place.space.id, row.number, text, replaces=False)
        return entry_of(place.space.id, row, owner, content)

    def revise(
        self,
        place: WriteTarget,
        head: OpenedRow,
        content: Content,
        state: State,
        *,
        indexed: bool,
        history: bool,
        keep: int,
        words: Words | None = None,
    ) -> Entry:
        entry, old, key = self._opened(head), head.row, place.key
        text, length = _index_text(key, content, words, indexed=indexed)
        indexed_more = int(length > 0) - int(old.length > 0)
        seq = self._advance(place, 0, indexed_more, length - old.length, None)
        revision = old.revision + 1
        row = old._replace(
            key=blind_key(key, content.namespace, content.key),
            revision=revision,
            seq=seq,
            updated_us=self.now,
            expires_us=state.expires_us,
            flags=state.flags | (old.flags & GUEST),
            length=length,
            key_id=key.key_id,
            labels=labels_of(key, entry.partition, content),
        )
        old_key = place.keys.readable[old.key_id]
        self.tx.entries.revise(
            place.space.id,
            seal_entry(key, row, entry.owner, content),
            superseded(old_key, old, entry) if history else None,
        )
        if revision > keep:
            self.tx.entries.prune(place.space.id, old.number, below=revision - keep + 1)
            self.tx.erase(wait=False)
        if text is not None:
            self.tx.terms.put(place.space.id, old.number, text, replaces=old.length > 0)
        elif old.length:
            self.tx.terms.drop(place.space.id, [old.number])
        return entry_of(place.space.id, row, entry.owner, content)

    def trash(self, place: WriteTarget, head: OpenedRow, by: str = "") -> Entry:
        """`by` is kept with it, so that everything one actor removed can be found again."""
        self._ahead.clear()
        entry = self._opened(head)
        entry = entry._replace(content=entry.content._replace(removed_by=by))
        row = self._resealed(place, head.row._replace(trashed_us=self.now), entry)
        self.tx.entries.restate(place.space.id, row)
        if row.length:
            self.tx.terms.drop(place.space.id, [row.number])
        self.tx.spaces.recount(place.space.id, entries=0, indexed=-int(row.length > 0), length=-row.length)
        return entry_of(place.space.id, row, entry.owner, entry.content)

    def restore(self, place: WriteTarget, head: OpenedRow) -> Entry:
        """Brings an entry back from the trash as it was, words included. A live one with its key is a Conflict."""
        entry = self._opened(head)
        entry = entry._replace(content=entry.content._replace(removed_by=""))
        row = self._resealed(place, head.row._replace(trashed_us=None), entry)
        self.tx.entries.restate(place.space.id, row)
        if row.length:
            key = place.keys.readable[row.key_id]
            self.tx.terms.put(place.space.id, row.number, index_text(key, entry.content)[0], replaces=False)
            self.tx.derived.fall_back(place.space.id, row.seq)
        self.tx.spaces.recount(place.space.id, entries=0, indexed=int(row.length > 0), length=row.length)
        return entry_of(place.space.id, row, entry.owner, entry.content)

    def rename_trashed(self, place: WriteTarget, head: OpenedRow, name: str) -> OpenedRow:
        """Gives an entry in the trash a name, which a live one may have."""
        entry, key = self._opened(head), place.keys.readable[head.row.key_id]
        content = entry.content._replace(key=name)
        length = index_text(key, content)[1] if head.row.length else 0
        blind, labels = blind_key(key, content.namespace, name), labels_of(key, entry.partition, content)
        row = head.row._replace(key=blind, labels=labels, length=length)
        self.tx.entries.restate(place.space.id, seal_entry(key, row, entry.owner, content))
        return OpenedRow(row, entry._replace(content=content))

    def purge(self, space: UUID, rows: Sequence[EntryRow], *, erase: bool = True) -> int:
        """Removes entries with everything derived from them: from every byte before it is acknowledged, or soon after.
        Needs no key, and believes no length: one changed in the file must not leave words behind."""
        self._ahead.clear()
        numbers = [row.number for row in rows]
        live = [row for row in rows if row.trashed_us is None]
        self.tx.terms.drop(space, [row.number for row in live])
        self.tx.derived.drop(space, numbers)
        for number in numbers:
            self.tx.receipts.delete_entry(space, number)
            self.tx.proposals.delete_entry(space, number)
        deleted = self.tx.entries.delete(space, numbers)
        self.tx.spaces.recount(
            space,
            entries=-deleted,
            indexed=-sum(row.length > 0 for row in live),
            length=-sum(row.length for row in live),
        )
        self.tx.erase(wait=erase)
        return deleted

    def empty(self, space: UUID, key_id: int) -> int:
        """Removes everything a space holds and destroys its keys; a fresh key takes their place. Needs no key."""
        self.tx.terms.drop_space(space)
        self.tx.derived.drop_space(space)
        self.tx.receipts.delete_space(space)
        self.tx.proposals.delete_space(space)
        deleted = self.tx.entries.delete_space(space)
        self.tx.spaces.empty(space)
        self.tx.keys.delete(space)
        _, row = self._sealed.keyring.mint(space, key_id + 1, self.now)
        self.insert_key(row)
        self.tx.spaces.use_key(space, row.key_id)
        self.tx.erase()
        return deleted

    def carry(
        self,
        place: WriteTarget,
        head: OpenedRow,
        target: WriteTarget,
        content: Content,
        *,
        indexed: bool,
        cap: int,
    ) -> Entry:
        """Moves an entry, history included, to another space in this transaction; it gets an id of that space. What its
        owner was answered about it goes along; what others were is dropped, for they need not see it there."""
        entry = self._opened(head)
        moved = self.create(
            target,
            entry.partition,
            entry.owner,
            content,
            State.of(entry),
            indexed=indexed,
            cap=cap,
            created_us=entry.created_us,
        )
        number = moved.number
        row = self.tx.entries.by_number(
            self._sealed.visible(target.space, entry.owner, (entry.partition,), BEFORE_ALL_TIME),
            number,
        )
        assert row is not None, "an entry created in this transaction is visible to its owner"
        history = [
            *self.tx.entries.revisions_of(place.space.id, head.row.number),
            superseded(place.keys.readable[head.row.key_id], head.row, entry),
        ]
        for old in history:
            self._carry_revision(place, old, entry.owner, target, row)
        row = row._replace(revision=head.row.revision + 1)
        self.tx.entries.restate(target.space.id, seal_entry(target.key, row, entry.owner, content))
        self.tx.receipts.move(head.row.owner, place.space.id, head.row.number, target.space.id, number)
        self.purge(place.space.id, [head.row])
        return entry_of(target.space.id, row, entry.owner, content)

    def _carry_revision(
        self, place: WriteTarget, old: RevisionRow, owner: Principal, target: WriteTarget, row: EntryRow
    ) -> None:
        revision: Revision = self._sealed.revision(place.space.id, old)
        if revision.content is None:
            raise Locked
        moved = old._replace(number=row.number, seq=row.seq, key_id=target.key.key_id)
        self.tx.entries.add_revision(
            target.space.id, seal_revision(target.key, moved, owner, revision.content)
        )

    # Grants, receipts, audit

    def grant(self, grant: Grant) -> None:
        self.put_grant(
            GrantRow(
                grant.space,
                self.name(grant.grantee),
                self.name(grant.granted_by),
                grant.level,
                grant.created_us,
                grant.expires_us,
                b"",
            )
        )

    def put_grant(self, row: GrantRow) -> None:
        """Stores a grant of principals whose names are kept, with its code."""
        self.tx.grants.put(row._replace(mac=grant_code(self._sealed.store_key, row)))

    def genuine_grants(self, space: UUID) -> list[GrantRow]:
        """The grants on a space but for those that were changed in the file."""
        return [row for row in self.tx.grants.on(space) if grant_code(self._sealed.store_key, row) == row.mac]

    def answered(self, caller: Principal, key: str, request: bytes) -> bytes | None:
        """What this very request was answered before; Conflict when the key was used for another one."""
        code = receipt_key(self._sealed, key)
        row = self.tx.receipts.get(self._sealed.blind(caller), code)
        if row is None or row.created_us < self.now - IDEMPOTENCY_US:
            return None
        if row.request != request:
            raise Conflict("This idempotency key was used for another request; take a new one.")
        return unseal_blob(self._sealed.store_key, b"receipt" + code, row.answer)

    def keep_answer(
        self, caller: Principal, key: str, request: bytes, answer: bytes, about: UUID | None = None
    ) -> None:
        """Under the key of the store, for a day; it goes before that with the entry it is about."""
        code = receipt_key(self._sealed, key)
        space, number = (STORE, 0) if about is None else split_entry_id(about)
        self.tx.receipts.put(
            ReceiptRow(
                self._sealed.blind(caller),
                code,
                space,
                number,
                request,
                seal_blob(self._sealed.store_key, b"receipt" + code, answer),
                self.now,
            )
        )

    def audit(
        self,
        operation: str,
        actor: Principal,
        space: UUID | None = None,
        entry: UUID | None = None,
        revision: int = 0,
    ) -> None:
        """Adds a line to the log, in this transaction: keyed ids, no text, linked to the line before."""
        key = self._sealed.store_key
        actor_code = self._sealed.blind(actor)
        space_code = b"" if space is None else self._sealed.space_code(space)
        entry_code = b"" if entry is None else fingerprint(key, entry.bytes)
        add_line(
            self._sealed, self.tx.audit, self.now, operation, actor_code, space_code, entry_code, revision
        )

    # Details

    def _advance(self, place: WriteTarget, entries: int, indexed: int, length: int, cap: int | None) -> int:
        """Takes the next sequence number; refuses keys that are no longer current and spaces that are full."""
        if place.new_key is not None:
            self.settle(place)
        space = place.space.id
        counts = self.tx.spaces.advance(space, entries=entries, indexed=indexed, length=length)
        if counts is None or counts.key_id != place.keys.writes:
            raise StaleKeys(space)
        if cap is not None and counts.entries > cap:
            self.tx.spaces.recount(space, entries=-entries, indexed=-indexed, length=-length)
            raise Quota
        return counts.seq

    def _resealed(self, place: WriteTarget, row: EntryRow, entry: Entry) -> EntryRow:
        return seal_entry(place.keys.readable[row.key_id], row, entry.owner, entry.content)

    def _opened(self, head: OpenedRow) -> Entry:
        if head.entry is None:
            raise Locked
        return head.entry


def _index_text(
    key: DataKey, content: Content, words: Words | None, *, indexed: bool
) -> tuple[IndexText | None, int]:
    """What goes into the word index: nothing for an entry without a word. `words` are those of this content under this
    key, where they were made before."""
    if not indexed:
        return None, 0
    text, length = words or index_text(key, content)
    return text if length else None, length


def receipt_key(sealed: SealedStore, key: str) -> bytes:
    return blind_name(sealed.store_key, "idempotency key", key)


_tuple = tuple.__new__
"""Makes a named tuple without the function Python puts before it, at half its price."""
_WORTH_LOOKING_AHEAD = 2
_TWINS = 8
_Own = tuple[UUID, Partition, Principal, str, str]
"""Space, room, owner, namespace and key: what is there once."""
