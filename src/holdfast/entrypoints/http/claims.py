"""Reads the claims of a token strictly: plain JSON, times, issuer, audience, and the caller it vouches for. Signatures
and the cache are not handled here."""

from __future__ import annotations

import json
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from holdfast.domain.errors import InvalidField
from holdfast.domain.principal import Caller, Principal, PrincipalKind, check_subject
from holdfast.domain.times import SECOND
from holdfast.entrypoints.plain_json import depth_of, no_constant, unique_names

LEEWAY_SECONDS = 30
"""For `nbf` and `iat`, because clocks differ. `exp` has no leeway."""

MAX_DEPTH = 8
LATEST_SECONDS = 10**12
"""Later times (the year 33658) are a mistake of units."""

OF_TOKEN = "token:"
"""Begins the name of a run that nobody named; neither a claim nor a header may use such a name."""

DOOR = "http"
_KINDS = frozenset(kind.value for kind in PrincipalKind)
_CATALOGUE = frozenset({"read", "manage"})


class Reason(StrEnum):
    """The closed list of reason codes beside `unauthenticated`."""

    MISSING = "missing"
    """No Authorization header."""
    SCHEME = "scheme"
    """Another scheme than Bearer, or several headers."""
    TOO_LONG = "too_long"
    MALFORMED = "malformed"
    """Not three base64url segments of JSON objects; or a name twice, too deep, NaN."""
    HEADER = "header"
    """The header requires an extension (`crit`) or brings a key of its own."""
    ALGORITHM = "algorithm"
    """Not accepted at all, or not with this key."""
    UNKNOWN_KEY = "unknown_key"
    """No key of that `kid`, or no `kid` and several keys."""
    SIGNATURE = "signature"
    EXPIRED = "expired"
    NOT_YET = "not_yet"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    SUBJECT = "subject"
    CLAIMS = "claims"
    """A claim has the wrong type or a value that cannot be."""


