"""What every operation is given: the sealed store and the choices made in wiring."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.contracts.clock import Clock
from holdfast.contracts.directory import Directory
from holdfast.contracts.storage import Job
from holdfast.domain.access import ALL_RULES, Rules
from holdfast.domain.limits import Limits
from holdfast.domain.scrub import Scrubbed
from holdfast.operations.index import Index
from holdfast.operations.work import Write
from holdfast.storage.keyring import StaleKeys
from holdfast.storage.sealed import Sealed

TRIES = 20
RULES_SECONDS = 1.0

T = TypeVar("T")


class RuleBook:
    """The rules of roles, never older than a second."""

    def __init__(self, sealed: Sealed) -> None:
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


@dataclass(frozen=True, slots=True)
class Engine:
    sealed: Sealed
    clock: Clock
    scrub: Callable[[str], Scrubbed]
    index: Index
    limits: Limits = field(default_factory=Limits)
    directory: Directory | None = None
    rules: RuleBook = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", RuleBook(self.sealed))

    def submit(self, work: Write[T]) -> Future[T]:
        """Starts a write. When keys change under it, it is prepared again where its result is awaited."""
        self.index.wake()
        return self.sealed.store.submit(work.prepare())

    def write(self, work: Write[T]) -> T:
        self.index.wake()
        for _ in range(TRIES):
            try:
                return self.sealed.store.write(work.prepare())
            except StaleKeys as stale:
                self.refresh(stale)
        return self.sealed.store.write(work.prepare())

    def run_job(self, job: Job[T]) -> T:
        """One transaction of long work."""
        return self.sealed.store.write(job)

    def refresh(self, stale: StaleKeys) -> None:
        for space in stale.args:
            self.sealed.keyring.drop(space)
