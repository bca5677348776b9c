"""Rows to put into a store: short to write, valid to every backend. Whatever a test does not name is of no matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID, uuid5

from holdfast.contracts.rows import (
    AgentRow,
    AuditRow,
    DerivedRow,
    EntryRow,
    GrantRow,
    IndexText,
    KeyRow,
    MemberRow,
    ProposalRow,
    ReceiptRow,
    RevisionRow,
    SpaceRow,
    Visible,
)
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.partition import Partition
from holdfast.domain.space import SpaceKind

T = TypeVar("T")

NOW = 1_000_000
NOTES, FACTS, FILES = Partition.NOTES.value, Partition.FACTS.value, Partition.FILES.value


def space_id(number: int) -> UUID:
    """The last 32 bits stay free for entry numbers."""
    return UUID(int=number << 96)


HERE, THERE, NOWHERE = space_id(1), space_id(2), space_id(3)


def blind(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def label(name: str) -> bytes:
    return name.encode().ljust(8, b".")


ALICE, BOB, CAROL = blind("alice"), blind("bob"), blind("carol")


def space_row(space: UUID = HERE, **said: Any) -> SpaceRow:
    row = SpaceRow(
        id=space,
        kind=SpaceKind.USER,
        name=blind(f"name {space.int >> 96}"),
        owner=ALICE,
        listed=False,
        key_id=1,
        created_us=NOW,
        sealed=b"sealed name",
    )
    return row._replace(**said)


def entry_row(number: int, **said: Any) -> EntryRow:
    """A live note of Alice; its key and its places in the order follow its number unless they are named."""
    row = EntryRow(
        number=number,
        partition=NOTES,
        owner=ALICE,
        key=blind(f"key {number}"),
        revision=1,
        born=said.get("seq", number),
        seq=number,
        created_us=NOW,
        updated_us=NOW,
        expires_us=None,
        trashed_us=None,
        flags=0,
        length=0,
        key_id=1,
        labels=b"",
        sealed=f"sealed {number}".encode(),
    )
    return row._replace(**said)


def superseded(row: EntryRow, **said: Any) -> RevisionRow:
    """A head as it goes into history."""
    revision = RevisionRow(
        number=row.number,
        revision=row.revision,
        seq=row.seq,
        updated_us=row.updated_us,
        expires_us=row.expires_us,
        flags=row.flags,
        key_id=row.key_id,
        sealed=row.sealed,
    )
    return revision._replace(**said)


def key_row(space: UUID = HERE, key_id: int = 1, **said: Any) -> KeyRow:
    row = KeyRow(space, key_id, master=b"master 1", created_us=NOW, wrapped=f"wrapped {key_id}".encode())
    return row._replace(**said)


def grant_row(grantee: bytes = BOB, **said: Any) -> GrantRow:
    row = GrantRow(HERE, grantee, granted_by=ALICE, level=2, created_us=NOW, expires_us=None, mac=b"code")
    return row._replace(**said)


def member_row(member: bytes = BOB, level: int = 3) -> MemberRow:
    return MemberRow(member, level, mac=b"code")


def receipt_row(key: str = "request 1", **said: Any) -> ReceiptRow:
    row = ReceiptRow(
        principal=ALICE,
        key=blind(key),
        space=HERE,
        number=1,
        request=b"fingerprint",
        answer=b"sealed",
        created_us=NOW,
    )
    return row._replace(**said)


def agent_row(**said: Any) -> AgentRow:
    row = AgentRow(
        BOB, ALICE, enabled=True, own=True, chat=False, user=True, default_ttl=60, mac=b"code of the line"
    )
    return row._replace(**said)


def proposal_row(name: str = "one", **said: Any) -> ProposalRow:
    row = ProposalRow(
        id=uuid5(HERE, name),
        person=ALICE,
        proposer=BOB,
        space=HERE,
        number=1,
        created_us=NOW,
        expires_us=NOW + 600,
        answer=0,
        sealed=b"sealed",
    )
    return row._replace(**said)


def audit_row(operation: str = "remember", **said: Any) -> AuditRow:
    row = AuditRow(NOW, operation, ALICE, b"space", b"object", revision=1, key_id=1, link=operation.encode())
    return row._replace(**said)


def derived_row(number: int, model: int = 1, **said: Any) -> DerivedRow:
    row = DerivedRow(number, model, revision=1, key_id=1, sealed=f"derived {number} by {model}".encode())
    return row._replace(**said)


def words(body: str = "", *, hint: str = "", tags: str = "", key: str = "") -> IndexText:
    return IndexText(hint, tags, key, body)


def seen(space: UUID = HERE, **said: Any) -> Visible:
    """Notes and facts of a space, through Alice's eyes."""
    given = {"partitions": (NOTES, FACTS), "viewer": ALICE, "now": NOW, **said}
    return Visible(space=space, **given)


def write(store: Store, job: Callable[[Transaction], T]) -> T:
    """Runs one job and waits until it is durable."""
    return store.submit(job).result(timeout=60)


def make_spaces(store: Store, *spaces: UUID) -> None:
    def job(tx: Transaction) -> None:
        for space in spaces or (HERE,):
            tx.spaces.insert(space_row(space))

    write(store, job)


def insert(store: Store, *rows: EntryRow, space: UUID = HERE) -> None:
    def job(tx: Transaction) -> None:
        for row in rows:
            assert tx.entries.insert(space, row)

    write(store, job)


def derive(store: Store, *rows: DerivedRow, space: UUID = HERE) -> list[bool]:
    """Puts what was derived, and says of each whether it was taken."""
    return write(store, lambda tx: [tx.derived.put(space, row) for row in rows])


def numbers(rows: list[EntryRow]) -> list[int]:
    return [row.number for row in rows]
