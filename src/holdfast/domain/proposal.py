"""A call that waits for a person's yes: what was asked by whom, and the exact text the person is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.domain.times import to_datetime


@dataclass(frozen=True, slots=True)
class Proposal:
    id: UUID
    what: str
    """`vocabulary.call`, such as `assistant.delete_memory`."""
    arguments: Mapping[str, Any]
    """Carried out exactly as they stand here."""
    shown: str
    proposer: str
    door: str
    space: str
    """As `kind:reference`."""
    created_us: int
    expires_us: int

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.created_us)

    @property
    def expires_at(self) -> datetime:
        return to_datetime(self.expires_us)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a person's answer came to."""

    id: UUID
    what: str
    approved: bool
    result: Any = None
    """What the call answered, as JSON; None when it was refused."""
