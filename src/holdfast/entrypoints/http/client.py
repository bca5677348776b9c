"""`holdfast.Client` and `holdfast.AsyncClient`: the calls of the Python interface over HTTP, with the same results and
errors, and with retries."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import httpx2

from holdfast import __version__
from holdfast.crypto.own_key import OwnKey
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
from holdfast.entrypoints.facade import Administration, AsyncAdministration, AsyncOwn, Own
from holdfast.entrypoints.http.routes import BASE, OWN_SPACE, ROUTES, Route
from holdfast.entrypoints.python.encrypted import AsyncEncrypted, Encrypted
from holdfast.operations.results import Outcome
from holdfast.vocabularies.answers import error_named
from holdfast.vocabularies.arguments import WireRows, to_query, to_wire
from holdfast.vocabularies.call import Call
from holdfast.vocabularies.core import CoreCalls, row_fields
from holdfast.vocabularies.fields import Field
from holdfast.vocabularies.inputs import row_arguments

TIMEOUT = 30.0
RETRIES = 3
PAUSE = 0.2
AGAIN = frozenset({429, 503})
CONNECTIONS = 100
LONGEST_ADDRESS = 60_000
"""Characters that the HTTP library takes."""


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
    """Returns the request of a call. Every write has an idempotency key, so that it can be sent again when its answer
    got lost."""
    bound = inspect.signature(call).bind(None, *args, **kwargs)
    arguments = dict(list(bound.arguments.items())[1:])
    route = _route(_BY_CALL[call.__qualname__], arguments)
    row = route.call if route.call.run is call else route.purge
    assert row is not None
    _refuse_none(row.fields, bound.signature, arguments)
    fields = to_wire(row.fields, arguments)
    path = "/".join(_segment(row.fields, part, fields) for part in route.path.split("/"))
    headers = {}
    if row.writes:
        key = arguments.get("idempotency_key")
        headers["idempotency-key"] = uuid4().hex if key is None else check_idempotency_key(key)
    if route.takes_body:
        return Request(row, route, path, [], fields[route.whole] if route.whole else fields, headers)
    query = to_query(row.fields, fields)
    if row is route.purge:
        query = [*query, ("purge", "true")]
    return Request(row, route, path, query, None, headers)


def _segment(fields: Sequence[Field], part: str, values: dict[str, Any]) -> str:
    """Fills a part of the path. Refuses a value that would be empty there, or look like another path."""
    if not part.startswith("{"):
        return part
    name = part[1:-1]
    if name == "space" and name not in values:
        return OWN_SPACE
    value = values.pop(name, None)
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


def _refuse_none(fields: Sequence[Field], signature: inspect.Signature, arguments: Mapping[str, Any]) -> None:
    """Refuses None in place of another default, because None is not sent."""
    for field in fields:
        name = field.parameter
        default = signature.parameters[name].default
        if arguments.get(name, default) is None and default not in (None, inspect.Parameter.empty):
            raise field.wrong(f"`{name}` must not be None.")


def _route(rows: list[Route], arguments: Mapping[str, Any]) -> Route:
    """Chooses the shorter address for an entry that its id alone names."""
    id = arguments.get("id")
    is_id = isinstance(id, str | UUID) and id != ""
    by_id = is_id and not any(arguments.get(name) is not None for name in ("key", "space", "namespace"))
    for row in rows:
        if ("{id}" in row.path) == by_id and all(arguments.get(name) is not None for name in row.in_path):
            return row
    return rows[-1]


class _Connection:
    """The address, token and retries of both clients, which differ in how they wait."""

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
        options: dict[str, Any] = {
            "method": request.route.method,
            "url": self.base + request.path,
            "headers": request.headers,
        }
        if request.query:
            options["url"] += "?" + urlencode(request.query, errors="surrogatepass")
        if len(options["url"]) > LONGEST_ADDRESS:
            raise TooLarge("This is too long for the address of a request.")
        if request.body is not None:
            # In ASCII, so that the server itself refuses text that is not valid.
            options["content"] = json.dumps(request.body)
            options["headers"] = request.headers | {"content-type": "application/json"}
        return options

    def pause(self, tried: int, outcome: httpx2.Response | httpx2.TransportError) -> float | None:
        """Returns the seconds before the next try; None when the response is final. Raises Unavailable when the last
        try found no server. The pause grows, is random, and is at least what the server asks for; a server that asks
        for more than the timeout is not asked again."""
        least = 0.0
        if isinstance(outcome, httpx2.TransportError):
            if tried >= self.retries:
                raise Unavailable(
                    f"The server cannot be reached: {str(outcome) or type(outcome).__name__}."
                ) from outcome
        else:
            after = outcome.headers.get("retry-after")
            least = float(after) if after is not None and after.isdecimal() else 0.0
            may_retry = outcome.status_code in AGAIN and after is not None and least <= self.timeout
            if tried >= self.retries or not may_retry:
                return None
        return float(max(least, PAUSE * 2**tried * random.uniform(0.5, 1.5)))


def decoded(request: Request, response: httpx2.Response | httpx2.TransportError) -> Any:
    assert isinstance(response, httpx2.Response)
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


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise Backend(
            f"The server answered {response.status_code} with something that is not JSON."
        ) from None


def _error(response: httpx2.Response) -> HoldfastError:
    body = _json(response)
    if not isinstance(body, dict) or "error" not in body:
        return Backend(f"The server answered {response.status_code} without saying why.")
    message = str(body.get("message", ""))
    if "reason" in body:
        message += f" (reason: {body['reason']})"
    return error_named(str(body.get("code", body["error"])), message, body.get("proposal"))


_PARAMETERS = inspect.signature(CoreCalls.remember)


class _Rows:
    """The rows of remember_many. Those refused here are not sent."""

    def __init__(self, entries: object) -> None:
        self._written = [_written(row) for row in check_list("entries", entries)]

    @property
    def sent(self) -> WireRows:
        return WireRows(row for row in self._written if not isinstance(row, HoldfastError))

    def outcomes(self, answered: list[Outcome]) -> list[Outcome]:
        """Returns an outcome for every row, in order."""
        if len(answered) != len(self.sent):
            raise Backend("The server did not answer every row.")
        rest = iter(answered)
        return [Outcome(error=row) if isinstance(row, HoldfastError) else next(rest) for row in self._written]


def _written(row: object) -> dict[str, Any] | HoldfastError:
    try:
        arguments = row_arguments(row)
        fields = row_fields()
        _refuse_none(fields, _PARAMETERS, arguments)
        return to_wire(fields, arguments)
    except HoldfastError as refusal:
        return refusal


class HttpTransport:
    """Sends calls to a server, again while nobody answers."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self._connection = _Connection(url, token, timeout, retries)
        self._http = httpx2.Client(**self._connection.options())

    def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        request, read = _exchange(method, args, kwargs)
        options = self._connection.encoded(request)
        outcome: httpx2.Response | httpx2.TransportError
        for tried in count():
            try:
                outcome = self._http.request(**options)
            except httpx2.TransportError as error:
                outcome = error
            pause = self._connection.pause(tried, outcome)
            if pause is None:
                break
            time.sleep(pause)
        return read(decoded(request, outcome))

    def close(self) -> None:
        self._http.close()


