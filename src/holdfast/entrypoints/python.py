"""The Python door: `holdfast.open()` and `holdfast.aopen()`, two ways of waiting for the same calls."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

from holdfast.contracts.clock import Clock
from holdfast.contracts.directory import Directory
from holdfast.entrypoints.doors.administration import Administration, AsyncAdministration
from holdfast.entrypoints.doors.agents import Agents, AsyncAgents
from holdfast.entrypoints.doors.anthropic import AnthropicMemory, AsyncAnthropicMemory
from holdfast.entrypoints.doors.assistant import Assistant, AsyncAssistant
from holdfast.entrypoints.doors.corpus import AsyncCorpus, Corpus
from holdfast.entrypoints.doors.facts import AsyncFacts, Facts
from holdfast.entrypoints.doors.files import AsyncFiles, Files
from holdfast.entrypoints.doors.handle import AsyncHandle, Handle
from holdfast.entrypoints.doors.kv import AsyncKv, Kv
from holdfast.entrypoints.doors.people import AsyncPeople, People
from holdfast.entrypoints.doors.stores import AsyncStores, Stores
from holdfast.entrypoints.doors.tools import Tooling
from holdfast.entrypoints.opening import Opening, open_where
from holdfast.entrypoints.waiting import (
    Door,
    awaiting,
    blocking,
    reading,
    reading_aside,
    reading_later,
)
from holdfast.operations.index import IndexStatus
from holdfast.surfaces.agents import AgentCalls
from holdfast.surfaces.anthropic import AnthropicCalls
from holdfast.surfaces.assistant import AssistantCalls
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.corpus import CorpusCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.files import FileCalls
from holdfast.surfaces.kv import KvCalls
from holdfast.surfaces.people import PeopleCalls
from holdfast.surfaces.seat import Seat
from holdfast.surfaces.stores import StoreCalls
from holdfast.wiring import system_clock


class Own(Door):
    """One principal's door."""

    facts: Facts
    assistant: Assistant
    people: People
    stores: Stores
    agents: Agents
    kv: Kv
    anthropic: AnthropicMemory
    files: Files
    corpus: Corpus

    def __init__(self, seat: Seat) -> None:
        super().__init__(CoreCalls(seat), seat)
        self.facts = Facts(FactCalls(seat), seat)
        self.assistant = Assistant(AssistantCalls(seat), seat)
        self.people = People(PeopleCalls(seat), seat)
        self.stores = Stores(StoreCalls(seat), seat)
        self.agents = Agents(AgentCalls(seat), seat)
        self.kv = Kv(KvCalls(seat), seat)
        self.anthropic = AnthropicMemory(AnthropicCalls(seat), seat)
        self.files = Files(FileCalls(seat), seat)
        self.corpus = Corpus(CorpusCalls(seat), seat)

    remember = blocking(CoreCalls.remember)
    remember_many = blocking(CoreCalls.remember_many)
    get = reading(CoreCalls.get)
    list = reading(CoreCalls.list)
    recall = reading(CoreCalls.recall)
    why_not = reading(CoreCalls.why_not)
    context = reading(CoreCalls.context)
    similar = reading(CoreCalls.similar)
    history = reading(CoreCalls.history)
    readers = reading(CoreCalls.readers)
    edit = blocking(CoreCalls.edit)
    replace = blocking(CoreCalls.replace)
    rename = blocking(CoreCalls.rename)
    flag = blocking(CoreCalls.flag)
    renew = blocking(CoreCalls.renew)
    undo = blocking(CoreCalls.undo)
    trash = blocking(CoreCalls.trash)
    trashed = reading(CoreCalls.trashed)
    locked = reading(CoreCalls.locked)
    restore = blocking(CoreCalls.restore)
    purge = blocking(CoreCalls.purge)
    forget = blocking(CoreCalls.forget)
    share = blocking(CoreCalls.share)
    unshare = blocking(CoreCalls.unshare)
    grants = reading(CoreCalls.grants)
    spaces = reading(CoreCalls.spaces)
    create_space = blocking(CoreCalls.create_space)
    index = reading(CoreCalls.index)


class AsyncOwn(Door):
    """One principal's door, awaited."""

    facts: AsyncFacts
    assistant: AsyncAssistant
    people: AsyncPeople
    stores: AsyncStores
    agents: AsyncAgents
    kv: AsyncKv
    anthropic: AsyncAnthropicMemory
    files: AsyncFiles
    corpus: AsyncCorpus

    def __init__(self, seat: Seat) -> None:
        super().__init__(CoreCalls(seat), seat)
        self.facts = AsyncFacts(FactCalls(seat), seat)
        self.assistant = AsyncAssistant(AssistantCalls(seat), seat)
        self.people = AsyncPeople(PeopleCalls(seat), seat)
        self.stores = AsyncStores(StoreCalls(seat), seat)
        self.agents = AsyncAgents(AgentCalls(seat), seat)
        self.kv = AsyncKv(KvCalls(seat), seat)
        self.anthropic = AsyncAnthropicMemory(AnthropicCalls(seat), seat)
        self.files = AsyncFiles(FileCalls(seat), seat)
        self.corpus = AsyncCorpus(CorpusCalls(seat), seat)

    remember = awaiting(CoreCalls.remember)
    remember_many = awaiting(CoreCalls.remember_many)
    get = reading_later(CoreCalls.get)
    list = reading_later(CoreCalls.list)
    recall = reading_aside(CoreCalls.recall)
    why_not = reading_aside(CoreCalls.why_not)
    context = reading_aside(CoreCalls.context)
    similar = reading_aside(CoreCalls.similar)
    history = reading_later(CoreCalls.history)
    readers = reading_later(CoreCalls.readers)
    edit = awaiting(CoreCalls.edit)
    replace = awaiting(CoreCalls.replace)
    rename = awaiting(CoreCalls.rename)
    flag = awaiting(CoreCalls.flag)
    renew = awaiting(CoreCalls.renew)
    undo = awaiting(CoreCalls.undo)
    trash = awaiting(CoreCalls.trash)
    trashed = reading_later(CoreCalls.trashed)
    locked = reading_later(CoreCalls.locked)
    restore = awaiting(CoreCalls.restore)
    purge = awaiting(CoreCalls.purge)
    forget = awaiting(CoreCalls.forget)
    share = awaiting(CoreCalls.share)
    unshare = awaiting(CoreCalls.unshare)
    grants = reading_later(CoreCalls.grants)
    spaces = reading_later(CoreCalls.spaces)
    create_space = awaiting(CoreCalls.create_space)
    index = reading_later(CoreCalls.index)


class Memory(Tooling, Opening[Own, Administration, Handle]):
    """An open store. Ask it for someone's door: `memory.user("alice")`."""

    _own = Own
    _administration = Administration
    _handle = Handle

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
