"""What operations answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError
from holdfast.domain.times import to_datetime


class Remembered(NamedTuple):
    """A named tuple, because one is made for every write: a frozen dataclass of this size takes four times as long."""

    id: UUID | None
    key: str
    space: UUID | None
    revision: int
    created: bool
    expires_us: int | None = None
    redacted: int = 0
    similar: tuple[Entry, ...] = ()
    persisted: bool = True
    note: str | None = None
    category: str = ""
    """The one this call gave, or its vocabulary's own; empty when it gave none."""

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

    @property
    def purged(self) -> int:
        return self.expired + self.trash
