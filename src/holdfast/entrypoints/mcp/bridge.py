"""`holdfast mcp` with a server: posts every line of standard input to its /mcp, and writes its messages as lines.
Reads of a message only what HTTP needs in headers, in both versions of the protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, TextIO
from urllib.parse import quote

import httpx2

from holdfast.entrypoints.mcp.protocol import (
    HANG_UP_SECONDS,
    Message,
    Unreadable,
    error_response,
    expects_response,
    member,
    read_message,
    version_of,
)

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
SESSION = "mcp-session-id"
UNREACHABLE = -32_000
CONNECT_SECONDS = 10.0
AGAIN_SECONDS = 1.0
_PLAIN = re.compile(r"(?! )[\x20-\x7E]*(?<! )")


def bridge(url: str, token: str | None, surface: str, reading: TextIO, writing: TextIO) -> None:
    """Runs until the client disconnects."""
    path = quote(surface.replace(" ", ""), safe=",")
    address = f"{url.rstrip('/')}/mcp" + ("" if path == "core" else f"/{path}")
    asyncio.run(Bridge(address, token, reading, writing).run())


class Bridge:
    def __init__(self, address: str, token: str | None, reading: TextIO, writing: TextIO) -> None:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
        verify = not address.startswith("http://")  # reading the certificates takes 20 ms
        self._http = httpx2.AsyncClient(headers=headers, timeout=timeout, verify=verify)
        self._address = address
        self._reading = reading
        self._writing = writing
        self._session_headers: dict[str, str] = {}
        self._requests: dict[Any, asyncio.Task[None]] = {}
        self._streams: set[asyncio.Task[None]] = set()
        self._initialize: Message | None = None
        self._reconnecting = asyncio.Lock()
        self._subscriptions: dict[str, Message] = {}
        """By their URI. A server that was restarted has to get them again."""

    async def run(self) -> None:
        listening: asyncio.Task[None] | None = None
        async with self._http:
            async for line in self._lines():
                try:
                    message = read_message(line)
                except Unreadable as unreadable:
                    self._write(unreadable.response)
                    continue
                method = member(message, "method")
                if method == "initialize":
                    self._initialize = message
                    await self._forward(message)
                elif method == "notifications/initialized":
                    await self._forward(message)
                    listening = asyncio.create_task(self._listen())
                else:
                    self._start(message)
            if listening is not None:
                listening.cancel()
            await self._hang_up()

    async def _hang_up(self) -> None:
        """Waits a limited time for open requests, but not for streams of changes."""
        for task in self._streams:
            task.cancel()
        if self._requests:
            _, left = await asyncio.wait(self._requests.values(), timeout=HANG_UP_SECONDS)
            for task in left:
                task.cancel()

    async def _lines(self) -> AsyncIterator[str]:
        while line := await asyncio.to_thread(self._reading.readline):
            if line.strip():
                yield line

    def _start(self, message: Any) -> None:
        """Forwards each request in a task of its own, so that one that waits for a person delays no other."""
        if member(message, "method") == "notifications/cancelled":
            cancelled = self._requests.get(_task_key(member(member(message, "params"), "requestId")))
            if cancelled is not None and not self._session_headers:
                cancelled.cancel()  # since 2026-07-28 whoever closes the answer has cancelled the call
                return
        task = asyncio.create_task(self._forward(message))
        key = _task_key(member(message, "id"), task) if member(message, "method") else task
        self._requests[key] = task
        if member(message, "method") == "subscriptions/listen":
            self._streams.add(task)
            task.add_done_callback(self._streams.discard)
        task.add_done_callback(lambda _: self._requests.pop(key, None))

    async def _forward(self, message: Any, *, again: bool = True) -> None:
        try:
            headers = self._headers(message)
            async with self._post(message, headers) as response:
                if (
                    response.status_code == 404
                    and self._session_headers
                    and again
                    and self._initialize is not message
                ):
                    await self._reconnect(headers.get(SESSION))
                    await self._forward(message, again=False)
                    return
                await self._receive(message, response)
                self._note_subscription(message, response)
        except httpx2.HTTPError as error:
            self._refuse(message, f"{self._address} does not answer: {str(error) or type(error).__name__}")

    def _post(self, message: Any, headers: dict[str, str]) -> AbstractAsyncContextManager[httpx2.Response]:
        """Sends ASCII, which can carry half a surrogate pair; the server refuses it."""
        return self._http.stream("POST", self._address, content=json.dumps(message), headers=headers)

    async def _receive(self, message: Any, response: httpx2.Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            async for event in _events(response):
                self._note_session(message, response, event)
                self._write(event)
            return
        body = await response.aread()
        if not expects_response(message):
            return
        if not body:
            if response.status_code >= 400:
                self._refuse(message, f"The server answered {response.status_code}.")
            return
        try:
            content = json.loads(body)
        except ValueError:
            content = {}
        if "jsonrpc" not in content:
            text = content.get("message", f"The server answered {response.status_code}.")
            self._refuse(message, text, content.get("error"))
            return
        if content.get("id") is None and "error" in content:
            content["id"] = member(message, "id")
        self._note_session(message, response, content)
        self._write(content)

    def _note_session(self, message: Any, response: httpx2.Response, content: Message) -> None:
        if message is self._initialize and "result" in content:
            self._session_headers = {
                SESSION: response.headers.get(SESSION, ""),
                "mcp-protocol-version": content["result"]["protocolVersion"],
            }

    def _note_subscription(self, message: Any, response: httpx2.Response) -> None:
        method = member(message, "method")
        if method not in ("resources/subscribe", "resources/unsubscribe") or response.status_code != 200:
            return
        uri = str(member(member(message, "params"), "uri"))
        if method == "resources/subscribe":
            self._subscriptions[uri] = message
        else:
            self._subscriptions.pop(uri, None)

    async def _reconnect(self, forgotten: str | None) -> None:
        """Starts a new session after the server was restarted. The first task that notices does it for all."""
        assert self._initialize is not None
        async with self._reconnecting:
            if self._session_headers.get(SESSION) != forgotten:
                return
            self._session_headers = {}
            async with self._post(self._initialize, {}) as response:
                async for event in _events(response):
                    self._note_session(self._initialize, response, event)
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            for message in (ready, *self._subscriptions.values()):
                async with self._post(message, self._headers(message)) as response:
                    await response.aread()

    def _headers(self, message: Any) -> dict[str, str]:
        """Repeats parts of the message since 2026-07-28; before, names the session."""
        version = version_of(message)
        if version is None:
            return {name: value for name, value in self._session_headers.items() if value}
        method = str(message.get("method"))
        headers = {"mcp-protocol-version": _field(version), "mcp-method": _field(method)}
        if isinstance(name := message["params"].get(NAMED_BY.get(method, "")), str):
            headers["mcp-name"] = _field(name)
        return headers

    async def _listen(self) -> None:
        """Receives notifications in the older protocol, also from a restarted server."""
        while session := self._session_headers.get(SESSION):
            try:
                async with self._http.stream("GET", self._address, headers=self._headers(None)) as response:
                    if response.status_code == 404:
                        await self._reconnect(session)
                    elif response.status_code == 200:
                        async for message in _events(response):
                            self._write(message)
                    elif response.status_code < 500:
                        return  # the server sends no notifications
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(AGAIN_SECONDS)

    def _refuse(self, message: Any, text: str, code: str | None = None) -> None:
        if isinstance(message, dict) and "id" in message and "method" in message:
            self._write(error_response(UNREACHABLE, text, code, message["id"]))

    def _write(self, message: Message) -> None:
        self._writing.write(json.dumps(message, separators=(",", ":")) + "\n")
        self._writing.flush()


def _task_key(id: Any, otherwise: Any = None) -> Any:
    return id if isinstance(id, int | str) else otherwise


def _field(text: str) -> str:
    """Encodes text that a header cannot carry, as MCP prescribes."""
    if _PLAIN.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'backslashreplace')).decode()}?="


async def _events(response: httpx2.Response) -> AsyncIterator[Message]:
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
            continue
        for message in _data(lines):
            yield message
        lines = []


def _data(lines: list[str]) -> list[Message]:
    """Returns the message of one event; a comment or an empty event has none."""
    text = "\n".join(
        line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:")
    )
    return [json.loads(text)] if text.strip() else []
