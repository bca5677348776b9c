"""What the engine needs from a storage backend. Backends hold sealed rows and never see readable text.

Reads come from the last committed state. Every read of entries takes `visible` and applies it before its limit;
the few that do not (sweep, rotation, holdings of a principal) say why. Absence is None or an empty list. Inside a
transaction the same reads see its own writes; a job reads through its transaction, not through the store. Errors of
the driver arrive translated: Unavailable, StorageFull, Backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from holdfast.contracts.index import (
    DerivedReads,
    DerivedWrites,
    LexiconReads,
    ModelReads,
    ModelWrites,
    OutlineReads,
    StatesAhead,
    TermReads,
    TermWrites,
    VectorReads,
)
from holdfast.contracts.records import (
    AgentReads,
    AgentWrites,
    AuditReads,
    AuditWrites,
    CopyReads,
    CopyWrites,
    ProposalReads,
    ProposalWrites,
    ReceiptReads,
    ReceiptWrites,
)
from holdfast.contracts.rows import (
    EntryRow,
    GrantRow,
    KeyRow,
    KeyUse,
    MemberRow,
    MovedRow,
    PlacedRow,
    RevisionRow,
    RuleRow,
    SpaceCounts,
    SpaceRow,
    SpaceState,
    Visible,
)

T = TypeVar("T")


class EntryReads(Protocol):
    def by_key(self, visible: Visible, keys: Sequence[bytes]) -> list[EntryRow]:
        """Live entries with one of these blind keys, of any owner and visible partition, newest change first."""
        ...

    def by_number(self, visible: Visible, number: int) -> EntryRow | None:
        """The live entry."""
        ...

    def trashed_by_number(self, visible: Visible, number: int) -> EntryRow | None:
        """The entry if it lies in the trash."""
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
        former place first. With them a page after a cursor shows every entry once, however much is written."""
        ...

    def shown(self, visible: Visible, numbers: Sequence[int]) -> list[EntryRow]:
        """The live ones among these, in no stated order."""
        ...

    def flagged(self, visible: Visible, limit: int) -> list[EntryRow]:
        """Live entries that always apply, newest change first; neither quarantined ones nor those a client encrypted.
        Costs a look at the space's rows, not at what is sealed in them."""
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
        """Live entries whose key id is none of these."""
        ...

    def kept_elsewhere(self, owner: bytes) -> int:
        """Entries of an owner in spaces that are not their own. Names no space: it counts across all, shows none."""
        ...

    def expired(self, now: int, limit: int, without: Sequence[UUID] = ()) -> list[PlacedRow]:
        """Entries past their expiry, but for those of some spaces, for the sweep. Names no space: it serves the store,
        not a caller."""
        ...

    def trashed_before(self, moment: int, limit: int, without: Sequence[UUID] = ()) -> list[PlacedRow]:
        """Entries trashed before a moment, but for those of some spaces, for the sweep."""
        ...

    def by_numbers(self, space: UUID, numbers: Sequence[int]) -> list[EntryRow]:
        """Entries in whatever state, for the sweep that removes them."""
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
        """A new live entry. False when its number is taken; Conflict when its (key, partition, owner) is."""
        ...

    def revise(self, space: UUID, row: EntryRow, superseded: RevisionRow | None) -> None:
        """Puts a new head in place of the current one; with `superseded` the old head is kept as history."""
        ...

    def restate(self, space: UUID, row: EntryRow) -> None:
        """Rewrites an entry without a new revision: state, key or seal changed. Labels show only while it is live."""
        ...

    def add_revision(self, space: UUID, row: RevisionRow) -> None:
        """Adds or replaces one superseded revision."""
        ...

    def prune(self, space: UUID, number: int, below: int) -> int:
        """Removes superseded revisions below this number and says how many there were."""
        ...

    def delete(self, space: UUID, numbers: Sequence[int]) -> int:
        """Removes entries, live or trashed, with revisions and labels; needs no key. Says how many there were."""
        ...

    def delete_space(self, space: UUID) -> int:
        """Removes every entry of a space with revisions and labels; needs no key. Says how many there were."""
        ...


class SpaceReads(Protocol):
    def by_id(self, space: UUID) -> SpaceRow | None: ...

    def by_name(self, name: bytes) -> SpaceRow | None: ...

    def owned_by(self, owner: bytes) -> list[SpaceRow]:
        """Spaces of a principal, oldest first."""
        ...

    def all_after(self, after: UUID | None, limit: int) -> list[SpaceRow]:
        """Every space in the order of ids: for rotation and administration."""
        ...

    def counts(self, space: UUID) -> SpaceCounts | None: ...

    def state(self, space: UUID) -> SpaceState | None: ...

    def states(self, spaces: Sequence[UUID]) -> list[SpaceState | None]:
        """Of each of these, in this order."""
        ...

    def totals(self) -> tuple[int, int]:
        """How many spaces and entries there are, trash included."""
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
        """Something derived was added."""
        ...

    def use_key(self, space: UUID, key_id: int) -> None:
        """Names the data key that new writes are sealed with."""
        ...

    def mark_listed(self, space: UUID) -> None: ...

    def empty(self, space: UUID) -> None:
        """Sets the counts to zero; the sequence goes on."""
        ...


