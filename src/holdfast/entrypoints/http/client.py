"""`holdfast.Client` and `holdfast.AsyncClient`: the calls of the Python interface over HTTP, with the same results and
errors."""

from __future__ import annotations

from types import TracebackType
from typing import Self
from uuid import UUID

import httpx2

from holdfast.crypto.own_key import OwnKey
from holdfast.domain.entry import Entry
from holdfast.entrypoints.http.client_transport import (
    RETRIES,
    TIMEOUT,
    AsyncRemote,
    Line,
    Remote,
    sending,
    sending_later,
    sending_rows,
    sending_rows_later,
    sending_work,
    sending_work_later,
)
from holdfast.entrypoints.python.encrypted import AsyncEncrypted, Encrypted
from holdfast.vocabularies.administration import AdministrationCalls
from holdfast.vocabularies.agents import AgentCalls
from holdfast.vocabularies.anthropic import AnthropicCalls
from holdfast.vocabularies.assistant import AssistantCalls
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.corpus import CorpusCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.people import PeopleCalls
from holdfast.vocabularies.session import SpaceId
from holdfast.vocabularies.stores import StoreCalls


def opened_now(url: str, token: str | None, timeout: float, retries: int) -> tuple[Line, httpx2.Client]:
    line = Line(url, token, timeout, retries)
    return line, httpx2.Client(**line.options())


def opened_later(
    url: str, token: str | None, timeout: float, retries: int
) -> tuple[Line, httpx2.AsyncClient]:
    line = Line(url, token, timeout, retries)
    return line, httpx2.AsyncClient(**line.options())


