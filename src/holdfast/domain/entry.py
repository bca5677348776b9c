"""One memory: `Content` is sealed at rest, and `Entry` adds identity, state and times.

Named tuples, because one is built for every row read: a frozen dataclass of this size takes four times as long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.errors import NotText
from holdfast.domain.ids import entry_id
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.domain.times import to_datetime

TEXT = "text/plain"
BYTES = "application/octet-stream"
JSON = "application/json"
SHOWN = 40
"""Characters of a text in a `repr`."""


class Change(StrEnum):
    """The reason for a revision."""

    CREATED = "created"
    REPLACED = "replaced"
    EDITED = "edited"
    RENAMED = "renamed"
    UNDONE = "undone"
    APPROVED = "approved"
    """A person took it out of quarantine; the text is unchanged."""
    RESTORED = "restored"
    """It came back from the trash by an undo of its removal; `removed_by` names the actor of that removal."""


class Source(StrEnum):
    """The source of the words; the less a person stood behind them, the less they are trusted."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    SYSTEM = "system"

    __hash__ = str.__hash__
    """Enum's own hash is written in Python, and writers are looked up in every write."""


TRUST = {Source.SYSTEM: 4, Source.USER: 3, Source.AGENT: 2, Source.IMPORT: 1, Source.TOOL: 0}


def least_trusted(*sources: Source) -> Source:
    return min(sources, key=TRUST.__getitem__)


class Provenance(NamedTuple):
    """The author of a revision and the interface they used. Set by the engine, never by the caller."""

    by: str
    door: str
    source: Source
    conversation: str | None = None
    run: str | None = None


class Content(NamedTuple):
    key: str
    body: bytes
    provenance: Provenance
    namespace: str = ""
    hint: str = ""
    media_type: str = TEXT
    category: str = ""
    tags: tuple[str, ...] = ()
    conversation: str | None = None
    speaker: str | None = None
    at_us: int | None = None
    change: Change = Change.CREATED
    restores: int | None = None
    """The revision that an undo brought back, so that a further undo goes further back."""
    derived_from: tuple[str, ...] = ()
    """The ids of the entries it was made from; it is trusted no more than the least of them."""
    removed_by: str = ""
    """The actor who trashed it, and the run, a line each."""

    @property
    def is_text(self) -> bool:
        return self.media_type != BYTES

    @property
    def text(self) -> str:
        if self.media_type == BYTES:
            raise NotText
        return self.body.decode()

    @property
    def shown(self) -> str:
        """The key and the first characters of the text, for a `repr`."""
        text = self.body.decode() if self.is_text else f"<{len(self.body)} bytes>"
        cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        namespace = f", namespace={self.namespace!r}" if self.namespace else ""
        return f"key={self.key!r}{namespace}, text={cut!r}"


class Entry(NamedTuple):
    """One memory as it is now; a later change does not alter it."""

    space: UUID
    number: int
    owner: Principal
    partition: Partition
    revision: int
    content: Content
    created_us: int
    updated_us: int
    expires_us: int | None = None
    trashed_us: int | None = None
    always_inject: bool = False
    encrypted: bool = False
    quarantined: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.content.shown}, revision={self.revision})"

    @property
    def id(self) -> UUID:
        return entry_id(self.space, self.number)

    @property
    def key(self) -> str:
        return self.content.key

    @property
    def namespace(self) -> str:
        return self.content.namespace

    @property
    def hint(self) -> str:
        return self.content.hint

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def value(self) -> bytes:
        return self.content.body

    @property
    def category(self) -> str:
        return self.content.category

    @property
    def tags(self) -> tuple[str, ...]:
        return self.content.tags

    @property
    def conversation(self) -> str | None:
        return self.content.conversation

    @property
    def speaker(self) -> str | None:
        return self.content.speaker

    @property
    def at(self) -> datetime | None:
        return None if self.content.at_us is None else to_datetime(self.content.at_us)

    @property
    def provenance(self) -> Provenance:
        return self.content.provenance

    @property
    def in_context(self) -> bool:
        return self.partition is not Partition.INTERNAL

    @property
    def for_models(self) -> bool:
        """Returns True when text for models may contain it. The reader checks that its partition is visible."""
        return not self.encrypted and not self.quarantined and self.content.is_text

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.created_us)

    @property
    def updated_at(self) -> datetime:
        return to_datetime(self.updated_us)

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_us is None else to_datetime(self.expires_us)

    @property
    def trashed_at(self) -> datetime | None:
        return None if self.trashed_us is None else to_datetime(self.trashed_us)


@dataclass(frozen=True, slots=True, repr=False)
class Revision:
    """One former state of an entry. `content` is None when its key is not configured."""

    revision: int
    updated_us: int
    expires_us: int | None
    always_inject: bool
    encrypted: bool
    content: Content | None
    quarantined: bool = False

    def __repr__(self) -> str:
        shown = (
            "locked"
            if self.content is None
            else f"{self.content.shown}, change={self.content.change.value!r}"
        )
        return f"Revision({self.revision}, {shown})"

    @property
    def locked(self) -> bool:
        return self.content is None

    @property
    def at(self) -> datetime:
        return to_datetime(self.updated_us)

    @property
    def text(self) -> str | None:
        return None if self.content is None else self.content.text

    @property
    def by(self) -> str | None:
        return None if self.content is None else self.content.provenance.by

    @property
    def change(self) -> Change | None:
        return None if self.content is None else self.content.change
