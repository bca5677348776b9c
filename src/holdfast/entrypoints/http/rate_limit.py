"""Limits the calls per minute of each principal."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from holdfast.domain.errors import RateLimited
from holdfast.domain.principal import Principal

KNOWN = 10_000


def too_fast(seconds: int) -> RateLimited:
    error = RateLimited(f"Too many calls; try again in {seconds} s.")
    error.seconds = seconds
    return error


class RateLimit:
    """A minute's worth may come at once; then as fast as the minute allows."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[Principal, tuple[float, float]] = OrderedDict()

    def take(self, principal: Principal) -> None:
        if not self._most:
            return
        now = self._clock()
        left, at = self._buckets.get(principal, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        if left < 1:
            self._buckets[principal] = left, now
            raise too_fast(math.ceil((1 - left) / self._per_second))
        self._buckets[principal] = left - 1, now
        self._buckets.move_to_end(principal)
        if len(self._buckets) > KNOWN:
            self._buckets.popitem(last=False)
