"""The files vocabulary: a user's memories as named Markdown files, and the index of them (MEMORY.md). Only a user who
is known has files, and nobody else sees them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from holdfast.contracts.storage import Job, Result, Transaction
from holdfast.domain.access import is_unattended
from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    AccessDenied,
    InvalidField,
    InvalidName,
    InvalidType,
    MissingField,
    NotFound,
    Unauthenticated,
)
from holdfast.domain.file import (
    NAME_PATTERN,
    TYPES,
    check_body,
    check_description,
    check_name,
    check_type,
    index_text,
)
from holdfast.domain.partition import Partition
from holdfast.domain.principal import UNKNOWN, PrincipalKind
from holdfast.domain.profile import FILES
from holdfast.domain.times import to_datetime
from holdfast.operations import read, remove
from holdfast.operations.authorize import EntryName
from holdfast.operations.build_context import list_files
from holdfast.operations.notes import NoteInput
from holdfast.operations.remember import not_kept, remember
from holdfast.operations.results import Remembered
from holdfast.safety.advice import Advice
from holdfast.safety.scrub import Redactions
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import ADVICE, record, text_answer
from holdfast.vocabularies.fields import NOT_BLANK, REVISION, TAG, Field

UPSERT = "upsert"
DELETE = "delete"
ACTIONS = (UPSERT, DELETE)


@dataclass(frozen=True, slots=True)
class FileChange:
    """Result of UpdateUserMemory."""

    action: str
    name: str
    id: UUID | None
    revision: int
    created: bool = False
    redacted: int = 0
    persisted: bool = True
    note: str | None = None
    redactions: Redactions = ()
    """The number of secrets of each kind that were taken out."""
    advice: tuple[Advice, ...] = ()
    """Advice on the text."""


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
        """The file as a model reads it: a heading, type and description, then the body."""
        return f"# {self.name}\n\n**{self.type}**: {self.description}\n\n{self.body}"


CHANGE = record(
    FileChange,
    "UserMemoryChange",
    order=(
        "action", "name", "id", "revision", "created", "redacted", "redactions", "persisted", "note", "advice",
    ),
    optional=("redactions", "note", "advice"),
    of={"action": {"type": "string", "enum": list(ACTIONS)}, "advice": ADVICE},
)  # fmt: skip
FILE = record(
    FileMemory,
    "UserMemory",
    order=("name", "type", "description", "body", "text", "id", "revision", "updated_us"),
)
NAME = Field(
    "The file's name without `.md`: letters, digits, dash and underscore.",
    "preferred-language",
    missing=MissingField,
    wrong=InvalidName,
    bounds={"pattern": NAME_PATTERN},
)
TYPE = Field(
    "user: preferences and standing instructions; feedback: corrections; project: facts of a project; reference: "
    "addresses and ids elsewhere.",
    "user",
    wrong=InvalidType,
    bounds={"enum": list(TYPES)},
)
WHOLE_FILE = ("type", "description", "body")
BY_ACTION = {
    "anyOf": [
        {
            "properties": {"action": {"const": UPSERT}} | {name: {"type": "string"} for name in WHOLE_FILE},
            "required": list(WHOLE_FILE),
        },
        {"properties": {"action": {"const": DELETE}}},
    ]
}


class FileCalls(Vocabulary):
    @call(CHANGE, writes=True, rules=BY_ACTION)
    def update_user_memory(
        self,
        action: Annotated[
            str,
            Field(
                "`upsert` needs type, description and body too; `delete` the name alone.",
                UPSERT,
                missing=MissingField,
                bounds={"enum": list(ACTIONS)},
            ),
        ],
        name: Annotated[str, NAME],
        *,
        type: Annotated[str | None, TYPE] = None,
        description: Annotated[
            str | None, Field("One line that the index shows.", "User prefers Japanese output", bounds=TAG)
        ] = None,
        body: Annotated[
            str | None,
            Field(
                "The full content.",
                "Always respond in Japanese unless the user explicitly asks for another language.",
                bounds=NOT_BLANK,
            ),
        ] = None,
        expected_revision: Annotated[int | None, REVISION] = None,
    ) -> Result[FileChange]:
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
        session = self._session
        arguments = NoteInput(
            check_body(body),
            name,
            category=check_type(type),
            hint=check_description(description, session.limits),
            expected_revision=expected_revision,
        )
        if session.is_off:
            return _change(not_kept(session, FILES, arguments))
        return remember(session, FILES, None, arguments).then(_change)

    @call(FILE)
    def read_user_memory(self, name: Annotated[str, NAME]) -> FileMemory:
        """One of the user's memory files, whole; update_user_memory changes it."""
        self._require_user()
        target = EntryName(check_name(name), partitions=(Partition.FILES,))
        try:
            return _file(read.get(self._session, target))
        except NotFound:
            raise _unknown(name) from None

    @call(text_answer("UserMemoryIndex", "text/markdown"))
    def index(self, *, type: Annotated[str | None, TYPE] = None) -> str:
        """MEMORY.md: a line for each of the user's files, by name, with its description; `type` shows one type."""
        self._require_user()
        only = None if type is None else check_type(type)
        if self._session.is_off:
            return f"> {self._session.reason}\n"
        return index_text(list_files(self._session, only))

    def _delete(self, name: str, expected: int | None) -> Result[FileChange]:
        session = self._session
        if session.is_off:
            return FileChange(DELETE, name, None, 0, persisted=False, note=session.reason)
        trash = remove.trash(session, EntryName(name, partitions=(Partition.FILES,)), expected)

        def write(tx: Transaction) -> FileChange:
            try:
                trashed = trash.run(tx)
            except NotFound:
                raise _unknown(name) from None
            return FileChange(DELETE, name, trashed.id, trashed.revision)

        return Job(write)

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
