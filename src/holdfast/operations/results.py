"""What operations answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError, InvalidField
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

    def _repr(self, found: str) -> str:
        return f"{type(self).__name__}({self.entry.content.shown}, revision={self.entry.revision}, {found})"

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


@dataclass(frozen=True, slots=True, repr=False)
class Similar(Found):
    """An entry that says nearly the same as another one."""

    verdict: str
    """`same`, `merge` (nothing but wording differs), or `similar`."""
    jaccard: float
    """The share of content words they have in common."""
    guard: str | None = None
    """What keeps two near texts apart: numbers, negation, a substituted word, order."""

    def __repr__(self) -> str:
        return self._repr(f"verdict={self.verdict!r}")


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

    def __repr__(self) -> str:
        kept = f"created={self.created}" if self.persisted else "persisted=False"
        return f"Remembered(key={self.key!r}, revision={self.revision}, {kept}, id={str(self.id)!r})"

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


class _Entries(list[Entry]):
    """One page of a list. Whoever fetched it sets `next_page`."""

    __slots__ = ("cursor", "locked", "next_page", "note")

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
        self.next_page: Callable[[str], Any] | None = None

    def __repr__(self) -> str:
        count = f"{len(self)} entr{'y' if len(self) == 1 else 'ies'}"
        return f"{type(self).__name__}({count}, more={self.more})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self), self.cursor, self.locked, self.note)

    @property
    def more(self) -> bool:
        """True when the list goes on after this page."""
        return self.cursor is not None

    def _next(self) -> Any:
        """The page after this one, or its awaitable; None at the end."""
        if self.cursor is None:
            return None
        if self.next_page is None:
            raise InvalidField("This page was copied from another one; list again with its `cursor`.")
        return self.next_page(self.cursor)


class Page(_Entries):
    """A list of entries. `more` says if there are others, `cursor` continues the list, and `locked` counts rows whose
    key is not configured."""

    __slots__ = ()

    def all(self) -> Iterator[Entry]:
        """The entries of this page and of all after it. Each page is fetched when it is reached."""
        page: Page | None = self
        while page is not None:
            yield from page
            page = page._next()


class AsyncPage(_Entries):
    """`Page` of an awaited call: `async for entry in page.all()`."""

    __slots__ = ()

    async def all(self) -> AsyncIterator[Entry]:
        """The entries of this page and of all after it. Each page is fetched when it is reached."""
        page: AsyncPage | None = self
        while page is not None:
            for entry in page:
                yield entry
            following = page._next()
            page = None if following is None else await following


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Found):
    """An entry that answers a question, and how well."""

    score: float
    why: Explanation | None = None
    """Every part of the score, when it was asked for."""

    def __repr__(self) -> str:
        return self._repr(f"score={self.score:.3g}")


class Hits(list[Hit]):
    """The hits of a recall, best first. `degraded` when words alone decided although an embedder is configured; `note`
    says why."""

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
    """The answer to a `forget`: how many entries are gone."""

    scope: str
    deleted: int
    kept_elsewhere: int = 0
    persisted: bool = True
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """The number of rows of each kind that a sweep removed."""

    expired: int = 0
    trash: int = 0
    grants: int = 0
    receipts: int = 0
    proposals: int = 0

    @property
    def purged(self) -> int:
        return self.expired + self.trash
