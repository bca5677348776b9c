"""Tools as the SDK's own client calls them, in one era of the protocol: a connection for each surface, made when a tool
of it is first called and held as long as the memory is open. Here over HTTP; `piped` has stdio."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp import Client
from mcp.shared.exceptions import MCPError

from holdfast.entrypoints.mcp.tools import Tool
from tests.mcp.talking import Person, connected
from tests.transports.agents import INVALID_PARAMS, NotOffered, Who, answered


class Sessions:
    def __init__(self, who: Who, era: str) -> None:
        self._who = who
        self._era = era
        self._clients: dict[str, Client] = {}
        self._held: list[asyncio.Task[None]] = []
        self._over = asyncio.Event()

    def call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(self._call(surface, tool, said), self._who.loop).result()

    async def _call(self, surface: str, tool: Tool, said: dict[str, Any]) -> Any:
        if not _can_be_sent(said):
            raise NotOffered
        client = self._clients.get(surface) or await self._connect(surface)
        try:
            result = await client.call_tool(tool.name, said)
        except MCPError as error:
            if error.code == INVALID_PARAMS and tool.deletes:
                raise NotOffered from error
            raise
        return answered(tool, result.structured_content, refused=bool(result.is_error))

    async def _connect(self, surface: str) -> Client:
        ready: asyncio.Future[Client] = self._who.loop.create_future()
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
        return connected(f"{self._who.server}/mcp/{surface}", self._who.token, self._era, Person())

    def close(self) -> None:
        if not self._held:
            return

        async def end() -> None:
            self._over.set()
            await asyncio.gather(*self._held)

        asyncio.run_coroutine_threadsafe(end(), self._who.loop).result()


def _can_be_sent(said: dict[str, Any]) -> bool:
    """The SDK's client loses its connection over half a character; tests/mcp sends such a one in lines of its own."""
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
