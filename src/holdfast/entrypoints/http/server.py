"""`holdfast serve`: opens the store, listens, says where, drains on Ctrl-C."""

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
from holdfast.entrypoints.http.app import ANY, create_app
from holdfast.entrypoints.http.authenticate import check_auth_allowed
from holdfast.entrypoints.http.mcp_mount import AgentDoor, OpenDoor
from holdfast.entrypoints.http.metrics import JsonLines
from holdfast.entrypoints.http.protocol import TimedProtocol
from holdfast.entrypoints.python.running import Running, open_settings
from holdfast.settings import Settings, usual_data_dir
from holdfast.wiring import database_path, is_postgres

DRAIN_SECONDS = 6
BACKLOG = 2_048
LOGGERS = ("holdfast", "uvicorn.error")

WELCOME = """holdfast {version} is listening on {url}

  data    {place}
  you     {you}
  docs    {url}/docs

  connect an agent     {connect}
  try this             {command} remember "Deploys go through Konflux" && {command} recall "how do we deploy?"

Ctrl-C ends it; every memory stays.
"""


Beside = Callable[[Running], AbstractContextManager[object]]
"""What runs beside the server, over the same store."""


def serve(settings: Settings, agents: OpenDoor | None = None, beside: Beside = nullcontext) -> int:
    """Runs until it is told to end. A store that cannot be opened is said, here and by /readyz, and answered 503.
    `agents` opens the door at /mcp."""
    check_auth_allowed(settings)
    _log_to_stderr()
    memory = open_settings(settings)
    try:
        with beside(memory):
            _Server(memory, settings, agents).run()
    finally:
        memory.stop()
    return 0


class _Server(uvicorn.Server):
    def __init__(self, memory: Running, settings: Settings, agents: OpenDoor | None) -> None:
        self._door: AgentDoor | None = None

        def open_agents(memory: Running, settings: Settings, key: bytes) -> AgentDoor:
            assert agents is not None
            self._door = agents(memory, settings, key)
            return self._door

        super().__init__(
            uvicorn.Config(
                create_app(memory, settings, agents=agents and open_agents),
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
        except SystemExit:  # so uvicorn says that the port is taken
            place = f"{self._settings.host}:{self._settings.port}"
            raise Unavailable(
                f"Nothing can listen on {place}; another server may be there, see --port."
            ) from None
        if self.started:
            print(_welcome(self._memory, self._settings, self._port()), flush=True)
            Thread(target=self._memory.warm, name="warm", daemon=True).start()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drained; the signal that asked for it has done its work and must not end the process before the store is
        closed."""
        if self._door is not None:
            self._door.end_streams()
        await super().shutdown(sockets)
        self._captured_signals.clear()

    def _port(self) -> int:
        """Which one it is when any would do."""
        sockets = [each for server in self.servers for each in server.sockets]
        return int(sockets[0].getsockname()[1]) if sockets else self._settings.port


def _welcome(memory: Running, settings: Settings, port: int) -> str:
    url = f"http://{_reachable(settings.host)}:{port}"
    text = WELCOME.format(
        version=__version__,
        url=url,
        place=_place(memory, settings),
        you=f"user:{settings.subject}" if settings.auth else "user:unknown, like everyone: HOLDFAST_AUTH=off",
        connect=_connecting(settings, url),
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


def _place(memory: Running, settings: Settings) -> str:
    if is_postgres(settings):
        return "PostgreSQL"
    path = memory.opened.path or database_path(settings)
    return "in memory, gone at the end" if path is None else str(path)


def _connecting(settings: Settings, url: str) -> str:
    """On the embedded store an agent needs no server; others are told this one and who they are."""
    if not is_postgres(settings):
        return f"{command(settings)} connect claude-code   (or claude-desktop, cursor, vscode, gemini)"
    token = f" HOLDFAST_TOKEN=$({command(settings)} token create --subject {settings.subject})"
    return f"HOLDFAST_URL={url}{token if settings.auth else ''} {command(settings)} connect claude-code"


def command(settings: Settings) -> str:
    """How a person calls the command line of this very store: it need not be on their path, nor this its usual one."""
    beside = Path(sys.executable).with_name("holdfast")
    found = shutil.which("holdfast")
    name = "holdfast"
    if beside.exists() and (found is None or not Path(found).samefile(beside)):
        name = os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)
    given = settings.data_dir != usual_data_dir()  # a variable of this shell is not one of the next
    return f"HOLDFAST_DATA_DIR={shlex.quote(str(settings.data_dir))} {name}" if given else name


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "holdfast" else logging.WARNING)
