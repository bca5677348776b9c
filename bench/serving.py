"""The server that bench/http.py measures, in a process of its own: the product, and beside it the same framework with
the same token check that answers a constant. `/spent` says what the process has used."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from bench.watching import counting_syncs
from holdfast.entrypoints.http.app import create_app
from holdfast.entrypoints.http.authenticate import Authenticator, Verifier
from holdfast.entrypoints.http.protocol import TimedProtocol
from holdfast.entrypoints.http.tokens import local_secret
from holdfast.entrypoints.python.running import open_settings
from holdfast.settings import Settings, load
from holdfast.wiring import system_clock


def bare(settings: Settings) -> Starlette:
    authenticator = Authenticator(settings, Verifier(settings, local_secret(settings), system_clock))
    constant = {"id": "0", "text": "Deploys go through Konflux"}

    async def get(request: Request) -> Response:
        await authenticator.caller(request.scope["headers"])
        return JSONResponse(constant)

    async def post(request: Request) -> Response:
        await authenticator.caller(request.scope["headers"])
        json.loads(await request.body())
        return JSONResponse(constant)

    return Starlette(routes=[Route("/get", get), Route("/post", post, methods=["POST"])])


def main(folder: Path, *, count: bool) -> None:
    settings = load(data_dir=folder, embedder="none", rate_per_minute=0)
    if count:
        with counting_syncs() as syncs:
            serve(settings, lambda: syncs.count)
    else:
        serve(settings, lambda: 0)


def serve(settings: Settings, syncs: Any) -> None:
    memory = open_settings(settings)

    async def spent(_: Request) -> Response:
        return JSONResponse({"cpu": time.process_time(), "syncs": syncs()})

    app = Starlette(
        routes=[
            Route("/spent", spent),
            Mount("/bare", bare(settings)),
            Mount("/", create_app(memory, settings)),
        ]
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=0,
            interface="asgi3",
            http=TimedProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
    )

    async def run() -> None:
        config = server.config
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await server.main_loop()

    asyncio.run(run())


if __name__ == "__main__":
    main(Path(sys.argv[1]), count="--count-syncs" in sys.argv)
