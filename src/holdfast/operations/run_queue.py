"""Runs that wait to be recorded: no tool waits for the disk to say that it ran. They are written within a second, and
before anybody looks at or forgets them in this process."""

from __future__ import annotations

import logging
from threading import Event, Lock

from holdfast.domain.principal import Principal
from holdfast.domain.run import Ran, Run

MOST_WAITING = 10_000
ONE_BY_ONE = 16
"""Hits alike that are recorded each for itself before they are only counted, until the next time they are written."""

log = logging.getLogger("holdfast.runs")


class RunQueue:
    def __init__(self) -> None:
        self.writing = Lock()
        """Held while what waited is written, so that who looks next sees all of it."""
        self.work = Event()
        self._lock = Lock()
        self._waiting: list[Ran] = []
        self._alike: dict[tuple[object, ...], int] = {}
        self._counted: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, who: Principal, run: Run) -> None:
        with self._lock:
            if run.hit and self._counts(who, run):
                return
            if len(self._waiting) >= MOST_WAITING:
                log.warning("a run was not recorded: too many wait already")
                return
            self._waiting.append(Ran(who, run))
        self.work.set()

    def _counts(self, who: Principal, run: Run) -> bool:
        alike = who, *run.alike
        place = self._alike.get(alike, 0)
        if place < ONE_BY_ONE:
            self._alike[alike] = place + 1
            return False
        counted = self._counted.get(alike)
        if counted is None:
            self._counted[alike] = len(self._waiting)
            return False
        ran = self._waiting[counted]
        self._waiting[counted] = ran._replace(run=ran.run._replace(times=ran.run.times + 1, at_us=run.at_us))
        return True

    def take(self) -> list[Ran]:
        with self._lock:
            taken, self._waiting = self._waiting, []
            self._alike, self._counted = {}, {}
            self.work.clear()
            return taken

    def put_back(self, runs: list[Ran]) -> None:
        """What could not be written waits on, before what came meanwhile."""
        with self._lock:
            kept = (runs + self._waiting)[-MOST_WAITING:]
            self._counted = {}
            self._waiting = kept
            self.work.set()
