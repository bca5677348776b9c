"""Sends calls to a Holdfast server over HTTP and reads the answers, with retries; blocking or async."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import httpx2

from holdfast import __version__
from holdfast.domain.errors import (
    AccessDenied,
    Backend,
    HoldfastError,
    InvalidField,
    MissingKey,
    TooLarge,
    Unavailable,
)
from holdfast.domain.limits import check_idempotency_key, check_list
from holdfast.entrypoints.http.routes import BASE, OWN_SPACE, ROUTES, Route
from holdfast.operations.results import Outcome
from holdfast.vocabularies.answers import error_named
from holdfast.vocabularies.arguments import WireRows, to_query, to_wire
from holdfast.vocabularies.call import Call
from holdfast.vocabularies.core import CoreCalls, row_fields
from holdfast.vocabularies.fields import Field
from holdfast.vocabularies.remember_many import row_arguments

TIMEOUT = 30.0
RETRIES = 3
PAUSE = 0.2
AGAIN = frozenset({429, 503})
CONNECTIONS = 100
LONGEST_ADDRESS = 60_000
"""In characters: more the HTTP library does not take."""


class Request(NamedTuple):
    call: Call
    route: Route
    path: str
    query: list[tuple[str, str]]
    body: Any
    headers: dict[str, str]


def _routes() -> dict[str, list[Route]]:
    found: dict[str, list[Route]] = {}
    for route in ROUTES:
        found.setdefault(route.call.run.__qualname__, []).append(route)
        if route.purge is not None:
            found.setdefault(route.purge.run.__qualname__, []).append(route)
    return found


_BY_CALL = _routes()


def _request(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
    """What the row says of these arguments: an idempotency key goes along with every write, so that it can be sent
    again when its answer got lost."""
    bound = inspect.signature(call).bind(None, *args, **kwargs)
    given = dict(list(bound.arguments.items())[1:])
    route = _route(_BY_CALL[call.__qualname__], given)
    row = route.call if route.call.run is call else route.purge
    assert row is not None
    refuse_nothing(row.fields, bound.signature, given)
    said = to_wire(row.fields, given)
    place = "/".join(_segment(row.fields, part, said) for part in route.path.split("/"))
    headers = {}
    if row.writes:
        key = given.get("idempotency_key")
        headers["idempotency-key"] = uuid4().hex if key is None else check_idempotency_key(key)
    if route.takes_body:
        return Request(row, route, place, [], said[route.whole] if route.whole else said, headers)
    query = to_query(row.fields, said)
    return Request(
        row, route, place, [*query, ("purge", "true")] if row is route.purge else query, None, headers
    )


def _segment(fields: Sequence[Field], part: str, said: dict[str, Any]) -> str:
    """A part of the path; a value that would leave no trace there, or look like another, is refused."""
    if not part.startswith("{"):
        return part
    name = part[1:-1]
    if name == "space" and name not in said:
        return OWN_SPACE
    value = said.pop(name, None)
    if name == "space" and value == OWN_SPACE:
        raise AccessDenied(
            f"Name a space called `{OWN_SPACE}` by its id: in an address it means the own one."
        )
    field = next(field for field in fields if field.name == name)
    if value in (None, "") and field.missing is MissingKey:
        raise MissingKey
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise field.wrong(f"`{name}` must be text.")
    return quote(value, safe="", errors="surrogatepass")


def refuse_nothing(fields: Sequence[Field], signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """None is not sent, so it must not stand for anything but the default."""
    for field in fields:
        name = field.parameter
        default = signature.parameters[name].default
        if name in given and given[name] is None and default not in (None, inspect.Parameter.empty):
            raise field.wrong(f"`{name}` must not be None.")


def _route(rows: list[Route], given: Mapping[str, Any]) -> Route:
    """An entry that is named by its id and nothing else has the shorter address."""
    id = given.get("id")
    is_id = isinstance(id, str | UUID) and id != ""
    by_id = is_id and given.get("key") is None and given.get("space") is None
    for row in rows:
        if ("{id}" in row.path) == by_id and all(given.get(name) is not None for name in row.in_path):
            return row
    return rows[-1]


class Wire:
    """One server, one token: how requests are written and answers read. The two clients differ in how they wait."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self.base = _checked(url).rstrip("/") + BASE + "/"
        self.headers = {"user-agent": f"holdfast-client/{__version__}"}
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise InvalidField("A token is one line of ASCII; this one was not copied whole.")
            self.headers["authorization"] = f"Bearer {token}"
        self.timeout = timeout
        self.retries = retries

    def options(self) -> dict[str, Any]:
        return {
            "headers": self.headers,
            "timeout": self.timeout,
            "verify": not self.base.startswith("http://"),  # reading the certificates takes 20 ms
            "limits": httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        }

    def encoded(self, request: Request) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "method": request.route.method,
            "url": self.base + request.path,
            "headers": request.headers,
        }
        if request.query:
            wanted["url"] += "?" + urlencode(request.query, errors="surrogatepass")
        if len(wanted["url"]) > LONGEST_ADDRESS:
            raise TooLarge("This is too long for the address of a request.")
        if request.body is not None:
            # In ASCII: what is not valid text is for the server to refuse, in its words.
            wanted["content"] = json.dumps(request.body)
            wanted["headers"] = request.headers | {"content-type": "application/json"}
        return wanted

    def pause(self, tried: int, response: httpx2.Response | None) -> float:
        """Longer each time, never the same for two clients; what the server asks for comes first."""
        waited = 0.0 if response is None else _asked_for(response)
        return float(max(waited, PAUSE * 2**tried * random.uniform(0.5, 1.5)))

    def may_send_again(self, response: httpx2.Response) -> bool:
        """A server that will be back says when. Whoever calls decides on a pause longer than a request may take."""
        return (
            response.status_code in AGAIN
            and "retry-after" in response.headers
            and _asked_for(response) <= self.timeout
        )


