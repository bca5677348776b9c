"""The engine that every operation works on: the sealed store, the choices made in wiring, and caches of what is read at
every call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TypeVar

from holdfast.bounded_cache import BoundedCache, ExpiringCache
from holdfast.contracts.host import Clock, Directory
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import ALL_RULES, AgentSettings, Rules
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.domain.limits import Limits
from holdfast.domain.principal import Principal
from holdfast.domain.run import (
    Ran,
    Run,
)
from holdfast.domain.space import Space
from holdfast.operations.read_log import ReadLog
from holdfast.recall.index import Index
from holdfast.safety.scrub import Scrubbed
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.sealed_store import SealedStore

log = logging.getLogger("holdfast")

MOST_WAITING = 10_000
ONE_BY_ONE = 16
"""Equal cache hits that are recorded one by one between two writes; further ones are only counted."""


class _HitCount:
    """Equal cache hits since the last write."""

    __slots__ = ("at_us", "more", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.more = 0
        self.at_us = 0


class RunQueue:
    """Runs of tools that wait to be recorded."""

    def __init__(self) -> None:
        self.writing = Lock()
        """Held while queued runs are written, so that the next reader sees all of them."""
        self.work = Event()
        self._lock = Lock()
        self._waiting: list[Ran] = []
        self._hits: dict[tuple[Principal, Run], _HitCount] = {}

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
        """Adds a run from the cache. `run` has no time, so that many equal ones need no more than counting."""
        with self._lock:
            hits = self._hits.setdefault((who, run), _HitCount())
            if hits.seen >= ONE_BY_ONE:
                hits.more += 1
                hits.at_us = at_us
                return
            hits.seen += 1
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(Ran(who, run._replace(at_us=at_us)))
        self.work.set()

    def take(self) -> list[Ran]:
        with self._lock:
            taken, self._waiting = self._waiting, []
            counts, self._hits = self._hits, {}
            self.work.clear()
        return taken + [
            Ran(who, run._replace(at_us=hits.at_us, times=hits.more))
            for (who, run), hits in counts.items()
            if hits.more
        ]

    def put_back(self, runs: list[Ran]) -> None:
        """Queues runs that could not be written again, before newer ones."""
        with self._lock:
            self._waiting = (runs + self._waiting)[-MOST_WAITING:]
            self.work.set()


TRIES = 20
KEYS_CHANGE = "The keys of this space change again and again; try later."
FRESH_SECONDS = 1.0
KNOWN_CALLERS = 10_000

T = TypeVar("T")


def settled(answer: T) -> T:
    """The answer of a committed job, or the refusal it returned."""
    if isinstance(answer, HoldfastError):
        raise answer
    return answer


@dataclass(frozen=True, slots=True)
class Engine:
    sealed: SealedStore
    clock: Clock
    scrub: Callable[[str], Scrubbed]
    index: Index
    limits: Limits = field(default_factory=Limits)
    directory: Directory | None = None
    model_may_share: bool = False
    audit_reads: bool = True
    rules: ExpiringCache[None, Mapping[str, Rules]] = field(
        default_factory=lambda: ExpiringCache(FRESH_SECONDS, 1)
    )
    agents: ExpiringCache[Principal, AgentSettings] = field(
        default_factory=lambda: ExpiringCache(FRESH_SECONDS, KNOWN_CALLERS)
    )
    agent_owners: BoundedCache[tuple[Principal, Principal], None] = field(
        default_factory=lambda: BoundedCache(KNOWN_CALLERS)
    )
    """Agents and owners whose relation this process has stored already."""
    candidates: ExpiringCache[Hashable, list[Space]] = field(
        default_factory=lambda: ExpiringCache(FRESH_SECONDS, KNOWN_CALLERS)
    )
    """The spaces each caller might enter."""
    runs: RunQueue = field(default_factory=RunQueue)
    reads: ReadLog = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", ReadLog(self.sealed, on=self.audit_reads))

    def rules_of(self, roles: frozenset[str]) -> Rules:
        """Everything that at least one of the caller's roles still allows; a role without a row allows everything."""
        rules = self.rules.read(
            None, lambda: {row.role: Rules(row.read, row.manage) for row in self.sealed.store.rules.all()}
        )
        if not rules:
            return ALL_RULES
        held = [rules.get(role, ALL_RULES) for role in roles] or [ALL_RULES]
        return Rules(any(one.read for one in held), any(one.manage for one in held))

    def agent_settings(self, agent: Principal) -> AgentSettings:
        return self.agents.read(agent, lambda: self.sealed.agent_settings(agent))

    def commit(self, prepare: Callable[[], Job[T]]) -> T:
        """Prepares a write and commits it; when keys changed in between, once more."""
        for _ in range(TRIES):
            try:
                return self.write(prepare())
            except StaleKeys as stale:
                self.refresh(stale)
        raise Unavailable(KEYS_CHANGE)

    def write(self, job: Job[T]) -> T:
        """Commits a job. StaleKeys means that it has to be prepared again."""
        return settled(self.sealed.store.write(self.begin(job).run))

    def submit(self, job: Job[T]) -> Future[T]:
        """Starts a write without waiting for it. StaleKeys in its future means that it has to be prepared again."""
        return self.sealed.store.submit(self.begin(job).run)

    def begin(self, job: Job[T]) -> Job[T]:
        """Prepares for a write, which may open spaces to callers and will need vectors."""
        self.candidates.clear()
        self.index.wake()
        return job

    def run_job(self, run: Callable[[Transaction], T]) -> T:
        """One transaction of long work."""
        return self.sealed.store.write(run)

    def refresh(self, stale: StaleKeys) -> None:
        for space in stale.args:
            self.sealed.keyring.drop(space)
