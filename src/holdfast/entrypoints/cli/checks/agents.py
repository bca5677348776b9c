"""The agents that `holdfast connect` has set up, and whether one would get an answer."""

from __future__ import annotations

import asyncio
import shutil
from typing import Any, NoReturn

from holdfast.domain.errors import HoldfastError, Unavailable
from holdfast.entrypoints.cli.checks.finding import Finding, Scene, fail, ok, warn

PATIENCE_SECONDS = 10.0


def clients(_scene: Scene) -> Finding:
    from holdfast.entrypoints.cli.clients import CLIENTS, entry_in

    found = []
    for client in CLIENTS.values():
        try:
            entry = entry_in(client)
        except HoldfastError as error:
            return warn(f"{client.file()}: {error.message}", "correct the file; nothing was changed in it")
        if entry is None:
            continue
        command = entry.get("command")
        if command is not None and shutil.which(str(command)) is None:
            return fail(
                f"{client.title} starts {command}, which is not there", f"holdfast connect {client.name}"
            )
        found.append(client.title)
    return ok(", ".join(found) if found else "none connected: `holdfast connect claude-code`, for example")


def mcp(scene: Scene) -> Finding:
    """A round trip of the SDK's own client. The local store is not opened for it, so that looking changes nothing."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        return ok("no MCP here: `holdfast[server]` is not installed")
    try:
        tools = asyncio.run(asyncio.wait_for(_listed(scene), PATIENCE_SECONDS))
    except Exception as error:
        say = fail if scene.settings.url is None else warn  # a server may be reached for REST alone
        return say(f"no answer: {_cause(error)}", "run `holdfast mcp` and look")
    return ok(f"an agent is offered {', '.join(tools)}")


async def _listed(scene: Scene) -> list[str]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    if scene.settings.url is None:
        async with Client(_server()) as client:
            return [tool.name for tool in (await client.list_tools()).tools]
    headers = {"Authorization": f"Bearer {scene.settings.token}"} if scene.settings.token else {}
    address = f"{scene.settings.url.rstrip('/')}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


def _server() -> Any:
    from holdfast.entrypoints.mcp.server import build_server
    from holdfast.entrypoints.mcp.tools import CORE
    from holdfast.entrypoints.mcp.watching import Watching

    def nobody(_: object) -> NoReturn:
        raise Unavailable

    return build_server(CORE, nobody, Watching())


def _cause(error: BaseException) -> str:
    """The innermost of what a group of tasks came to."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
