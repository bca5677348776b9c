"""Finds the caller of a request from its headers, and limits the calls per minute of each principal."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from starlette.datastructures import Headers

from holdfast.domain.errors import InvalidField, RateLimited, Unauthenticated
from holdfast.domain.principal import UNKNOWN, Caller, Principal, PrincipalKind, check_subject
from holdfast.entrypoints.http.claims import DOOR, OF_TOKEN, Reason
from holdfast.entrypoints.http.jwks import is_loopback
from holdfast.entrypoints.http.tokens import Verifier, reason_of, unauthenticated
from holdfast.settings import Settings

RUN = "Holdfast-Run"
CONVERSATION = "Holdfast-Conversation"
KNOWN = 10_000
"""Principals whose rate is remembered; the longest idle are forgotten first."""

RawHeaders = Sequence[tuple[bytes, bytes]]
"""ASGI headers, with names in lower case."""

_RUN = RUN.lower().encode()
_CONVERSATION = CONVERSATION.lower().encode()


def check_auth_allowed(settings: Settings) -> None:
    """Refuses to start without tokens where others could reach the server."""
    if not settings.auth and not is_loopback(settings.host):
        raise InvalidField(
            "HOLDFAST_AUTH=off is for a loopback address alone; remove it, or set HOLDFAST_HOST=127.0.0.1."
        )


def challenge(error: Unauthenticated) -> str:
    """Returns the WWW-Authenticate of a 401. RFC 6750 wants no error code where no token was sent."""
    match reason_of(error):
        case None | Reason.MISSING | Reason.SCHEME:
            return "Bearer"
        case reason:
            return f'Bearer error="invalid_token", error_description="{reason}"'


class Authenticator:
    def __init__(self, settings: Settings, verifier: Verifier) -> None:
        check_auth_allowed(settings)
        self._off = not settings.auth
        self._verifier = verifier
        self._nobody = Caller(Principal(PrincipalKind.USER, UNKNOWN), door=DOOR)

    async def caller(self, headers: Headers | RawHeaders) -> Caller:
        """Raises Unauthenticated and Unavailable as the verifier does, and InvalidField for a bad Holdfast header, but
        only to known callers."""
        tokens: list[bytes] = []
        runs: list[bytes] = []
        conversations: list[bytes] = []
        for name, value in headers.raw if isinstance(headers, Headers) else headers:
            if name == b"authorization":
                tokens.append(value)
            elif name == _RUN:
                runs.append(value)
            elif name == _CONVERSATION:
                conversations.append(value)
        caller = self._nobody
        if not self._off:
            if not tokens:
                raise unauthenticated(Reason.MISSING)
            scheme, _, token = tokens[0].partition(b" ")
            if len(tokens) > 1 or scheme.lower() != b"bearer":
                raise unauthenticated(Reason.SCHEME)
            caller = await self._verifier.verify(token.strip(b" "))
        if runs:
            caller = _in_run(caller, _only(RUN, runs))
        if conversations:
            caller = replace(caller, conversation=_only(CONVERSATION, conversations))
        return caller


def _in_run(caller: Caller, run: str) -> Caller:
    """Keeps a run that the token names: otherwise an unattended caller could name a new one for every save."""
    if run.startswith(OF_TOKEN):
        raise InvalidField(f"The header {RUN} must not start with `{OF_TOKEN}`.")
    named_by_token = caller.run is not None and not caller.run.startswith(OF_TOKEN)
    return caller if named_by_token else replace(caller, run=run)


def _only(name: str, values: list[bytes]) -> str:
    try:
        text = check_subject(f"header {name}", values[0].decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidField(f"The header {name} must be UTF-8.") from None
    if len(values) > 1 or not text.strip():
        raise InvalidField(f"Send the header {name} once and not empty.")
    return text


class RateLimit:
    """Allows the calls of one minute at once, and after that as many as the rate gives back."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._clock = clock
        self._buckets: OrderedDict[Principal, tuple[float, float]] = OrderedDict()

    def take(self, principal: Principal) -> None:
        if not self._most:
            return
        now = self._clock()
        left, at = self._buckets.get(principal, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        if left < 1:
            self._buckets[principal] = left, now
            seconds = math.ceil((1 - left) / self._per_second)
            error = RateLimited(f"Too many calls; try again in {seconds} s.")
            error.seconds = seconds
            raise error
        self._buckets[principal] = left - 1, now
        self._buckets.move_to_end(principal)
        if len(self._buckets) > KNOWN:
            self._buckets.popitem(last=False)
