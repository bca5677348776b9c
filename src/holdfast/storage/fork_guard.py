"""A store does not live on in a child of the process that opened it: threads stay behind, the locks on its files too,
and a database would get two processes' words through one connection. There every call is refused at once."""

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
        """Lets nobody use what is open, and closes none of it: the parent still does. Waits for no lock, for whoever
        held one stayed behind."""
        ...


_opened: WeakSet[Abandons] = WeakSet()


def abandon_in_children(opened: Abandons) -> None:
    _opened.add(opened)


def _abandon_all() -> None:
    for opened in list(_opened):
        opened.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
