"""An answer goes out in one piece where it can; where it cannot, as ASGI has it, and means the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from holdfast.entrypoints.http.answers import AT_ONCE, Answer, answer
from holdfast.entrypoints.http.protocol import AT_ONCE_BYTES, TimedProtocol

SAID = b'{"said":"yes"}'
WHOLE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncache-control: no-store\r\ncontent-length: 14\r\n\r\n"
    + SAID
)


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def _exchange(answered: Answer, *requests: bytes, slow: bool = False) -> Wire:
    async def app(scope: Any, _: object, send: Any) -> None:
        if not scope["extensions"][AT_ONCE](answered.status, answered.lines(), answered.body):
            await answered.send(send)

    config = uvicorn.Config(app, interface="asgi3", log_config=None)
    config.load()
    state, wire = ServerState(), Wire()
    protocol = TimedProtocol(config=config, server_state=state, app_state={})
    protocol.connection_made(wire)
    if slow:
        protocol.pause_writing()
    protocol.data_received(b"".join(requests))
    if slow:
        await asyncio.sleep(0)
        assert not wire.written
        protocol.resume_writing()
    while state.tasks:
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    return wire


def _written(*requests: bytes, answered: Answer | None = None, slow: bool = False) -> Wire:
    return asyncio.run(_exchange(answered or answer({"said": "yes"}), *requests, slow=slow))


def _request(method: str = "GET", *lines: str) -> bytes:
    return "\r\n".join([f"{method} / HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def test_an_answer_is_one_write() -> None:
    assert _written(_request()).written == [WHOLE]


def test_requests_behind_each_other_are_each_answered_whole() -> None:
    assert b"".join(_written(_request(), _request(), _request()).written) == WHOLE * 3


def test_a_request_whose_successor_has_begun_is_answered_whole() -> None:
    assert b"".join(_written(_request(), _request()[:20]).written) == WHOLE


def test_who_wants_no_body_gets_none_and_is_told_its_length() -> None:
    assert b"".join(_written(_request("HEAD")).written) == WHOLE.removesuffix(SAID)


@pytest.mark.parametrize("slow", [False, True])
def test_a_connection_that_is_to_end_is_told_so_and_ends(slow: bool) -> None:
    wire = _written(_request("GET", "Connection: close"), slow=slow)
    assert b"".join(wire.written) == WHOLE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    assert wire.closed


def test_a_client_that_reads_slowly_is_waited_for() -> None:
    assert b"".join(_written(_request(), slow=True).written) == WHOLE


def test_a_large_answer_is_not_copied_to_stand_behind_its_head() -> None:
    body = b"x" * (AT_ONCE_BYTES + 1)
    head, sent = _written(_request(), answered=Answer(200, body)).written
    assert (head[:15], sent) == (b"HTTP/1.1 200 OK", body)


@pytest.mark.parametrize("value", [b"x\r\nset-cookie: evil", b"x\nset-cookie: evil", b"x\r\n\r\nevil"])
def test_no_header_can_end_its_line(value: bytes) -> None:
    wire = _written(_request(), answered=Answer(200, b"", ((b"x-said", value),)))
    assert (wire.written, wire.closed) == ([], True)