class AsyncHttpTransport:
    """`HttpTransport`, awaited."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self._connection = _Connection(url, token, timeout, retries)
        self._http = httpx2.AsyncClient(**self._connection.options())

    async def run(self, method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        request, read = _exchange(method, args, kwargs)
        options = self._connection.encoded(request)
        outcome: httpx2.Response | httpx2.TransportError
        for tried in count():
            try:
                outcome = await self._http.request(**options)
            except httpx2.TransportError as error:
                outcome = error
            pause = self._connection.pause(tried, outcome)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return read(decoded(request, outcome))

    async def close(self) -> None:
        await self._http.aclose()


def _exchange(
    method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Request, Callable[[Any], Any]]:
    """Returns the request of a call, and the function that reads its answer."""
    if method is CoreCalls.remember_many and not isinstance((args or list(kwargs.values()))[0], WireRows):
        rows = _Rows(args[0] if args else kwargs["entries"])
        return _request(method, (rows.sent,), {}), rows.outcomes
    return _request(method, tuple(args), dict(kwargs)), lambda answer: answer


class Client(Own):
    """Everything the token's principal can do on a server: `holdfast.Client(url, token=…)`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(HttpTransport(url, token, timeout, retries))
        self.administration = Administration(self._transport)

    def encrypted(self, key: OwnKey) -> Encrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return Encrypted(self, key)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(AsyncOwn):
    """`Client`, awaited."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        super().__init__(AsyncHttpTransport(url, token, timeout, retries))
        self.administration = AsyncAdministration(self._transport)

    def encrypted(self, key: OwnKey) -> AsyncEncrypted:
        """Entries that are encrypted here, with a key that is never sent."""
        return AsyncEncrypted(self, key)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
