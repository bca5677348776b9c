"""A call that waits for a person's approval: the call, its caller, and the exact text the person is shown."""

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
    """The arguments of the call, which runs with exactly these."""
    shown: str
    proposer: str
    door: str
    space: str
    """The space as `kind:reference`."""
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
    """The outcome of a person's answer."""

    id: UUID
    what: str
    approved: bool
    result: Any = None
    """The answer of the call as JSON; None when it was refused."""