class Client(Remote):
    """The door of whom the token names, on a server: `holdfast.Client(url, token=…)`."""

    facts: RemoteFacts
    assistant: RemoteAssistant
    people: RemotePeople
    stores: RemoteStores
    agents: RemoteAgents
    kv: RemoteKv
    anthropic: RemoteAnthropicMemory
    files: RemoteFiles
    corpus: RemoteCorpus
    administration: RemoteAdministration

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(*opened_now(url, token, timeout, retries))
        self.facts = RemoteFacts(self._line, self._http)
        self.assistant = RemoteAssistant(self._line, self._http)
        self.people = RemotePeople(self._line, self._http)
        self.stores = RemoteStores(self._line, self._http)
        self.agents = RemoteAgents(self._line, self._http)
        self.kv = RemoteKv(self._line, self._http)
        self.anthropic = RemoteAnthropicMemory(self._line, self._http)
        self.files = RemoteFiles(self._line, self._http)
        self.corpus = RemoteCorpus(self._line, self._http)
        self.administration = RemoteAdministration(self._line, self._http)

    remember = sending_work(CoreCalls.remember)
    remember_many = sending_rows(CoreCalls.remember_many)
    get = sending(CoreCalls.get)
    list = sending(CoreCalls.list)
    recall = sending(CoreCalls.recall)
    why_not = sending(CoreCalls.why_not)
    context = sending(CoreCalls.context)
    similar = sending(CoreCalls.similar)
    history = sending(CoreCalls.history)
    readers = sending(CoreCalls.readers)
    edit = sending_work(CoreCalls.edit)
    replace = sending_work(CoreCalls.replace)
    rename = sending_work(CoreCalls.rename)
    renew = sending_work(CoreCalls.renew)
    undo = sending_work(CoreCalls.undo)
    trash = sending_work(CoreCalls.trash)
    trashed = sending(CoreCalls.trashed)
    locked = sending(CoreCalls.locked)
    restore = sending_work(CoreCalls.restore)
    purge = sending_work(CoreCalls.purge)
    forget = sending_work(CoreCalls.forget)
    share = sending_work(CoreCalls.share)
    unshare = sending_work(CoreCalls.unshare)
    grants = sending(CoreCalls.grants)
    spaces = sending(CoreCalls.spaces)
    create_space = sending_work(CoreCalls.create_space)
    index = sending(CoreCalls.index)

    def flag(
        self,
        key: str | None = None,
        *,
        always_inject: bool,
        id: str | UUID | None = None,
        space: SpaceId = None,
    ) -> Entry:
        """Turns always-apply on or off, which needs manage."""
        return self.edit(key, id=id, space=space, always_inject=always_inject)

    def encrypted(self, key: OwnKey) -> Encrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return Encrypted(self, key)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(AsyncRemote):
    """`Client`, awaited."""

    facts: AsyncRemoteFacts
    assistant: AsyncRemoteAssistant
    people: AsyncRemotePeople
    stores: AsyncRemoteStores
    agents: AsyncRemoteAgents
    kv: AsyncRemoteKv
    anthropic: AsyncRemoteAnthropicMemory
    files: AsyncRemoteFiles
    corpus: AsyncRemoteCorpus
    administration: AsyncRemoteAdministration

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(*opened_later(url, token, timeout, retries))
        self.facts = AsyncRemoteFacts(self._line, self._http)
        self.assistant = AsyncRemoteAssistant(self._line, self._http)
        self.people = AsyncRemotePeople(self._line, self._http)
        self.stores = AsyncRemoteStores(self._line, self._http)
        self.agents = AsyncRemoteAgents(self._line, self._http)
        self.kv = AsyncRemoteKv(self._line, self._http)
        self.anthropic = AsyncRemoteAnthropicMemory(self._line, self._http)
        self.files = AsyncRemoteFiles(self._line, self._http)
        self.corpus = AsyncRemoteCorpus(self._line, self._http)
        self.administration = AsyncRemoteAdministration(self._line, self._http)

    remember = sending_work_later(CoreCalls.remember)
    remember_many = sending_rows_later(CoreCalls.remember_many)
    get = sending_later(CoreCalls.get)
    list = sending_later(CoreCalls.list)
    recall = sending_later(CoreCalls.recall)
    why_not = sending_later(CoreCalls.why_not)
    context = sending_later(CoreCalls.context)
    similar = sending_later(CoreCalls.similar)
    history = sending_later(CoreCalls.history)
    readers = sending_later(CoreCalls.readers)
    edit = sending_work_later(CoreCalls.edit)
    replace = sending_work_later(CoreCalls.replace)
    rename = sending_work_later(CoreCalls.rename)
    renew = sending_work_later(CoreCalls.renew)
    undo = sending_work_later(CoreCalls.undo)
    trash = sending_work_later(CoreCalls.trash)
    trashed = sending_later(CoreCalls.trashed)
    locked = sending_later(CoreCalls.locked)
    restore = sending_work_later(CoreCalls.restore)
    purge = sending_work_later(CoreCalls.purge)
    forget = sending_work_later(CoreCalls.forget)
    share = sending_work_later(CoreCalls.share)
    unshare = sending_work_later(CoreCalls.unshare)
    grants = sending_later(CoreCalls.grants)
    spaces = sending_later(CoreCalls.spaces)
    create_space = sending_work_later(CoreCalls.create_space)
    index = sending_later(CoreCalls.index)

    async def flag(
        self,
        key: str | None = None,
        *,
        always_inject: bool,
        id: str | UUID | None = None,
        space: SpaceId = None,
    ) -> Entry:
        """Turns always-apply on or off, which needs manage."""
        return await self.edit(key, id=id, space=space, always_inject=always_inject)

    def encrypted(self, key: OwnKey) -> AsyncEncrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return AsyncEncrypted(self, key)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class RemoteAdministration(Remote):
    set_participants = sending_work(AdministrationCalls.set_participants)
    set_system_access = sending_work(AdministrationCalls.set_system_access)
    set_rules = sending_work(AdministrationCalls.set_rules)
    stats = sending(AdministrationCalls.stats)
    audit = sending(AdministrationCalls.audit)


class AsyncRemoteAdministration(AsyncRemote):
    set_participants = sending_work_later(AdministrationCalls.set_participants)
    set_system_access = sending_work_later(AdministrationCalls.set_system_access)
    set_rules = sending_work_later(AdministrationCalls.set_rules)
    stats = sending_later(AdministrationCalls.stats)
    audit = sending_later(AdministrationCalls.audit)


class RemoteAgents(Remote):
    memory_settings = sending(AgentCalls.memory_settings)
    set_memory_settings = sending_work(AgentCalls.set_memory_settings)


class AsyncRemoteAgents(AsyncRemote):
    memory_settings = sending_later(AgentCalls.memory_settings)
    set_memory_settings = sending_work_later(AgentCalls.set_memory_settings)


class RemoteAnthropicMemory(Remote):
    memory = sending_work(AnthropicCalls.memory)


