"""Reads the body of a request: plain JSON, of limited size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from holdfast.domain.errors import InvalidField, InvalidJson, TooLarge, UnsupportedMediaType
from holdfast.entrypoints.plain_json import TooDeep, decode

SECONDS = 30.0
"""The longest pause of a client in the middle of a body."""

Receive = Callable[[], Awaitable[Any]]
Scope = MutableMapping[str, Any]


class ClientLeft(Exception):
    """The client disconnected; nobody waits for an answer."""


async def read_body(receive: Receive, headers: dict[bytes, bytes], cap: int) -> bytes:
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
