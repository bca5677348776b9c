"""The public keys of a foreign issuer: fetched when a token needs one, cached for minutes, and used for at most a day
while the issuer is unreachable. A key is used only with the algorithm of its type."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import httpx2
from cryptography.exceptions import UnsupportedAlgorithm
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from holdfast.contracts.host import Clock
from holdfast.domain.errors import InvalidField, Unavailable
from holdfast.domain.times import DAY, SECOND

log = logging.getLogger("holdfast")

TIMEOUT_SECONDS = 5.0
MAX_BYTES = 256 * 1024
MINUTE = 60 * SECOND
FRESH = 10 * MINUTE
"""The time for which keys are fresh; the Cache-Control of the issuer may shorten it to a minute."""
RETRY = MINUTE
"""The least time between two fetches while there are keys, even if tokens name unknown ones or the issuer is down."""
RETRY_WITHOUT_KEYS = 5 * SECOND
STALE = DAY
"""Keys older than this are not used, because they may have been withdrawn."""

KEY_TYPES = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms that may be configured, with the `kty` and `crv` of their keys. `none` and HS… are not among them."""

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})", re.IGNORECASE)


class _BadKeySet(Exception):
    """The response of the issuer is not a set of keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """A public key bound to one algorithm."""

    kid: str | None
    algorithm: str
    thumbprint: bytes
    _jwk: PyJWK = field(repr=False)

    def verify(self, signed: bytes, signature: bytes) -> bool:
        return self._jwk.Algorithm.verify(signed, self._jwk.key, signature)


class Jwks:
    """Belongs to one event loop. Nothing is fetched before a token needs a key."""

    def __init__(self, url: str, algorithms: Iterable[str], clock: Clock) -> None:
        self._url = _checked_url(url)
        self.algorithms = check_algorithms(algorithms)
        self._clock = clock
        self._keys: tuple[Key, ...] = ()
        self._thumbprints: frozenset[bytes] = frozenset()
        self._fetched: int | None = None
        self._lifetime = FRESH
        self._tried: int | None = None
        self._flight: asyncio.Task[None] | None = None

    def holds(self, thumbprint: bytes) -> bool:
        """Returns whether the last successful fetch contained the key."""
        return thumbprint in self._thumbprints

    async def named(self, kid: str | None) -> tuple[Key, ...]:
        """Returns the keys with that id, or all when the token names none. An unknown id may cause a fetch.

        Raises Unavailable when there is no set of keys at all, because the token may be valid.
        """
        if not self._within(self._fetched, self._lifetime):
            await self._fetch_once()
        if not self._usable:
            raise Unavailable("The keys of the token's issuer cannot be fetched right now; try again.")
        found = self._named(kid)
        if found or kid is None:
            return found
        await self._fetch_once()
        return self._named(kid)

    async def close(self) -> None:
        """Cancels a running fetch."""
        if self._flight is not None and not self._flight.done():
            self._flight.cancel()
            await asyncio.wait([self._flight])

    @property
    def _usable(self) -> bool:
        return self._within(self._fetched, STALE)

    def _named(self, kid: str | None) -> tuple[Key, ...]:
        return tuple(key for key in self._keys if kid is None or key.kid == kid)

    def _within(self, moment: int | None, span: int) -> bool:
        """Compares absolute differences, so that a clock that was set back does not keep keys fresh for ever."""
        return moment is not None and abs(self._clock() - moment) < span

    async def _fetch_once(self) -> None:
        """Joins the running fetch or starts one, unless the last was a moment ago.

        The fetch is a task of its own, so that a client that disconnects does not cancel it for the others.
        """
        if self._flight is None or self._flight.done():
            if self._within(self._tried, RETRY if self._usable else RETRY_WITHOUT_KEYS):
                return
            self._tried = self._clock()
            self._flight = asyncio.create_task(self._fetch())
        await asyncio.shield(self._flight)

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                body, lifetime = await self._download()
            keys = _read(body, self.algorithms)
        except (httpx2.HTTPError, _BadKeySet, TimeoutError, OSError) as error:
            cause = str(error) if isinstance(error, _BadKeySet) else type(error).__name__
            log.warning("the keys of the issuer at %s cannot be fetched: %s", self._url.host, cause)
            return
        if not keys:
            log.warning("the issuer at %s publishes no key that can be used", self._url.host)
        self._keys, self._lifetime, self._fetched = keys, lifetime, self._clock()
        self._thumbprints = frozenset(key.thumbprint for key in keys)

    async def _download(self) -> tuple[bytes, int]:
        # Uncompressed, so that the size limit holds; a proxy cannot reach this machine's loopback.
        async with (
            httpx2.AsyncClient(
                timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=not is_loopback(self._url.host)
            ) as client,
            client.stream(
                "GET", self._url, headers={"Accept": "application/json", "Accept-Encoding": "identity"}
            ) as answer,
        ):
            if answer.status_code != 200:
                raise _BadKeySet(f"status {answer.status_code}")
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise _BadKeySet("a compressed answer")
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise _BadKeySet(f"more than {MAX_BYTES} bytes")
            return bytes(body), _lifetime(answer.headers.get("cache-control", ""))


def check_algorithms(names: Iterable[str]) -> frozenset[str]:
    """Checks HOLDFAST_JWT_ALGORITHMS; refuses `none`, HS… and unknown names."""
    algorithms = frozenset(names)
    if unknown := sorted(algorithms - KEY_TYPES.keys()):
        raise InvalidField(
            f"HOLDFAST_JWT_ALGORITHMS names `{unknown[0]}`; choose among {', '.join(KEY_TYPES)}. "
            "Local tokens are HS256 by themselves."
        )
    if not algorithms:
        raise InvalidField("HOLDFAST_JWT_ALGORITHMS is empty; leave it out for RS256,ES256,EdDSA.")
    return algorithms


def is_loopback(host: str) -> bool:
    """Returns True for 127.0.0.0/8, ::1 and localhost."""
    name = host.removeprefix("[").removesuffix("]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _checked_url(text: str) -> httpx2.URL:
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise InvalidField("HOLDFAST_JWKS_URL is not a URL.") from None
    if url.host and (url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host))):
        return url
    raise InvalidField("HOLDFAST_JWKS_URL must start with https://; http:// is for a loopback address alone.")


def _lifetime(cache_control: str) -> int:
    if re.search(r"\bno-(?:store|cache)\b", cache_control, re.IGNORECASE):
        return MINUTE
    max_age = _MAX_AGE.search(cache_control)
    return FRESH if max_age is None else min(FRESH, max(MINUTE, int(max_age[1]) * SECOND))


def _read(body: bytes, algorithms: frozenset[str]) -> tuple[Key, ...]:
    """Returns a key for each usable JWK and fitting algorithm. An empty set is valid: the issuer withdrew its keys."""
    try:
        document = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _BadKeySet("not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
        raise _BadKeySet("no list of keys")
    found: dict[bytes, Key] = {}
    for jwk in document["keys"]:
        if not isinstance(jwk, dict) or not _may_verify(jwk):
            continue
        for algorithm in sorted(algorithms):
            if _fits(jwk, algorithm) and (key := _key(jwk, algorithm)) is not None:
                found[key.thumbprint] = key
    return tuple(found.values())


def _may_verify(jwk: dict[str, Any]) -> bool:
    """Refuses keys for encryption, and private ones: with a published private key anyone could sign."""
    operations = jwk.get("key_ops", ["verify"])
    return (
        jwk.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and "d" not in jwk
        and isinstance(jwk.get("kid", ""), str)
    )


def _fits(jwk: dict[str, Any], algorithm: str) -> bool:
    kind, curve = KEY_TYPES[algorithm]
    return (
        jwk.get("kty") == kind and jwk.get("alg", algorithm) == algorithm and curve in (None, jwk.get("crv"))
    )


def _key(jwk: dict[str, Any], algorithm: str) -> Key | None:
    try:
        parsed = PyJWK(jwk, algorithm)
        if parsed.Algorithm.check_key_length(parsed.key) is not None:
            return None
    except (PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    written = json.dumps([algorithm, jwk], sort_keys=True).encode()
    return Key(jwk.get("kid"), algorithm, hashlib.sha256(written).digest(), parsed)
