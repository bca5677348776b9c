"""The interface of a storage backend. Backends hold sealed rows and never see readable text.

Reads come from the last committed state. Every read of entries takes `visible` and applies it before its limit; the
few that do not (sweep, rotation, holdings of a principal) say why. Absence is None or an empty list. Inside a
transaction the same reads see its own writes; a job reads through its transaction, not through the store. Errors of
the driver arrive translated: Unavailable, StorageFull, Backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, Union
from uuid import UUID

from holdfast.contracts.records import (
    AgentReads,
    AgentWrites,
    AuditReads,
    AuditWrites,
    CopyReads,
    CopyWrites,
    DerivedReads,
    DerivedWrites,
    ModelReads,
    ModelWrites,
    OutlineReads,
    ProposalReads,
    ProposalWrites,
    ReceiptReads,
    ReceiptWrites,
    StatesAhead,
    TermReads,
    TermWrites,
    VectorReads,
    WordTableReads,
)
from holdfast.contracts.rows import (
    EntryAddress,
    EntryRow,
    GrantRow,
    KeyRow,
    KeyUse,
    MemberRow,
    MovedRow,
    RevisionRow,
    RuleRow,
    SpaceCounts,
    SpaceRow,
    SpaceState,
    Visible,
)

T = TypeVar("T")
S = TypeVar("S")


class EntryReads(Protocol):
    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        """Live entries with one of these blind keys, of any owner and visible partition, newest change first."""
        ...

    def by_number(self, visible: Visible, number: int) -> EntryRow | None:
        """The live entry with this number."""
        ...

    def trashed_by_number(self, visible: Visible, number: int) -> EntryRow | None:
        """The entry with this number if it is in the trash."""
        ...

    def page(
        self, visible: Visible, labels: Sequence[bytes] | None, before: int | None, limit: int
    ) -> list[EntryRow]:
        """Live entries, newest change first, below sequence `before`; with `labels`, those that carry one of them."""
        ...

    def moved(
        self, visible: Visible, labels: Sequence[bytes] | None, since: int, before: int, limit: int
    ) -> list[MovedRow]:
        """Live entries that existed at sequence `since`, changed after it, and then stood below `before`; highest
        former position first. With them, pages after a cursor show every entry once, however much is written
        meanwhile."""
        ...

    def shown(self, visible: Visible, numbers: Sequence[int]) -> list[EntryRow]:
        """The live entries among these numbers, in no stated order."""
        ...

    def flagged(self, visible: Visible, limit: int) -> list[EntryRow]:
        """Live entries that always apply, newest change first, without quarantined and client-encrypted ones. Reads
        the space's rows, but opens no seal."""
        ...

    def quarantined(self, visible: Visible, limit: int) -> list[EntryRow]:
        """Live entries that wait for a person's approval, newest change first. Costs as much as `flagged`."""
        ...

    def expiring(self, visible: Visible, until: int, limit: int) -> list[EntryRow]:
        """Live entries that expire at or before `until`, soonest first."""
        ...

    def trash(self, visible: Visible, before: int | None, limit: int) -> list[EntryRow]:
        """Entries in the trash, newest change first, below sequence `before`."""
        ...

    def trashed_by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        """Entries in the trash with one of these blind keys, last trashed first."""
        ...

    def history(self, visible: Visible, number: int, before: int, limit: int) -> list[RevisionRow]:
        """Superseded revisions below revision `before`, newest first; none when the entry itself is not visible."""
        ...

    def count(self, visible: Visible) -> int:
        """Live entries."""
        ...

    def count_locked(self, visible: Visible, readable: Sequence[int]) -> int:
        """Live entries under other keys than these."""
        ...

    def kept_elsewhere(self, owner: bytes) -> int:
        """Counts an owner's entries outside their own spaces, across all spaces; shows none of them."""
        ...

    def expired(self, now: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        """Expired entries outside the spaces in `without`. Takes no `visible`: it serves the sweep, not a caller."""
        ...

    def trashed_before(self, moment: int, limit: int, without: Sequence[UUID] = ()) -> list[EntryAddress]:
        """Entries trashed before a moment, outside the spaces in `without`, for the sweep."""
        ...

    def by_numbers(self, space: UUID, numbers: Sequence[int]) -> list[EntryRow]:
        """Entries in any state, for the sweep that removes them."""
        ...

    def sealed_with(self, space: UUID, key_id: int, after: int, limit: int) -> list[EntryRow]:
        """Entries (live or trashed) under a key, by number, above `after`: for key rotation."""
        ...

    def revisions_sealed_with(self, space: UUID, key_id: int, limit: int) -> list[RevisionRow]:
        """Superseded revisions under a key: for key rotation and moving an entry."""
        ...

    def revisions_of(self, space: UUID, number: int) -> list[RevisionRow]:
        """Every superseded revision of one entry, oldest first: for moving an entry to another space."""
        ...


class EntryWrites(EntryReads, Protocol):
    def insert(self, space: UUID, row: EntryRow) -> bool:
        """Adds a live entry. False when its number is taken; Conflict when its (key, partition, owner) is."""
        ...

    def revise(self, space: UUID, row: EntryRow, superseded: RevisionRow | None) -> None:
        """Replaces the head; `superseded` adds the old head to the history."""
        ...

    def restate(self, space: UUID, row: EntryRow) -> None:
        """Rewrites an entry after a change of state, key or seal, without a new revision; labels only while it is
        live."""
        ...

    def add_revision(self, space: UUID, row: RevisionRow) -> None:
        """Adds or replaces one superseded revision."""
        ...

    def prune(self, space: UUID, number: int, below: int) -> int:
        """Removes superseded revisions below this number and returns how many there were."""
        ...

    def delete(self, space: UUID, numbers: Sequence[int]) -> int:
        """Removes entries in any state, with revisions and labels, and returns how many there were. Needs no key."""
        ...

    def delete_space(self, space: UUID) -> int:
        """Removes every entry of a space with revisions and labels, and returns how many there were. Needs no key."""
        ...


class SpaceReads(Protocol):
    def by_id(self, space: UUID) -> SpaceRow | None: ...

    def by_name(self, name: bytes) -> SpaceRow | None: ...

    def owned_by(self, owner: bytes) -> list[SpaceRow]:
        """Spaces of a principal, oldest first."""
        ...

    def all_after(self, after: UUID | None, limit: int) -> list[SpaceRow]:
        """Every space in the order of ids, for rotation and administration."""
        ...

    def counts(self, space: UUID) -> SpaceCounts | None: ...

    def state(self, space: UUID) -> SpaceState | None: ...

    def states(self, spaces: Sequence[UUID]) -> list[SpaceState | None]:
        """The state of each of these spaces, in this order."""
        ...

    def totals(self) -> tuple[int, int]:
        """The numbers of spaces and entries, trash included."""
        ...


class SpaceWrites(SpaceReads, Protocol):
    def insert(self, row: SpaceRow) -> None: ...

    def advance(self, space: UUID, *, entries: int, indexed: int, length: int) -> SpaceCounts | None:
        """Takes the next sequence number and adds to the counts; None when the space does not exist."""
        ...

    def recount(self, space: UUID, *, entries: int, indexed: int, length: int) -> None:
        """Adds to the counts without taking a sequence number, and counts a removal."""
        ...

    def count_settled(self, space: UUID) -> None:
        """Counts that a derived row was added."""
        ...

    def use_key(self, space: UUID, key_id: int) -> None:
        """Names the data key that new writes are sealed with."""
        ...

    def mark_listed(self, space: UUID) -> None: ...

    def empty(self, space: UUID) -> None:
        """Sets the counts to zero; sequence numbers go on."""
        ...


class NameReads(Protocol):
    """Readable principals, sealed, by their blind id."""

    def get(self, blind: bytes) -> bytes | None: ...


class NameWrites(NameReads, Protocol):
    def put(self, blind: bytes, sealed: bytes) -> None:
        """Stores a name, unless there is one."""
        ...


class KeyReads(Protocol):
    def of(self, space: UUID) -> list[KeyRow]:
        """The data keys of a space, oldest first."""
        ...

    def with_current(self, space: UUID) -> tuple[list[KeyRow], int | None]:
        """The data keys of a space, oldest first, and the id of the one for writes (None: no such space), read
        together."""
        ...

    def not_under(self, master: bytes, limit: int) -> list[KeyRow]:
        """Keys wrapped by another master than this one."""
        ...

    def most_used(self, limit: int) -> list[KeyUse]:
        """The most used keys of the whole store."""
        ...


class KeyWrites(KeyReads, Protocol):
    def insert(self, row: KeyRow) -> None: ...

    def rewrap(self, row: KeyRow) -> None: ...

    def add_uses(self, space: UUID, key_id: int, uses: int) -> None:
        """Counts messages sealed under a key; does nothing when the key is gone."""
        ...

    def delete(self, space: UUID, key_id: int | None = None) -> int:
        """Destroys one key of a space, or all of them."""
        ...


class GrantReads(Protocol):
    def of(self, space: UUID, grantee: bytes) -> list[GrantRow]: ...

    def on(self, space: UUID) -> list[GrantRow]: ...

    def to(self, grantee: bytes) -> list[GrantRow]: ...


class GrantWrites(GrantReads, Protocol):
    def put(self, row: GrantRow) -> None:
        """Adds or replaces the grant of this granter to this grantee, expiry included."""
        ...

    def delete(self, space: UUID, grantee: bytes, granted_by: bytes) -> int: ...

    def delete_expired(self, now: int, limit: int) -> int: ...


class MemberReads(Protocol):
    def levels(self, space: UUID, members: Sequence[bytes]) -> list[MemberRow]:
        """The lines of an access list that name one of these members."""
        ...

    def lists_with(self, members: Sequence[bytes]) -> list[UUID]:
        """The spaces whose access list names one of these members."""
        ...


class MemberWrites(MemberReads, Protocol):
    def replace(self, space: UUID, rows: Sequence[MemberRow]) -> None: ...


class RuleReads(Protocol):
    def all(self) -> list[RuleRow]: ...


class RuleWrites(RuleReads, Protocol):
    def put(self, row: RuleRow) -> None: ...


class Leases(Protocol):
    """Leases on work in a space until a moment, so that many nodes share it."""

    def take(self, space: UUID, work: str, holder: str, now: int, until: int) -> bool:
        """Takes or prolongs a lease; False, without waiting, while another holder has it or takes it."""
        ...

    def give_back(self, space: UUID, work: str, holder: str) -> None: ...


class Transaction(Protocol):
    """One atomic change, on disk as a whole when the write is acknowledged, or not at all."""

    @property
    def entries(self) -> EntryWrites: ...
    @property
    def terms(self) -> TermWrites: ...
    @property
    def derived(self) -> DerivedWrites: ...
    @property
    def models(self) -> ModelWrites: ...
    @property
    def copies(self) -> CopyWrites: ...
    @property
    def spaces(self) -> SpaceWrites: ...
    @property
    def names(self) -> NameWrites: ...
    @property
    def keys(self) -> KeyWrites: ...
    @property
    def grants(self) -> GrantWrites: ...
    @property
    def members(self) -> MemberWrites: ...
    @property
    def rules(self) -> RuleWrites: ...
    @property
    def agents(self) -> AgentWrites: ...
    @property
    def receipts(self) -> ReceiptWrites: ...
    @property
    def proposals(self) -> ProposalWrites: ...
    @property
    def audit(self) -> AuditWrites: ...

    def erase(self, *, wait: bool = True) -> None:
        """Erases removed rows from every byte: before the write is acknowledged, or soon after."""
        ...


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """A write that is checked and ready: `run` does it in one transaction. It may run again in a new transaction
    before it is answered, so it has no effect but on the transaction. A refusal that is returned, not raised, is raised
    to the caller after the commit."""

    run: Callable[[Transaction], T]

    def then(self, show: Callable[[T], S]) -> Job[S]:
        """A job that does the same write and shows its answer in another form."""
        return Job(lambda tx: show(self.run(tx)))


@dataclass(slots=True, eq=False)
class LongJob(Generic[T]):
    """Work in several transactions, which runs to its end in the calling thread."""

    run: Callable[[], T]


Result = Union[T, Job[T], LongJob[T]]  # noqa: UP007 - a type alias with a variable
"""The result of a call: its answer, or the job that makes it."""


class Store(Protocol):
    @property
    def entries(self) -> EntryReads: ...
    @property
    def outlines(self) -> OutlineReads: ...
    @property
    def terms(self) -> TermReads: ...
    @property
    def derived(self) -> DerivedReads: ...
    @property
    def models(self) -> ModelReads: ...
    @property
    def copies(self) -> CopyReads: ...
    @property
    def ahead(self) -> StatesAhead | None:
        """None where reads return as soon as they are asked for."""
        ...

    @property
    def word_table(self) -> WordTableReads | None:
        """None where single terms are found so fast that reading the whole index gains nothing."""
        ...

    @property
    def vectors(self) -> VectorReads | None:
        """None where the backend does not compare vectors."""
        ...

    @property
    def leases(self) -> Leases | None:
        """None where workers are few and near: doing work twice then costs less than taking a lease."""
        ...

    @property
    def spaces(self) -> SpaceReads: ...
    @property
    def names(self) -> NameReads: ...
    @property
    def keys(self) -> KeyReads: ...
    @property
    def grants(self) -> GrantReads: ...
    @property
    def members(self) -> MemberReads: ...
    @property
    def rules(self) -> RuleReads: ...
    @property
    def agents(self) -> AgentReads: ...
    @property
    def receipts(self) -> ReceiptReads: ...
    @property
    def proposals(self) -> ProposalReads: ...
    @property
    def audit(self) -> AuditReads: ...

    @property
    def remote(self) -> bool:
        """True when answers come over a network; callers that must not wait use a thread."""
        ...

    @property
    def unclean(self) -> bool:
        """True while something removed still waits to be erased from every byte."""
        ...

    def submit(self, run: Callable[[Transaction], T]) -> Future[T]:
        """Runs this in a transaction; the future gets its result once that is durable, or its error. It may run
        again in a new transaction before that, so it must have no effect but on the transaction."""
        ...

    def write(self, run: Callable[[Transaction], T]) -> T:
        """Runs this in a transaction and returns its result once that is durable."""
        ...

    def tidy(self) -> bool:
        """Does a little of the work that keeps word lookups fast, in quiet moments; True while there is more. Changes
        no answer, and delays other writers by milliseconds at most."""
        ...

    def close(self) -> None:
        """Finishes submitted jobs, then releases everything. A second call does nothing."""
        ...
