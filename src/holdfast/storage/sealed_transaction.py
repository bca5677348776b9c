"""Writes readable values as sealed rows. One instance serves one job inside a backend's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.contracts.rows import (
    BEFORE_ALL_TIME,
    GUEST,
    STORE,
    EntryRow,
    GrantRow,
    KeyRow,
    ReceiptRow,
    RevisionRow,
    Visible,
)
from holdfast.contracts.storage import Transaction
from holdfast.crypto.blind import blind_key, blind_name, fingerprint
from holdfast.crypto.sealing import seal_blob, unseal_blob
from holdfast.domain.access import Grant
from holdfast.domain.entry import Content, Entry, Revision
from holdfast.domain.errors import Conflict, Locked, Quota
from holdfast.domain.ids import new_number, split_entry_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.domain.retention import IDEMPOTENCY_US
from holdfast.domain.space import SpaceKind
from holdfast.storage.audit_chain import add_line
from holdfast.storage.index_terms import NOT_INDEXED, Words, index_text
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.row_codec import (
    State,
    entry_of,
    grant_code,
    labels_of,
    name_label,
    seal_entry,
    seal_revision,
    superseded,
)
from holdfast.storage.sealed_store import OpenedRow, SealedStore, WriteTarget


@dataclass(slots=True, eq=False)
class SealedTransaction:
    _sealed: SealedStore
    tx: Transaction
    now: int
    _ahead: dict[_Own, EntryRow | None] = field(default_factory=dict, init=False)
    _inserted: tuple[UUID, ...] = field(default=(), init=False)

    # Spaces

    def insert_new(self, target: WriteTarget) -> None:
        """Stores the new space or key of a target, once. StaleKeys when another write stored it first."""
        if target.new_key is None or target.space.id in self._inserted:
            return
        if target.new_space is not None:
            if self.tx.spaces.by_name(target.new_space.name) is not None:
                raise StaleKeys(target.space.id)
            self.tx.spaces.insert(target.new_space)
            if target.space.owner is not None:
                self.name(target.space.owner)
        elif any(row.key_id >= target.new_key.key_id for row in self.tx.keys.of(target.space.id)):
            raise StaleKeys(target.space.id)
        self.insert_key(target.new_key)
        self.tx.spaces.use_key(target.space.id, target.new_key.key_id)
        if target.new_space is None:
            self._sealed.keyring.drop(target.space.id)
        self._inserted = (*self._inserted, target.space.id)

    def insert_key(self, row: KeyRow) -> None:
        """Stores a data key. StaleKeys when its master was rotated away meanwhile, which would lose the key."""
        if not self._sealed.keyring.is_current(row, self.tx.keys.of(STORE)):
            raise StaleKeys(row.space)
        self.tx.keys.insert(row)

    def name(self, principal: Principal) -> bytes:
        """Stores the readable principal, so that grants and owners can be shown; returns its blind id."""
        blind = self._sealed.blind(principal)
        sealed = seal_blob(self._sealed.store_key, b"name" + blind, str(principal).encode())
        self.tx.names.put(blind, sealed)
        return blind

    # Reading inside the transaction

    def by_key(self, target: WriteTarget, visible: Visible, namespace: str, key: str) -> list[OpenedRow]:
        return self._sealed.rows_by_key(self.tx.entries, target.keys, visible, namespace, key)

    def by_number(
        self, target: WriteTarget, visible: Visible, number: int, *, trashed: bool = False
    ) -> OpenedRow | None:
        find = self.tx.entries.trashed_by_number if trashed else self.tx.entries.by_number
        row = find(visible, number)
        return None if row is None else self._sealed.open_row(target.keys, row)

    def require_all_keys(self, target: WriteTarget) -> None:
        """StaleKeys unless the target knows every key of its space: a row it does not find may be under another key."""
        new = () if target.new_key is None else (target.new_key.key_id,)
        stored = tuple(row.key_id for row in self.tx.keys.of(target.space.id))
        if stored + new != target.keys.known:
            raise StaleKeys(target.space.id)

    def has_locked(self, target: WriteTarget, visible: Visible) -> bool:
        keys = target.keys
        if len(keys.readable) == len(keys.known) and target.new_key is None:
            return False
        return self.tx.entries.count_locked(visible, list(keys.readable)) > 0

    def trashed_by_key(
        self, target: WriteTarget, visible: Visible, namespace: str, key: str
    ) -> list[OpenedRow]:
        blinds = target.keys.blinds(namespace, key)
        rows = self.tx.entries.trashed_by_key(visible, blinds)
        return [self._sealed.open_row(target.keys, row) for row in rows]

    def own(
        self, target: WriteTarget, partition: Partition, owner: Principal, namespace: str, key: str
    ) -> OpenedRow | None:
        """Returns the owner's live row with this key, also an expired one, which holds the key until it is removed."""
        if self._ahead and (name := (target.space.id, partition, owner, namespace, key)) in self._ahead:
            ahead = self._ahead.pop(name)
            return None if ahead is None else self._sealed.open_row(target.keys, ahead)
        visible = self._sealed.visible(target.space, owner, (partition,), BEFORE_ALL_TIME)
        for row in self.tx.entries.by_key(visible, target.keys.blinds(namespace, key)):
            if row.owner == visible.viewer:
                return self._sealed.open_row(target.keys, row)
        return None

    def refuse_twin(
        self, target: WriteTarget, owner: Principal, name: str, number: int | None = None
    ) -> None:
        """Conflict when another file of the owner has this name in another spelling. `number` is the file itself."""
        visible = self._sealed.visible(target.space, owner, (Partition.FILES,), BEFORE_ALL_TIME)
        labels = [name_label(key, name) for key in target.keys.all()]
        for row in self.tx.entries.page(visible, labels, None, _TWINS):
            twin = self._sealed.open_row(target.keys, row).entry
            if twin is not None and row.number != number and row.owner == visible.viewer and twin.key != name:
                raise Conflict(f"There is a file `{twin.key}` already; names must differ in more than case.")

    def look_ahead(
        self, target: WriteTarget, partition: Partition, owner: Principal, names: Sequence[tuple[str, str]]
    ) -> None:
        """Reads the rows of many names for `own` in one query. A name that comes twice is left out, because the second
        use must find what the first wrote."""
        once = [name for name, times in Counter(names).items() if times == 1]
        if len(once) < _WORTH_LOOKING_AHEAD:
            return
        names_by_blind = {blind: name for name in once for blind in target.keys.blinds(*name)}
        visible = self._sealed.visible(target.space, owner, (partition,), BEFORE_ALL_TIME)
        found: dict[tuple[str, str], EntryRow] = {}
        for row in self.tx.entries.by_key(visible, list(names_by_blind)):
            if row.owner == visible.viewer:
                found.setdefault(names_by_blind[row.key], row)
        for name in once:
            self._ahead[(target.space.id, partition, owner, *name)] = found.get(name)

    # Writing entries

    def free_expired(
        self, target: WriteTarget, partition: Partition, owner: Principal, namespace: str, key: str
    ) -> None:
        """Removes an expired row that still holds this key."""
        holder = self.own(target, partition, owner, namespace, key)
        if holder and holder.row.expires_us is not None and holder.row.expires_us <= self.now:
            self.purge(target.space.id, [holder.row], erase=False)

    def create(
        self,
        target: WriteTarget,
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
        """Adds an entry. `words` is its row of the word index, where that was made before under this key."""
        key = target.key
        text, length = (words or index_text(key, content)) if indexed else NOT_INDEXED
        seq = self._advance(target, 1, int(length > 0), length, cap)
        name = target.space.name
        guest = 0 if name.owner == owner and name.kind is not SpaceKind.SHARED else GUEST
        row = EntryRow(
            number=new_number(),
            partition=partition,
            owner=self._sealed.blind(owner),
            key=blind_key(key, content.namespace, content.key),
            revision=1,
            born=seq,
            seq=seq,
            created_us=self.now if created_us is None else created_us,
            updated_us=self.now,
            expires_us=state.expires_us,
            trashed_us=None,
            flags=state.flags | guest,
            length=length,
            key_id=key.key_id,
            labels=labels_of(key, partition, content),
            sealed=b"",
        )
        row = seal_entry(key, row, owner, content)
        while not self.tx.entries.insert(target.space.id, row):
            row = seal_entry(key, row._replace(number=new_number()), owner, content)
        if length:
            self.tx.terms.put(target.space.id, row.number, text, replaces=False)
        return entry_of(target.space.id, row, owner, content)

    def revise(
        self,
        target: WriteTarget,
        head: OpenedRow,
        content: Content,
        state: State,
        *,
        indexed: bool,
        history: bool,
        keep: int,
        words: Words | None = None,
    ) -> Entry:
        entry, old, key = self._opened(head), head.row, target.key
        text, length = (words or index_text(key, content)) if indexed else NOT_INDEXED
        indexed_more = int(length > 0) - int(old.length > 0)
        seq = self._advance(target, 0, indexed_more, length - old.length, None)
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
        old_key = target.keys.readable[old.key_id]
        self.tx.entries.revise(
            target.space.id,
            seal_entry(key, row, entry.owner, content),
            superseded(old_key, old, entry) if history else None,
        )
        if revision > keep:
            self.tx.entries.prune(target.space.id, old.number, below=revision - keep + 1)
            self.tx.erase(wait=False)
        if length:
            self.tx.terms.put(target.space.id, old.number, text, replaces=old.length > 0)
        elif old.length:
            self.tx.terms.drop(target.space.id, [old.number])
        return entry_of(target.space.id, row, entry.owner, content)

    def trash(self, target: WriteTarget, head: OpenedRow, by: str = "") -> Entry:
        """Moves an entry to the trash. `by` names the actor, so that everything one actor removed can be found."""
        self._ahead.clear()
        entry = self._opened(head)
        entry = entry._replace(content=entry.content._replace(removed_by=by))
        row = self._resealed(target, head.row._replace(trashed_us=self.now), entry)
        self.tx.entries.restate(target.space.id, row)
        if row.length:
            self.tx.terms.drop(target.space.id, [row.number])
        self.tx.spaces.recount(target.space.id, entries=0, indexed=-int(row.length > 0), length=-row.length)
        return entry_of(target.space.id, row, entry.owner, entry.content)

    def restore(self, target: WriteTarget, head: OpenedRow) -> Entry:
        """Returns an entry from the trash as it was, index included. Conflict when a live entry has its key."""
        entry = self._opened(head)
        entry = entry._replace(content=entry.content._replace(removed_by=""))
        row = self._resealed(target, head.row._replace(trashed_us=None), entry)
        self.tx.entries.restate(target.space.id, row)
        if row.length:
            key = target.keys.readable[row.key_id]
            self.tx.terms.put(target.space.id, row.number, index_text(key, entry.content)[0], replaces=False)
            self.tx.derived.fall_back(target.space.id, row.seq)
        self.tx.spaces.recount(target.space.id, entries=0, indexed=int(row.length > 0), length=row.length)
        return entry_of(target.space.id, row, entry.owner, entry.content)

    def rename_trashed(self, target: WriteTarget, head: OpenedRow, name: str) -> OpenedRow:
        """Renames an entry in the trash; a live entry may have that name."""
        entry, key = self._opened(head), target.keys.readable[head.row.key_id]
        content = entry.content._replace(key=name)
        length = index_text(key, content)[1] if head.row.length else 0
        blind, labels = blind_key(key, content.namespace, name), labels_of(key, entry.partition, content)
        row = head.row._replace(key=blind, labels=labels, length=length)
        self.tx.entries.restate(target.space.id, seal_entry(key, row, entry.owner, content))
        return OpenedRow(row, entry._replace(content=content))

    def purge(self, space: UUID, rows: Sequence[EntryRow], *, erase: bool = True) -> int:
        """Removes entries with everything derived from them, from every byte before it is acknowledged or soon after.
        Needs no key, and trusts no stored length: one changed in the file must not leave terms behind."""
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
        """Removes all content of a space and destroys its keys, in favour of a new one. Needs no key."""
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
        source: WriteTarget,
        head: OpenedRow,
        target: WriteTarget,
        content: Content,
        *,
        indexed: bool,
        cap: int,
    ) -> Entry:
        """Moves an entry with its history to another space, where it gets a new id. Receipts of its owner go along;
        those of others are dropped, because they may not see it there."""
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
            *self.tx.entries.revisions_of(source.space.id, head.row.number),
            superseded(source.keys.readable[head.row.key_id], head.row, entry),
        ]
        for old in history:
            self._carry_revision(source, old, entry.owner, target, row)
        row = row._replace(revision=head.row.revision + 1)
        self.tx.entries.restate(target.space.id, seal_entry(target.key, row, entry.owner, content))
        self.tx.receipts.move(head.row.owner, source.space.id, head.row.number, target.space.id, number)
        self.purge(source.space.id, [head.row])
        return entry_of(target.space.id, row, entry.owner, content)

    def _carry_revision(
        self, source: WriteTarget, old: RevisionRow, owner: Principal, target: WriteTarget, row: EntryRow
    ) -> None:
        revision: Revision = self._sealed.revision(source.space.id, old)
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
                space=grant.space,
                grantee=self.name(grant.grantee),
                granted_by=self.name(grant.granted_by),
                level=grant.level,
                created_us=grant.created_us,
                expires_us=grant.expires_us,
                mac=b"",
            )
        )

    def put_grant(self, row: GrantRow) -> None:
        """Stores a grant with its code. The names of its principals must be stored already."""
        self.tx.grants.put(row._replace(mac=grant_code(self._sealed.store_key, row)))

    def genuine_grants(self, space: UUID) -> list[GrantRow]:
        """Returns the grants on a space without those that were changed in the file."""
        return [row for row in self.tx.grants.on(space) if grant_code(self._sealed.store_key, row) == row.mac]

    def answered(self, caller: Principal, key: str, request: bytes) -> bytes | None:
        """Returns the earlier answer to this request; Conflict when its idempotency key was used for another
        request."""
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
        """Stores the answer to an idempotency key for a day, or until the entry it is about is removed."""
        code = receipt_key(self._sealed, key)
        space, number = (STORE, 0) if about is None else split_entry_id(about)
        self.tx.receipts.put(
            ReceiptRow(
                principal=self._sealed.blind(caller),
                key=code,
                space=space,
                number=number,
                request=request,
                answer=seal_blob(self._sealed.store_key, b"receipt" + code, answer),
                created_us=self.now,
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
        """Adds a line to the audit log: keyed ids and no text, linked to the line before."""
        key = self._sealed.store_key
        actor_code = self._sealed.blind(actor)
        space_code = b"" if space is None else self._sealed.space_code(space)
        entry_code = b"" if entry is None else fingerprint(key, entry.bytes)
        add_line(
            self._sealed, self.tx.audit, self.now, operation, actor_code, space_code, entry_code, revision
        )

    # Details

    def _advance(self, target: WriteTarget, entries: int, indexed: int, length: int, cap: int | None) -> int:
        """Takes the next sequence number. StaleKeys when the key is no longer current; Quota when the space is full."""
        if target.new_key is not None:
            self.insert_new(target)
        space = target.space.id
        counts = self.tx.spaces.advance(space, entries=entries, indexed=indexed, length=length)
        if counts is None or counts.key_id != target.keys.writes:
            raise StaleKeys(space)
        if cap is not None and counts.entries > cap:
            self.tx.spaces.recount(space, entries=-entries, indexed=-indexed, length=-length)
            raise Quota
        return counts.seq

    def _resealed(self, target: WriteTarget, row: EntryRow, entry: Entry) -> EntryRow:
        return seal_entry(target.keys.readable[row.key_id], row, entry.owner, entry.content)

    def _opened(self, head: OpenedRow) -> Entry:
        if head.entry is None:
            raise Locked
        return head.entry


def receipt_key(sealed: SealedStore, key: str) -> bytes:
    return blind_name(sealed.store_key, "idempotency key", key)


_WORTH_LOOKING_AHEAD = 2
_TWINS = 8
_Own = tuple[UUID, Partition, Principal, str, str]
"""Space, partition, owner, namespace and key, which are unique together."""
