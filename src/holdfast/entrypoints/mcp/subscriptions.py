"""Subscriptions: a client that watches a resource is notified when its content changed. The store is polled once a
second for each subscribed caller, so changes by other processes and nodes count too. Only the counters of the
caller's spaces are read until something was written there or has expired."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from holdfast.domain.errors import HoldfastError
from holdfast.domain.principal import Caller
from holdfast.entrypoints.mcp.protocol import Context
from holdfast.operations.changes import Position, position_of
from holdfast.operations.session import Session
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls

Notify = Callable[[str], None]
log = logging.getLogger("holdfast")
SECONDS = 1.0
MOST = 4_096
"""Subscriptions of one process; a client that is refused reads again instead."""

_READ: dict[str, Callable[[Session], object]] = {
    "holdfast://my-memory": lambda session: FactCalls(session).my_memory().categories,
    "holdfast://context": lambda session: CoreCalls(session).context().text,
    "holdfast://MEMORY.md": lambda session: FileCalls(session).index(),
}
"""Reads the content that is compared. A caller learns nothing of changes that they could not read."""
_EVERYWHERE = frozenset({"holdfast://context"})
"""Resources that depend on more than the caller's own space."""

Contents = dict[str, object]


class _Subscription(NamedTuple):
    uri: str
    notify: Notify
    until_us: int | None
    """The expiry of the client's token."""
    end: Callable[[], None] | None


@dataclass(slots=True)
class _Subscriber:
    """The subscriptions of one caller, and the contents that the caller knows."""

    session: Session
    place: Position | None = None
    contents: Contents = field(default_factory=dict)
    subscriptions: dict[object, _Subscription] = field(default_factory=dict)

    @property
    def uris(self) -> set[str]:
        return {subscription.uri for subscription in self.subscriptions.values()}


class Subscriptions:
    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._subscribers: dict[Hashable, _Subscriber] = {}
        self._streams: set[ListenHandler] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, session: Session, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Responds with a stream of changes, since 2026-07-28."""
        uris = [uri for uri in params.notifications.resource_subscriptions or () if uri in _READ]
        bus = _Bus(self, session, await _first_contents(session, uris))
        stream = bus.stream = ListenHandler(bus)
        self._streams.add(stream)
        try:
            return await stream(context, params)
        finally:
            self._streams.discard(stream)

    def end_streams(self) -> None:
        """Ends every stream, because a draining server would wait for them."""
        for stream in self._streams:
            stream.close()

    async def subscribe(
        self, session: Session, context: Context, params: SubscribeRequestParams
    ) -> EmptyResult:
        """Notifies over the session's own stream until it ends, in the older protocol."""
        uri = str(params.uri)
        if uri in _READ:
            contents = await _first_contents(session, [uri])
            connection, notify = _connection(context), partial(_send, asyncio.get_running_loop(), context)
            connection.exit_stack.callback(self.add(session, (id(connection), uri), uri, contents, notify))
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        token = (id(_connection(context)), str(params.uri))
        for key in [key for key, each in self._subscribers.items() if token in each.subscriptions]:
            self._remove(key, token)
        return EmptyResult()

    def add(
        self,
        session: Session,
        token: object,
        uri: str,
        contents: Contents,
        notify: Notify,
        end: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """Returns a function that ends the subscription. `contents` is what the client knows. When the caller's token
        expires, the subscription ends by itself and `end` is called."""
        if sum(len(each.subscriptions) for each in self._subscribers.values()) >= MOST:
            raise MCPError(INTERNAL_ERROR, "Too many subscriptions; read the resource again instead.")
        key = _caller_key(session.caller)
        subscriber = self._subscribers.setdefault(key, _Subscriber(session))
        if uri not in subscriber.uris:
            subscriber.contents[uri] = contents[uri]
        subscriber.subscriptions[token] = _Subscription(uri, notify, session.caller.until_us, end)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        return partial(self._remove, key, token)

    def _remove(self, key: Hashable, token: object) -> None:
        subscriber = self._subscribers.get(key)
        if subscriber is not None:
            subscriber.subscriptions.pop(token, None)
            if not subscriber.subscriptions:
                del self._subscribers[key]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _poll(self) -> None:
        while self._subscribers:
            await asyncio.sleep(self._seconds)
            for key, subscriber in list(self._subscribers.items()):
                self._end_expired(key, subscriber)
                try:
                    changed = await asyncio.to_thread(_changed, subscriber, subscriber.uris)
                except HoldfastError:
                    continue  # compared again when the store answers again
                except Exception:
                    log.exception("what a client watches could not be compared")
                    continue
                for subscription in list(subscriber.subscriptions.values()):
                    if subscription.uri in changed:
                        subscription.notify(subscription.uri)

    def _end_expired(self, key: Hashable, subscriber: _Subscriber) -> None:
        now = subscriber.session.clock()
        for token, subscription in list(subscriber.subscriptions.items()):
            if subscription.until_us is not None and subscription.until_us <= now:
                self._remove(key, token)
                if subscription.end is not None:
                    subscription.end()


def _caller_key(caller: Caller) -> Hashable:
    """Returns everything that decides what a caller can read: one agent may work for two people."""
    return (
        caller.principal,
        caller.session_user,
        caller.chats,
        frozenset(caller.systems.items()),
        caller.teams,
        caller.roles,
        caller.unattended,
    )


async def _first_contents(session: Session, uris: list[str]) -> Contents:
    """Leaves out content that may not be read yet."""
    contents: Contents = dict.fromkeys(uris)
    for uri in uris:
        with suppress(HoldfastError):
            contents[uri] = await asyncio.to_thread(_READ[uri], session)
    return contents


def _changed(subscriber: _Subscriber, uris: set[str]) -> set[str]:
    session, known = subscriber.session, subscriber.contents
    place = position_of(session, subscriber.place, everywhere=bool(uris & _EVERYWHERE))
    if place is subscriber.place:
        return set()
    changed = set()
    for uri in uris:
        content = _READ[uri](session)
        if known[uri] != content:
            changed.add(uri)
        known[uri] = content
    subscriber.place = place
    return changed


class _Bus:
    """The changes of one caller, to which the SDK's handler of one stream subscribes."""

    def __init__(self, subscriptions: Subscriptions, session: Session, contents: Contents) -> None:
        self._subscriptions = subscriptions
        self._session = session
        self._contents = contents
        self.stream: ListenHandler | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Nothing is published here."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        stops = [
            self._subscriptions.add(
                self._session,
                object(),
                uri,
                self._contents,
                lambda uri: listener(ResourceUpdated(uri=uri)),
                None if self.stream is None else self.stream.close,
            )
            for uri in self._contents
        ]

        def stop() -> None:
            for each in stops:
                each()

        return stop


def _send(loop: asyncio.AbstractEventLoop, context: Context, uri: str) -> None:
    task = loop.create_task(context.session.send_resource_updated(uri))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _connection(context: Context) -> Any:
    """Returns the SDK's connection. It is private, but nothing else knows when a session ends."""
    return context.session._connection
