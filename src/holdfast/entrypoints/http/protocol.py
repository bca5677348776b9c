"""uvicorn's HTTP protocol with a time by which a request's head must have come, and a size it may have: a connection
that only dribbles is closed instead of kept for ever, and no head fills the memory."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.domain.errors import HoldfastError, InvalidField, TooLarge
from holdfast.entrypoints.http.answers import refusal

HEAD_SECONDS = 10.0
HEAD_BYTES = 256 * 1024


class TimedProtocol(HttpToolsProtocol):
    _waiting: asyncio.TimerHandle | None = None
    _in_head = True
    _head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self._refuse(TooLarge(f"The head of a request may have {HEAD_BYTES} bytes."))
        elif self._waiting is None and self.timeout_keep_alive_task is None and self.cycle.response_complete:
            # What still comes of a request that was answered, or empty lines before the next.
            self._wait()

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidField(msg))

    def _refuse(self, error: HoldfastError) -> None:
        answered = refusal(error)
        length = (b"content-length", b"%d" % len(answered.body))
        lines = [*answered.headers, length, (b"connection", b"close"), *self.server_state.default_headers]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[answered.status] + head + b"\r\n" + answered.body)
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._wait()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
