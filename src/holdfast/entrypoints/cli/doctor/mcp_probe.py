"""Probes MCP servers as an agent would: starts them, lists their tools, makes one harmless call and stops them. The SDK
is imported on use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import Client, Tool

PATIENCE_SECONDS = 15.0
NOT_FOUND = "not_found"
"""The one refusal that proves a working store: the probe asks for an entry that does not exist."""
CLOSED = "Connection closed"
"""The SDK's message; servers use its code for errors of their own."""
VIEW = {"command": "view", "path": "/memories/"}


@dataclass(frozen=True, slots=True)
class Program:
    """A program, started with these variables and the few that every program gets."""

    command: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    headers: tuple[tuple[str, str], ...]


Server = Program | Address


class Probe(NamedTuple):
    tools: tuple[str, ...]
    trouble: str = ""
    """The reason why an agent could not use it."""


def probe(servers: Sequence[Server]) -> list[Probe]:
    """Probes all servers at once. Each gets PATIENCE_SECONDS, plus the time that stopping it takes."""

    async def probe_all() -> list[Probe]:
        return list(await asyncio.gather(*map(_probe, servers)))

    with _sdk_log_silenced():
        return asyncio.run(probe_all())


async def _probe(server: Server) -> Probe:
    import anyio

    with TemporaryFile("w+", encoding="utf-8", errors="replace") as remarks:
        try:
            # Not asyncio's own timeout: the SDK stops its process only under this kind of cancellation.
            with anyio.fail_after(PATIENCE_SECONDS):
                async with _connected(server, remarks) as client:
                    return await _call(client)
        except TimeoutError:
            return Probe((), f"no answer within {PATIENCE_SECONDS:.0f} seconds")
        except Exception as error:
            return Probe((), _cause(error, remarks))


@asynccontextmanager
async def _connected(server: Server, remarks: IO[str]) -> AsyncIterator[Client]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    if isinstance(server, Program):
        parameters = StdioServerParameters(
            command=server.command, args=list(server.arguments), env=dict(server.variables)
        )
        async with Client(stdio_client(parameters, remarks)) as client:  # type: ignore[arg-type]
            yield client
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=dict(server.headers)) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield client


async def _call(client: Client) -> Probe:
    tools = (await client.list_tools()).tools
    names = tuple(tool.name for tool in tools)
    call = _harmless_call(tools)
    if call is None:
        return Probe(names)
    answer = await client.call_tool(*call)
    code = (answer.structured_content or {}).get("code")
    if not answer.is_error or code == NOT_FOUND:
        return Probe(names)
    return Probe(names, " ".join(part.text for part in answer.content if part.type == "text") or str(code))


def _harmless_call(tools: Sequence[Tool]) -> tuple[str, dict[str, str]] | None:
    """Returns a read-only call: of the tool with the fewest required arguments, or `view` of the tool `memory`."""
    reading = [tool for tool in tools if tool.annotations is not None and tool.annotations.read_only_hint]
    if reading:
        easiest = min(reading, key=lambda tool: len(tool.input_schema.get("required", ())))
        return easiest.name, dict.fromkeys(easiest.input_schema.get("required", ()), "doctor")
    return next(((tool.name, VIEW) for tool in tools if tool.name == "memory"), None)


def _cause(error: BaseException, remarks: IO[str]) -> str:
    """Returns the innermost error of a task group, or the last output of a program that ended."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message == CLOSED:
        remarks.seek(0)
        last = [line.strip() for line in remarks if line.strip()][-1:]
        return last[0] if last else "it ended without any output"
    return str(error) or type(error).__name__


@contextmanager
def _sdk_log_silenced() -> Iterator[None]:
    """Drops the SDK's stack traces; the finding has the cause."""
    quiet, logger = logging.NullHandler(), logging.getLogger("mcp")
    logger.addHandler(quiet)
    try:
        yield
    finally:
        logger.removeHandler(quiet)
