"""The files vocabulary: a user's memories as named Markdown files, and the index of them (MEMORY.md). Only a user who
is known has files, and nobody else sees them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import is_unattended
from holdfast.domain.entry import Entry
from holdfast.domain.errors import AccessDenied, InvalidField, MissingField, NotFound, Unauthenticated
from holdfast.domain.file import check_body, check_description, check_name, check_type, index_text
from holdfast.domain.partition import Partition
from holdfast.domain.principal import UNKNOWN, PrincipalKind
from holdfast.domain.profile import FILES
from holdfast.domain.times import to_datetime
from holdfast.operations import read, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.build_context import list_files
from holdfast.operations.notes import Asked, NoteInput
from holdfast.operations.results import Redactions, Remembered
from holdfast.operations.work import Write
from holdfast.safety.advice import Advice
from holdfast.vocabularies.session import Session, remembering

UPSERT = "upsert"
DELETE = "delete"
ACTIONS = (UPSERT, DELETE)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What UpdateUserMemory did."""

    action: str
    name: str
    id: UUID | None
    revision: int
    created: bool = False
    redacted: int = 0
    persisted: bool = True
    note: str | None = None
    redactions: Redactions = ()
    """How many secrets of each kind were taken out."""
    advice: tuple[Advice, ...] = ()
    """What the save coach says about the text."""


@dataclass(frozen=True, slots=True)
class FileMemory:
    """One file, as ReadUserMemory gives it."""

    name: str
    type: str
    description: str
    body: str
    id: UUID
    revision: int
    updated_us: int

    @property
    def updated_at(self) -> datetime:
        return to_datetime(self.updated_us)

    @property
    def text(self) -> str:
        """As a model reads it: a heading, type and description, then the body."""
        return f"# {self.name}\n\n**{self.type}**: {self.description}\n\n{self.body}"


class FileCalls:
    def __init__(self, session: Session) -> None:
        self._session = session

    def update_user_memory(
        self,
        action: str,
        name: str,
        *,
        type: str | None = None,
        description: str | None = None,
        body: str | None = None,
        expected_revision: int | None = None,
    ) -> Write[FileChange]:
        """Writes or deletes one of the user's memory files: `upsert` creates it or replaces the one of that name,
        `delete` moves it to the trash. read_user_memory gives the full body back."""
        self._require_user()
        if action is None or action == "":
            raise MissingField("`action` is required: upsert or delete.")
        if action not in ACTIONS:
            raise InvalidField("The action is `upsert` or `delete`.")
        check_name(name)
        if action == DELETE:
            if is_unattended(self._session.caller):
                raise AccessDenied("Nobody watches this caller, so it deletes nothing.")
            return self._delete(name, expected_revision)
        draft = NoteInput(
            check_body(body),
            name,
            category=check_type(type),
            hint=check_description(description, self._session.limits),
            expected_revision=expected_revision,
        )
        return self._upsert(draft)

    def read_user_memory(self, name: str) -> FileMemory:
        """One of the user's memory files, whole; update_user_memory changes it."""
        self._require_user()
        target = EntryName(check_name(name), partitions=(Partition.FILES,))
        try:
            return _file(read.get(self._session.engine, self._session.caller, target))
        except NotFound:
            raise _unknown(name) from None

    def index(self, *, type: str | None = None) -> str:
        """MEMORY.md: a line for each of the user's files, by name, with its description; `type` shows one type."""
        self._require_user()
        wanted = None if type is None else check_type(type)
        if self._session.is_off:
            return f"> {self._session.reason}\n"
        return index_text(list_files(self._session.engine, self._session.caller, wanted))

    def _upsert(self, draft: NoteInput) -> Write[FileChange]:
        kept = remembering(self._session, Asked(FILES, None, draft))

        def prepare() -> Job[FileChange]:
            write = kept.prepare()
            return lambda tx: _change(write(tx))

        off = kept.off
        return Write(prepare, None if off is None else lambda: _change(off()))

    def _delete(self, name: str, expected: int | None) -> Write[FileChange]:
        session, target = self._session, EntryName(name, partitions=(Partition.FILES,))

        def prepare() -> Job[FileChange]:
            write = remove.trash(session.engine, session.caller, target, expected)

            def delete(tx: Transaction) -> FileChange:
                try:
                    trashed = write(tx)
                except NotFound:
                    raise _unknown(name) from None
                return FileChange(DELETE, name, trashed.id, trashed.revision)

            return delete

        return Write(
            prepare, off=lambda: FileChange(DELETE, name, None, 0, persisted=False, note=session.reason)
        )

    def _require_user(self) -> None:
        who = self._session.caller.principal
        if who.kind is not PrincipalKind.USER:
            raise AccessDenied("File memories belong to users; call as the user whose they are.")
        if who.id == UNKNOWN:
            raise Unauthenticated("File memories need a user who is known; call with a token.")


def _change(kept: Remembered) -> FileChange:
    return FileChange(
        UPSERT,
        kept.key,
        kept.id,
        kept.revision,
        kept.created,
        kept.redacted,
        kept.persisted,
        kept.note,
        kept.redactions,
        kept.advised,
    )


def _file(entry: Entry) -> FileMemory:
    return FileMemory(
        entry.key, entry.category, entry.hint, entry.text, entry.id, entry.revision, entry.updated_us
    )


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no memory file `{name}`; the index (MEMORY.md) lists those there are.")
