"""A guard for forked processes. A child inherits neither the threads of an open store nor its file locks, and would
share its connections with the parent. So every call on the store is refused there."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

FORKED = (
    "This memory was open when the process was forked, and neither its locks nor its threads came along; open it after "
    "forking, or start processes by `spawn`."
)


class Abandons(Protocol):
    def abandon(self) -> None:
        """Refuses further use without closing anything, because the parent still uses it. Takes no lock, for its
        holder may have stayed in the parent."""
        ...


_opened: WeakSet[Abandons] = WeakSet()


def abandon_in_children(opened: Abandons) -> None:
    _opened.add(opened)


def _abandon_all() -> None:
    for opened in list(_opened):
        opened.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
