"""The SDK's own client against our server, in both eras of the protocol, and a person who answers its forms."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitResult

from tests.http.serving import Service

VERSION = "2026-07-28"
ERAS = (VERSION, "legacy")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PATIENCE = 30.0
"""Seconds within which a command ends whose client has gone."""
Talk = Callable[[Client], Awaitable[Any]]


class Person:
    """Says the same to every form, and remembers what was asked."""

    def __init__(self, action: str | None = "accept", *, yes: bool = True) -> None:
        self._action = action
        self._yes = yes
        self.asked: list[str] = []

    @property
    def callback(self) -> Any:
        return None if self._action is None else self._answer

    async def _answer(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        content: Any = {"yes": self._yes} if self._action == "accept" else None
        return ElicitResult(action=self._action, content=content)  # type: ignore[arg-type]


NOBODY = Person(None)


@asynccontextmanager
async def connected(
    url: str, token: str, era: str, person: Person = NOBODY, **more: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=20, verify=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=era, elicitation_callback=person.callback, **more) as client:
            yield client


def talk(
    service: Service,
    said: Talk,
    *,
    who: str = "alice",
    era: str = ERAS[0],
    surface: str = "",
    person: Person = NOBODY,
    **claims: Any,
) -> Any:
    """What `said` comes to over one connection of somebody."""

    async def speak() -> Any:
        url = f"{service.url}/mcp" + (f"/{surface}" if surface else "")
        async with connected(url, service.token(who, **claims), era, person) as client:
            return await said(client)

    return asyncio.run(speak())


def call(service: Service, tool: str, /, said: dict[str, Any] | None = None, **how: Any) -> CallToolResult:
    async def once(client: Client) -> CallToolResult:
        return await client.call_tool(tool, said or {})

    result: CallToolResult = talk(service, once, **how)
    return result


def refused(service: Service, said: Talk, **how: Any) -> MCPError:
    """The error of the protocol that it comes to."""

    async def caught(client: Client) -> MCPError:
        try:
            await said(client)
        except MCPError as error:
            return error
        raise AssertionError("nothing was refused")

    error: MCPError = talk(service, caught, **how)
    return error


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def code(result: CallToolResult) -> str | None:
    return result.structured_content["code"] if result.is_error else None


def modern(method: str, params: dict[str, Any], capabilities: dict[str, Any] | None = None) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


class Agent:
    """`holdfast mcp` while it runs, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, line: bytes | str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@contextmanager
def spoken_to(server: StdioServerParameters, *, ends_with: int = 0) -> Iterator[Agent]:
    """Hangs up in the end."""
    with subprocess.Popen(
        [server.command, *server.args], env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Agent(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == ends_with
