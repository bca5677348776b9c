"""`holdfast.Client` and `holdfast.AsyncClient`: a principal's door over HTTP. The methods are the vocabulary's own; the
objects and the errors that come back are those of the Python door."""

from __future__ import annotations

from types import TracebackType
from typing import Self
from uuid import UUID

import httpx2

from holdfast.crypto.own_key import OwnKey
from holdfast.domain.entry import Entry
from holdfast.entrypoints.encrypted import AsyncEncrypted, Encrypted
from holdfast.entrypoints.http.asking import (
    RETRIES,
    TIMEOUT,
    Line,
    sending,
    sending_later,
    sending_work,
    sending_work_later,
)
from holdfast.entrypoints.http.remote.administration import AsyncRemoteAdministration, RemoteAdministration
from holdfast.entrypoints.http.remote.agents import AsyncRemoteAgents, RemoteAgents
from holdfast.entrypoints.http.remote.anthropic import AsyncRemoteAnthropicMemory, RemoteAnthropicMemory
from holdfast.entrypoints.http.remote.assistant import AsyncRemoteAssistant, RemoteAssistant
from holdfast.entrypoints.http.remote.corpus import AsyncRemoteCorpus, RemoteCorpus
from holdfast.entrypoints.http.remote.facts import AsyncRemoteFacts, RemoteFacts
from holdfast.entrypoints.http.remote.files import AsyncRemoteFiles, RemoteFiles
from holdfast.entrypoints.http.remote.kv import AsyncRemoteKv, RemoteKv
from holdfast.entrypoints.http.remote.line import AsyncRemote, Remote
from holdfast.entrypoints.http.remote.people import AsyncRemotePeople, RemotePeople
from holdfast.entrypoints.http.remote.stores import AsyncRemoteStores, RemoteStores
from holdfast.entrypoints.http.rows import sending_rows, sending_rows_later
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.seat import SpaceId


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
