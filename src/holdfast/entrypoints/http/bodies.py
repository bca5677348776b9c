"""Reading what a request says: plain JSON, of bounded size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from holdfast.domain.errors import InvalidField, InvalidJson, TooLarge, UnsupportedMediaType
from holdfast.entrypoints.plain_json import TooDeep, decode

SECONDS = 30.0
"""How long a client may pause in the middle of a body."""

Receive = Callable[[], Awaitable[Any]]
Scope = MutableMapping[str, Any]
AtHand = Callable[[], bytes | None]
"""The body of a request when the server has all of it, as it mostly has: then nothing need be awaited, or timed."""
AT_HAND = "holdfast.at_hand"
"""What this is called among the extensions of an ASGI scope."""


class ClientLeft(Exception):
    """Nobody waits for an answer any more."""


async def read_body(scope: Scope, receive: Receive, headers: dict[bytes, bytes], cap: int) -> bytes:
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > cap:
        raise TooLarge(f"A request may have {cap} bytes; this one has {int(length)}.")
    at_hand: AtHand | None = scope["extensions"].get(AT_HAND) if "extensions" in scope else None
    whole = None if at_hand is None else at_hand()
    if whole is not None:
        return whole if len(whole) <= cap else _refuse(cap)
    message = await _next(receive)
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body if len(body) <= cap else _refuse(cap)
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await _next(receive)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > cap:
            _refuse(cap)
    return b"".join(parts)


def _refuse(cap: int) -> bytes:
    raise TooLarge(f"A request may have {cap} bytes.")


async def _next(receive: Receive) -> Any:
    try:
        async with asyncio.timeout(SECONDS):
            message = await receive()
    except TimeoutError:
        raise InvalidField("The body did not arrive in time.") from None
    if message["type"] == "http.disconnect":
        raise ClientLeft
    return message


def check_media(headers: dict[bytes, bytes]) -> None:
    """JSON in UTF-8, as it is."""
    kind, *parameters = headers.get(b"content-type", b"").decode("latin-1").lower().split(";")
    if kind.strip() != "application/json" or not all(map(_is_utf8, parameters)):
        raise UnsupportedMediaType
    if headers.get(b"content-encoding", b"").lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("Send the body as it is, without a Content-Encoding.")


def read_json(body: bytes, headers: dict[bytes, bytes]) -> Any:
    """An empty body is an empty object, so that a call without fields needs none."""
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
