"""`holdfast mcp` on a server that is started anew while a client goes on."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.faults.serving import Served

MY_MEMORY = "holdfast://my-memory"


@pytest.mark.slow
def test_a_client_of_the_handshake_era_is_told_of_changes_by_a_server_that_was_started_anew(
    tmp_path: Path,
) -> None:
    first = Served(tmp_path)
    url = first.url()
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.put_nowait(str(message.params.uri))

    async def watch() -> list[str]:
        environment = {**os.environ, "HOLDFAST_URL": url, "HOLDFAST_TOKEN": first.token("alice")}
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "holdfast", "mcp"], env=environment
        )
        async with Client(command, mode="legacy", message_handler=note) as client:
            with pytest.warns(MCPDeprecationWarning):
                await client.session.subscribe_resource(MY_MEMORY)
            await asyncio.to_thread(_remember, first, "before")
            heard = [await asyncio.wait_for(told.get(), 20)]
            first.close()
            second = Served(tmp_path, HOLDFAST_PORT=str(urlsplit(url).port))
            try:
                while told.empty():  # a change before the client is back is none that it could be told of
                    await asyncio.to_thread(_remember, second, "after")
                    await asyncio.sleep(1)
                heard.append(told.get_nowait())
            finally:
                second.close()
            return heard

    assert asyncio.run(asyncio.wait_for(watch(), 60)) == [MY_MEMORY, MY_MEMORY]


def _remember(server: Served, text: str) -> None:
    with server.client() as alice:
        alice.remember(text)
