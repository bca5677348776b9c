"""The servers that bench/mcp.py measures, each in a process of its own: the product with its door for agents, and the
SDK's own server with one tool that says what it was told. `/spent` says what the process has used."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

ECHO = "echo"
HOLDFAST = "holdfast"
STDIO = "stdio"


def echo_server() -> MCPServer:
    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def echo(text: str) -> str:
        """Says what it was told."""
        return text

    return server


def holdfast_app(folder: Path) -> Any:
    from holdfast.entrypoints.http.app import create_app
    from holdfast.entrypoints.mcp.http import open_mcp
    from holdfast.entrypoints.python.running import open_settings
    from holdfast.settings import load

    settings = load(data_dir=folder, embedder="none", rate_per_minute=0)
    return create_app(open_settings(settings), settings, mcp=open_mcp)


def serve(app: Any) -> None:
    async def counted(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") != "/spent":
            await app(scope, receive, send)
            return
        body = json.dumps({"cpu": time.process_time()}).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    server = uvicorn.Server(
        uvicorn.Config(counted, port=0, ws="none", lifespan="on", log_config=None, access_log=False)
    )

    async def run() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await serving

    asyncio.run(run())


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name] if name == STDIO:
            echo_server().run()
        case [name] if name == ECHO:
            serve(echo_server().streamable_http_app())
        case [_, folder]:
            serve(holdfast_app(Path(folder)))
