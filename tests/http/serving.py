"""A real server for the tests of this folder: uvicorn in a thread, with the protocol that `holdfast serve` uses, over a
memory of its own; and how a request is made to it, by the book or byte by byte."""

from __future__ import annotations

import asyncio
import itertools
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any, NamedTuple, Self

import httpx2
import uvicorn

import holdfast
from holdfast.contracts.host import Clock
from holdfast.entrypoints.http.app import McpFactory, create_app
from holdfast.entrypoints.http.protocol import TimedProtocol
from holdfast.entrypoints.http.tokens import Secret, mint
from holdfast.entrypoints.mcp.http import open_mcp
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.running import Running
from holdfast.settings import load
from tests.behaviours.looking import unchanged
from tests.support import FixedClock

SECRET = Secret(b"the secret of these tests, 32 bytes")
DAY_SECONDS = 86_400
BASE = "/api/v1"
REQUEST_BYTES = 1 << 20
PATIENCE = 20.0
"""Seconds after which a test that waits for the server has failed."""


class Listening:
    """An application on a port of its own."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(
            app,
            interface="asgi3",
            port=0,
            http=TimedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="server")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._server.serve())
        for task in asyncio.all_tasks(self._loop):  # as asyncio.run does
            task.cancel()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Service:
    """A memory behind a server, and people who call it."""

    def __init__(self, memory: Memory | None, url: str, port: int, clock: Clock) -> None:
        self.memory = memory
        self.url = url
        self.port = port
        self.clock = clock
        self._http = httpx2.Client(base_url=url, timeout=PATIENCE)
        self._keys = itertools.count(1)

    def close(self) -> None:
        self._http.close()

    def token(self, subject: str = "alice", **claims: Any) -> str:
        return mint(SECRET, subject=subject, ttl_seconds=DAY_SECONDS, now=self.clock(), **claims)

    def ask(
        self, method: str, path: str, *, who: str | None = "alice", admin: bool = False, **said: Any
    ) -> httpx2.Response:
        """`path` is under the base unless it starts with a slash; nobody shows no token."""
        headers = dict(said.pop("headers", {}))
        if who is not None and "authorization" not in {name.lower() for name in headers}:
            token = self.token(who, roles=["admin"] if admin else ["member"])
            headers["Authorization"] = f"Bearer {token}"
        where = path if path.startswith("/") else f"{BASE}/{path}"
        return self._http.request(method, where, headers=headers, **said)

    def send(self, path: str, body: Any, method: str = "POST", **said: Any) -> httpx2.Response:
        return self.ask(method, path, json=body, **said)

    def kept(self, text: str = "Deploys go through Konflux", **said: Any) -> dict[str, Any]:
        """A new memory of alice's, as she gets it back."""
        who = said.pop("who", "alice")
        answered = self.send("remember", {"text": text, "key": f"kept/{next(self._keys)}"} | said, who=who)
        assert answered.status_code == 200, answered.text
        entry: dict[str, Any] = self.ask("GET", f"entries/{answered.json()['id']}", who=who).json()
        return entry

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Nothing is written meanwhile, and the server still answers afterwards."""
        assert self.memory is not None
        with unchanged(self.memory):
            yield
        assert self.ask("GET", "/healthz", who=None).status_code == 200

    @contextmanager
    def line(self) -> Iterator[socket.socket]:
        """A connection, to write on byte by byte."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            yield line

    def raw(self, *parts: bytes) -> Raw:
        """What is answered to these bytes; the connection is read until the server closes it or one answer is in."""
        with self.line() as line:
            for part in parts:
                line.sendall(part)
            return read_answer(line)

    def head(self, method: str, target: str, *lines: str, who: str | None = "alice") -> bytes:
        """The head of a request, up to and including the empty line."""
        said = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *lines]
        if who is not None:
            said.append(f"Authorization: Bearer {self.token(who)}")
        return "\r\n".join([*said, "", ""]).encode("latin-1")


class Raw(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def read_answer(line: socket.socket) -> Raw:
    """The next answer on a connection; status 0 when the server closed it without one."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = line.recv(65_536)
        if not part:
            return Raw(0, {}, got)
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
    status = int(re.match(r"HTTP/1\.1 (\d+)", first)[1])  # type: ignore[index]
    while len(body) < int(headers.get("content-length", 0)):
        part = line.recv(65_536)
        if not part:
            break
        body += part
    return Raw(status, headers, body)


@contextmanager
def serving(clock: Clock | None = None, memory: Memory | None = None, **given: Any) -> Iterator[Service]:
    """A server over a memory (a new one, in memory, unless given) with these settings."""
    clock = clock or FixedClock()
    owned = memory is None
    memory = memory or holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, clock=clock)
    try:
        with serving_running(memory.running, clock, **given) as service:
            service.memory = memory
            yield service
    finally:
        if owned:
            memory.close()


@contextmanager
def serving_running(
    running: Running, clock: Clock | None = None, mcp: McpFactory = open_mcp, **given: Any
) -> Iterator[Service]:
    clock = clock or FixedClock()
    settings = load({}, **{"rate_per_minute": 0, "max_request_bytes": REQUEST_BYTES} | given)
    with Listening(create_app(running, settings, SECRET, clock, mcp)) as listening:
        service = Service(None, listening.url, listening.port, clock)
        try:
            yield service
        finally:
            service.close()


def code(answered: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal; facts keep the code under its own name."""
    said = answered.json()
    return answered.status_code, said.get("code", said.get("error", "none"))
