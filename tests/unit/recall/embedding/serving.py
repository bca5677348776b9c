"""A web server on loopback that stands in for the hub, a registry and an embedding endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """`cut` bytes of the body are sent, then the connection ends."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


Answer = Callable[[Asked], Reply]


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    asked: list[Asked]


@contextmanager
def serve(answer: Answer) -> Iterator[Server]:
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(
                Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            said = answer(asked[-1])
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body[: said.cut])
            self.close_connection = True

        do_GET = do_POST = reply  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def files(content: dict[str, bytes]) -> Answer:
    """Serves these paths, whole or from where a Range asks."""

    def answer(asked: Asked) -> Reply:
        if asked.path not in content:
            return Reply(status=404)
        body = content[asked.path]
        if start := asked.headers.get("range", "").removeprefix("bytes=").rstrip("-"):
            return Reply(body[int(start) :], status=206)
        return Reply(body)

    return answer
