"""Tools over stdio as the SDK's own client calls them. What `holdfast mcp` runs is run in a thread here: a process of
its own would cost every test half a second. `Processes` starts the command itself."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from threading import Thread
from typing import Any, TextIO

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, UNIXSocketStream
from mcp import Client, StdioServerParameters
from mcp.client import stdio

from holdfast.domain.principal import Caller
from holdfast.entrypoints.mcp.bridge import bridge
from holdfast.entrypoints.mcp.stdio import StdioServer, run_stdio, tool_server
from holdfast.entrypoints.mcp.tools import NAMED
from tests.mcp.talking import Person
from tests.transports.sessions import Sessions

Speak = Callable[[TextIO, TextIO], None]
_spawned = stdio._create_platform_compatible_process


class Processes(Sessions):
    """`holdfast mcp` on the server, a process for each surface."""

    def _connected(self, surface: str) -> AbstractAsyncContextManager[Client]:
        told = {"HOLDFAST_URL": self._who.server, "HOLDFAST_TOKEN": self._who.token}
        return self._through(
            StdioServerParameters(
                command=sys.executable,
                args=["-m", "holdfast", "mcp", "--surface", surface],
                env={**os.environ, **told},
            )
        )

    def _through(self, command: StdioServerParameters) -> Client:
        return Client(command, mode=self._era, elicitation_callback=Person().callback)


class Piped(Processes):
    """A user who is nothing but their name has the store itself, as on their own machine; everybody else has the
    server."""

    def _connected(self, surface: str) -> AbstractAsyncContextManager[Client]:
        local = self._who.local
        speak = self._on_the_server(surface) if local is None else self._on_the_store(surface, local)
        return self._through(StdioServerParameters.model_construct(command=speak))

    def _on_the_server(self, surface: str) -> Speak:
        return lambda reading, writing: bridge(self._who.server, self._who.token, surface, reading, writing)

    def _on_the_store(self, surface: str, caller: Caller) -> Speak:
        def opened() -> StdioServer:
            return *tool_server(NAMED[surface], self._who.running, caller), lambda: None

        def speak(reading: TextIO, writing: TextIO) -> None:
            asyncio.run(run_stdio(opened, surface, anyio.wrap_file(reading), anyio.wrap_file(writing)))

        return speak


async def start(*, command: str | Speak, **more: Any) -> Any:
    """In place of what the SDK starts processes with."""
    return await (
        _spawned(command=command, **more) if isinstance(command, str) else Neighbour.started(command)
    )


class Neighbour:
    """What the SDK's transport takes for a process it has started."""

    pid = 0

    def __init__(self, stdin: ByteSendStream, stdout: ByteReceiveStream) -> None:
        self.stdin = self
        self.stdout = stdout
        self.returncode: int | None = None
        self._pipe = stdin
        self._ended = asyncio.Event()

    @classmethod
    async def started(cls, speak: Speak) -> Neighbour:
        stdin, reading = socket.socketpair()
        stdout, writing = socket.socketpair()
        process = cls(await UNIXSocketStream.from_socket(stdin), await UNIXSocketStream.from_socket(stdout))
        loop = asyncio.get_running_loop()

        def run() -> None:
            try:
                with (
                    reading,
                    writing,
                    reading.makefile("r", encoding="utf-8") as lines,
                    writing.makefile("w", encoding="utf-8") as said,
                ):
                    speak(lines, said)
            finally:
                loop.call_soon_threadsafe(process._ended.set)

        Thread(target=run, name="holdfast mcp").start()
        return process

    async def send(self, data: bytes) -> None:
        await self._pipe.send(data)

    async def aclose(self) -> None:
        """Over when the command is, so that nobody polls for its end."""
        await self._pipe.aclose()
        await self._ended.wait()
        self.returncode = 0
