"""Single flight: of calls that ask for the same at the same time one runs, and the others wait for what it leaves in
the cache. Threads and tasks alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from holdfast.vocabularies.cached import Kept

Landed = Kept | None
"""What was kept; None when nothing was, so that whoever waited has to run for itself."""


class Abandoned(Exception):
    """The one that ran was cancelled: another takes its place."""


class Flights:
    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Future[Landed]] = {}
        self._leads: ContextVar[frozenset[Hashable]] = ContextVar("holdfast_flights", default=frozenset())

    def join(self, key: Hashable) -> Future[Landed] | None:
        """Whom to wait for; None for the one that runs, which must land."""
        with self._lock:
            known = self._open.get(key)
            if known is None:
                mine: Future[Landed] = Future()
                mine.set_running_or_notify_cancel()  # so that none who waits can cancel it
                self._open[key] = mine
            return known

    def land(self, key: Hashable, left: Landed | Abandoned) -> None:
        with self._lock:
            flight = self._open.pop(key)
        if isinstance(left, Abandoned):
            flight.set_exception(left)
        else:
            flight.set_result(left)

    def leads(self, key: Hashable) -> bool:
        """Whether whoever asks runs inside the flight already: a tool that calls itself must not wait for itself."""
        return key in self._leads.get()

    @contextmanager
    def leading(self, key: Hashable) -> Iterator[None]:
        token = self._leads.set(self._leads.get() | {key})
        try:
            yield
        finally:
            self._leads.reset(token)
