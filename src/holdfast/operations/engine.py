"""What every operation is given: the sealed store and the choices made in wiring."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.bounded_cache import BoundedCache
from holdfast.contracts.host import Clock, Directory
from holdfast.contracts.storage import Job, Transaction
from holdfast.domain.access import ALL_RULES, Rules
from holdfast.domain.agent import AgentSettings
from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.domain.limits import Limits
from holdfast.domain.principal import Principal
from holdfast.domain.space import Space
from holdfast.operations.read_log import ReadLog
from holdfast.operations.run_queue import RunQueue
from holdfast.recall.index import Index
from holdfast.safety.scrub import Scrubbed
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.sealed_store import SealedStore

TRIES = 20
KEYS_CHANGE = "The keys of this space change again and again; try later."
RULES_SECONDS = 1.0
CANDIDATE_SECONDS = 1.0
KNOWN_CALLERS = 10_000

T = TypeVar("T")


class RuleBook:
    """The rules of roles, never older than a second."""

    def __init__(self, sealed: SealedStore) -> None:
        self._sealed = sealed
        self._read_at = float("-inf")
        self._rules: Mapping[str, Rules] = {}

    def of(self, roles: frozenset[str]) -> Rules:
        """What at least one of the caller's roles still allows; a role without a line allows everything."""
        if time.monotonic() - self._read_at > RULES_SECONDS:
            self._rules = {row.role: Rules(row.read, row.manage) for row in self._sealed.store.rules.all()}
            self._read_at = time.monotonic()
        if not self._rules:
            return ALL_RULES
        held = [self._rules.get(role, ALL_RULES) for role in roles] or [ALL_RULES]
        return Rules(any(rules.read for rules in held), any(rules.manage for rules in held))

    def forget(self) -> None:
        self._read_at = float("-inf")


class AgentBook:
    """What agents' memories may be used for, never older than a second."""

    def __init__(self, sealed: SealedStore) -> None:
        self._sealed = sealed
        self._known: BoundedCache[Principal, tuple[float, AgentSettings]] = BoundedCache(KNOWN_CALLERS)
        self._owners: BoundedCache[tuple[Principal, Principal], None] = BoundedCache(KNOWN_CALLERS)

    def of(self, agent: Principal) -> AgentSettings:
        known = self._known.get(agent)
        if known is not None and time.monotonic() - known[0] < RULES_SECONDS:
            return known[1]
        settings = self._sealed.agent_settings(agent)
        self._known[agent] = time.monotonic(), settings
        return settings

    def forget(self, agent: Principal) -> None:
        self._known.pop(agent, None)

    def is_news(self, agent: Principal, owner: Principal) -> bool:
        """Whether this process has not heard yet that the agent is this owner's."""
        if (agent, owner) in self._owners:
            return False
        self._owners[agent, owner] = None
        return True


class Candidates:
    """The spaces each caller might enter, never older than a second or than the last write of this process."""

    def __init__(self) -> None:
        self._known: BoundedCache[Hashable, tuple[float, list[Space]]] = BoundedCache(KNOWN_CALLERS)

    def of(self, caller: Hashable, look: Callable[[], list[Space]]) -> list[Space]:
        known = self._known.get(caller)
        if known is not None and time.monotonic() - known[0] < CANDIDATE_SECONDS:
            return known[1]
        spaces = look()
        self._known[caller] = time.monotonic(), spaces
        return spaces

    def forget(self) -> None:
        self._known.clear()


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
    rules: RuleBook = field(init=False)
    candidates: Candidates = field(init=False)
    agents: AgentBook = field(init=False)
    runs: RunQueue = field(default_factory=RunQueue)
    reads: ReadLog = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", RuleBook(self.sealed))
        object.__setattr__(self, "candidates", Candidates())
        object.__setattr__(self, "agents", AgentBook(self.sealed))
        object.__setattr__(self, "reads", ReadLog(self.sealed, on=self.audit_reads))

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
        """Notes that something will be written: it may open spaces to callers, and will need vectors."""
        self.candidates.forget()
        self.index.wake()
        return job

    def run_job(self, run: Callable[[Transaction], T]) -> T:
        """One transaction of long work."""
        return self.sealed.store.write(run)

    def refresh(self, stale: StaleKeys) -> None:
        for space in stale.args:
            self.sealed.keyring.drop(space)