class AsyncRemoteAnthropicMemory(AsyncRemote):
    memory = sending_work_later(AnthropicCalls.memory)


class RemoteAssistant(Remote):
    search_memory = sending(AssistantCalls.search_memory)
    save_memory = sending_work(AssistantCalls.save_memory)
    delete_memory = sending_work(AssistantCalls.delete_memory)
    set_memory_always_inject = sending_work(AssistantCalls.set_memory_always_inject)
    list = sending(AssistantCalls.list)


class AsyncRemoteAssistant(AsyncRemote):
    search_memory = sending_later(AssistantCalls.search_memory)
    save_memory = sending_work_later(AssistantCalls.save_memory)
    delete_memory = sending_work_later(AssistantCalls.delete_memory)
    set_memory_always_inject = sending_work_later(AssistantCalls.set_memory_always_inject)
    list = sending_later(AssistantCalls.list)


class RemoteCorpus(Remote):
    query = sending(CorpusCalls.query)


class AsyncRemoteCorpus(AsyncRemote):
    query = sending_later(CorpusCalls.query)


class RemoteFacts(Remote):
    store = sending_work(FactCalls.store)
    recall = sending(FactCalls.recall)
    get = sending(FactCalls.get)
    list = sending(FactCalls.list)
    renew = sending_work(FactCalls.renew)
    history = sending(FactCalls.history)
    forget = sending_work(FactCalls.forget)
    my_memory = sending(FactCalls.my_memory)
    defaults = sending(FactCalls.defaults)
    callers = sending(FactCalls.callers)


class AsyncRemoteFacts(AsyncRemote):
    store = sending_work_later(FactCalls.store)
    recall = sending_later(FactCalls.recall)
    get = sending_later(FactCalls.get)
    list = sending_later(FactCalls.list)
    renew = sending_work_later(FactCalls.renew)
    history = sending_later(FactCalls.history)
    forget = sending_work_later(FactCalls.forget)
    my_memory = sending_later(FactCalls.my_memory)
    defaults = sending_later(FactCalls.defaults)
    callers = sending_later(FactCalls.callers)


class RemoteFiles(Remote):
    update_user_memory = sending_work(FileCalls.update_user_memory)
    read_user_memory = sending(FileCalls.read_user_memory)
    index = sending(FileCalls.index)


class AsyncRemoteFiles(AsyncRemote):
    update_user_memory = sending_work_later(FileCalls.update_user_memory)
    read_user_memory = sending_later(FileCalls.read_user_memory)
    index = sending_later(FileCalls.index)


class RemoteKv(Remote):
    kv_set = sending_work(KvCalls.kv_set)
    kv_get = sending(KvCalls.kv_get)
    kv_delete = sending_work(KvCalls.kv_delete)


class AsyncRemoteKv(AsyncRemote):
    kv_set = sending_work_later(KvCalls.kv_set)
    kv_get = sending_later(KvCalls.kv_get)
    kv_delete = sending_work_later(KvCalls.kv_delete)


class RemotePeople(Remote):
    proposals = sending(PeopleCalls.proposals)
    approve = sending_work(PeopleCalls.approve)
    refuse = sending_work(PeopleCalls.refuse)
    quarantine = sending(PeopleCalls.quarantine)
    approve_quarantined = sending_work(PeopleCalls.approve_quarantined)
    undo_by = sending_work(PeopleCalls.undo_by)


class AsyncRemotePeople(AsyncRemote):
    proposals = sending_later(PeopleCalls.proposals)
    approve = sending_work_later(PeopleCalls.approve)
    refuse = sending_work_later(PeopleCalls.refuse)
    quarantine = sending_later(PeopleCalls.quarantine)
    approve_quarantined = sending_work_later(PeopleCalls.approve_quarantined)
    undo_by = sending_work_later(PeopleCalls.undo_by)


class RemoteStores(Remote):
    memory = sending_work(StoreCalls.memory)
    preview = sending(StoreCalls.preview)
    get_internal = sending(StoreCalls.get_internal)
    set_internal = sending_work(StoreCalls.set_internal)


class AsyncRemoteStores(AsyncRemote):
    memory = sending_work_later(StoreCalls.memory)
    preview = sending_later(StoreCalls.preview)
    get_internal = sending_later(StoreCalls.get_internal)
    set_internal = sending_work_later(StoreCalls.set_internal)
