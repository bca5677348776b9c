"""The Python interface: `holdfast.open()` and `holdfast.aopen()`, blocking and async, and `holdfast.move_store()`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

from holdfast.contracts.host import Clock, Directory
from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.facade import Administration, AsyncAdministration, AsyncOwn, Own
from holdfast.entrypoints.python.local import AsyncLocalTransport, LocalTransport
from holdfast.entrypoints.python.running import Opening, open_where, settings_for
from holdfast.entrypoints.python.tool_context import AsyncHandle, Handle
from holdfast.entrypoints.python.tools import Tooling
from holdfast.recall.index import IndexStatus
from holdfast.settings import load
from holdfast.storage.migrate_store import Moved, move
from holdfast.wiring import open_engine, open_store_for_moving, system_clock


class Memory(Tooling, Opening[Own, Administration, Handle]):
    """An open store; `memory.user("alice")` has the calls of a user."""

    _own = Own
    _administration = Administration
    _handle = Handle
    _transport = LocalTransport

    def settle(self, timeout: float = 60) -> IndexStatus:
        """Waits until every committed entry has its vector. Raises Unavailable when that takes longer, or cannot be."""
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
    """An open store whose calls are awaited."""

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


def open(
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
    `required=False` a store that cannot be opened gives a memory that is off, with its `reason`.

    Args:
        where: A folder, a database file, `sqlite:///path`, `postgresql://…` or `:memory:`.
        required: False gives a memory that is off when the store cannot be opened, instead of an error.
        key: The master key, 64 hex characters; `ephemeral` for one that ends with the process, `off` for no memory.
        old_keys: Former master keys that are still accepted for reading, comma-separated.
        durability: `full` (an answered write is on disk) or `relaxed`.
        sweep_seconds: Seconds between two removals of what has expired; 0 for none.
        embedder: `default`, `none`, `openai`, or `module:factory`.
        clock: Microseconds since the epoch; for tests.
        directory: Tells who takes part in a chat or manages a system, where the host knows it.

    What is left out comes from the settings."""
    return Memory(
        *open_where(where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory)
    )


async def aopen(
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
    """`holdfast.open`, awaited; its calls are awaited too. The arguments are those of `holdfast.open`."""
    return AsyncMemory(
        *await asyncio.to_thread(
            open_where, where, required, key, old_keys, durability, sweep_seconds, embedder, clock, directory
        )
    )


def move_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Moved:
    """Moves a store to an empty one (a folder, a database file or a URL each), and compares every row. Run again after
    an interruption it goes on. Nobody may write to the source meanwhile; both use the same master key."""
    opened = open_engine(
        load(memory_key=key, embedder="none", **settings_for(source)), system_clock, None, required=True
    )
    if opened.engine is None:
        raise Unavailable(opened.reason)
    try:
        store = open_store_for_moving(load(memory_key=key, **settings_for(target)), opened)
        try:
            return move(opened.engine.sealed, store, progress)
        finally:
            store.close()
    finally:
        opened.engine.sealed.close()
