"""How these tests look at what happened: the code of a refusal, the keys of a list, and whether the store changed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from uuid import UUID

import pytest

from holdfast.contracts.rows import QUARANTINED, SpaceCounts
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import split_entry_id
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.profile import Profile
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.tool_context import Handle
from holdfast.operations import remember
from holdfast.operations.authorize import SpaceRef
from holdfast.operations.engine import Engine
from holdfast.operations.notes import NoteInput
from holdfast.operations.read_log import READS
from holdfast.operations.results import Page, Remembered
from holdfast.operations.session import Session
from holdfast.storage.row_codec import open_entry, seal_entry

Snapshot = tuple[int, dict[UUID, SpaceCounts | None]]


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


def keys(entries: Iterable[Keyed]) -> list[str]:
    return [entry.key for entry in entries]


def texts(own: Own, key: str, space: UUID | str | None = None) -> list[str | None]:
    """Every state of an entry, the present one first."""
    return [revision.text for revision in own.history(key, space=space)]


def pages(own: Own, prefix: str = "", limit: int = 2) -> Iterator[Page]:
    """A list, page by page; a test may write between two of them."""
    page = own.list(prefix, limit=limit)
    yield page
    while page.cursor is not None:
        page = own.list(prefix, limit=limit, cursor=page.cursor)
        yield page


@contextmanager
def refused(code: str) -> Iterator[None]:
    with pytest.raises(HoldfastError) as caught:
        yield
    assert caught.value.code == code, f"{caught.value.code}: {caught.value.message}"


def refusal(call: "Call") -> tuple[str, str]:
    """What a refused caller is told."""
    with pytest.raises(HoldfastError) as caught:
        call()
    return caught.value.code, caught.value.message


class Call(Protocol):
    def __call__(self) -> object: ...


def engine_of(memory: Memory) -> Engine:
    engine = memory._opened.engine
    assert engine is not None
    return engine


def snapshot(memory: Memory) -> Snapshot:
    """Lines of the audit log but for those of reading, and what every space counts."""
    store = engine_of(memory).sealed.store
    spaces = store.spaces.all_after(None, 10_000)
    lines = [row for row in store.audit.after(0, 100_000) if row.operation not in READS]
    return len(lines), {row.id: store.spaces.counts(row.id) for row in spaces}


@contextmanager
def unchanged(memory: Memory) -> Iterator[None]:
    before = snapshot(memory)
    yield
    assert snapshot(memory) == before, "something was written"


def handle_of(memory: Memory, subject: str = "alice", session: str | None = None) -> Handle:
    handle = memory.handle(subject, session=session)
    assert handle is not None
    return handle


def write_as(
    memory: Memory, profile: Profile, subject: str, draft: NoteInput, space: SpaceRef = None
) -> Remembered:
    """Writes as a vocabulary that has no interface yet."""
    session = session_of(memory, subject)
    return session.engine.commit(lambda: remember.remember(session, profile, space, draft))


def session_of(memory: Memory, subject: str, **more: Any) -> Session:
    """A user's session on the engine of a memory."""
    return memory.running.session(Caller(Principal(PrincipalKind.USER, subject), **more))


def session_in(own: Own) -> Session:
    """The session that an object of `memory.user()` or `.agent()` was made for."""
    session: Session = own._transport.session
    return session


def quarantine(memory: Memory, entry: UUID | None) -> None:
    """Marks an entry as waiting for a person; no interface can yet."""
    assert entry is not None
    engine = engine_of(memory)
    space, number = split_entry_id(entry)

    def mark(tx: Transaction) -> None:
        [row] = tx.entries.by_numbers(space, [number])
        key = engine.sealed.keyring.of(space).readable[row.key_id]
        opened = open_entry(key, row)
        assert opened is not None
        counts = tx.spaces.advance(space, entries=0, indexed=0, length=0)
        assert counts is not None
        marked = row._replace(flags=row.flags | QUARANTINED, seq=counts.seq)
        tx.entries.restate(space, seal_entry(key, marked, opened.owner, opened.content))

    engine.run_job(mark)


def derived_from(memory: Memory, entry: UUID) -> list[str]:
    """The models that have something derived from this entry, by name."""
    store = engine_of(memory).sealed.store
    space, number = split_entry_id(entry)
    return [row.name for row in store.models.all() if store.derived.of(space, row.model, [number])]