class TokenError(Exception):
    """The verifier turns it into Unauthenticated. Neither text contains any part of the token."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def read_object(segment: bytes) -> dict[str, Any]:
    """Parses a JSON object. A repeated name is refused, because parsers differ in which of the two values they take."""
    try:
        value = json.loads(
            segment.decode("utf-8"), object_pairs_hook=unique_names, parse_constant=no_constant
        )
    except (ValueError, RecursionError):
        raise TokenError(Reason.MALFORMED, "a segment is not plain JSON") from None
    if not isinstance(value, dict):
        raise TokenError(Reason.MALFORMED, "a segment is not an object")
    if depth_of(value) > MAX_DEPTH:
        raise TokenError(Reason.MALFORMED, "a segment is nested too deep")
    return value


def check_times(claims: dict[str, Any], now: int) -> int:
    """Returns the expiry of the token in microseconds."""
    ends = _moment(claims, "exp")
    if ends is None:
        raise TokenError(Reason.CLAIMS, "`exp` is missing")
    if now >= ends:
        raise TokenError(Reason.EXPIRED, "`exp` has passed")
    for name in ("nbf", "iat"):
        starts = _moment(claims, name)
        if starts is not None and now < starts - LEEWAY_SECONDS * SECOND:
            raise TokenError(Reason.NOT_YET, f"`{name}` is in the future")
    return ends


def check_issuer(claims: dict[str, Any], expected: str | None) -> None:
    if expected is not None and claims.get("iss") != expected:
        raise TokenError(Reason.ISSUER, "`iss` is not HOLDFAST_JWT_ISSUER")


def check_audience(claims: dict[str, Any], expected: str | None) -> None:
    if expected is None:
        return
    match claims.get("aud"):
        case str() as one if one == expected:
            return
        case list() as several if expected in several and all(isinstance(each, str) for each in several):
            return
    raise TokenError(Reason.AUDIENCE, "`aud` is not HOLDFAST_JWT_AUDIENCE")


def issuer_of(claims: dict[str, Any]) -> str:
    """Returns the issuer that qualifies foreign ids. It has no `|`, so that `iss|sub` splits in one way only."""
    issuer = claims.get("iss")
    if not isinstance(issuer, str) or not issuer.strip() or "|" in issuer or not issuer.isprintable():
        raise TokenError(Reason.ISSUER, "`iss` is missing or not a name")
    return issuer


def caller_of(claims: dict[str, Any], *, issuer: str | None, digest: str) -> Caller:
    """Returns the caller. `issuer` qualifies the ids of a foreign token; `digest` names the run when no claim does.

    A local `sub` may contain `|` and so name the user of a foreign issuer: the local secret can vouch for anyone,
    administrators included. A foreign issuer vouches only for its own users, also as session users.
    """
    kind = claims.get("kind", PrincipalKind.USER)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise TokenError(Reason.CLAIMS, "`kind` must be user, agent or service")
    kind = PrincipalKind(kind)
    session_user = _session_user(claims, kind, issuer)
    owner = _text(claims, "owner")
    unattended = claims.get("unattended", False)
    if not isinstance(unattended, bool):
        raise TokenError(Reason.CLAIMS, "`unattended` is true or false")
    return Caller(
        Principal(kind, _subject(claims, issuer)),
        session_user=session_user,
        chats=_names(claims, "chats"),
        systems=_systems(claims),
        teams=_names(claims, "teams"),
        roles=_names(claims, "roles", ("member",)),
        unattended=unattended or kind is PrincipalKind.SERVICE,
        run=_run(claims, digest),
        door=DOOR,
        owner=None
        if owner is None
        else Principal(PrincipalKind.USER, _printable("owner", _qualified(owner, issuer))),
    )


def _moment(claims: dict[str, Any], name: str) -> int | None:
    if name not in claims:
        return None
    seconds = claims[name]
    if (
        not isinstance(seconds, int | float)
        or isinstance(seconds, bool)
        or not 0 <= seconds <= LATEST_SECONDS  # not true of infinity either
    ):
        raise TokenError(Reason.CLAIMS, f"`{name}` must be seconds since the epoch")
    return int(seconds * SECOND)


def _subject(claims: dict[str, Any], issuer: str | None) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        raise TokenError(Reason.SUBJECT, "`sub` is missing or blank")
    try:
        return check_subject("subject", _qualified(subject, issuer))
    except InvalidField as error:
        raise TokenError(Reason.SUBJECT, error.message) from None


def _session_user(claims: dict[str, Any], kind: PrincipalKind, issuer: str | None) -> Principal | None:
    user = _text(claims, "session_user")
    if user is None:
        return None
    if kind is PrincipalKind.USER:
        raise TokenError(Reason.CLAIMS, "`session_user` is for agents and services")
    return Principal(PrincipalKind.USER, _printable("session_user", _qualified(user, issuer)))


def _qualified(subject: str, issuer: str | None) -> str:
    return subject if issuer is None else f"{issuer}|{subject}"


def _run(claims: dict[str, Any], digest: str) -> str:
    run = _text(claims, "run")
    if run is None:
        return OF_TOKEN + (_text(claims, "jti") or digest)
    if run.startswith(OF_TOKEN):
        raise TokenError(Reason.CLAIMS, f"`run` must not start with {OF_TOKEN}")
    return run


def _text(claims: dict[str, Any], name: str) -> str | None:
    return _printable(name, claims[name]) if name in claims else None


def _names(claims: dict[str, Any], name: str, default: tuple[str, ...] = ()) -> frozenset[str]:
    if name not in claims:
        return frozenset(default)
    names = claims[name]
    if not isinstance(names, list):
        raise TokenError(Reason.CLAIMS, f"`{name}` must be a list of texts")
    return frozenset(_printable(name, each) for each in names)


def _systems(claims: dict[str, Any]) -> MappingProxyType[str, str]:
    """Returns a read-only mapping, because verified callers are cached and shared."""
    systems = claims.get("systems", {})
    if not isinstance(systems, dict):
        raise TokenError(Reason.CLAIMS, "`systems` must be an object of names with read or manage")
    for system, level in systems.items():
        _printable("systems", system)
        if not isinstance(level, str) or level not in _CATALOGUE:
            raise TokenError(Reason.CLAIMS, "`systems` must be an object of names with read or manage")
    return MappingProxyType(systems)


def _printable(name: str, value: object) -> str:
    try:
        text = check_subject(name, value)
    except InvalidField as error:
        raise TokenError(Reason.CLAIMS, error.message) from None
    if not text.strip():
        raise TokenError(Reason.CLAIMS, f"`{name}` must not be blank")
    return text
