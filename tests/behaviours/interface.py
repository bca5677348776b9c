"""One small blocking face over an interface, so that each behaviour is written once and proven through several."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from holdfast.contracts.host import Directory
from holdfast.entrypoints.python.memory import Memory
from tests.support import FixedClock

KEY = "5e" * 32
MEMORY = ":memory:"
PYTHON, AWAITED, HTTP = "python", "python, awaited", "http"
Opener = Callable[..., Any]
"""Takes the arguments of `holdfast.open` and returns what tests call like a `Memory`."""


class Interface:
    """Opens memories through one interface; the clock and a master key are given unless a test brings its own."""

    def __init__(self, name: str, opener: Opener, clock: FixedClock) -> None:
        self.name = name
        self._opener = opener
        self._clock = clock
        self._opened: list[Memory] = []

    @property
    def remote(self) -> bool:
        return self.name not in (PYTHON, AWAITED)

    def open(
        self,
        where: str | Path = MEMORY,
        *,
        key: str | None = KEY,
        required: bool = True,
        sweep_seconds: float = 0,
        directory: Directory | None = None,
        embedder: str | None = None,
    ) -> Memory:
        memory = self._opener(
            where,
            key=key,
            required=required,
            sweep_seconds=sweep_seconds,
            directory=directory,
            embedder=embedder,
            clock=self._clock,
        )
        self._opened.append(cast(Memory, memory))
        return self._opened[-1]

    def close(self) -> None:
        for memory in self._opened:
            memory.close()
