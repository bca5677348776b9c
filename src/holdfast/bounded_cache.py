"""Caches of what can be read or computed again, with no order of use."""

from __future__ import annotations

import time
from collections.abc import Callable
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


class ExpiringCache(BoundedCache[K, tuple[float, V]]):
    """Values that are read again after `seconds`."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float, limit: int) -> None:
        super().__init__(limit)
        self.seconds = seconds

    def read(self, key: K, load: Callable[[], V]) -> V:
        known = self.get(key)
        if known is not None and time.monotonic() - known[0] < self.seconds:
            return known[1]
        value = load()
        self[key] = time.monotonic(), value
        return value
