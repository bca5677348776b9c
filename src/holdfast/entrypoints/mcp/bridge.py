"""`holdfast mcp` on a server: every line of standard input is sent to its /mcp, and what it answers or tells comes back
as lines. Nothing is understood here but what HTTP must be told beside a message; both eras pass."""

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

from holdfast.entrypoints.mcp.json_rpc import (
    HANG_UP_SECONDS,
    Message,
    Unreadable,
    is_awaited,
    of,
    read_message,
    refusal,
    version_of,
)

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
SESSION = "mcp-session-id"
UNREACHABLE = -32_000
CONNECT_SECONDS = 10.0
AGAIN_SECONDS = 1.0
_PLAIN = re.compile(r"(?! )[\x20-\x7E]*(?<! )")


def bridge(url: str, token: str | None, surface: str, reading: TextIO, writing: TextIO) -> None:
    """Until the client hangs up."""
    named = quote(surface.replace(" ", ""), safe=",")
    address = f"{url.rstrip('/')}/mcp" + ("" if named == "core" else f"/{named}")
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
        self._of_session: dict[str, str] = {}
        self._asked: dict[Any, asyncio.Task[None]] = {}
        self._streams: set[asyncio.Task[None]] = set()
        self._greeting: Message | None = None
        self._one_at_a_time = asyncio.Lock()
        self._watched: dict[str, Message] = {}
        """What the client subscribed to, by its address: a server that was started anew does not know."""

    async def run(self) -> None:
        listening: asyncio.Task[None] | None = None
        async with self._http:
            async for line in self._lines():
                try:
                    message = read_message(line)
                except Unreadable as unreadable:
                    self._say(unreadable.answer)
                    continue
                method = of(message, "method")
                if method == "initialize":
                    self._greeting = message
                    await self._pass_on(message)
                elif method == "notifications/initialized":
                    await self._pass_on(message)
                    listening = asyncio.create_task(self._listen())
                else:
                    self._start(message)
            if listening is not None:
                listening.cancel()
            await self._hang_up()

    async def _hang_up(self) -> None:
        """What was asked is still answered, unless it waits for changes or for a person: nobody is there any more."""
        for task in self._streams:
            task.cancel()
        if self._asked:
            _, left = await asyncio.wait(self._asked.values(), timeout=HANG_UP_SECONDS)
            for task in left:
                task.cancel()

    async def _lines(self) -> AsyncIterator[str]:
        while line := await asyncio.to_thread(self._reading.readline):
            if line.strip():
                yield line

    def _start(self, message: Any) -> None:
        """Each request by itself: one that waits for a person holds up no other."""
        if of(message, "method") == "notifications/cancelled":
            cancelled = self._asked.get(_known_by(of(of(message, "params"), "requestId")))
            if cancelled is not None and not self._of_session:
                cancelled.cancel()  # since 2026-07-28 whoever closes the answer has cancelled the call
                return
        task = asyncio.create_task(self._pass_on(message))
        key = _known_by(of(message, "id"), task) if of(message, "method") else task
        self._asked[key] = task
        if of(message, "method") == "subscriptions/listen":
            self._streams.add(task)
            task.add_done_callback(self._streams.discard)
        task.add_done_callback(lambda _: self._asked.pop(key, None))

    async def _pass_on(self, message: Any, *, again: bool = True) -> None:
        try:
            headers = self._headers(message)
            async with self._posted(message, headers) as answered:
                if (
                    answered.status_code == 404
                    and self._of_session
                    and again
                    and self._greeting is not message
                ):
                    await self._greet_anew(headers.get(SESSION))
                    await self._pass_on(message, again=False)
                    return
                await self._take(message, answered)
                self._note_watched(message, answered)
        except httpx2.HTTPError as error:
            self._refuse(message, f"{self._address} does not answer: {str(error) or type(error).__name__}")

    def _posted(self, message: Any, headers: dict[str, str]) -> AbstractAsyncContextManager[httpx2.Response]:
        """Written in ASCII, in which half a character can be sent on: the server says what is wrong with it."""
        return self._http.stream("POST", self._address, content=json.dumps(message), headers=headers)

    async def _take(self, message: Any, answered: httpx2.Response) -> None:
        if answered.headers.get("content-type", "").startswith("text/event-stream"):
            async for told in _events(answered):
                self._note_session(message, answered, told)
                self._say(told)
            return
        body = await answered.aread()
        if not is_awaited(message):
            return
        if not body:
            if answered.status_code >= 400:
                self._refuse(message, f"The server answered {answered.status_code}.")
            return
        try:
            told = json.loads(body)
        except ValueError:
            told = {}
        if "jsonrpc" not in told:
            said = told.get("message", f"The server answered {answered.status_code}.")
            self._refuse(message, said, told.get("error"))
            return
        if told.get("id") is None and "error" in told:
            told["id"] = of(message, "id")
        self._note_session(message, answered, told)
        self._say(told)

    def _note_session(self, message: Any, answered: httpx2.Response, told: Message) -> None:
        if message is self._greeting and "result" in told:
            self._of_session = {
                SESSION: answered.headers.get(SESSION, ""),
                "mcp-protocol-version": told["result"]["protocolVersion"],
            }

    def _note_watched(self, message: Any, answered: httpx2.Response) -> None:
        method = of(message, "method")
        if method not in ("resources/subscribe", "resources/unsubscribe") or answered.status_code != 200:
            return
        uri = str(of(of(message, "params"), "uri"))
        if method == "resources/subscribe":
            self._watched[uri] = message
        else:
            self._watched.pop(uri, None)

    async def _greet_anew(self, forgotten: str | None) -> None:
        """The server forgot the session: it was started anew. One of those who notice greets it for all."""
        assert self._greeting is not None
        async with self._one_at_a_time:
            if self._of_session.get(SESSION) != forgotten:
                return
            self._of_session = {}
            async with self._posted(self._greeting, {}) as answered:
                async for told in _events(answered):
                    self._note_session(self._greeting, answered, told)
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            for message in (ready, *self._watched.values()):
                async with self._posted(message, self._headers(message)) as answered:
                    await answered.aread()

    def _headers(self, message: Any) -> dict[str, str]:
        """Since 2026-07-28 headers repeat what the message says; before, they name the session."""
        version = version_of(message)
        if version is None:
            return {name: value for name, value in self._of_session.items() if value}
        method = str(message.get("method"))
        headers = {"mcp-protocol-version": _field(version), "mcp-method": _field(method)}
        if isinstance(name := message["params"].get(NAMED_BY.get(method, "")), str):
            headers["mcp-name"] = _field(name)
        return headers

    async def _listen(self) -> None:
        """What the server tells unasked, in the handshake era; of one that was started anew too."""
        while session := self._of_session.get(SESSION):
            try:
                async with self._http.stream("GET", self._address, headers=self._headers(None)) as told:
                    if told.status_code == 404:
                        await self._greet_anew(session)
                    elif told.status_code == 200:
                        async for message in _events(told):
                            self._say(message)
                    elif told.status_code < 500:
                        return  # it tells nothing unasked, or not to us
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(AGAIN_SECONDS)

    def _refuse(self, message: Any, said: str, code: str | None = None) -> None:
        if isinstance(message, dict) and "id" in message and "method" in message:
            self._say(refusal(UNREACHABLE, said, code, message["id"]))

    def _say(self, message: Message) -> None:
        self._writing.write(json.dumps(message, separators=(",", ":")) + "\n")
        self._writing.flush()


def _known_by(id: Any, otherwise: Any = None) -> Any:
    return id if isinstance(id, int | str) else otherwise


def _field(text: str) -> str:
    """As MCP writes into a header what a header could not carry."""
    if _PLAIN.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'backslashreplace')).decode()}?="


async def _events(answered: httpx2.Response) -> AsyncIterator[Message]:
    lines: list[str] = []
    async for line in answered.aiter_lines():
        if line:
            lines.append(line)
            continue
        for message in _data(lines):
            yield message
        lines = []


def _data(lines: list[str]) -> list[Message]:
    """The message of one event; a comment or an empty event has none."""
    text = "\n".join(
        line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:")
    )
    return [json.loads(text)] if text.strip() else []
