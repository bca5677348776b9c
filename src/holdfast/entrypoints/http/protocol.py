"""uvicorn's HTTP protocol, which also limits the time and the size of a request's head: a slow connection is closed,
and no head fills the memory."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.domain.errors import HoldfastError, InvalidField, TooLarge
from holdfast.entrypoints.http.messages import CONNECTION, Answer, refusal

HEAD_SECONDS = 10.0
HEAD_BYTES = 256 * 1024
WHOLE_BYTES = 64 * 1024
"""A larger response takes several system calls anyway."""


class TimedProtocol(HttpToolsProtocol):
    _head_timer: asyncio.TimerHandle | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._time_head(True)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(TooLarge(f"The head of a request may have {HEAD_BYTES} bytes."))
        elif (
            self._head_timer is None and self.timeout_keep_alive_task is None and self.cycle.response_complete
        ):
            # The rest of a request that was already answered, or empty lines before the next one.
            self._time_head(True)

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidField(msg))

    def received_body(self) -> bytes | None:
        cycle = self.cycle
        return None if self.pipeline or cycle.more_body or cycle.disconnected else bytes(cycle.body)

    def write_response(self, answer: Answer, request_id: bytes) -> bool:
        """Writes head and body in one system call, which uvicorn does in two (`bench http`: a tenth of a GET). Leaves
        unusual cases to uvicorn: pipelined requests, slow readers, HEAD, a header that would end its line."""
        cycle = self.cycle
        usual = cycle.keep_alive and not (
            self.pipeline or cycle.response_started or cycle.disconnected or self.flow.write_paused
        )
        if not usual or cycle.scope["method"] == "HEAD" or len(answer.body) > WHOLE_BYTES:
            return False
        headers = [*self.server_state.default_headers, *answer.header_lines(), (b"x-request-id", request_id)]
        head = b"".join([b"%b: %b\r\n" % header for header in headers])
        if head.count(b"\n") != len(headers):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[answer.status], head, answer.body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {CONNECTION: self}  # type: ignore[dict-item]
        self._in_head, self._head_bytes = True, 0
        self._time_head(True)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._time_head(False)
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._time_head(False)
        super().connection_lost(exc)

    def _refuse(self, error: HoldfastError) -> None:
        answer = refusal(error)
        length = (b"content-length", b"%d" % len(answer.body))
        lines = [*answer.headers, length, (b"connection", b"close"), *self.server_state.default_headers]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[answer.status] + head + b"\r\n" + answer.body)
        self.transport.close()

    def _time_head(self, running: bool) -> None:
        """Starts the timer of a head again, or stops it."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if running:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
