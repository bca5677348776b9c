"""What every request meets first and last, whoever answers it: an id, the guard, a count and a line in the log."""

from __future__ import annotations

import itertools
import re
import time
from secrets import token_hex
from typing import Any

from holdfast.domain.errors import HoldfastError
from holdfast.entrypoints.http.agents import Agents
from holdfast.entrypoints.http.answers import AT_ONCE, GZIP_BYTES, Answer, AtOnce, Send, refusal
from holdfast.entrypoints.http.dispatch import Api
from holdfast.entrypoints.http.guard import Guard
from holdfast.entrypoints.http.routes import BASE
from holdfast.entrypoints.http.watch import App, Metrics, note

REQUEST_ID = b"x-request-id"
_API = f"{BASE}/"
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Front:
    """The outermost layer. What the API answers is sent from here; the pages and the door for agents send for
    themselves and are listened to."""

    def __init__(self, guard: Guard, api: Api, agents: Agents | None, pages: App, metrics: Metrics) -> None:
        self._guard = guard
        self._api = api
        self._agents = agents
        self._pages = pages
        self._metrics = metrics
        self._process, self._numbers = token_hex(4), itertools.count(1)

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        request = _given_id(scope["headers"]) if REQUEST_ID in headers else None
        scope["holdfast.request_id"] = request = request or f"{self._process}-{next(self._numbers):x}"
        sending = _Sending(send, request)
        self._metrics.open += 1
        try:
            await self._answer(scope, headers, receive, sending)
        finally:
            self._metrics.open -= 1
            note(self._metrics, scope, request, sending.status, time.perf_counter() - began)

    async def _answer(self, scope: Any, headers: dict[bytes, bytes], receive: Any, sending: _Sending) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        try:
            self._guard.check(headers, scope["headers"])
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            await refusal(error).send(sending)
            return
        if path.startswith(_API):
            answered = await self._api.answer(scope, headers, receive)
            if answered is not None and len(answered.body) >= GZIP_BYTES:
                answered = await answered.coded(headers.get(b"accept-encoding", b""))
            if answered is not None and not sending.at_once(answered, scope):
                await answered.send(sending)
        elif self._agents is not None and self._agents.serves(path):
            await self._agents(scope, receive, sending)
        else:
            await self._pages(scope, receive, sending)


class _Sending:
    """What goes out gets the id of its request; what its status is, is kept."""

    __slots__ = ("_line", "_send", "status")

    def __init__(self, send: Send, request: str) -> None:
        self._send = send
        self._line = (REQUEST_ID, request.encode())
        self.status = 0

    def at_once(self, answered: Answer, scope: Any) -> bool:
        """Sends it whole, if the server can."""
        self.status = answered.status
        write: AtOnce | None = scope["extensions"].get(AT_ONCE) if "extensions" in scope else None
        return write is not None and write(answered.status, [*answered.lines(), self._line], answered.body)

    async def __call__(self, message: Any) -> None:
        """As ASGI sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], self._line]
        await self._send(message)


def _given_id(headers: list[tuple[bytes, bytes]]) -> str | None:
    """That of a proxy before us, if it is one."""
    for name, value in headers:
        if name == REQUEST_ID and _ID.fullmatch(value):
            return value.decode()
    return None
