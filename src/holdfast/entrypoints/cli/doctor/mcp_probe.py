"""A short talk with an MCP server as an agent has it: it is started, asked for its tools and one harmless thing, and
ended. The SDK is imported when somebody talks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import Client, Tool

PATIENCE_SECONDS = 15.0
NOT_TOLD = "not_found"
"""The one refusal that shows a store was asked: nobody has what is asked for in trying."""

ENDED = "Connection closed"
"""How the SDK says it; servers use the same code for errors of their own."""
VIEW = {"command": "view", "path": "/memories/"}


@dataclass(frozen=True, slots=True)
class Program:
    """Started with these variables and the few that every program gets."""

    command: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    headers: tuple[tuple[str, str], ...]


Server = Program | Address


class Heard(NamedTuple):
    tools: tuple[str, ...]
    trouble: str = ""
    """Why an agent would have nothing of it."""


def talk(servers: Sequence[Server]) -> list[Heard]:
    """With all of them at once; none is waited for longer than the patience and what ending it takes."""
    with _unlogged():
        return asyncio.run(_all(servers))


async def _all(servers: Sequence[Server]) -> list[Heard]:
    return list(await asyncio.gather(*map(_one, servers)))


async def _one(server: Server) -> Heard:
    import anyio

    with TemporaryFile("w+", encoding="utf-8", errors="replace") as remarks:
        try:
            # Not asyncio's own timeout: the SDK ends its process under this kind of cancelling alone.
            with anyio.fail_after(PATIENCE_SECONDS):
                async with _reached(server, remarks) as client:
                    return await _asked(client)
        except TimeoutError:
            return Heard((), f"no answer within {PATIENCE_SECONDS:.0f} seconds")
        except Exception as error:
            return Heard((), _cause(error, remarks))


@asynccontextmanager
async def _reached(server: Server, remarks: IO[str]) -> AsyncIterator[Client]:
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


async def _asked(client: Client) -> Heard:
    tools = (await client.list_tools()).tools
    names = tuple(tool.name for tool in tools)
    question = _harmless(tools)
    if question is None:
        return Heard(names)
    answer = await client.call_tool(*question)
    code = (answer.structured_content or {}).get("code")
    if not answer.is_error or code == NOT_TOLD:
        return Heard(names)
    return Heard(names, _text(answer) or str(code))


def _harmless(tools: Sequence[Tool]) -> tuple[str, dict[str, str]] | None:
    """A call that only reads: of the tool that wants the least, or the one command of `memory` that does."""
    reading = [tool for tool in tools if tool.annotations is not None and tool.annotations.read_only_hint]
    if reading:
        easiest = min(reading, key=lambda tool: len(tool.input_schema.get("required", ())))
        return easiest.name, dict.fromkeys(easiest.input_schema.get("required", ()), "doctor")
    return next(((tool.name, VIEW) for tool in tools if tool.name == "memory"), None)


def _text(answer: Any) -> str:
    return " ".join(part.text for part in answer.content if part.type == "text")


def _cause(error: BaseException, remarks: IO[str]) -> str:
    """The innermost of what a group of tasks came to; for a program that ended, its last words."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message == ENDED:
        remarks.seek(0)
        last = [line.strip() for line in remarks if line.strip()][-1:]
        return last[0] if last else "it ended without a word"
    return str(error) or type(error).__name__


@contextmanager
def _unlogged() -> Iterator[None]:
    """The SDK logs with a stack what a finding says in a line."""
    quiet, logger = logging.NullHandler(), logging.getLogger("mcp")
    logger.addHandler(quiet)
    try:
        yield
    finally:
        logger.removeHandler(quiet)
