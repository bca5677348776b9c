"""Levels and grants: search < read < readwrite < manage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from holdfast.domain.errors import InvalidLevel
from holdfast.domain.principal import Principal
from holdfast.domain.times import to_datetime


class Level(IntEnum):
    """Codes are stored: never renumber."""

    SEARCH = 1
    READ = 2
    READWRITE = 3
    MANAGE = 4

    @property
    def label(self) -> str:
        return self.name.lower()


def parse_level(text: str) -> Level:
    for level in Level:
        if level.label == text:
            return level
    raise InvalidLevel


@dataclass(frozen=True, slots=True)
class Grant:
    space: UUID
    grantee: Principal
    level: Level
    granted_by: Principal
    created_us: int
    expires_us: int | None

    def live(self, now: int) -> bool:
        return self.expires_us is None or now < self.expires_us

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_us is None else to_datetime(self.expires_us)
