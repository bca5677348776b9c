"""What operations answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Principal
from holdfast.domain.times import to_datetime
from holdfast.safety.advice import SENTENCES, Advice, Code
from holdfast.safety.scrub import Redactions

if TYPE_CHECKING:
    from holdfast.recall.fusion import Explanation


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that a search came upon, with its fields at hand."""

    entry: Entry

    @property
    def id(self) -> UUID:
        return self.entry.id

    @property
    def key(self) -> str:
        return self.entry.key

    @property
    def space(self) -> UUID:
        return self.entry.space

    @property
    def owner(self) -> Principal:
        return self.entry.owner

    @property
    def partition(self) -> Partition:
        return self.entry.partition

    @property
    def hint(self) -> str:
        return self.entry.hint

    @property
    def text(self) -> str:
        return self.entry.text

    @property
    def category(self) -> str:
        return self.entry.category

    @property
    def tags(self) -> tuple[str, ...]:
        return self.entry.tags

    @property
    def conversation(self) -> str | None:
        return self.entry.conversation

    @property
    def speaker(self) -> str | None:
        return self.entry.speaker

    @property
    def at(self) -> datetime | None:
        return self.entry.at

    @property
    def updated_at(self) -> datetime:
        return self.entry.updated_at


@dataclass(frozen=True, slots=True)
class Similar(Found):
    """An entry that says nearly the same as another one."""

    verdict: str
    """`same`, `merge` (nothing but wording differs), or `similar`."""
    jaccard: float
    """The share of content words they have in common."""
    guard: str | None = None
    """What keeps two near texts apart: numbers, negation, a substituted word, order."""


DUPLICATE = Advice(Code.DUPLICATE, SENTENCES[Code.DUPLICATE])


def redactions_text(redactions: Redactions) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in redactions)


class Remembered(NamedTuple):
    """The answer to a write."""

    id: UUID | None
    key: str
    space: UUID | None
    revision: int
    created: bool
    expires_us: int | None = None
    redacted: int = 0
    persisted: bool = True
    note: str | None = None
    category: str = ""
    """The one this call gave, or its vocabulary's own; empty when it gave none."""
    redactions: Redactions = ()
    advised: tuple[Advice, ...] = ()
    quarantined: bool = False
    """Kept, but shown to people alone until one of them approves it."""
    similar: list[Similar] | None = None
    """Entries that say nearly the same; None when they were not asked for."""

    @property
    def advice(self) -> list[Advice]:
        """Concerns about the text: codes with a sentence each."""
        repeats = any(one.verdict in ("same", "merge") for one in self.similar or ())
        return [*self.advised, *([DUPLICATE] if repeats and DUPLICATE not in self.advised else [])]

    @property
    def updated(self) -> bool:
        return self.persisted and not self.created

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_us is None else to_datetime(self.expires_us)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of many: what was remembered, or why not."""

    remembered: Remembered | None = None
    error: HoldfastError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def id(self) -> UUID | None:
        return None if self.remembered is None else self.remembered.id


class Page(list[Entry]):
    """A list of entries; `cursor` continues it, `locked` counts rows whose key is not configured."""

    __slots__ = ("cursor", "locked", "note")

    def __init__(
        self,
        entries: list[Entry] | None = None,
        cursor: str | None = None,
        locked: int = 0,
        note: str | None = None,
    ) -> None:
        super().__init__(entries or [])
        self.cursor = cursor
        self.locked = locked
        self.note = note


@dataclass(frozen=True, slots=True)
class Hit(Found):
    """An entry that answers a question, and how well."""

    score: float
    why: Explanation | None = None
    """Every part of the score, when it was asked for."""


class Hits(list[Hit]):
    """Best first. `degraded` when words alone decided although an embedder is configured; `note` says why."""

    __slots__ = ("degraded", "note")

    def __init__(self, hits: list[Hit] | None = None, note: str | None = None, *, off: bool = False) -> None:
        super().__init__(hits or [])
        self.note = note
        self.degraded = note is not None and not off


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The first stage of a recall that dropped an entry."""

    stage: str
    """identity, grant, expiry, filter, word rank, vector rank, fusion, limit; or `shown`: it was not dropped."""
    reason: str
    word_rank: int | None = None
    vector_rank: int | None = None
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    scope: str
    deleted: int
    kept_elsewhere: int = 0
    persisted: bool = True
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    expired: int = 0
    trash: int = 0
    grants: int = 0
    receipts: int = 0
    proposals: int = 0

    @property
    def purged(self) -> int:
        return self.expired + self.trash
