"""MCP as an interface of the suite: what a surface offers as a tool is called as one (`sessions`, `piped`); all else
is asked over HTTP, as a program beside the agent would, and so is what a person must agree to where none is there.
Where one is, they agree."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from holdfast import Client
from holdfast.domain.errors import ConfirmationRequired
from holdfast.domain.principal import Caller, PrincipalKind, principal
from holdfast.entrypoints.mcp.http import McpHttpApp
from holdfast.entrypoints.mcp.tools import DOOR, NAMED, Tool
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.running import Running
from holdfast.vocabularies.answers import error_named
from holdfast.vocabularies.arguments import to_wire
from tests.behaviours.served import Host, Served, is_merely_a_user

INVALID_PARAMS = -32_602
OFFERED = {name: {tool.call.name: tool for tool in surface.tools} for name, surface in NAMED.items()}
"""For each vocabulary which of its calls is which tool."""


class NotOffered(Exception):
    """There is no such tool for this caller."""


def answered(tool: Tool, shown: Any, *, refused: bool) -> Any:
    """What the structured answer of a tool says."""
    if refused:
        raise error_named(shown["code"], shown["error" if tool.plain_errors else "message"])
    # What is no object is sent inside one, as the protocol wants it.
    return tool.call.answer.decode(shown["result"] if shown.keys() == {"result"} else shown)


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody whose tools are called: their token on the server, and the store behind it."""

    server: str
    token: str
    running: Running
    loop: asyncio.AbstractEventLoop
    local: Caller | None
    """Who they are without a server, where that says as much."""


class Tools(Protocol):
    """Somebody's tools, however they are called."""

    def call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any: ...

    def close(self) -> None: ...


Connect = Callable[[Who], Tools]


class Spoken:
    """A vocabulary whose tools are called as such; what is said beyond what a tool takes goes over HTTP."""

    def __init__(self, client: Any, tools: Tools, sent: set[str], surface: str = "core") -> None:
        self._client = client
        self.tools = tools
        self._sent = sent
        self._surface = surface

    def __getattr__(self, name: str) -> Any:
        over_http = getattr(self._client, name)
        if name in NAMED:
            return Spoken(over_http, self.tools, self._sent, name)
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
            self._sent.add(tool.name)
            try:
                return self.tools.call(self._surface, tool, to_wire(tool.call.fields, given))
            except (NotOffered, ConfirmationRequired):  # nobody is there to agree
                return over_http(*args, **kwargs)

        return call


class SpokenMemory(Served):
    """A memory whose users are served by agents."""

    def __init__(self, memory: Memory, host: Host, connect: Connect) -> None:
        self.sent: set[str] = set()
        """Names of the tools that were called as such."""
        self._endpoint: McpHttpApp | None = None
        self._host = host
        self._connect = connect
        self._over = asyncio.Event()
        self._spoken: list[Tools] = []
        super().__init__(memory, host, self._open)
        ready = Event()
        self._holding = asyncio.run_coroutine_threadsafe(self._hold(ready), host.loop)
        ready.wait()

    def _open(self, running: Any, _: Any, key: bytes) -> McpHttpApp:
        self._endpoint = McpHttpApp(running, key)
        return self._endpoint

    async def _hold(self, ready: Event) -> None:
        assert self._endpoint is not None
        async with self._endpoint.running():
            ready.set()
            await self._over.wait()

    def _client(self, subject: str, **claims: Any) -> Client:
        client = super()._client(subject, **claims)
        local = _local(subject) if is_merely_a_user(subject, claims) else None
        tools = self._connect(Who(self.url, self.tokens[-1], self._memory.running, self._host.loop, local))
        self._spoken.append(tools)
        return Spoken(client, tools, self.sent)  # type: ignore[return-value]

    def close(self) -> None:
        for tools in self._spoken:
            tools.close()
        self._host.loop.call_soon_threadsafe(self._over.set)
        self._holding.result()
        super().close()


def _local(subject: str) -> Caller:
    """As `holdfast mcp` makes out who calls it."""
    return Caller(principal(PrincipalKind.USER, subject), door=DOOR, conversation="mcp-0")