class NameReads(Protocol):
    """Readable principals, sealed, found by their blind id."""

    def get(self, blind: bytes) -> bytes | None: ...


class NameWrites(NameReads, Protocol):
    def put(self, blind: bytes, sealed: bytes) -> None:
        """Keeps the first one."""
        ...


class KeyReads(Protocol):
    def of(self, space: UUID) -> list[KeyRow]:
        """The data keys of a space, oldest first."""
        ...

    def with_current(self, space: UUID) -> tuple[list[KeyRow], int | None]:
        """The data keys of a space, oldest first, and the id of the one that writes use, as of one moment; None when
        there is no such space."""
        ...

    def not_under(self, master: bytes, limit: int) -> list[KeyRow]:
        """Keys wrapped by another master than this one."""
        ...

    def most_used(self, limit: int) -> list[KeyUse]:
        """The keys of the whole store under which most was sealed."""
        ...


class KeyWrites(KeyReads, Protocol):
    def insert(self, row: KeyRow) -> None: ...

    def rewrap(self, row: KeyRow) -> None: ...

    def add_uses(self, space: UUID, key_id: int, uses: int) -> None:
        """Counts messages sealed under a key; nothing when the key is gone."""
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
        """The lines of a list that name one of these members."""
        ...

    def lists_with(self, members: Sequence[bytes]) -> list[UUID]:
        """The spaces whose list names one of these members."""
        ...


class MemberWrites(MemberReads, Protocol):
    def replace(self, space: UUID, rows: Sequence[MemberRow]) -> None: ...


class RuleReads(Protocol):
    def all(self) -> list[RuleRow]: ...


class RuleWrites(RuleReads, Protocol):
    def put(self, row: RuleRow) -> None: ...


class Leases(Protocol):
    """Who does some work in a space, and until when, so that many nodes share it."""

    def take(self, space: UUID, work: str, holder: str, now: int, until: int) -> bool:
        """Takes or prolongs a lease; False, without waiting, while another holder has it or takes it."""
        ...

    def give_back(self, space: UUID, work: str, holder: str) -> None: ...


class Transaction(Protocol):
    """One atomic change. Whatever it does is on disk when the write is acknowledged, or not at all."""

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
        """Asks that what this transaction removed is gone from every byte before it is acknowledged, or soon after."""
        ...


Job = Callable[[Transaction], T]


class Unprepared(Generic[T]):
    """A job that is still to be prepared, by whoever runs it: one who runs many may prepare them all first."""

    __slots__ = ("prepare",)

    def __init__(self, prepare: Callable[[], Job[T]]) -> None:
        self.prepare = prepare

    def __call__(self, tx: Transaction) -> T:
        return self.prepare()(tx)


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
        """None where an answer is there as soon as it is asked for."""
        ...

    @property
    def lexicon(self) -> LexiconReads | None:
        """None where a word is found so quickly that nothing is gained by opening all of them."""
        ...

    @property
    def vectors(self) -> VectorReads | None:
        """None where vectors are only compared by who opens them."""
        ...

    @property
    def leases(self) -> Leases | None:
        """None where workers are few and near: doing something twice then costs less than asking first."""
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
        """Whether answers come over a network: who must not wait asks in a thread."""
        ...

    @property
    def crowded(self) -> bool:
        """Whether one thread commits for many callers and may prepare for them too: while they take turns at it, the
        interpreter goes from core to core. What is read meanwhile is what was committed before."""
        ...

    @property
    def unclean(self) -> bool:
        """Whether something that was removed still waits to be erased from every byte."""
        ...

    def submit(self, job: Job[T]) -> Future[T]:
        """Runs the job in a transaction; the future holds its result once that is durable, or its error. A job may be
        run again in a new transaction before it is answered, so it must have no effect but on the transaction."""
        ...

    def submit_to(self, job: Job[T], answer: Answer[T]) -> None:
        """The same for whoever has a place of its own for the outcome: a future costs more than a short job."""
        ...

    def write(self, job: Job[T]) -> T:
        """Runs the job in a transaction and returns its result once that is durable."""
        ...

    def tidy(self) -> bool:
        """A little of the work that keeps looking up words quick, for quiet moments; True while there is more.
        Changes no answer, and other writers wait for milliseconds at most."""
        ...

    def close(self) -> None:
        """Finishes what was submitted, then lets go of everything. A second call does nothing."""
        ...


T_contra = TypeVar("T_contra", contravariant=True)
R = TypeVar("R")


class Answer(Protocol[T_contra]):
    """Where the outcome of a job goes, told by a thread of the store: a future, or what stands for one."""

    def set_running_or_notify_cancel(self) -> bool:
        """False when nobody waits any more."""
        ...

    def set_result(self, result: T_contra) -> None: ...

    def set_exception(self, exception: BaseException | None) -> None: ...

    def tell(self) -> None:
        """Comes after the outcome, and after those of all that were done with it: who waits is to look now. Woken in
        between, they would take the interpreter from who still has others to answer."""
        ...


class Awaited(Future[R]):
    """A future as an answer; who waits for it is told by the future itself."""

    def tell(self) -> None: ...
