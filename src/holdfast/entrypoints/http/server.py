"""`holdfast serve`: opens the store, listens, prints its address, and drains on Ctrl-C."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from socket import socket
from threading import Thread

import uvicorn

from holdfast import __version__
from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.http.app import ANY, McpFactory, create_app
from holdfast.entrypoints.http.authenticate import check_auth_allowed
from holdfast.entrypoints.http.metrics import JsonLines
from holdfast.entrypoints.http.protocol import TimedProtocol
from holdfast.entrypoints.python.running import Running, open_settings
from holdfast.settings import Settings, usual_data_dir
from holdfast.wiring import locate_store

DRAIN_SECONDS = 6
BACKLOG = 2_048
LOGGERS = ("holdfast", "uvicorn.error")

WELCOME = """holdfast {version} is listening on {url}

  data    {data}
  you     {you}
  docs    {url}/docs

  connect an agent     {connect}
  try this             {command} remember "Deploys go through Konflux" && {command} recall "how do we deploy?"

Ctrl-C ends it; every memory stays.
"""


Beside = Callable[[Running], AbstractContextManager[object]]
"""Runs beside the server, over its store."""


def serve(settings: Settings, mcp: McpFactory | None = None, beside: Beside = nullcontext) -> int:
    """Runs until a signal ends it. If the store cannot be opened, the start message and /readyz say so, and calls get
    503. `mcp` makes the application at /mcp."""
    check_auth_allowed(settings)
    _log_to_stderr()
    memory = open_settings(settings)
    try:
        with beside(memory):
            _Server(memory, settings, mcp).run()
    finally:
        memory.stop()
    return 0


class _Server(uvicorn.Server):
    def __init__(self, memory: Running, settings: Settings, mcp: McpFactory | None) -> None:
        self._app = create_app(memory, settings, mcp=mcp)
        super().__init__(
            uvicorn.Config(
                self._app,
                host=settings.host,
                port=settings.port,
                http=TimedProtocol,
                interface="asgi3",
                proxy_headers=False,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                backlog=BACKLOG,
                timeout_graceful_shutdown=DRAIN_SECONDS,
                timeout_keep_alive=65,
            )
        )
        self._memory = memory
        self._settings = settings

    async def startup(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # uvicorn exits if the port is taken
            address = f"{self._settings.host}:{self._settings.port}"
            raise Unavailable(
                f"Nothing can listen on {address}; another server may be there, see --port."
            ) from None
        if self.started:
            print(_welcome(self._memory, self._settings, self._port()), flush=True)
            Thread(target=self._memory.warm, name="warm", daemon=True).start()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drains. The signal that started it is forgotten, so that it does not end the process before the store is
        closed."""
        self._app.end_streams()
        await super().shutdown(sockets)
        self._captured_signals.clear()

    def _port(self) -> int:
        """Returns the actual port, also when the settings leave the choice to the system."""
        sockets = [each for server in self.servers for each in server.sockets]
        return int(sockets[0].getsockname()[1]) if sockets else self._settings.port


def _welcome(memory: Running, settings: Settings, port: int) -> str:
    url = f"http://{_reachable(settings.host)}:{port}"
    text = WELCOME.format(
        version=__version__,
        url=url,
        data=_data(memory, settings),
        you=f"user:{settings.subject}" if settings.auth else "user:unknown, like everyone: HOLDFAST_AUTH=off",
        connect=_connect(settings, url),
        command=command(settings),
    )
    if settings.markdown_dir is not None and memory.enabled:
        text += f"\nFile memories are mirrored in {settings.markdown_dir}, as plain text.\n"
    if settings.host in ANY and not settings.allowed_hosts:
        text += "\nOthers reach it only by names in HOLDFAST_ALLOWED_HOSTS.\n"
    return text if memory.enabled else f"{text}\nMEMORY IS OFF: {memory.reason}\n"


def _reachable(host: str) -> str:
    if host in ANY:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _data(memory: Running, settings: Settings) -> str:
    location = locate_store(settings)
    if location.is_shared:
        return location.backend.title
    path = memory.opened.path or location.file
    return "in memory, gone at the end" if path is None else str(path)


def _connect(settings: Settings, url: str) -> str:
    """Returns the command that connects an agent. On the embedded store it needs no server."""
    if not locate_store(settings).is_shared:
        return f"{command(settings)} connect claude-code   (or claude-desktop, cursor, vscode, gemini)"
    token = f" HOLDFAST_TOKEN=$({command(settings)} token create --subject {settings.subject})"
    return f"HOLDFAST_URL={url}{token if settings.auth else ''} {command(settings)} connect claude-code"


def command(settings: Settings) -> str:
    """Returns the shell command for this store, also when `holdfast` is not on the path."""
    beside = Path(sys.executable).with_name("holdfast")
    found = shutil.which("holdfast")
    name = "holdfast"
    if beside.exists() and (found is None or not Path(found).samefile(beside)):
        name = os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)
    is_usual = settings.data_dir == usual_data_dir()  # the next shell may lack the variable of this one
    return name if is_usual else f"HOLDFAST_DATA_DIR={shlex.quote(str(settings.data_dir))} {name}"


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "holdfast" else logging.WARNING)
