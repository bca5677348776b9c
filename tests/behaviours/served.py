"""REST as an interface of the suite: the real client against a real uvicorn, one for a whole run of tests. Every
memory that is opened gets a place of its own on it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from threading import Thread
from typing import Any, Self

import uvicorn

from holdfast import Client
from holdfast.domain.limits import check_list, check_mapping
from holdfast.domain.principal import UNKNOWN, check_subject
from holdfast.entrypoints.http.app import McpFactory, create_app
from holdfast.entrypoints.http.protocol import TimedProtocol
from holdfast.entrypoints.http.tokens import Secret, mint
from holdfast.entrypoints.python.memory import Memory
from holdfast.settings import load

SECRET = Secret(b"a secret of the tests, long enough")
START = 1_000_000_000_000_000
"""When it always is, to tokens: the clock of a test may run a thousand years."""
HOUR_SECONDS = 3_600


class Host:
    """A uvicorn in a thread of its own that passes `/N/…` on to the N-th application."""

    def __init__(self) -> None:
        self._apps: dict[str, Any] = {}
        self._numbers = itertools.count(1)
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            port=0,
            http=TimedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        self._server = uvicorn.Server(config)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="host")

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._server.serve())
        left = asyncio.all_tasks(self._loop)  # what watches for the end of streams knows no end itself
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        _, number, path = scope["raw_path"].decode().split("/", 2)
        scope |= {"raw_path": f"/{path}".encode(), "path": scope["path"].removeprefix(f"/{number}")}
        await self._apps[number](scope, receive, send)

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def serve(self, memory: Memory, agents: McpFactory | None = None) -> str:
        number = str(next(self._numbers))
        self._apps[number] = create_app(
            memory.running, load(rate_per_minute=0), SECRET, lambda: START, agents
        )
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/{number}"


class Served:
    """A memory on a server. The claims of a caller go into a token, as a host would put them there; what REST does not
    offer (settling, sweeping, keys) is asked of the memory itself."""

    def __init__(self, memory: Memory, host: Host, agents: McpFactory | None = None) -> None:
        self._memory = memory
        self.url = host.serve(memory, agents)
        self._clients: list[Client] = []
        self.tokens: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def _client(self, subject: str, **claims: Any) -> Client:
        check_subject("subject", subject)
        token = mint(
            SECRET,
            subject=subject or UNKNOWN,
            ttl_seconds=HOUR_SECONDS,
            now=START,
            **{name: value for name, value in claims.items() if value is not None},
        )
        client = Client(self.url, token, retries=0)
        self._clients.append(client)
        self.tokens.append(token)
        return client

    def user(
        self,
        id: str,
        *,
        roles: Iterable[str] = ("member",),
        teams: Iterable[str] = (),
        systems: Mapping[str, str] | None = None,
    ) -> Client:
        return self._client(
            id,
            roles=check_list("roles", roles),
            teams=check_list("teams", teams),
            systems=None if systems is None else check_mapping("systems", systems),
        )

    def agent(
        self,
        id: str,
        *,
        user: str | None = None,
        chat: str | None = None,
        systems: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> Client:
        chats = None if chat is None else (chat,)
        return self._client(id, kind="agent", session_user=user, chats=chats, systems=systems, owner=owner)

    def service(self, id: str, *, run: str | None = None, systems: Mapping[str, str] | None = None) -> Client:
        return self._client(id, kind="service", run=run, systems=systems)

    def administration(self, id: str) -> Any:
        return self.user(id, roles=("admin",)).administration

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self._memory.close()


def is_merely_a_user(subject: str, claims: Mapping[str, Any]) -> bool:
    """Somebody whom their name alone makes out, so that they need no server."""
    return bool(subject) and claims == {"roles": ("member",), "teams": (), "systems": None}
