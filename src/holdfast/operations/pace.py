"""How long a caller's calls take the processor, so that a loop can tell which of them it may carry out itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from holdfast.domain.principal import Principal

SHORT_SECONDS = 0.002
LONGEST_SECONDS = 0.01
"""What took longer counts as this: opening a space once says little about the next call."""
WEIGHT = 0.25
"""Of the last call; the rest is what was known before."""
KNOWN_PACES = 10_000

T = TypeVar("T")


class Paces:
    def __init__(self) -> None:
        self._known: dict[tuple[Principal, str], float] = {}

    def is_short(self, caller: Principal, call: str) -> bool:
        """Whether this call takes this caller less than two milliseconds; one never made is long."""
        return self._known.get((caller, call), LONGEST_SECONDS) < SHORT_SECONDS

    def timed(self, caller: Principal, call: str, run: Callable[[], T]) -> T:
        began = time.thread_time()
        try:
            return run()
        finally:
            self._note((caller, call), min(time.thread_time() - began, LONGEST_SECONDS))

    def _note(self, who: tuple[Principal, str], took: float) -> None:
        if len(self._known) >= KNOWN_PACES:
            self._known.clear()
        known = self._known.get(who, took)
        self._known[who] = known + WEIGHT * (took - known)
