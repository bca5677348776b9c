"""The one way from a request to a vocabulary: find the row, know the caller, read what is said, call, answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers as RequestHeaders

from holdfast.domain.entry import Entry
from holdfast.domain.errors import Backend, HoldfastError, InvalidField, InvalidJson, PreconditionFailed
from holdfast.domain.limits import check_idempotency_key
from holdfast.entrypoints.http.answers import Answer, Send, answer, refusal
from holdfast.entrypoints.http.authenticate import Authenticator
from holdfast.entrypoints.http.bodies import ClientLeft, Receive, read_body, read_json
from holdfast.entrypoints.http.limits import RateLimit
from holdfast.entrypoints.http.router import Router
from holdfast.entrypoints.http.routes import BASE, OWN_SPACE, ROUTES, Route
from holdfast.entrypoints.opening import Running
from holdfast.entrypoints.waiting import carry_out_async
from holdfast.operations.answers import Remembered
from holdfast.operations.once import once
from holdfast.surfaces.seat import Seat
from holdfast.surfaces.wire.calls import Call
from holdfast.surfaces.wire.fields import arguments, from_texts

IDEMPOTENCY = b"idempotency-key"
_UNEXPECTED = "The server failed in a way it did not expect; its log says more under this request's id."
_PREFIX = len(BASE) + 1

log = logging.getLogger("holdfast.http")
Scope = MutableMapping[str, Any]
Headers = dict[bytes, bytes]


class Api:
    """Everything under /api/v1, as an ASGI application."""

    def __init__(
        self,
        memory: Running,
        authenticator: Authenticator,
        *,
        rate_per_minute: int = 0,
        request_bytes: int = 8 << 20,
    ) -> None:
        self._memory = memory
        self._authenticator = authenticator
        self._rate = RateLimit(rate_per_minute)
        self._request_bytes = request_bytes
        self._router = Router(ROUTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = dict(scope["headers"])
        facts = False
        try:
            path = scope["raw_path"].decode("ascii", "replace")
            route, in_path = self._router.find(
                scope["method"], path[len(scope.get("root_path", "")) :].lstrip("/")
            )
            facts = route.tag == "facts"
            scope["holdfast.route"] = route.path
            answered = await self._answer(route, in_path, scope, headers, receive)
        except ClientLeft:
            return
        except HoldfastError as error:
            answered = refusal(error, facts=facts, passing=self._memory.enabled or error.status != 503)
            scope["holdfast.code"] = error.code
        except Exception:
            log.exception("a request failed", extra={"request_id": scope.get("holdfast.request_id")})
            answered = refusal(Backend(_UNEXPECTED), facts=facts)
            scope["holdfast.code"] = "backend"
        await answered.send(send)

    async def _answer(
        self, route: Route, in_path: Mapping[str, str], scope: Scope, headers: Headers, receive: Receive
    ) -> Answer:
        caller = await self._authenticator.caller(RequestHeaders(raw=scope["headers"]))
        self._rate.take(caller.principal)
        seat = self._memory.seat(caller)
        body = await read_body(receive, headers, self._request_bytes) if route.takes_body else b""
        said = _said(route, scope["query_string"], body, headers)
        call = route.call
        if route.purge is not None and said.pop("purge", False):
            call = route.purge
        given = arguments(call.fields, {**said, **in_path})
        if given.get("space") == OWN_SPACE:
            del given["space"]
        _expect_revision(call, given, headers)
        if not call.writes:
            return _conditional(call, await _read(seat, call, given), headers)
        return await _write(seat, call, given, headers.get(IDEMPOTENCY))


def _said(route: Route, query: bytes, body: bytes, headers: Headers) -> dict[str, Any]:
    """Fields stand in the body where there is one, else in the query; never in both."""
    if not route.takes_body:
        said = from_texts(route.in_query, _pairs(query)) if query else {}
    else:
        if query:
            raise InvalidField("This route takes its fields in the body; leave the query out.")
        value = read_json(body, headers.get(b"content-type", b""))
        if route.whole:
            return {route.whole: _unwrapped(route.whole, value)}
        if not isinstance(value, dict):
            raise InvalidJson("The body must be a JSON object.")
        said = value
    for name in route.settled.intersection(said):
        raise InvalidField(f"`{name}` is said by the path here.")
    return said


def _unwrapped(name: str, value: Any) -> Any:
    """A list may stand by itself or under its name."""
    return value[name] if isinstance(value, dict) and value.keys() == {name} else value


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="surrogatepass", max_num_fields=100
        )
    except ValueError:
        raise InvalidField("The query is not valid UTF-8 in percent-encoding.") from None


def _expect_revision(call: Call, given: dict[str, Any], headers: Headers) -> None:
    """`If-Match` names the revision that a change must find."""
    tag = headers.get(b"if-match")
    if tag is None or not call.writes:
        return
    if not any(field.name == "expected_revision" for field in call.fields):
        raise InvalidField("This call cannot be bound to a revision; leave If-Match out.")
    if tag == b"*":
        return
    number = tag.strip(b'"')
    if not number.isdigit() or len(number) > 18:
        raise PreconditionFailed('If-Match must be an ETag of this memory, such as "3".')
    given["expected_revision"] = int(number)


async def _read(seat: Seat, call: Call, given: dict[str, Any]) -> Any:
    if call.aside or seat.is_remote:
        return await asyncio.to_thread(call.run, call.surface(seat), **given)
    return call.run(call.surface(seat), **given)


async def _write(seat: Seat, call: Call, given: dict[str, Any], key: bytes | None) -> Answer:
    repeat = None if key is None else check_idempotency_key(key.decode("latin-1"))
    if repeat is not None and call.repeat is not None:
        call.repeat(given, repeat)
    work = call.run(call.surface(seat), **given)
    if repeat is not None and call.repeat is None and not seat.is_off:
        asked = call.name, given
        work = once(seat.engine, seat.caller, repeat, asked, work, call.answer.show, call.answer.read)
    result = await carry_out_async(seat, work)
    if isinstance(result, Remembered) and result.look is not None:
        return answer(await asyncio.to_thread(call.answer.show, result))
    return answer(call.answer.show(result), 200, *_tag(result))


def _conditional(call: Call, result: Any, headers: Headers) -> Answer:
    tag = _tag(result)
    if tag and headers.get(b"if-none-match") == tag[0][1]:
        return Answer(304, b"", tag)
    return answer(call.answer.show(result), 200, *tag)


def _tag(result: Any) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"etag", b'"%d"' % result.revision),) if isinstance(result, Entry) else ()
