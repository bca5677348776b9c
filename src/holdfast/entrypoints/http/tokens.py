"""Tokens: local ones are minted and verified with the local secret, foreign ones verified with their issuer's keys.
PyJWT checks the signatures; the envelope, the times and the claims are read here and in `claims`."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jwt
from jwt.algorithms import HMACAlgorithm

from holdfast.contracts.host import Clock
from holdfast.domain.errors import InvalidField, Unauthenticated
from holdfast.domain.principal import Caller
from holdfast.domain.times import SECOND
from holdfast.entrypoints.http.claims import (
    Reason,
    TokenError,
    caller_of,
    check_audience,
    check_issuer,
    check_times,
    issuer_of,
    read_object,
)
from holdfast.entrypoints.http.jwks import Jwks, Key
from holdfast.entrypoints.http.secret import Secret
from holdfast.settings import Settings

log = logging.getLogger("holdfast")

LOCAL = "HS256"
MAX_TOKEN_BYTES = 8 * 1024
LONGEST_TTL_SECONDS = 10 * 365 * 86_400
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


def mint(
    secret: Secret,
    *,
    subject: str,
    ttl_seconds: int,
    now: int,
    kind: str = "user",
    owner: str | None = None,
    roles: Iterable[str] = ("member",),
    teams: Iterable[str] = (),
    chats: Iterable[str] = (),
    systems: Mapping[str, str] | None = None,
    session_user: str | None = None,
    unattended: bool = False,
    run: str | None = None,
    issuer: str | None = None,
    audience: str | None = None,
) -> str:
    """Returns a local token from `now` (microseconds). Raises InvalidField when the verifier would not accept it.

    `issuer` and `audience` are those of the settings: where they are set, local tokens must have them too.
    """
    if not 1 <= ttl_seconds <= LONGEST_TTL_SECONDS:
        raise InvalidField("A token lives from a second to ten years.")
    issued = now // SECOND
    claims: dict[str, Any] = {
        "sub": subject,
        "kind": kind,
        "roles": list(roles),
        "iat": issued,
        "exp": issued + ttl_seconds,
        "jti": secrets.token_urlsafe(12),
    }
    optional = {
        "owner": owner,
        "teams": list(teams),
        "chats": list(chats),
        "systems": dict(systems or {}),
        "session_user": session_user,
        "unattended": unattended,
        "run": run,
        "iss": issuer,
        "aud": audience,
    }
    claims |= {name: value for name, value in optional.items() if value not in (None, False, [], {})}
    try:
        caller_of(claims, issuer=None, digest="")
    except TokenError as error:
        raise InvalidField(f"No such token can be made: {error.detail}.") from None
    token = jwt.encode(claims, secret.key, algorithm=LOCAL)
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidField(f"The token would be longer than {MAX_TOKEN_BYTES} bytes; give it fewer claims.")
    return token


def unauthenticated(reason: Reason) -> Unauthenticated:
    """Returns an error with one message for every reason; `reason_of` tells them apart. It is no class of its own,
    because the family of errors is closed."""
    error = Unauthenticated(SENTENCE)
    vars(error)["reason"] = reason
    return error


def reason_of(error: Unauthenticated) -> Reason | None:
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, Reason) else None


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
        try:
            return self.known(token) or await self._verify(token)
        except TokenError as error:
            raise unauthenticated(error.reason) from error

    def known(self, token: bytes) -> Caller | None:
        """Returns the caller of a token verified within the last minute, unless the token or its key has ended."""
        if len(token) > MAX_TOKEN_BYTES:
            return None
        digest = hashlib.sha256(token).digest()
        cached = self._cache.get(digest)
        if cached is None:
            return None
        caller, until, thumbprint = cached
        key_is_valid = thumbprint is None or (self._jwks is not None and self._jwks.holds(thumbprint))
        if key_is_valid and self._clock() < until:
            return caller
        del self._cache[digest]
        return None

    async def _verify(self, token: bytes) -> Caller:
        if len(token) > MAX_TOKEN_BYTES:
            raise TokenError(Reason.TOO_LONG, f"over {MAX_TOKEN_BYTES} bytes")
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
