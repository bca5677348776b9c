"""Finds the caller of a request from its token and headers, and limits the calls per minute of each principal. PyJWT
checks the signatures; the envelope, the times and the claims of a token are read here and in `claims`."""

from __future__ import annotations

import base64
import hashlib
import logging
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from jwt.algorithms import HMACAlgorithm

from holdfast.contracts.host import Clock
from holdfast.domain.errors import InvalidField, RateLimited, Unauthenticated
from holdfast.domain.principal import UNKNOWN, Caller, Principal, PrincipalKind, check_subject
from holdfast.domain.times import SECOND
from holdfast.entrypoints.http.claims import (
    DOOR,
    OF_TOKEN,
    Reason,
    TokenError,
    caller_of,
    check_audience,
    check_issuer,
    check_times,
    issuer_of,
    read_object,
)
from holdfast.entrypoints.http.jwks import Jwks, Key, is_loopback
from holdfast.entrypoints.http.tokens import LOCAL, MAX_TOKEN_BYTES, Secret
from holdfast.settings import Settings

log = logging.getLogger("holdfast")

RUN = "Holdfast-Run"
CONVERSATION = "Holdfast-Conversation"
KNOWN = 10_000
"""Principals whose rate is remembered; the longest idle are forgotten first."""

RawHeaders = Sequence[tuple[bytes, bytes]]
"""ASGI headers, with names in lower case."""

_RUN = RUN.lower().encode()
_CONVERSATION = CONVERSATION.lower().encode()

KNOWN_TOKENS = 10_000
KNOWN_FOR = 60 * SECOND
"""The time for which a verified token is cached."""
SENTENCE = (
    "A valid token is required; make one with `holdfast token create`, or get a new one from your issuer."
)

REFUSED_HEADERS = frozenset({"jku", "x5u", "jwk", "x5c", "crit", "b64"})
"""The first four offer a key of the sender's choice; the others change what the signature covers."""

_SEGMENTS = re.compile(rb"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)")
_HMAC = HMACAlgorithm(HMACAlgorithm.SHA256)


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


def unauthenticated(reason: Reason) -> Unauthenticated:
    """Returns an error with one message for every reason; `reason_of` tells them apart. It is no class of its own,
    because the family of errors is closed."""
    error = Unauthenticated(SENTENCE)
    vars(error)["reason"] = reason
    return error


def reason_of(error: Unauthenticated) -> Reason | None:
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, Reason) else None


class Authenticator:
    def __init__(self, settings: Settings, verifier: Verifier) -> None:
        check_auth_allowed(settings)
        self._off = not settings.auth
        self._verifier = verifier
        self._nobody = Caller(Principal(PrincipalKind.USER, UNKNOWN), door=DOOR)

    async def caller(self, headers: RawHeaders) -> Caller:
        """Raises Unauthenticated and Unavailable as the verifier does, and InvalidField for a bad Holdfast header, but
        only to known callers."""
        tokens: list[bytes] = []
        runs: list[bytes] = []
        conversations: list[bytes] = []
        for name, value in headers:
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


class _CachedCaller(NamedTuple):
    caller: Caller
    until: int
    thumbprint: bytes | None


