"""How requests reach the server: straight into the ASGI application, without a socket, or over one."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, urlencode

BASE = "/api/v1/"
VOLATILE = frozenset({"x-request-id", "date"})
"""Headers that differ between two equal answers."""


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def target(self) -> str:
        return BASE + quote(self.path, safe="/:~%") + (f"?{urlencode(self.query)}" if self.query else "")

    @property
    def content(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body).encode()

    def __str__(self) -> str:
        headers = "".join(f" {name}: {value}" for name, value in self.headers.items())
        body = "" if self.body is None else f" {json.dumps(self.body)}"
        return f"{self.method} {self.target}{headers}{body}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def code(self) -> str | None:
        """Which refusal it is; None for none."""
        if self.status < 400:
            return None
        said = self.json
        return str(said.get("code", said["error"]))

    @property
    def etag(self) -> str | None:
        return next((value for name, value in self.headers if name == "etag"), None)

    @property
    def shown(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """All that a caller could tell two answers apart by."""
        lasting = tuple(sorted(each for each in self.headers if each[0] not in VOLATILE))
        return self.status, lasting, self.body

    def __str__(self) -> str:
        etag = f" etag {self.etag}" if self.etag else ""
        return f"{self.status}{etag} {self.body.decode()[:2_000]}"


class Caller(Protocol):
    def send(self, token: str, request: Request) -> Answer: ...

    def close(self) -> None: ...


class InProcess:
    """The application called as a server would, one request after the other."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._runner = asyncio.Runner()
        self._run = self._runner.get_loop().run_until_complete

    def send(self, token: str, request: Request) -> Answer:
        return self._run(self._send(token, request))

    async def _send(self, token: str, request: Request) -> Answer:
        path, _, query = request.target.partition("?")
        content, sent = request.content, False
        status, headers, body = 0, [], b""
        given = {"host": "localhost", "authorization": f"Bearer {token}", **request.headers}
        if content:
            given |= {"content-type": "application/json", "content-length": str(len(content))}

        async def receive() -> Any:
            nonlocal sent
            if sent:
                return {"type": "http.disconnect"}
            sent = True
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, headers, body
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
            else:
                body += message.get("body", b"")

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 7077),
        }
        await self._app(scope, receive, send)
        return Answer(status, tuple((name.decode(), value.decode()) for name, value in headers), body)

    def close(self) -> None:
        self._runner.close()


class OverSocket:
    """A real server, one connection for all."""

    def __init__(self, host: str, port: int, prefix: str) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=30)
        self._prefix = prefix

    def send(self, token: str, request: Request) -> Answer:
        headers = {"authorization": f"Bearer {token}", **request.headers}
        content = request.content
        if content:
            headers["content-type"] = "application/json"
        self._connection.request(request.method, self._prefix + request.target, content or None, headers)
        response = self._connection.getresponse()
        body = response.read()
        shown = tuple((name.lower(), value) for name, value in response.getheaders())
        return Answer(response.status, shown, body)

    def close(self) -> None:
        self._connection.close()
