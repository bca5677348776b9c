"""Subscriptions: whoever watches `my-memory` or `context` is told when what they would read there has changed. The
store is asked once a second for each caller that is watched, so a change by another process or node is seen too; the
counters of the spaces it is about are all that is read until something was written there or has run out."""

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
from holdfast.operations.changes import Place, place_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.files import FileCalls
from holdfast.vocabularies.session import Session

Tell = Callable[[str], None]
log = logging.getLogger("holdfast")
SECONDS = 1.0
MOST = 4_096
"""Subscriptions of one process; a client that is refused reads again instead."""

_SEEN: dict[str, Callable[[Session], object]] = {
    "holdfast://my-memory": lambda session: FactCalls(session).my_memory().categories,
    "holdfast://context": lambda session: CoreCalls(session).context().text,
    "holdfast://MEMORY.md": lambda session: FileCalls(session).index(),
}
"""What a reader would see, to be compared; a change they would not see is none of theirs to know of."""
_EVERYWHERE = frozenset({"holdfast://context"})
"""Of more spaces than the own one."""

Seen = dict[str, object]


class _Watcher(NamedTuple):
    uri: str
    tell: Tell
    until_us: int | None
    """When the token ends that it watches with."""
    end: Callable[[], None] | None


@dataclass(slots=True)
class _Watched:
    session: Session
    place: Place | None = None
    seen: Seen = field(default_factory=dict)
    told: dict[object, _Watcher] = field(default_factory=dict)

    @property
    def uris(self) -> set[str]:
        return {watcher.uri for watcher in self.told.values()}


class Watching:
    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._watched: dict[Hashable, _Watched] = {}
        self._streams: set[ListenHandler] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, session: Session, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Since 2026-07-28: the answer to this request is the stream of what changed."""
        wanted = [uri for uri in params.notifications.resource_subscriptions or () if uri in _SEEN]
        bus = _Bus(self, session, await _seen_first(session, wanted))
        stream = bus.stream = ListenHandler(bus)
        self._streams.add(stream)
        try:
            return await stream(context, params)
        finally:
            self._streams.discard(stream)

    def end_streams(self) -> None:
        """Each client is told that its stream is over; a server that drains would wait for them."""
        for stream in self._streams:
            stream.close()

    async def subscribe(
        self, session: Session, context: Context, params: SubscribeRequestParams
    ) -> EmptyResult:
        """In the handshake era: told over the session's own stream until it ends."""
        uri = str(params.uri)
        if uri in _SEEN:
            seen = await _seen_first(session, [uri])
            loop = asyncio.get_running_loop()
            stop = self.add(
                session, (id(_connection(context)), uri), uri, seen, partial(_send, loop, context)
            )
            _connection(context).exit_stack.callback(stop)
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        token = (id(_connection(context)), str(params.uri))
        for who in [who for who, watched in self._watched.items() if token in watched.told]:
            self._remove(who, token)
        return EmptyResult()

    def add(
        self,
        session: Session,
        token: object,
        uri: str,
        seen: Seen,
        tell: Tell,
        end: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """`seen` is what was there before, so that the first change after it is told. Returns how to end it; when the
        caller's token ends it ends by itself, and `end` is called."""
        if sum(len(watched.told) for watched in self._watched.values()) >= MOST:
            raise MCPError(INTERNAL_ERROR, "Too many subscriptions; read the resource again instead.")
        who = _who(session.caller)
        watched = self._watched.setdefault(who, _Watched(session))
        if uri not in watched.uris:
            watched.seen[uri] = seen[uri]
        watched.told[token] = _Watcher(uri, tell, session.caller.until_us, end)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        return partial(self._remove, who, token)

    def _remove(self, who: Hashable, token: object) -> None:
        watched = self._watched.get(who)
        if watched is not None:
            watched.told.pop(token, None)
            if not watched.told:
                del self._watched[who]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while self._watched:
            await asyncio.sleep(self._seconds)
            for who, watched in list(self._watched.items()):
                self._end_overdue(who, watched)
                try:
                    changed = await asyncio.to_thread(_changed, watched, watched.uris)
                except HoldfastError:
                    continue  # told when the store answers again
                except Exception:
                    log.exception("what a client watches could not be compared")
                    continue
                for watcher in list(watched.told.values()):
                    if watcher.uri in changed:
                        watcher.tell(watcher.uri)

    def _end_overdue(self, who: Hashable, watched: _Watched) -> None:
        now = watched.session.clock()
        for token, watcher in list(watched.told.items()):
            if watcher.until_us is not None and watcher.until_us <= now:
                self._remove(who, token)
                if watcher.end is not None:
                    watcher.end()


def _who(caller: Caller) -> Hashable:
    """All that decides what a caller sees: one agent may work for two people at once."""
    return (
        caller.principal,
        caller.session_user,
        caller.chats,
        frozenset(caller.systems.items()),
        caller.teams,
        caller.roles,
        caller.unattended,
    )


async def _seen_first(session: Session, uris: list[str]) -> Seen:
    """Nothing, where nothing may be read yet."""
    seen: Seen = dict.fromkeys(uris)
    for uri in uris:
        with suppress(HoldfastError):
            seen[uri] = await asyncio.to_thread(_SEEN[uri], session)
    return seen


def _changed(watched: _Watched, uris: set[str]) -> set[str]:
    session = watched.session
    place = place_of(session.engine, session.caller, watched.place, everywhere=bool(uris & _EVERYWHERE))
    if place is watched.place:
        return set()
    changed = set()
    for uri in uris:
        seen = _SEEN[uri](session)
        if watched.seen[uri] != seen:
            changed.add(uri)
        watched.seen[uri] = seen
    watched.place = place
    return changed


class _Bus:
    """What the SDK's handler of one stream listens to: the changes of one caller."""

    def __init__(self, watching: Watching, session: Session, seen: Seen) -> None:
        self._watching = watching
        self._session = session
        self._seen = seen
        self.stream: ListenHandler | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Nothing is published here."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        stops = [
            self._watching.add(
                self._session,
                object(),
                uri,
                self._seen,
                lambda uri: listener(ResourceUpdated(uri=uri)),
                None if self.stream is None else self.stream.close,
            )
            for uri in self._seen
        ]

        def stop() -> None:
            for each in stops:
                each()

        return stop


def _send(loop: asyncio.AbstractEventLoop, context: Context, uri: str) -> None:
    task = loop.create_task(context.session.send_resource_updated(uri))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _connection(context: Context) -> Any:
    """The SDK shows it nowhere else, and only it knows when a session ends."""
    return context.session._connection
