"""The MCP door of the behaviour suite: what a surface offers as a tool is called as one, over the real server; all else
is asked over HTTP, as a program beside the agent would, and so is what a person must agree to where none is there.
Where one is, they agree."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Callable
from threading import Event
from typing import Any, Protocol

import httpx2

from holdfast import Client
from holdfast.domain.errors import ConfirmationRequired
from holdfast.entrypoints.mcp.http import AgentDoor
from holdfast.entrypoints.mcp.tools import NAMED, Tool
from holdfast.entrypoints.python import Memory
from holdfast.surfaces.wire.answers import error_named
from holdfast.surfaces.wire.fields import said_by
from tests.doors.served import Host, Served

VERSION = "2026-07-28"
INVALID_PARAMS = -32_602
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
OFFERED = {name: {tool.call.name: tool for tool in surface.tools} for name, surface in NAMED.items()}
"""For each vocabulary which of its calls is which tool."""
YES = {"yes": {"action": "accept", "content": {"yes": True}}}


class NotOffered(Exception):
    """There is no such tool for this caller."""


class Tools:
    """Calls tools by JSON-RPC, one request each."""

    def __init__(self, url: str, token: str, _: object = None) -> None:
        self._url = url
        self._http = httpx2.Client(
            headers={
                "authorization": f"Bearer {token}",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": VERSION,
                "mcp-method": "tools/call",
            },
            timeout=60,
            verify=False,
        )
        self._ids = itertools.count(1)

    def close(self) -> None:
        self._http.close()

    def call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any:
        told = self._ask(surface, tool, said)
        if told.get("resultType") == "input_required":
            told = self._ask(surface, tool, said, requestState=told["requestState"], inputResponses=YES)
        return answered(tool, told["structuredContent"], refused=told.get("isError", False))

    def _ask(self, surface: str, tool: Tool, said: dict[str, Any], **more: Any) -> Any:
        params = {"name": tool.name, "arguments": said, "_meta": META, **more}
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        headers = {"mcp-name": tool.name, "content-type": "application/json"}
        told = self._http.post(f"{self._url}/{surface}", content=json.dumps(body), headers=headers).json()
        if "error" in told:
            if told["error"].get("code") == INVALID_PARAMS:
                raise NotOffered
            raise AssertionError(told)
        return told["result"]


def answered(tool: Tool, shown: Any, *, refused: bool) -> Any:
    """What the structured answer of a tool says."""
    if refused:
        raise error_named(shown["code"], shown["error" if tool.plain_errors else "message"])
    # What is no object is sent inside one, as the protocol wants it.
    return tool.call.answer.read(shown["result"] if shown.keys() == {"result"} else shown)


class Caller(Protocol):
    """Somebody's tools, however they are called."""

    def call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any: ...

    def close(self) -> None: ...


Connect = Callable[[str, str, asyncio.AbstractEventLoop], Caller]


class Spoken:
    """A vocabulary whose tools are called as such; what is said beyond what a tool takes goes over HTTP."""

    def __init__(self, client: Any, tools: Caller, surface: str = "core") -> None:
        self._client = client
        self._tools = tools
        self._surface = surface

    def __getattr__(self, name: str) -> Any:
        over_http = getattr(self._client, name)
        if name in NAMED:
            return Spoken(over_http, self._tools, name)
        tool = OFFERED[self._surface].get(name)
        return over_http if tool is None else self._calling(tool, over_http)

    def _calling(self, tool: Tool, over_http: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                given = inspect.signature(tool.call.run).bind(None, *args, **kwargs).arguments
            except TypeError:
                return over_http(*args, **kwargs)
            del given["self"]
            known = {field.parameter for field in tool.fields}
            if given.keys() - known or None in given.values():
                return over_http(*args, **kwargs)
            try:
                return self._tools.call(self._surface, tool, said_by(tool.call.fields, given))
            except (NotOffered, ConfirmationRequired):  # nobody is there to agree
                return over_http(*args, **kwargs)

        return call


class SpokenMemory(Served):
    """A memory whose users are served by agents."""

    def __init__(self, memory: Memory, host: Host, connect: Connect = Tools) -> None:
        self._door: AgentDoor | None = None
        self._host = host
        self._connect = connect
        self._over = asyncio.Event()
        self._spoken: list[Caller] = []
        super().__init__(memory, host, self._open)
        ready = Event()
        self._holding = asyncio.run_coroutine_threadsafe(self._hold(ready), host.loop)
        ready.wait()

    def _open(self, running: Any, _: Any, key: bytes) -> AgentDoor:
        self._door = AgentDoor(running, key)
        return self._door

    async def _hold(self, ready: Event) -> None:
        assert self._door is not None
        async with self._door.running():
            ready.set()
            await self._over.wait()

    def _client(self, subject: str, **claims: Any) -> Client:
        client = super()._client(subject, **claims)
        tools = self._connect(f"{self._url}/mcp", self.tokens[-1], self._host.loop)
        self._spoken.append(tools)
        return Spoken(client, tools)  # type: ignore[return-value]

    def close(self) -> None:
        for tools in self._spoken:
            tools.close()
        self._host.loop.call_soon_threadsafe(self._over.set)
        self._holding.result()
        super().close()