def decoded(request: Request, response: httpx2.Response) -> Any:
    if response.status_code != 200:
        raise _error(response)
    answer = request.call.answer
    shown = {"text": response.text} if answer.is_text else _json(response)
    try:
        return answer.decode(shown)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise Backend("The server answered something that this client cannot read.") from error


def _checked(url: str) -> str:
    try:
        found = httpx2.URL(url)
    except httpx2.InvalidURL:
        found = None
    if found is None or found.scheme not in ("http", "https") or not found.host:
        raise InvalidField("A server's address is like http://127.0.0.1:7077.")
    return url


def _asked_for(response: httpx2.Response) -> float:
    """The seconds that the server asks for."""
    said = response.headers.get("retry-after", "")
    return float(said) if said.isdecimal() else 0.0


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise Backend(
            f"The server answered {response.status_code} with something that is not JSON."
        ) from None


def _error(response: httpx2.Response) -> HoldfastError:
    said = _json(response)
    if not isinstance(said, dict) or "error" not in said:
        return Backend(f"The server answered {response.status_code} without saying why.")
    message = str(said.get("message", ""))
    if "reason" in said:
        message += f" (reason: {said['reason']})"
    return error_named(str(said.get("code", said["error"])), message, said.get("proposal"))


def unreachable(error: Exception) -> Unavailable:
    return Unavailable(f"The server cannot be reached: {str(error) or type(error).__name__}.")


_PARAMETERS = inspect.signature(CoreCalls.remember)


class Rows:
    def __init__(self, entries: object) -> None:
        self._written = [_written(row) for row in check_list("entries", entries)]

    @property
    def sent(self) -> WireRows:
        return WireRows(row for row in self._written if not isinstance(row, HoldfastError))

    def outcomes(self, answered: list[Outcome]) -> list[Outcome]:
        """One a row, in order."""
        if len(answered) != len(self.sent):
            raise Backend("The server did not answer every row.")
        rest = iter(answered)
        return [Outcome(error=row) if isinstance(row, HoldfastError) else next(rest) for row in self._written]


def _written(row: object) -> dict[str, Any] | HoldfastError:
    try:
        said = row_arguments(row)
        fields = row_fields()
        refuse_nothing(fields, _PARAMETERS, said)
        return to_wire(fields, said)
    except HoldfastError as refusal:
        return refusal


class HttpTransport:
    """Sends calls to a server. Every write has an idempotency key, so it is sent again while nobody answers."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self._wire = Wire(url, token, timeout, retries)
        self._http = httpx2.Client(**self._wire.options())

    def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        request, read = _exchange(method, args, kwargs)
        for tried in range(self._wire.retries + 1):
            last = tried == self._wire.retries
            try:
                response = self._http.request(**self._wire.encoded(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._wire.may_send_again(response)):
                return read(decoded(request, response))
            time.sleep(self._wire.pause(tried, response))
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        self._http.close()


class AsyncHttpTransport:
    """`HttpTransport`, awaited."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self._wire = Wire(url, token, timeout, retries)
        self._http = httpx2.AsyncClient(**self._wire.options())

    async def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        request, read = _exchange(method, args, kwargs)
        for tried in range(self._wire.retries + 1):
            last = tried == self._wire.retries
            try:
                response = await self._http.request(**self._wire.encoded(request))
            except httpx2.TransportError as error:
                if last:
                    raise unreachable(error) from error
                response = None
            if response is not None and (last or not self._wire.may_send_again(response)):
                return read(decoded(request, response))
            await asyncio.sleep(self._wire.pause(tried, response))
        raise AssertionError("the last try returns or raises")

    async def close(self) -> None:
        await self._http.aclose()


def _exchange(
    method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Request, Callable[[Any], Any]]:
    """The request of a call, and how its answer is read."""
    if method is CoreCalls.remember_many and not isinstance((args or list(kwargs.values()))[0], WireRows):
        rows = Rows(args[0] if args else kwargs["entries"])
        return _request(method, (rows.sent,), {}), rows.outcomes
    return _request(method, tuple(args), dict(kwargs)), lambda answer: answer
