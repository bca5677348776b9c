"""Tools as the SDK's own client calls them: one connection for each surface, held open as long as the memory is. Over
HTTP in the handshake era, over stdio in both."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from holdfast.entrypoints.mcp.tools import Tool
from tests.doors.agents import INVALID_PARAMS, NotOffered, answered
from tests.mcp.talking import Person, connected


class Sessions:
    def __init__(self, url: str, token: str, loop: asyncio.AbstractEventLoop) -> None:
        self._url = url
        self._token = token
        self._loop = loop
        self._clients: dict[str, Client] = {}
        self._held: list[asyncio.Task[None]] = []
        self._over = asyncio.Event()

    def call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(self._call(surface, tool, said), self._loop).result()

    async def _call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any:
        if not _can_be_sent(said):
            raise NotOffered
        client = self._clients.get(surface) or await self._connect(surface)
        try:
            result = await client.call_tool(tool.name, said)
        except MCPError as error:
            if error.code == INVALID_PARAMS:
                raise NotOffered from error
            raise
        return answered(tool, result.structured_content, refused=bool(result.is_error))

    async def _connect(self, surface: str) -> Client:
        ready: asyncio.Future[Client] = self._loop.create_future()
        self._held.append(asyncio.create_task(self._hold(surface, ready)))
        self._clients[surface] = await ready
        return self._clients[surface]

    async def _hold(self, surface: str, ready: asyncio.Future[Client]) -> None:
        try:
            async with self._connected(surface) as client:
                ready.set_result(client)
                await self._over.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def _connected(self, surface: str) -> AbstractAsyncContextManager[Client]:
        return connected(f"{self._url}/{surface}", self._token, "legacy", Person())

    def close(self) -> None:
        async def end() -> None:
            self._over.set()
            await asyncio.gather(*self._held)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()


class Piped(Sessions):
    """The same through `holdfast mcp`, a process for each surface."""

    era = "legacy"

    def _connected(self, surface: str) -> AbstractAsyncContextManager[Client]:
        told = {"HOLDFAST_URL": self._url.removesuffix("/mcp"), "HOLDFAST_TOKEN": self._token}
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "holdfast", "mcp", "--surface", surface],
            env={**os.environ, **told},
        )
        return Client(command, mode=self.era, elicitation_callback=Person().callback)


class PipedAlone(Piped):
    """Since 2026-07-28: each call by itself."""

    era = "2026-07-28"


def _can_be_sent(said: dict[str, Any]) -> bool:
    """The SDK's client loses its connection over half a character; the other doors prove what becomes of one."""
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
