"""One small blocking face over every door, so that each behaviour is written once and proven through all of them."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Self, cast

import holdfast
from holdfast.contracts.host import Directory
from holdfast.entrypoints.python import local
from holdfast.entrypoints.python.memory import AsyncMemory, Memory
from tests.doors.agents import Connect, SpokenMemory
from tests.doors.commands import TypedMemory
from tests.doors.piped import Piped, Processes
from tests.doors.served import Host, Served
from tests.doors.sessions import Sessions
from tests.support import FixedClock

KEY = "5e" * 32
MEMORY = ":memory:"
MODERN, HANDSHAKE = "2026-07-28", "legacy"
TALKED: dict[str, Connect] = {
    "mcp": partial(Sessions, era=MODERN),
    "mcp, handshake": partial(Sessions, era=HANDSHAKE),
    "mcp, stdio": partial(Piped, era=MODERN),
    "mcp, stdio, handshake": partial(Piped, era=HANDSHAKE),
}
"""Ways in which the SDK's client calls tools: each call by itself, or in a session that begins with a handshake."""
STARTED: dict[str, Connect] = {
    "mcp, command": partial(Processes, era=MODERN),
    "mcp, command, handshake": partial(Processes, era=HANDSHAKE),
}
"""The same through the command `holdfast mcp`."""

_AWAITED = (AsyncMemory, local.Door)


class Portal:
    """An event loop in a thread of its own; others hand it what is to be awaited."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="portal")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Blocking:
    """An awaited door, waited for: the same calls, the same answers."""

    def __init__(self, awaited: object, portal: Portal) -> None:
        self._awaited = awaited
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._awaited, name)
        return self._calling(value) if inspect.isroutine(value) else self._facing(value)

    def _calling(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = self._portal.run(result)
            return self._facing(result)

        return call

    def _facing(self, value: Any) -> Any:
        return Blocking(value, self._portal) if isinstance(value, _AWAITED) else value


class Door:
    """Opens memories through one door; the clock and a master key are given unless a test brings its own."""

    def __init__(self, name: str, clock: FixedClock, portal: Portal, host: Host) -> None:
        self.name = name
        self._host = host
        self._clock = clock
        self._portal = portal
        self._opened: list[Memory] = []

    @property
    def served(self) -> bool:
        """Whether a server stands between."""
        return not self.name.startswith("python")

    @property
    def spoken(self) -> bool:
        """Whether a model calls."""
        return self.name.startswith("mcp")

    @property
    def source(self) -> str:
        """Who is taken to write what a user's door writes."""
        return "agent" if self.spoken else "user"

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
        options: dict[str, Any] = {
            "key": key,
            "required": required,
            "sweep_seconds": sweep_seconds,
            "directory": directory,
            "embedder": embedder,
            "clock": self._clock,
        }
        memory = cast(Memory, self._through(where, options))
        self._opened.append(memory)
        return memory

    def _through(self, where: str | Path, options: dict[str, Any]) -> Any:
        if self.name == "python, awaited":
            return Blocking(self._portal.run(holdfast.aopen(where, **options)), self._portal)
        memory = holdfast.open(where, **options)
        match self.name:
            case "python":
                return memory
            case "http":
                return Served(memory, self._host)
            case "cli":
                return TypedMemory(memory, self._host)
            case _:
                return SpokenMemory(memory, self._host, (TALKED | STARTED)[self.name])

    def close(self) -> None:
        for memory in self._opened:
            memory.close()
