"""Tokens: local ones are minted and checked with the local secret, foreign ones checked with their issuer's keys.
Signatures are PyJWT's work; the envelope, the times and the claims are read here and in `claims`."""

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
    Refused,
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
    """A local token from `now` (microseconds); InvalidField when the verifier would not take it.

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
    except Refused as refused:
        raise InvalidField(f"No such token can be made: {refused.detail}.") from None
    token = jwt.encode(claims, secret.key, algorithm=LOCAL)
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidField(f"The token would be longer than {MAX_TOKEN_BYTES} bytes; give it fewer claims.")
    return token


def unauthenticated(reason: Reason) -> Unauthenticated:
    """One sentence for all; `reason_of` tells them apart. No class of its own: the family of errors is closed."""
    error = Unauthenticated(SENTENCE)
    vars(error)["reason"] = reason
    return error


def reason_of(error: Unauthenticated) -> Reason | None:
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, Reason) else None


class Verifier:
    """Who a token vouches for.

    `verify` raises Unauthenticated with an attribute `reason`, one of claims.Reason: too_long, malformed, header,
    algorithm, unknown_key, signature, and only for tokens that were truly signed: expired, not_yet, issuer, audience,
    subject, claims. It raises Unavailable when the keys of the foreign issuer cannot be had.
    """

    def __init__(self, settings: Settings, secret: Secret, clock: Clock, jwks: Jwks | None = None) -> None:
        self._secret = secret
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._clock = clock
        self._jwks = jwks
        self._known = _Known(jwks)
        if jwks is not None and (self._issuer is None or self._audience is None):
            log.warning(
                "HOLDFAST_JWKS_URL without HOLDFAST_JWT_ISSUER and HOLDFAST_JWT_AUDIENCE: tokens that the issuer made "
                "for other programs are taken too"
            )

    def known(self, token: str | bytes) -> Caller | None:
        """The caller of a token that was verified within the last minute and has not ended."""
        if len(token) > MAX_TOKEN_BYTES:
            return None
        return self._known.caller(_digest(_encoded(token)), self._clock())

    async def verify(self, token: str | bytes) -> Caller:
        try:
            return self.known(token) or await self._verify(token)
        except Refused as refused:
            raise unauthenticated(refused.reason) from refused

    async def _verify(self, token: str | bytes) -> Caller:
        if len(token) > MAX_TOKEN_BYTES:
            raise Refused(Reason.TOO_LONG, f"over {MAX_TOKEN_BYTES} bytes")
        whole = _encoded(token)
        envelope = _open(whole)
        header = read_object(envelope.header)
        key = await self._check_signature(header, envelope)
        now = self._clock()
        claims = read_object(envelope.claims)
        ends = check_times(claims, now)
        check_issuer(claims, self._issuer)
        check_audience(claims, self._audience)
        digest = _digest(whole)
        issuer, thumbprint = (None, None) if key is None else (issuer_of(claims), key.thumbprint)
        caller = replace(caller_of(claims, issuer=issuer, digest=digest.hex()[:32]), until_us=ends)
        self._known.keep(digest, _Seen(caller, min(ends, now + KNOWN_FOR), thumbprint), now)
        return caller

    async def _check_signature(self, header: dict[str, Any], envelope: _Envelope) -> Key | None:
        """The foreign key that signed it; None when the local secret did."""
        if REFUSED_HEADERS & header.keys():
            raise Refused(Reason.HEADER, "the header names a key or an extension of its own")
        algorithm = header.get("alg")
        if algorithm == LOCAL:
            key = None
            valid = _HMAC.verify(envelope.signed, self._secret.key, envelope.signature)
        else:
            key = await self._foreign_key(algorithm, header.get("kid"))
            valid = key.verify(envelope.signed, envelope.signature)
        if not valid:
            raise Refused(Reason.SIGNATURE, "the signature does not fit")
        return key

    async def _foreign_key(self, algorithm: object, kid: object) -> Key:
        if self._jwks is None or not isinstance(algorithm, str) or algorithm not in self._jwks.algorithms:
            raise Refused(Reason.ALGORITHM, "`alg` is not taken here")
        if kid is not None and not isinstance(kid, str):
            raise Refused(Reason.MALFORMED, "`kid` is not a text")
        named = await self._jwks.named(kid)
        fitting = [key for key in named if key.algorithm == algorithm]
        if named and not fitting:
            raise Refused(Reason.ALGORITHM, "`alg` is not that of the key")
        if len(fitting) != 1:
            raise Refused(Reason.UNKNOWN_KEY, "`kid` names no key, or not one alone")
        return fitting[0]


class _Envelope(NamedTuple):
    header: bytes
    claims: bytes
    signature: bytes
    signed: bytes


def _open(token: bytes) -> _Envelope:
    segments = _SEGMENTS.fullmatch(token)
    if segments is None:
        raise Refused(Reason.MALFORMED, "not three segments of base64url")
    return _Envelope(
        _decoded(segments[1]), _decoded(segments[2]), _decoded(segments[3]), token[: segments.end(2)]
    )


def _decoded(segment: bytes) -> bytes:
    """Of the texts that decode to the same bytes, the canonical one alone: one token has one spelling."""
    if len(segment) % 4 == 1:
        raise Refused(Reason.MALFORMED, "a segment is cut short")
    body = base64.urlsafe_b64decode(segment + b"=" * (-len(segment) % 4))
    if base64.urlsafe_b64encode(body).rstrip(b"=") != segment:
        raise Refused(Reason.MALFORMED, "a segment is not canonical base64url")
    return body


def _encoded(token: str | bytes) -> bytes:
    return token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class _Seen(NamedTuple):
    caller: Caller
    until: int
    thumbprint: bytes | None


class _Known:
    """Verified tokens by their hash: a minute at most, never past their end or the life of the key that signed them,
    and so many at most; the oldest go first."""

    def __init__(self, jwks: Jwks | None) -> None:
        self._seen: dict[bytes, _Seen] = {}
        self._jwks = jwks

    def caller(self, digest: bytes, now: int) -> Caller | None:
        seen = self._seen.get(digest)
        if seen is None:
            return None
        caller, until, thumbprint = seen
        if now < until and (thumbprint is None or (self._jwks is not None and self._jwks.holds(thumbprint))):
            return caller
        del self._seen[digest]
        return None

    def keep(self, digest: bytes, seen: _Seen, now: int) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if len(self._seen) < KNOWN_TOKENS and now < self._seen[oldest].until:
                break
            del self._seen[oldest]
        self._seen[digest] = seen
