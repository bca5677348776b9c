"""What a client asked and was not answered yet. Who pipes requests hangs up after the last of them and expects the
answers all the same; the SDK ends what runs when nothing more is to be read, so it learns of that end after them."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from anyio.abc import AsyncResource
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from holdfast.entrypoints.mcp.messages import HANG_UP_SECONDS, id_of, of


class Unanswered:
    def __init__(self) -> None:
        self._asked: set[Any] = set()
        self._asking: set[Any] = set()
        """Our own questions, which a person answers: each holds up the request that led to it."""
        self._changed = asyncio.Event()

    def heard(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="subscriptions/listen"):
                pass  # it ends when somebody hangs up, not before
            case JSONRPCRequest(id=asked):
                self._asked.add(asked)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._asked.discard(id_of({"id": of(params, "requestId")}))
            case JSONRPCResponse(id=answered) | JSONRPCError(id=answered):
                self._asking.discard(answered)
            case _:
                pass

    def said(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(id=asking):
                self._asking.add(asking)
            case JSONRPCResponse(id=answered) | JSONRPCError(id=answered):
                self._asked.discard(answered)
            case _:
                return
        self._changed.set()

    async def settled(self) -> None:
        """When everything is answered but what waits for a person, who is there no more; or when it takes too long."""
        with anyio.move_on_after(HANG_UP_SECONDS):
            while len(self._asked) > len(self._asking):
                self._changed.clear()
                await self._changed.wait()


class Saying(AsyncResource):
    """The stream that the SDK writes messages to, with an eye on what they answer."""

    def __init__(self, sending: Any, unanswered: Unanswered) -> None:
        self._sending = sending
        self._unanswered = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        await self._sending.send(item)
        self._unanswered.said(item.message)

    async def aclose(self) -> None:
        await self._sending.aclose()
