"""What a host program knows about its own chats and systems; optional, passed to `holdfast.open(directory=…)`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from holdfast.domain.principal import Principal


class Directory(Protocol):
    def list_accessible_object_ids(self, principal: Principal, level: str) -> Collection[str]:
        """Ids of the systems the principal may `read` or `manage`, and of the chats it takes part in (`chat`)."""
        ...
