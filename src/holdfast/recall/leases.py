"""Leases on background work: where many nodes share it, one worker at a time does a kind of work in a space. A lease is
a row with an end, not a lock: embedding takes longer than a transaction should."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

from holdfast.contracts.host import Clock
from holdfast.contracts.storage import Leases
from holdfast.domain.times import SECOND

LEASE_US = 60 * SECOND

Renew = Callable[[], bool]
"""Renews a lease; returns False once another worker has it."""


class BackgroundLeases:
    """The leases of one process. Without a store that keeps leases, every one is granted."""

    def __init__(self, leases: Leases | None, clock: Clock) -> None:
        self._leases = leases
        self._clock = clock
        self._holder = uuid4().hex

    @contextmanager
    def hold(self, work: str, space: UUID) -> Iterator[Renew | None]:
        """Gives None while another worker holds the lease. Gives the lease back at the end."""
        leases = self._leases
        if leases is None:
            yield lambda: True
            return

        def renew() -> bool:
            now = self._clock()
            return leases.take(space, work, self._holder, now, now + LEASE_US)

        if not renew():
            yield None
            return
        try:
            yield renew
        finally:
            leases.give_back(space, work, self._holder)
