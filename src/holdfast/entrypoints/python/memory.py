"""The Python door: `holdfast.open()` and `holdfast.aopen()`, two ways of waiting for the same calls."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

from holdfast.contracts.host import Clock, Directory
from holdfast.entrypoints.facade import Administration, AsyncAdministration, AsyncOwn, Own
from holdfast.entrypoints.python.handle import AsyncHandle, Handle
from holdfast.entrypoints.python.local import AsyncLocalTransport, LocalTransport
from holdfast.entrypoints.python.running import Opening, open_where
from holdfast.entrypoints.python.tools import Tooling
from holdfast.recall.index import IndexStatus
from holdfast.wiring import system_clock


class Memory(Tooling, Opening[Own, Administration, Handle]):
    """An open store. Ask it for someone's door: `memory.user("alice")`."""

    _own = Own
    _administration = Administration
    _handle = Handle
    _transport = LocalTransport

    def settle(self, timeout: float = 60) -> IndexStatus:
        """Returns when every committed entry has its vector; Unavailable when that takes longer, or cannot be."""
        return self._settle(timeout)

    def close(self) -> None:
        self._running.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemory(Tooling, Opening[AsyncOwn, AsyncAdministration, AsyncHandle]):
    """An open store whose doors are awaited."""

    _own = AsyncOwn
    _administration = AsyncAdministration
    _handle = AsyncHandle
    _transport = AsyncLocalTransport

    async def settle(self, timeout: float = 60) -> IndexStatus:
        return await asyncio.to_thread(self._settle, timeout)

    async def close(self) -> None:
        await asyncio.to_thread(self._running.stop)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def open_memory(
    where: str | os.PathLike[str] | None = None,
    *,
    required: bool = True,
    key: str | None = None,
    old_keys: str | None = None,
    durability: str | None = None,
    sweep_seconds: float | None = None,
    embedder: str | None = None,
    clock: Clock = system_clock,
    directory: Directory | None = None,
) -> Memory:
    """Opens the store: `where` is a folder, a database file, a URL, or nothing for the configured one. With
    `required=False` a store that cannot be opened gives a memory that is off, with its `reason`."""
    return Memory(
        *open_where(where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory)
    )


async def open_memory_async(
    where: str | os.PathLike[str] | None = None,
    *,
    required: bool = True,
    key: str | None = None,
    old_keys: str | None = None,
    durability: str | None = None,
    sweep_seconds: float | None = None,
    embedder: str | None = None,
    clock: Clock = system_clock,
    directory: Directory | None = None,
) -> AsyncMemory:
    """`open_memory`, awaited; its doors are awaited too."""
    return AsyncMemory(
        *await asyncio.to_thread(
            open_where, where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory
        )
    )
