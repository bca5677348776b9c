"""Runs of tools that wait to be recorded."""

from __future__ import annotations

import logging
from threading import Event, Lock

from holdfast.domain.principal import Principal
from holdfast.domain.run import (
    Ran,
    Run,
)

log = logging.getLogger("holdfast")

MOST_WAITING = 10_000


ONE_BY_ONE = 16
"""Hits alike that are recorded each for itself before they are only counted, until the next time they are written."""


class _Alike:
    """Hits of one kind since they were last written."""

    __slots__ = ("at_us", "more", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.more = 0
        self.at_us = 0


class RunQueue:
    def __init__(self) -> None:
        self.writing = Lock()
        """Held while what waited is written, so that who looks next sees all of it."""
        self.work = Event()
        self._lock = Lock()
        self._waiting: list[Ran] = []
        self._hits: dict[tuple[Principal, Run], _Alike] = {}

    def __len__(self) -> int:
        return len(self._waiting) + len(self._hits)

    def add(self, who: Principal, run: Run) -> None:
        with self._lock:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(Ran(who, run))
            else:
                log.warning("a run was not recorded: too many wait already")
        self.work.set()

    def add_hit(self, who: Principal, run: Run, at_us: int) -> None:
        """A run from the cache; `run` says all but when, so that many of them need no more than counting."""
        with self._lock:
            alike = self._hits.get((who, run))
            if alike is None:
                alike = self._hits[who, run] = _Alike()
            if alike.seen >= ONE_BY_ONE:
                alike.more += 1
                alike.at_us = at_us
                return
            alike.seen += 1
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(Ran(who, run._replace(at_us=at_us)))
        self.work.set()

    def take(self) -> list[Ran]:
        with self._lock:
            taken, self._waiting = self._waiting, []
            hits, self._hits = self._hits, {}
            self.work.clear()
        counted = [
            Ran(who, run._replace(at_us=alike.at_us, times=alike.more))
            for (who, run), alike in hits.items()
            if alike.more
        ]
        return taken + counted

    def put_back(self, runs: list[Ran]) -> None:
        """What could not be written waits on, before what came meanwhile."""
        with self._lock:
            self._waiting = (runs + self._waiting)[-MOST_WAITING:]
            self.work.set()
