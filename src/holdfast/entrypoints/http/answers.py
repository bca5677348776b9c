"""HTTP responses: status, headers and body. Errors of the closed family become responses here and nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
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

    async def send(self, send: Send) -> None:
        headers = [*self.headers]
        if self.status != NOT_MODIFIED:  # a 304 would have to state the length of the response it stands for
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})

    async def compressed(self, accept_encoding: bytes) -> Answer:
        body, headers = self.body, (*self.headers, (b"vary", b"accept-encoding"))
        if takes_gzip(accept_encoding):
            if len(body) < LARGE:
                body = compress(body, GZIP_LEVEL)
            else:
                body = await asyncio.to_thread(compress, body, GZIP_LEVEL)
            headers = (*headers, (b"content-encoding", b"gzip"))
        return Answer(self.status, body, headers)


def takes_gzip(accept_encoding: bytes) -> bool:
    """Reads Accept-Encoding; a weight of zero means no."""
    if b"gzip" not in accept_encoding.lower():
        return False
    for coding in accept_encoding.lower().split(b","):
        name, _, weight = coding.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0.") != b"q="
    return False


def answer(value: Any, status: int = 200, *more: tuple[bytes, bytes]) -> Answer:
    """Returns a JSON response with `more` headers."""
    try:
        body = to_json(value, inf_nan_mode="null")
    except ValueError:  # a lone surrogate, which a refusal may quote, is escaped
        body = _encode(value).encode(errors="backslashreplace")
    return Answer(status, body, (JSON, NO_STORE, *more))


def text_answer(text: str, media_type: str) -> Answer:
    kind = (b"content-type", f"{media_type}; charset=utf-8".encode())
    return Answer(200, text.encode(), (kind, NO_STORE))


def refusal(error: HoldfastError, *, facts: bool = False, passing: bool = True) -> Answer:
    """Returns `{error, message}`; for the facts vocabulary `{error: invalid_input, code, message}`, as its clients
    expect. Retry-After is sent only for a `passing` error."""
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
