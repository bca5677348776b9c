"""How the clients wait and give up: against a server that answers as it is told, and against ours."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from holdfast import AsyncClient, Client
from holdfast.domain.errors import (
    AccessDenied,
    Backend,
    Conflict,
    HoldfastError,
    InvalidField,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from holdfast.entrypoints.http import client as http_client
from tests.http.serving import Service, serving

KEPT = {
    "id": "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c",
    "key": "k",
    "space": "0b6f3c1e-6f2d-8a47-9c5d-3e8a00000000",
    "category": "",
    "revision": 1,
    "created": True,
    "updated": False,
    "expires_at": None,
    "redacted": 0,
    "persisted": True,
}
Said = tuple[int, dict[str, str], bytes]


def _said(status: int, body: Any = None, **headers: str) -> Said:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, content


GOOD = _said(200, KEPT)
BUSY = _said(503, {"error": "unavailable", "message": "Later."}, retry_after="0")
GONE = _said(503, {"error": "unavailable", "message": "Never."})


class Script:
    """A server that says one thing after the other, and keeps what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[Said] = []
        self.asked: list[dict[str, str]] = []
        self.delay = 0.0
        self.over = threading.Event()
        """Ends every delay."""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(http_client, "PAUSE", 0.001)
    told = Script("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            said = {name.lower(): value for name, value in self.headers.items()}
            told.asked.append({"method": self.command, "path": self.path, "body": body.decode()} | said)
            told.over.wait(told.delay)
            status, headers, content = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            self.send_response(status)
            for name, value in {"content-length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that gave up is no error of ours."""

    with Server(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()
        yield told
        told.over.set()
        server.shutdown()
        thread.join()


Call = Callable[..., Any]


def _sync(url: str, token: str | None = "t", **options: Any) -> Any:
    with Client(url, token, **options) as client:
        return client.remember("x")


def _later(url: str, token: str | None = "t", **options: Any) -> Any:
    async def call() -> Any:
        async with AsyncClient(url, token, **options) as client:
            return await client.remember("x")

    return asyncio.run(call())


both = pytest.mark.parametrize("remember", [_sync, _later], ids=["Client", "AsyncClient"])


@both
def test_a_server_that_asks_for_patience_is_asked_again(script: Script, remember: Call) -> None:
    script.answers = [BUSY, BUSY, GOOD]
    assert remember(script.url).key == "k"
    assert len(script.asked) == 3


@both
def test_a_write_is_sent_again_with_the_same_idempotency_key(script: Script, remember: Call) -> None:
    script.answers = [BUSY, GOOD]
    remember(script.url)
    keys = [asked["idempotency-key"] for asked in script.asked]
    assert keys[0] == keys[1]
    remember(script.url)
    assert script.asked[-1]["idempotency-key"] != keys[0]


@both
def test_it_gives_up_after_so_many_retries(script: Script, remember: Call) -> None:
    script.answers = [BUSY]
    with pytest.raises(Unavailable, match="Later"):
        remember(script.url, retries=2)
    assert len(script.asked) == 3


@both
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (GONE, Unavailable),
        (_said(429, {"error": "quota", "message": "Full."}), HoldfastError),
        (_said(500, {"error": "backend", "message": "Broken."}, retry_after="0"), Backend),
        (_said(409, {"error": "conflict", "message": "Taken."}, retry_after="0"), Conflict),
        (_said(403, {"error": "access_denied", "message": "No."}), AccessDenied),
        (_said(401, {"error": "unauthenticated", "message": "Who?", "reason": "expired"}), Unauthenticated),
        (_said(400, {"error": "invalid_input", "code": "invalid_field", "message": "No."}), InvalidField),
    ],
    ids=["503", "429", "500", "409", "403", "401", "400"],
)
def test_anything_else_is_not_asked_again(
    script: Script, remember: Call, answer: Said, error: type[HoldfastError]
) -> None:
    script.answers = [answer]
    with pytest.raises(error):
        remember(script.url, retries=3)
    assert len(script.asked) == 1


@both
def test_it_waits_at_least_as_long_as_the_server_asks(script: Script, remember: Call) -> None:
    script.answers = [_said(429, {"error": "rate_limited", "message": "Wait."}, retry_after="1"), GOOD]
    began = time.monotonic()
    assert remember(script.url).key == "k"
    assert 0.9 <= time.monotonic() - began < 10


@both
@pytest.mark.parametrize(
    "answer",
    [
        _said(200, b"<html>a login page</html>"),
        _said(200, b""),
        _said(502, b"Bad Gateway"),
        _said(503, b"<html>", content_type="text/html"),
        _said(404, b"\xff\xfe"),
        _said(418, {"teapot": True}),
        _said(400, ["error"]),
    ],
    ids=["html", "empty", "gateway", "503 in html", "not UTF-8", "no error", "a list"],
)
def test_an_answer_that_is_not_ours_is_a_broken_backend(script: Script, remember: Call, answer: Said) -> None:
    script.answers = [answer]
    with pytest.raises(Backend):
        remember(script.url, retries=0)


@both
@pytest.mark.parametrize(
    "body", [[], "x", 7, {}, {"id": 5}, KEPT | {"id": "no uuid"}, KEPT | {"expires_at": "soon"}], ids=ascii
)
def test_an_answer_of_another_shape_is_a_broken_backend(script: Script, remember: Call, body: Any) -> None:
    script.answers = [_said(200, body)]
    with pytest.raises(Backend):
        remember(script.url, retries=0)


@both
def test_a_newer_server_may_say_more(script: Script, remember: Call) -> None:
    script.answers = [_said(200, KEPT | {"novelty": 1})]
    assert remember(script.url).key == "k"


@both
def test_a_code_that_is_not_known_yet_is_still_an_error(script: Script, remember: Call) -> None:
    script.answers = [_said(400, {"error": "novelty", "message": "Something new."})]
    with pytest.raises(HoldfastError, match="Something new"):
        remember(script.url)


@both
def test_a_redirect_is_not_followed_with_the_token(script: Script, remember: Call) -> None:
    script.answers = [_said(307, b"", location="http://127.0.0.1:9/evil")]
    with pytest.raises(Backend):
        remember(script.url)
    assert len(script.asked) == 1


@both
def test_a_server_that_does_not_answer_in_time_is_unavailable(script: Script, remember: Call) -> None:
    script.answers, script.delay = [GOOD], 60
    began = time.monotonic()
    with pytest.raises(Unavailable):
        remember(script.url, timeout=0.05, retries=1)
    assert time.monotonic() - began < script.delay
    assert len(script.asked) == 2


@both
def test_a_server_that_is_not_there_is_unavailable(remember: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "PAUSE", 0.001)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable, match="cannot be reached"):
        remember(f"http://127.0.0.1:{port}", retries=1)


