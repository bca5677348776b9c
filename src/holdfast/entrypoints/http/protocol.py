"""uvicorn's HTTP protocol with a time by which a request's head must have come, and a size it may have: a connection
that only dribbles is closed instead of kept for ever, and no head fills the memory. And with what ASGI alone has no
words for: a body that is there already, and an answer that goes out at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.domain.errors import HoldfastError, InvalidField, TooLarge
from holdfast.entrypoints.http.answers import AT_ONCE, AtOnce, refusal
from holdfast.entrypoints.http.bodies import AT_HAND, AtHand

HEAD_SECONDS = 10.0
HEAD_BYTES = 256 * 1024
AT_ONCE_BYTES = 64 * 1024
"""A larger body would be copied for nothing: it takes several system calls anyway."""


class TimedProtocol(HttpToolsProtocol):
    _waiting: asyncio.TimerHandle | None = None
    _in_head = True
    _head = 0
    _extensions: dict[str, AtOnce | AtHand]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._extensions = {AT_ONCE: self._answer_at_once, AT_HAND: self._body_at_hand}
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

    def _body_at_hand(self) -> bytes | None:
        cycle = self.cycle
        return None if self.pipeline or cycle.more_body or cycle.disconnected else bytes(cycle.body)

    def _answer_at_once(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
        """As uvicorn does in two steps. What is not usual is left to it: a request behind this one, a client that reads
        slowly, has left or wants no body, a header that would end its line."""
        cycle = self.cycle
        usual = cycle.keep_alive and not (
            self.pipeline or cycle.response_started or cycle.disconnected or self.flow.write_paused
        )
        if not usual or cycle.scope["method"] == "HEAD" or len(body) > AT_ONCE_BYTES:
            return False
        lines = [*self.server_state.default_headers, *headers]
        head = b"".join([b"%b: %b\r\n" % line for line in lines])
        if head.count(b"\n") != len(lines):
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[status], head, body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]
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
