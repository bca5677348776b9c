"""What an entry is besides what it says, and the bits of a row that stand for it."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.contracts.rows import ALWAYS_INJECT, ENCRYPTED, QUARANTINED
from holdfast.domain.entry import Entry


class State(NamedTuple):
    expires_us: int | None = None
    always_inject: bool = False
    encrypted: bool = False
    quarantined: bool = False

    @classmethod
    def of(cls, entry: Entry) -> State:
        return cls(entry.expires_us, entry.always_inject, entry.encrypted, entry.quarantined)

    @property
    def flags(self) -> int:
        return (
            self.always_inject * ALWAYS_INJECT | self.encrypted * ENCRYPTED | self.quarantined * QUARANTINED
        )
