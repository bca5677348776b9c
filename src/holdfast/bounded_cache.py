"""The cache of everything that can be read or computed again. No expiry, no order of use."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """A dictionary of at most `limit` items: a full one is emptied before a new key goes in, which needs no bookkeeping
    on reads. Threads share it without a lock; at worst they compute a value twice."""

    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.limit and key not in self:
            self.clear()
        super().__setitem__(key, value)