@both
def test_a_server_that_hangs_up_is_unavailable(remember: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "PAUSE", 0.001)
    with _hanging_up() as url, pytest.raises(Unavailable):
        remember(url, retries=1)


@contextmanager
def _hanging_up() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@both
@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:7077", "ftp://127.0.0.1", "http://", "http://a b", "nonsense"]
)
def test_an_address_that_is_none_is_said_to_be_so(remember: Call, url: str) -> None:
    with pytest.raises((InvalidField, Unavailable)):
        remember(url, retries=0)


def test_the_token_is_sent_as_a_bearer_and_shown_by_nothing(script: Script) -> None:
    script.answers = [GOOD]
    client = Client(script.url, "s3cr3t-t0k3n")
    client.remember("x")
    assert script.asked[0]["authorization"] == "Bearer s3cr3t-t0k3n"
    assert "s3cr3t" not in repr(client) + str(vars(client))
    client.close()


def test_an_address_may_end_in_a_slash_and_lie_under_a_path(script: Script) -> None:
    script.answers = [GOOD]
    for url in (f"{script.url}/", f"{script.url}/memory/"):
        _sync(url)
    assert [asked["path"] for asked in script.asked] == ["/api/v1/remember", "/memory/api/v1/remember"]


# Against our own server


def test_a_client_waits_out_a_rate_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "PAUSE", 0.001)
    with serving(rate_per_minute=60) as service, Client(service.url, service.token()) as client:
        began = time.monotonic()
        for _ in range(62):
            client.spaces()
        assert time.monotonic() - began >= 0.9


def test_a_client_that_may_not_wait_is_told_how_long(service: Service) -> None:
    with serving(rate_per_minute=1) as strict, Client(strict.url, strict.token(), retries=0) as client:
        client.spaces()
        with pytest.raises(RateLimited, match=r"try again in \d+ s"):
            client.spaces()


def test_many_threads_share_one_client(service: Service) -> None:
    with Client(service.url, service.token("crowd")) as client:
        kept: list[Any] = []
        threads = [
            threading.Thread(
                target=lambda number=number: kept.append(client.remember(f"note {number}", key=f"{number}"))
            )
            for number in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(each.key for each in kept) == sorted(str(number) for number in range(16))
        assert len(client.list()) == 16


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_longer_than_a_request_may_take_is_left_to_the_caller(script: Script, status: int) -> None:
    body = {"error": "rate_limited" if status == 429 else "unavailable", "message": "Later."}
    script.answers = [_said(status, body, retry_after="3600"), GOOD]
    with Client(script.url, token="t") as client, pytest.raises(HoldfastError, match="Later"):
        client.remember("x")
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://", "ftp://localhost", "http://[::1", "127.0.0.1:7077", "http:///x"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InvalidField):
            kind(url, token="t")


@pytest.mark.parametrize("token", ["é", "a\nb", "a\x00"])
def test_a_token_that_no_header_can_hold_is_refused_at_once(token: str) -> None:
    with pytest.raises(InvalidField):
        Client("http://127.0.0.1:7077", token=token)
