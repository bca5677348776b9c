"""An answer on its way out: status, headers, JSON. Errors of the closed family become answers here and nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from gzip import compress
from typing import Any, NamedTuple

from pydantic_core import to_json

from holdfast.domain.errors import (
    ConfirmationRequired,
    HoldfastError,
    InvalidInput,
    MethodNotAllowed,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from holdfast.entrypoints.http.authenticate import challenge
from holdfast.entrypoints.http.tokens import reason_of
from holdfast.entrypoints.plain_json import LARGE

Send = Callable[[Any], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]
AtOnce = Callable[[int, Sequence[tuple[bytes, bytes]], bytes], bool]
"""Writes a whole answer with one system call, where nothing stands against it; says whether it did."""
AT_ONCE = "holdfast.at_once"
"""What this is called among the extensions of an ASGI scope."""

JSON = (b"content-type", b"application/json")
NO_STORE = (b"cache-control", b"no-store")
RETRY_SECONDS = 1
NOT_MODIFIED = 304
GZIP_BYTES = 1_024
"""Below this compressing costs more than it saves."""
GZIP_LEVEL = 5
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Headers = (JSON, NO_STORE)

    def lines(self) -> list[tuple[bytes, bytes]]:
        """All its headers."""
        if self.status == NOT_MODIFIED:  # whose length would be that of the answer it stands for
            return [*self.headers]
        return [*self.headers, (b"content-length", b"%d" % len(self.body))]

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.lines()})
        await send({"type": "http.response.body", "body": self.body})

    async def coded(self, accepted: bytes) -> Answer:
        """In a coding that the client accepts, where that is worth its price."""
        if len(self.body) < GZIP_BYTES:
            return self
        body, headers = self.body, (*self.headers, (b"vary", b"accept-encoding"))
        if takes_gzip(accepted):
            in_place = len(body) < LARGE
            body = (
                compress(body, GZIP_LEVEL)
                if in_place
                else await asyncio.to_thread(compress, body, GZIP_LEVEL)
            )
            headers = (*headers, (b"content-encoding", b"gzip"))
        return Answer(self.status, body, headers)


def takes_gzip(accepted: bytes) -> bool:
    """What Accept-Encoding says; a weight of nought is a no."""
    if b"gzip" not in accepted.lower():
        return False
    for coding in accepted.lower().split(b","):
        name, _, weight = coding.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0.") != b"q="
    return False


def answer(value: Any, status: int = 200, *more: tuple[bytes, bytes]) -> Answer:
    return Answer(status, _json(value), (JSON, NO_STORE, *more))


def _json(value: Any) -> bytes:
    """A lone surrogate, which a refusal may quote, is written as JSON escapes it."""
    try:
        return to_json(value, inf_nan_mode="null")
    except ValueError:
        return _encode(value).encode(errors="backslashreplace")


def text_answer(text: str, media_type: str) -> Answer:
    kind = (b"content-type", f"{media_type}; charset=utf-8".encode())
    return Answer(200, text.encode(), (kind, NO_STORE))


def refusal(error: HoldfastError, *, facts: bool = False, passing: bool = True) -> Answer:
    """`{error, message}`; the facts vocabulary says `{error: invalid_input, code, message}`, as its clients expect.
    What is not `passing` need not be tried again."""
    body = {"error": error.code, "message": error.message}
    if facts:
        kind = "invalid_input" if isinstance(error, InvalidInput) else error.code
        body = {"error": kind, "code": error.code, "message": error.message}
    if isinstance(error, Unauthenticated) and (reason := reason_of(error)):
        body["reason"] = reason
    if isinstance(error, ConfirmationRequired) and error.proposal is not None:
        body["proposal"] = error.proposal
    return answer(body, error.status, *(_headers(error) if passing else ()))


def _headers(error: HoldfastError) -> Headers:
    match error:
        case Unauthenticated():
            return ((b"www-authenticate", challenge(error).encode()),)
        case MethodNotAllowed():
            return ((b"allow", ", ".join(error.allowed).encode()),)
        case RateLimited():
            return ((b"retry-after", b"%d" % error.seconds),)
        case Unavailable():
            return ((b"retry-after", b"%d" % RETRY_SECONDS),)
        case _:
            return ()
