"""Everything under /api/v1: finds the route, authenticates the caller, reads the arguments, runs the call, encodes the
answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from holdfast.domain.entry import Entry
from holdfast.domain.errors import (
    Backend,
    HoldfastError,
    InvalidField,
    InvalidJson,
    MethodNotAllowed,
    MissingField,
    NotFound,
    PreconditionFailed,
    Unavailable,
)
from holdfast.domain.limits import check_idempotency_key
from holdfast.entrypoints.http.authenticate import Authenticator, RateLimit
from holdfast.entrypoints.http.messages import (
    NO_STORE,
    Answer,
    ClientLeft,
    Receive,
    Scope,
    answer,
    read_body,
    read_json,
    refusal,
    text_answer,
)
from holdfast.entrypoints.http.routes import BASE, OWN_SPACE, ROUTES, Route
from holdfast.entrypoints.plain_json import LARGE
from holdfast.entrypoints.python.local import dispatch
from holdfast.entrypoints.python.running import Running
from holdfast.vocabularies.arguments import from_query, read_arguments
from holdfast.vocabularies.call import Call


def no_method(allowed: Iterable[str]) -> MethodNotAllowed:
    error = MethodNotAllowed()
    error.allowed = tuple(sorted(allowed))
    return error


_BROKEN_QUOTE = re.compile("%(?![0-9A-Fa-f]{2})")


class _Node:
    __slots__ = ("below", "name", "other", "routes")

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.below: dict[str, _Node] = {}
        self.other: _Node | None = None
        """The node below for any other segment, a parameter."""
        self.name = ""


class Router:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in route.path.split("/"):
            if segment.startswith("{"):
                node.other = node.other or _Node()
                node = node.other
                node.name = node.name or segment[1:-1]
                assert node.name == segment[1:-1], "one place in a path has one name"
            else:
                node = node.below.setdefault(segment, _Node())
        assert route.method not in node.routes, f"two rows for {route.method} {route.path}"
        node.routes[route.method] = route

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """Returns the row and the parameters in the path, which is still quoted."""
        node, parameters = self._root, {}
        for segment in path.split("/"):
            if segment in node.below:
                node = node.below[segment]
            elif node.other is not None and segment:
                node = node.other
                parameters[node.name] = _unquoted(segment)
            else:
                raise NotFound("There is no such route.")
        if not node.routes:
            raise NotFound("There is no such route.")
        route = node.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            raise no_method({*node.routes, "HEAD"} if "GET" in node.routes else node.routes)
        return route, parameters


def _unquoted(segment: str) -> str:
    if "%" not in segment and segment.isascii():
        return segment
    try:
        if _BROKEN_QUOTE.search(segment):
            raise InvalidField("The path has a percent sign without two hexadecimal digits.")
        return unquote_to_bytes(segment).decode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise InvalidField("The path is not valid UTF-8.") from None


IDEMPOTENCY = b"idempotency-key"
MANY = 1_000
"""More outcomes than these are encoded in a worker thread, so that the event loop stays responsive."""
_UNEXPECTED = "The server failed in a way it did not expect; its log says more under this request's id."
_PREFIX = len(BASE) + 1
_ONCE = frozenset({IDEMPOTENCY, b"content-type", b"content-encoding", b"if-match", b"if-none-match"})
_BROKEN_QUOTE_BYTES = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_TAG = re.compile(rb'"[^"]*"')
_ONE_TAG = re.compile(rb'(W/)?"[^"]*"|[0-9]+')
"""A number without its quotes is what people write by hand."""

log = logging.getLogger("holdfast.http")
Headers = dict[bytes, bytes]


class Api:
    def __init__(
        self,
        memory: Running,
        authenticator: Authenticator,
        *,
        rate: RateLimit,
        request_bytes: int = 8 << 20,
    ) -> None:
        self._memory = memory
        self._authenticator = authenticator
        self._rate = rate
        self._request_bytes = request_bytes
        self._router = Router(ROUTES)

    async def answer(self, scope: Scope, headers: Headers, receive: Receive) -> Answer | None:
        """Returns None if the client disconnected."""
        facts = False
        try:
            path = scope["raw_path"].decode("ascii", "replace").removeprefix(scope["root_path"])
            route, in_path = self._router.find(scope["method"], path[_PREFIX:])
            facts = route.tag == "facts"
            scope["holdfast.route"] = route.path
            if len(headers) != len(scope["headers"]):
                _refuse_repeats(scope["headers"])
            return await self._answer(route, in_path, scope, headers, receive)
        except ClientLeft:
            return None
        except HoldfastError as error:
            scope["holdfast.code"] = error.code
            return refusal(error, facts=facts, passing=self._memory.enabled or error.status != 503)
        except Exception:
            log.exception("a request failed", extra={"request_id": scope.get("holdfast.request_id")})
            scope["holdfast.code"] = "backend"
            return refusal(Backend(_UNEXPECTED), facts=facts)

    async def _answer(
        self, route: Route, in_path: Mapping[str, str], scope: Scope, headers: Headers, receive: Receive
    ) -> Answer:
        caller = await self._authenticator.caller(scope["headers"])
        self._rate.take(caller.principal)
        if self._memory.opened.failed is not None:
            raise Unavailable(self._memory.reason)
        session = self._memory.session(caller)
        body = await read_body(scope, receive, headers, self._request_bytes) if route.takes_body else b""
        parts = route, in_path, scope["query_string"], body, headers
        call, arguments = _read(*parts) if len(body) < LARGE else await asyncio.to_thread(_read, *parts)
        if not call.writes:
            return _conditional(call, await dispatch(session, call, arguments), headers)
        _expect_revision(route, arguments, headers)
        key = headers.get(IDEMPOTENCY)
        if key is not None and not key.isascii():
            raise InvalidField("An idempotency key in a header is 1 to 255 printable ASCII characters.")
        idempotency_key = None if key is None else check_idempotency_key(key.decode())
        result = await dispatch(session, call, arguments, idempotency_key)
        if isinstance(result, list) and len(result) > MANY:
            return await asyncio.to_thread(lambda: answer(call.answer.encode(result)))
        return answer(call.answer.encode(result), 200, *_tag(result))


def _read(
    route: Route, in_path: Mapping[str, str], query: bytes, body: bytes, headers: Headers
) -> tuple[Call, dict[str, Any]]:
    """Returns the call and its arguments."""
    fields = _fields(route, query, body, headers)
    call = route.call
    if route.purge is not None and fields.pop("purge", False):
        call = route.purge
    arguments = read_arguments(call.fields, {**fields, **in_path})
    if in_path.get("space") == OWN_SPACE:
        del arguments["space"]
    return call, arguments


def _fields(route: Route, query: bytes, body: bytes, headers: Headers) -> dict[str, Any]:
    """Reads the body where the route takes one, else the query; never both."""
    if not route.takes_body:
        fields = from_query(route.in_query, _pairs(query)) if query else {}
    else:
        if query:
            raise InvalidField("This route takes its fields in the body; leave the query out.")
        value = read_json(body, headers)
        if route.whole:
            if not body:
                raise MissingField("The body is required; an empty one is no answer to who or what.")
            # A list or an object may be the body itself, or the one member under its name.
            inner = value.get(route.whole) if isinstance(value, dict) and len(value) == 1 else None
            return {route.whole: inner if isinstance(inner, dict | list) else value}
        if not isinstance(value, dict):
            raise InvalidJson("The body must be a JSON object.")
        fields = value
    for name in route.settled.intersection(fields):
        raise InvalidField(f"`{name}` is said by the path here.")
    return fields


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        if _BROKEN_QUOTE_BYTES.search(query):
            raise ValueError("a percent sign without two digits")
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="surrogatepass", max_num_fields=100
        )
    except ValueError:
        raise InvalidField("The query is not valid UTF-8 in percent-encoding, or too long.") from None


def _refuse_repeats(headers: list[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in headers if name in _ONCE]
    if len(set(names)) != len(names):
        raise InvalidField(
            "Send each of Idempotency-Key, If-Match, If-None-Match, Content-Type and Content-Encoding once."
        )


def _expect_revision(route: Route, arguments: dict[str, Any], headers: Headers) -> None:
    """`If-Match` names the one revision that a change must find. A weak tag never matches (RFC 9110, 13.1.1)."""
    if b"if-none-match" in headers:
        raise InvalidField("If-None-Match is for reading; a change takes If-Match.")
    tag = headers.get(b"if-match")
    if tag is None:
        return
    if not route.takes_revision:
        raise InvalidField("This call cannot be bound to a revision; leave If-Match out.")
    if tag == b"*":
        return
    if not _ONE_TAG.fullmatch(tag):
        raise InvalidField('If-Match takes one ETag, such as "3", or *.')
    bare = tag.strip(b'"')
    if not bare.isdigit() or len(bare) > 18:
        raise PreconditionFailed
    if arguments.setdefault("expected_revision", number := int(bare)) != number:
        raise PreconditionFailed("If-Match and `expected_revision` name different revisions.")


def _conditional(call: Call, result: Any, headers: Headers) -> Answer:
    if b"if-match" in headers:
        raise InvalidField("If-Match is for changes; reading takes If-None-Match.")
    tag, known = _tag(result), headers.get(b"if-none-match")
    if tag and known is not None and (known == b"*" or tag[0][1] in _TAG.findall(known)):
        return Answer(304, b"", (NO_STORE, *tag))
    if call.answer.is_text:
        return text_answer(result, call.answer.media_type)
    return answer(call.answer.encode(result), 200, *tag)


def _tag(result: Any) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"etag", b'"%d"' % result.revision),) if isinstance(result, Entry) else ()
