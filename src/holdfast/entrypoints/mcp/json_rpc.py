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
HANG_UP_SECONDS = 5.0
"""What was asked may take so long to be answered when its sender has hung up."""
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")

Message = dict[str, Any]


class Unreadable(Exception):
    """A message that goes no further, and what its sender is answered."""

    def __init__(self, kind: int, error: HoldfastError, id: Any = None) -> None:
        super().__init__(error.message)
        self.code, self.status = error.code, error.status
        self.answer = refusal(kind, error.message, error.code, id)


class Instead(dict[str, Any]):
    """What a message is taken for that cannot be read."""


def refusal(kind: int, said: str, code: str | None = None, id: Any = None) -> Message:
    error: Message = {"code": kind, "message": said}
    if code is not None:
        error["data"] = {"code": code}
    return {"jsonrpc": "2.0", "id": id, "error": error}


def read_message(text: str, *, patient: bool = True) -> Any:
    """Raises Unreadable, with the id of the message where one can be made out; in one of too many values only who is
    `patient` looks for it, for as long as it takes to read them."""
    try:
        message = decode(text, AROUND)
    except TooLarge as error:
        return _refused(INVALID_REQUEST, error, _leniently(text) if patient else None)
    except ValueError as error:
        return _refused(PARSE_ERROR, InvalidJson(f"This is not JSON: {error}."), _leniently(text))
    if not isinstance(message, dict):
        return _refused(INVALID_REQUEST, InvalidField("A message is one JSON object."), None)
    if "method" not in message and "id" in message and not _is_answer(message):
        return _refused(INVALID_REQUEST, InvalidField("This is no answer."), message)
    if "method" in message and "id" in message and id_of(message) is None:
        return _refused(INVALID_REQUEST, InvalidField("An id is a text or a whole number."), message)
    if _is_call(message) and not isinstance(message["params"].get("arguments"), dict | None):
        return _refused(INVALID_PARAMS, InvalidJson("Say the arguments as a JSON object."), message)
    if has_half(text, without_arguments(message)):
        return _refused(INVALID_PARAMS, InvalidField("This holds half a character."), message)
    return message


def _refused(kind: int, error: HoldfastError, message: Any) -> Instead:
    """An answer that cannot be read says that something went wrong: who asked would wait for it for ever."""
    id = id_of(message)
    if id is not None and "method" not in message:
        return Instead(refusal(kind, error.message, error.code, id))
    raise Unreadable(kind, error, id)


def has_half(text: str, message: Any) -> bool:
    """Whether there is half a character in it, which the SDK can neither read nor say again."""
    return _ESCAPED_HALF.search(text) is not None and not _can_be_sent(message)


def without_arguments(message: Message) -> Message:
    """What is left when the arguments of a call are taken out: the tool itself refuses what is wrong with those."""
    if not _is_call(message):
        return message
    return {**message, "params": {**message["params"], "arguments": {}}}


def version_of(message: Any) -> str | None:
    """The one that the message names, as each does since 2026-07-28."""
    version = of(of(of(message, "params"), "_meta"), VERSION)
    return version if isinstance(version, str) else None


def of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def is_awaited(message: Any) -> bool:
    """Whether its sender waits for an answer: not to a notification, nor to an answer of its own."""
    return not isinstance(message, dict) or ("method" in message) == ("id" in message)


def _is_answer(message: Message) -> bool:
    error = message.get("error")
    return message.get("jsonrpc") == "2.0" and (
        isinstance(message.get("result"), dict)
        or (isinstance(of(error, "code"), int) and isinstance(of(error, "message"), str))
    )


def _is_call(message: Message) -> bool:
    return message.get("method") == "tools/call" and isinstance(message.get("params"), dict)


def _leniently(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def id_of(message: Any) -> Any:
    known = of(message, "id")
    is_one = isinstance(known, int | str) and not isinstance(known, bool) and _can_be_sent(known)
    return known if is_one else None


def _can_be_sent(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