class Verifier:
    """Finds the caller that a token vouches for.

    `verify` raises Unauthenticated with an attribute `reason`, one of claims.Reason. The reasons expired, not_yet,
    issuer, audience, subject and claims are given only for tokens with a good signature. It raises Unavailable when the
    keys of the foreign issuer cannot be fetched.
    """

    def __init__(self, settings: Settings, secret: Secret, clock: Clock, jwks: Jwks | None = None) -> None:
        self._secret = secret
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._clock = clock
        self._jwks = jwks
        self._cache: dict[bytes, _CachedCaller] = {}
        """By the hash of the token; the oldest come first."""
        if jwks is not None and (self._issuer is None or self._audience is None):
            log.warning(
                "HOLDFAST_JWKS_URL without HOLDFAST_JWT_ISSUER and HOLDFAST_JWT_AUDIENCE: tokens that the issuer made "
                "for other programs are taken too"
            )

    async def verify(self, token: bytes) -> Caller:
        if len(token) > MAX_TOKEN_BYTES:
            raise unauthenticated(Reason.TOO_LONG)
        try:
            return self.known(token) or await self._verify(token)
        except TokenError as error:
            raise unauthenticated(error.reason) from error

    def known(self, token: bytes) -> Caller | None:
        """Returns the caller of a token verified within the last minute, unless the token or its key has ended."""
        cached = self._cache.get(hashlib.sha256(token).digest())
        if cached is None or self._clock() >= cached.until:
            return None
        key_is_valid = cached.thumbprint is None or (
            self._jwks is not None and self._jwks.holds(cached.thumbprint)
        )
        return cached.caller if key_is_valid else None

    async def _verify(self, token: bytes) -> Caller:
        envelope = _split(token)
        header = read_object(envelope.header)
        key = await self._check_signature(header, envelope)
        now = self._clock()
        claims = read_object(envelope.claims)
        ends = check_times(claims, now)
        check_issuer(claims, self._issuer)
        check_audience(claims, self._audience)
        digest = hashlib.sha256(token).digest()
        issuer, thumbprint = (None, None) if key is None else (issuer_of(claims), key.thumbprint)
        caller = replace(caller_of(claims, issuer=issuer, digest=digest.hex()[:32]), until_us=ends)
        while self._cache:
            oldest = next(iter(self._cache))
            if len(self._cache) < KNOWN_TOKENS and now < self._cache[oldest].until:
                break
            del self._cache[oldest]
        self._cache[digest] = _CachedCaller(caller, min(ends, now + KNOWN_FOR), thumbprint)
        return caller

    async def _check_signature(self, header: dict[str, Any], envelope: _Envelope) -> Key | None:
        """Returns the foreign key that signed the token; None when the local secret did."""
        if REFUSED_HEADERS & header.keys():
            raise TokenError(Reason.HEADER, "the header names a key or an extension of its own")
        algorithm = header.get("alg")
        if algorithm == LOCAL:
            key = None
            valid = _HMAC.verify(envelope.signed, self._secret.key, envelope.signature)
        else:
            key = await self._foreign_key(algorithm, header.get("kid"))
            valid = key.verify(envelope.signed, envelope.signature)
        if not valid:
            raise TokenError(Reason.SIGNATURE, "the signature does not fit")
        return key

    async def _foreign_key(self, algorithm: object, kid: object) -> Key:
        if self._jwks is None or not isinstance(algorithm, str) or algorithm not in self._jwks.algorithms:
            raise TokenError(Reason.ALGORITHM, "`alg` is not taken here")
        if kid is not None and not isinstance(kid, str):
            raise TokenError(Reason.MALFORMED, "`kid` is not a text")
        named = await self._jwks.named(kid)
        fitting = [key for key in named if key.algorithm == algorithm]
        if named and not fitting:
            raise TokenError(Reason.ALGORITHM, "`alg` is not that of the key")
        if len(fitting) != 1:
            raise TokenError(Reason.UNKNOWN_KEY, "`kid` names no key, or not one alone")
        return fitting[0]


class _Envelope(NamedTuple):
    header: bytes
    claims: bytes
    signature: bytes
    signed: bytes


def _split(token: bytes) -> _Envelope:
    segments = _SEGMENTS.fullmatch(token)
    if segments is None:
        raise TokenError(Reason.MALFORMED, "not three segments of base64url")
    header, claims, signature = map(_decode, segments.groups())
    return _Envelope(header, claims, signature, token[: segments.end(2)])


def _decode(segment: bytes) -> bytes:
    """Accepts only the canonical spelling: one token has one spelling."""
    if len(segment) % 4 == 1:
        raise TokenError(Reason.MALFORMED, "a segment is cut short")
    body = base64.urlsafe_b64decode(segment + b"=" * (-len(segment) % 4))
    if base64.urlsafe_b64encode(body).rstrip(b"=") != segment:
        raise TokenError(Reason.MALFORMED, "a segment is not canonical base64url")
    return body


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
