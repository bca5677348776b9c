"""Bodies of requests and responses: plain JSON of limited size and time. Errors of the closed family become responses
here and nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from gzip import compress
from typing import Any, NamedTuple, Protocol

from pydantic_core import to_json

from holdfast.domain.errors import (
    ConfirmationRequired,
    HoldfastError,
    InvalidField,
    InvalidInput,
    InvalidJson,
    MethodNotAllowed,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from holdfast.entrypoints.http.authenticate import challenge, reason_of
from holdfast.entrypoints.plain_json import LARGE, TooDeep, decode

SECONDS = 30.0
"""The longest pause of a client in the middle of a body."""

Receive = Callable[[], Awaitable[Any]]
Scope = MutableMapping[str, Any]


class ClientLeft(Exception):
    """The client disconnected; nobody waits for an answer."""


class Connection(Protocol):
    """What our server's connection offers beyond ASGI, in the scope's extensions."""

    def received_body(self) -> bytes | None:
        """The whole body, if it has arrived already."""
        ...

    def write_response(self, answer: Answer, request_id: bytes) -> bool:
        """Writes head and body at once; False where that is not possible and ASGI has to send them."""
        ...


CONNECTION = "holdfast.connection"


def connection_of(scope: Scope) -> Connection | None:
    connection: Connection | None = scope.get("extensions", {}).get(CONNECTION)
    return connection


async def read_body(scope: Scope, receive: Receive, headers: dict[bytes, bytes], cap: int) -> bytes:
    connection = connection_of(scope)
    body = None if connection is None else connection.received_body()
    if body is not None and len(body) <= cap:
        return body
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > cap:
        raise TooLarge(f"A request may have {cap} bytes; this one has {int(length)}.")
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        try:
            async with asyncio.timeout(SECONDS):
                message = await receive()
        except TimeoutError:
            raise InvalidField("The body did not arrive in time.") from None
        if message["type"] == "http.disconnect":
            raise ClientLeft
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > cap:
            raise TooLarge(f"A request may have {cap} bytes.")
        more = message.get("more_body", False)
    return b"".join(parts)


def check_media(headers: dict[bytes, bytes]) -> None:
    """Refuses everything but JSON in UTF-8 without a content coding."""
    kind, *parameters = headers.get(b"content-type", b"").decode("latin-1").lower().split(";")
    if kind.strip() != "application/json" or not all(map(_is_utf8, parameters)):
        raise UnsupportedMediaType
    if headers.get(b"content-encoding", b"").lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("Send the body as it is, without a Content-Encoding.")


def read_json(body: bytes, headers: dict[bytes, bytes]) -> Any:
    """Returns an empty object for an empty body, so that a call without fields needs none."""
    if not body:
        return {}
    check_media(headers)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise InvalidJson("The body is not valid UTF-8.") from None
    try:
        return decode(text)
    except TooDeep as error:
        raise InvalidJson(f"The body is {error}.") from None
    except ValueError:
        raise InvalidJson from None


def _is_utf8(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() != "charset" or value.strip(" \"'") in ("utf-8", "utf8")


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

    def header_lines(self) -> list[tuple[bytes, bytes]]:
        if self.status == NOT_MODIFIED:  # it would have to state the length of the response it stands for
            return [*self.headers]
        return [*self.headers, (b"content-length", b"%d" % len(self.body))]

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.header_lines()})
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
