"""The host program's part: the clock, and a directory of the objects a principal may see."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from holdfast.domain.principal import Principal


class Clock(Protocol):
    def __call__(self) -> int:
        """Now, in microseconds since the epoch."""
        ...


class Directory(Protocol):
    def list_accessible_object_ids(self, principal: Principal, level: str) -> Collection[str]:
        """Ids of the systems the principal may `read` or `manage`, and of the chats it takes part in (`chat`)."""
        ...
