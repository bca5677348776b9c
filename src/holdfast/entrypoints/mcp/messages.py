"""What a client sent, read by the rules of every door before the SDK reads it: that takes the last of two values of one
name, NaN for a number and any depth, and half a character for no JSON in one era. Nothing of the SDK is imported here,
so that a bridge starts at once."""

from __future__ import annotations

import json
import re
from typing import Any

from holdfast.domain.errors import HoldfastError, InvalidField, InvalidJson, TooLarge
from holdfast.entrypoints.plain_json import decode

PARSE_ERROR = -32_700
INVALID_REQUEST = -32_600
INVALID_PARAMS = -32_602
VERSION = "io.modelcontextprotocol/protocolVersion"
AROUND = 2
"""The arguments of a tool stand two levels inside a message; REST is sent nothing else."""
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")

Message = dict[str, Any]


class Unreadable(Exception):
    """A message that goes no further."""

    def __init__(self, kind: int, error: HoldfastError, id: Any = None) -> None:
        super().__init__(error.message)
        self.code, self.status = error.code, error.status
        self.answer = refusal(kind, error.message, error.code, id)


def refusal(kind: int, said: str, code: str | None = None, id: Any = None) -> Message:
    error: Message = {"code": kind, "message": said}
    if code is not None:
        error["data"] = {"code": code}
    return {"jsonrpc": "2.0", "id": id, "error": error}


def read_message(text: str) -> Any:
    """Raises Unreadable, with the id of the message where one can be made out."""
    try:
        message = decode(text, AROUND)
    except TooLarge as error:
        raise Unreadable(INVALID_REQUEST, error, _id(text)) from None
    except ValueError as error:
        raise Unreadable(PARSE_ERROR, InvalidJson(f"This is not JSON: {error}."), _id(text)) from None
    if not isinstance(_of(_of(message, "params"), "arguments"), dict | None) and _is_call(message):
        raise Unreadable(INVALID_PARAMS, InvalidJson("Say the arguments as a JSON object."), _id_of(message))
    return message


def without_halves(text: str, message: Any) -> Any:
    """The message without its arguments if these hold half a character, which the SDK could not read or say again: the
    tool itself refuses them. The same message if it holds none; Unreadable if there is one elsewhere."""
    if _ESCAPED_HALF.search(text) is None or _can_be_sent(message):
        return message
    rest = {**message, "params": {**message["params"], "arguments": {}}} if _is_call(message) else message
    if not _can_be_sent(rest):
        raise Unreadable(INVALID_PARAMS, InvalidField("This holds half a character."), _id_of(message))
    return rest


def version_of(message: Any) -> str | None:
    """The one that the message names, as each does since 2026-07-28."""
    version = _of(_of(_of(message, "params"), "_meta"), VERSION)
    return version if isinstance(version, str) else None


def _is_call(message: Any) -> bool:
    return _of(message, "method") == "tools/call" and isinstance(_of(message, "params"), dict)


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _id(text: str) -> Any:
    try:
        return _id_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _id_of(message: Any) -> Any:
    known = _of(message, "id")
    return known if isinstance(known, int | str) and _can_be_sent(known) else None


def _can_be_sent(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
