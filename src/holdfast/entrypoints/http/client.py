"""`holdfast.Client` and `holdfast.AsyncClient`: a principal's door over HTTP. The methods are the vocabulary's own; the
objects and the errors that come back are those of the Python door."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx2

from holdfast.domain.entry import Entry
from holdfast.entrypoints.http.asking import (
    RETRIES,
    TIMEOUT,
    Line,
    Request,
    sending,
    sending_later,
    sending_work,
    sending_work_later,
    unreachable,
)
from holdfast.surfaces.administration import AdministrationCalls
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.seat import SpaceId


def opened_now(url: str, token: str | None, timeout: float, retries: int) -> tuple[Line, httpx2.Client]:
    line = Line(url, token, timeout, retries)
    return line, httpx2.Client(**line.options())


def opened_later(
    url: str, token: str | None, timeout: float, retries: int
) -> tuple[Line, httpx2.AsyncClient]:
    line = Line(url, token, timeout, retries)
    return line, httpx2.AsyncClient(**line.options())


class Remote:
    def __init__(self, line: Line, http: httpx2.Client) -> None:
        self._line = line
        self._http = http

    def _send(self, call: Callable[..., Any], request: Request) -> Any:
        """Sent again while nobody answers, or somebody asks for patience: every write has its idempotency key."""
        for tried in range(self._line.retries + 1):
            last = tried == self._line.retries
            try:
                response = self._http.request(**self._line.written(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._line.may_send_again(response)):
                return self._line.read(request, call, response)
            time.sleep(self._line.pause(tried, response))
        raise AssertionError("the last try returns or raises")


class AsyncRemote:
    def __init__(self, line: Line, http: httpx2.AsyncClient) -> None:
        self._line = line
        self._http = http

    async def _send(self, call: Callable[..., Any], request: Request) -> Any:
        for tried in range(self._line.retries + 1):
            last = tried == self._line.retries
            try:
                response = await self._http.request(**self._line.written(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._line.may_send_again(response)):
                return self._line.read(request, call, response)
            await asyncio.sleep(self._line.pause(tried, response))
        raise AssertionError("the last try returns or raises")


class RemoteFacts(Remote):
    store = sending_work(FactCalls.store)
    recall = sending(FactCalls.recall)
    get = sending(FactCalls.get)
    list = sending(FactCalls.list)
    history = sending(FactCalls.history)
    forget = sending_work(FactCalls.forget)
    my_memory = sending(FactCalls.my_memory)


class RemoteAdministration(Remote):
    set_participants = sending_work(AdministrationCalls.set_participants)
    set_system_access = sending_work(AdministrationCalls.set_system_access)
    set_rules = sending_work(AdministrationCalls.set_rules)
    stats = sending(AdministrationCalls.stats)
    audit = sending(AdministrationCalls.audit)


class Client(Remote):
    """The door of whom the token names, on a server: `holdfast.Client(url, token=…)`."""

    facts: RemoteFacts
    administration: RemoteAdministration

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(*opened_now(url, token, timeout, retries))
        self.facts = RemoteFacts(self._line, self._http)
        self.administration = RemoteAdministration(self._line, self._http)

    remember = sending_work(CoreCalls.remember)
    remember_many = sending_work(CoreCalls.remember_many)
    get = sending(CoreCalls.get)
    list = sending(CoreCalls.list)
    recall = sending(CoreCalls.recall)
    why_not = sending(CoreCalls.why_not)
    context = sending(CoreCalls.context)
    similar = sending(CoreCalls.similar)
    history = sending(CoreCalls.history)
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

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncRemoteFacts(AsyncRemote):
    store = sending_work_later(FactCalls.store)
    recall = sending_later(FactCalls.recall)
    get = sending_later(FactCalls.get)
    list = sending_later(FactCalls.list)
    history = sending_later(FactCalls.history)
    forget = sending_work_later(FactCalls.forget)
    my_memory = sending_later(FactCalls.my_memory)


class AsyncRemoteAdministration(AsyncRemote):
    set_participants = sending_work_later(AdministrationCalls.set_participants)
    set_system_access = sending_work_later(AdministrationCalls.set_system_access)
    set_rules = sending_work_later(AdministrationCalls.set_rules)
    stats = sending_later(AdministrationCalls.stats)
    audit = sending_later(AdministrationCalls.audit)


class AsyncClient(AsyncRemote):
    """`Client`, awaited."""

    facts: AsyncRemoteFacts
    administration: AsyncRemoteAdministration

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(*opened_later(url, token, timeout, retries))
        self.facts = AsyncRemoteFacts(self._line, self._http)
        self.administration = AsyncRemoteAdministration(self._line, self._http)

    remember = sending_work_later(CoreCalls.remember)
    remember_many = sending_work_later(CoreCalls.remember_many)
    get = sending_later(CoreCalls.get)
    list = sending_later(CoreCalls.list)
    recall = sending_later(CoreCalls.recall)
    why_not = sending_later(CoreCalls.why_not)
    context = sending_later(CoreCalls.context)
    similar = sending_later(CoreCalls.similar)
    history = sending_later(CoreCalls.history)
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

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
