"""Subscriptions: whoever watches `my-memory` or `context` is told when what they would read there has changed. The
store is asked once a second for each principal that is watched, so a change by another process or node is seen too; the
counter of the own space is all that is read until something was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

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
from holdfast.domain.principal import Principal
from holdfast.entrypoints.mcp.protocol import Context
from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.files import FileCalls
from holdfast.surfaces.seat import Seat

Tell = Callable[[str], None]
SECONDS = 1.0
MOST = 4_096
"""Subscriptions of one process; a client that is refused reads again instead."""

_SEEN: dict[str, Callable[[Seat], object]] = {
    "holdfast://my-memory": lambda seat: FactCalls(seat).my_memory().categories,
    "holdfast://context": lambda seat: CoreCalls(seat).context().text,
    "holdfast://MEMORY.md": lambda seat: FileCalls(seat).index(),
}
"""What a reader would see, to be compared; a change they would not see is none of theirs to know of."""


@dataclass(slots=True)
class _Watched:
    seat: Seat
    place: int = -1
    seen: dict[str, object] = field(default_factory=dict)
    told: dict[object, tuple[str, Tell]] = field(default_factory=dict)


class Watching:
    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._watched: dict[Principal, _Watched] = {}
        self._streams: set[ListenHandler] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, seat: Seat, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Since 2026-07-28: the answer to this request is the stream of what changed."""
        wanted = [uri for uri in params.notifications.resource_subscriptions or () if uri in _SEEN]
        await self._look_first(seat, wanted)
        stream = ListenHandler(_Bus(self, seat, wanted))
        self._streams.add(stream)
        try:
            return await stream(context, params)
        finally:
            self._streams.discard(stream)

    def end_streams(self) -> None:
        """Each client is told that its stream is over; a server that drains would wait for them."""
        for stream in self._streams:
            stream.close()

    async def subscribe(self, seat: Seat, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """In the handshake era: told over the session's own stream until it ends."""
        uri = str(params.uri)
        if uri in _SEEN:
            await self._look_first(seat, [uri])
            loop = asyncio.get_running_loop()
            stop = self.add(seat, (id(_connection(context)), uri), uri, partial(_send, loop, context))
            _connection(context).exit_stack.callback(stop)
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        token = (id(_connection(context)), str(params.uri))
        for principal in [who for who, watched in self._watched.items() if token in watched.told]:
            self._remove(principal, token)
        return EmptyResult()

    def add(self, seat: Seat, token: object, uri: str, tell: Tell) -> Callable[[], None]:
        """Returns how to end it."""
        if sum(len(watched.told) for watched in self._watched.values()) >= MOST:
            raise MCPError(INTERNAL_ERROR, "Too many subscriptions; read the resource again instead.")
        principal = seat.caller.principal
        watched = self._watched.setdefault(principal, _Watched(seat))
        watched.seat = seat
        watched.told[token] = uri, tell
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        return partial(self._remove, principal, token)

    def _remove(self, principal: Principal, token: object) -> None:
        watched = self._watched.get(principal)
        if watched is not None:
            watched.told.pop(token, None)
            if not watched.told:
                del self._watched[principal]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look_first(self, seat: Seat, uris: list[str]) -> None:
        """So that the first change after this moment is seen as one."""
        watched = self._watched.setdefault(seat.caller.principal, _Watched(seat))
        for uri in uris:
            if uri not in watched.seen:
                with suppress(HoldfastError):
                    watched.seen[uri] = await asyncio.to_thread(_SEEN[uri], seat)

    async def _watch(self) -> None:
        while self._watched:
            await asyncio.sleep(self._seconds)
            for principal, watched in list(self._watched.items()):
                if not watched.told:
                    self._watched.pop(principal, None)
                    continue
                with suppress(HoldfastError):  # told when the store answers again
                    changed = await asyncio.to_thread(_changed, watched)
                    for uri, tell in list(watched.told.values()):
                        if uri in changed:
                            tell(uri)


def _changed(watched: _Watched) -> set[str]:
    place = _place(watched.seat)
    if place == watched.place:
        return set()
    changed = set()
    for uri in {uri for uri, _ in watched.told.values()}:
        seen = _SEEN[uri](watched.seat)
        if uri in watched.seen and watched.seen[uri] != seen:
            changed.add(uri)
        watched.seen[uri] = seen
    watched.place = place
    return changed


def _place(seat: Seat) -> int:
    """How far the own space has been written."""
    sealed = seat.engine.sealed
    space = sealed.own_space(seat.caller.principal)
    counts = None if space is None else sealed.store.spaces.counts(space.id)
    return 0 if counts is None else counts.seq


class _Bus:
    """What the SDK's handler of one stream listens to: the changes of one caller."""

    def __init__(self, watching: Watching, seat: Seat, uris: list[str]) -> None:
        self._watching = watching
        self._seat = seat
        self._uris = uris

    async def publish(self, event: ServerEvent) -> None:
        """Nothing is published here."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        stops = [
            self._watching.add(self._seat, object(), uri, lambda uri: listener(ResourceUpdated(uri=uri)))
            for uri in self._uris
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
