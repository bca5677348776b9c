"""The Python door: `holdfast.open()` and `holdfast.aopen()`, two ways of waiting for the same calls."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

from holdfast.contracts.host import Clock, Directory
from holdfast.entrypoints.python.facade import (
    Administration,
    Agents,
    AnthropicMemory,
    Assistant,
    AsyncAdministration,
    AsyncAgents,
    AsyncAnthropicMemory,
    AsyncAssistant,
    AsyncCorpus,
    AsyncFacts,
    AsyncFiles,
    AsyncKv,
    AsyncPeople,
    AsyncStores,
    Corpus,
    Facts,
    Files,
    Kv,
    People,
    Stores,
)
from holdfast.entrypoints.python.handle import AsyncHandle, Handle
from holdfast.entrypoints.python.local import (
    Door,
    awaiting,
    blocking,
    reading,
    reading_aside,
    reading_later,
)
from holdfast.entrypoints.python.running import Opening, open_where
from holdfast.entrypoints.python.tools import Tooling
from holdfast.recall.index import IndexStatus
from holdfast.vocabularies.agents import AgentCalls
from holdfast.vocabularies.anthropic import AnthropicCalls
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.corpus import CorpusCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.session import Session
from holdfast.vocabularies.stores import StoreCalls
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

    def __init__(self, session: Session) -> None:
        super().__init__(CoreCalls(session), session)
        self.facts = Facts(FactCalls(session), session)
        self.assistant = Assistant(AssistantCalls(session), session)
        self.people = People(PeopleCalls(session), session)
        self.stores = Stores(StoreCalls(session), session)
        self.agents = Agents(AgentCalls(session), session)
        self.kv = Kv(KvCalls(session), session)
        self.anthropic = AnthropicMemory(AnthropicCalls(session), session)
        self.files = Files(FileCalls(session), session)
        self.corpus = Corpus(CorpusCalls(session), session)

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

    def __init__(self, session: Session) -> None:
        super().__init__(CoreCalls(session), session)
        self.facts = AsyncFacts(FactCalls(session), session)
        self.assistant = AsyncAssistant(AssistantCalls(session), session)
        self.people = AsyncPeople(PeopleCalls(session), session)
        self.stores = AsyncStores(StoreCalls(session), session)
        self.agents = AsyncAgents(AgentCalls(session), session)
        self.kv = AsyncKv(KvCalls(session), session)
        self.anthropic = AsyncAnthropicMemory(AnthropicCalls(session), session)
        self.files = AsyncFiles(FileCalls(session), session)
        self.corpus = AsyncCorpus(CorpusCalls(session), session)

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
