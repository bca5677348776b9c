"""Tokens end to end: whatever is wrong with one, the answer is 401 with one reason, and says how to do it right."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from holdfast.domain.times import SECOND
from holdfast.entrypoints.http.routes import ROUTES
from tests.http.serving import SECRET, Service, code, serving
from tests.support import NOON

NOW = NOON // SECOND
ISSUER, AUDIENCE = "https://idp.example", "memory"
GOOD: dict[str, Any] = {"sub": "alice", "exp": NOW + 3_600, "iss": ISSUER, "aud": AUDIENCE}
HS256 = {"alg": "HS256", "typ": "JWT"}
PRIVATE = rsa.generate_private_key(65_537, 2_048)
PUBLIC_PEM = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _segment(part: object) -> bytes:
    body = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(body).rstrip(b"=")


def _local(header: object, claims: object, secret: bytes = SECRET.key) -> bytes:
    signed = _segment(header) + b"." + _segment(claims)
    return signed + b"." + _segment(hmac.digest(secret, signed, "sha256"))


def _foreign(kid: str | None = "one", **claims: Any) -> bytes:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(GOOD | claims, PRIVATE, algorithm="RS256", headers=headers).encode()


def _without(claim: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != claim}


CASES: dict[str, tuple[bytes, str]] = {
    "alg none": (_segment({"alg": "none"}) + b"." + _segment(GOOD) + b".", "algorithm"),
    "alg NONE, signed": (_local({"alg": "NONE"}, GOOD), "algorithm"),
    "no alg": (_local({}, GOOD), "algorithm"),
    "HS with the public key": (_local(HS256, GOOD, PUBLIC_PEM), "signature"),
    "HS with the public key, by kid": (_local(HS256 | {"kid": "one"}, GOOD, PUBLIC_PEM), "signature"),
    "HS512": (_local({"alg": "HS512"}, GOOD), "algorithm"),
    "RS256 signed with the secret": (_local({"alg": "RS256", "kid": "one"}, GOOD), "signature"),
    "wrong kid": (_foreign("two"), "unknown_key"),
    "kid of a path": (_foreign("../../etc/passwd"), "unknown_key"),
    "jku": (_local(HS256 | {"jku": "https://evil.example"}, GOOD), "header"),
    "x5u": (_local(HS256 | {"x5u": "https://evil.example"}, GOOD), "header"),
    "jwk": (_local(HS256 | {"jwk": {"kty": "oct", "k": "AA"}}, GOOD), "header"),
    "another secret": (_local(HS256, GOOD, b"another secret, long enough as well"), "signature"),
    "no signature": (_local(HS256, GOOD).rpartition(b".")[0] + b".", "signature"),
    "expired": (_local(HS256, GOOD | {"exp": NOW}), "expired"),
    "expired, foreign": (_foreign(exp=NOW - 1), "expired"),
    "not yet": (_local(HS256, GOOD | {"nbf": NOW + 61}), "not_yet"),
    "issued tomorrow": (_local(HS256, GOOD | {"iat": NOW + 86_400}), "not_yet"),
    "no exp": (_local(HS256, _without("exp")), "claims"),
    "wrong audience": (_local(HS256, GOOD | {"aud": "other"}), "audience"),
    "an array without our audience": (_local(HS256, GOOD | {"aud": ["other", "another"]}), "audience"),
    "an empty array of audiences": (_local(HS256, GOOD | {"aud": []}), "audience"),
    "no audience": (_local(HS256, _without("aud")), "audience"),
    "wrong issuer": (_foreign(iss="https://evil.example"), "issuer"),
    "no issuer": (_local(HS256, _without("iss")), "issuer"),
    "no sub": (_local(HS256, _without("sub")), "subject"),
    "an empty sub": (_local(HS256, GOOD | {"sub": ""}), "subject"),
    "a sub of another kind": (_local(HS256, GOOD | {"sub": ["alice"]}), "subject"),
    "a claim twice": (_local(HS256, json.dumps(GOOD).encode()[:-1] + b', "sub": "root"}'), "malformed"),
    "a header twice": (_local(b'{"alg":"none","alg":"HS256"}', GOOD), "malformed"),
    "claims that are not UTF-8": (_local(HS256, b'{"sub": "\xff\xfe"}'), "malformed"),
    "a header that is not UTF-8": (_local(b'{"alg": "\xff"}', GOOD), "malformed"),
    "64 KiB": (_local(HS256, GOOD | {"pad": "x" * 65_536}), "too_long"),
    "not base64": (b"a.b!.c", "malformed"),
    "not UTF-8": (b"\xff\xfe.\xff.\xff", "malformed"),
    "two segments": (b"a.b", "malformed"),
    "an unknown kind": (_local(HS256, GOOD | {"kind": "root"}), "claims"),
    "roles as a word": (_local(HS256, GOOD | {"roles": "admin"}), "claims"),
}
GOOD_ONES = {
    "local": _local(HS256, GOOD),
    "an array with our audience": _local(HS256, GOOD | {"aud": ["other", AUDIENCE]}),
    "foreign": _foreign(),
}


class _Keys(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        jwk = RSAAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True) | {"kid": "one"}
        body = json.dumps({"keys": [jwk]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def guarded() -> Iterator[Service]:
    """A server that takes local tokens and those of a foreign issuer, for one audience."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Keys) as issuer:
        thread = Thread(target=issuer.serve_forever, args=(0.005,))
        thread.start()
        url = f"http://127.0.0.1:{issuer.server_address[1]}/keys"
        try:
            with serving(jwks_url=url, jwt_issuer=ISSUER, jwt_audience=AUDIENCE) as service:
                yield service
        finally:
            issuer.shutdown()
            thread.join()


def _show(service: Service, token: bytes, path: str = "entries", method: str = "GET") -> Any:
    return service.ask(method, path, headers={"Authorization": b"Bearer " + token})


@pytest.mark.parametrize("token", GOOD_ONES.values(), ids=GOOD_ONES)
def test_a_good_token_opens(guarded: Service, token: bytes) -> None:
    assert _show(guarded, token).status_code == 200


@pytest.mark.parametrize(("token", "reason"), CASES.values(), ids=CASES)
def test_a_bad_token_is_unauthenticated_with_one_reason(guarded: Service, token: bytes, reason: str) -> None:
    with guarded.untouched():
        for method, path in (("GET", "entries"), ("POST", "remember"), ("GET", "memory/facts")):
            answered = _show(guarded, token, path, method)
            assert code(answered) == (401, "unauthenticated")
            assert answered.json()["reason"] == reason
            challenge = answered.headers["www-authenticate"]
            assert challenge == f'Bearer error="invalid_token", error_description="{reason}"'
            assert token.decode("latin-1") not in answered.text


@pytest.mark.parametrize("value", [None, "", "Basic YWxpY2U6eA==", "Bearer", "Token x"], ids=str)
def test_no_token_is_asked_for_plainly(guarded: Service, value: str | None) -> None:
    headers = {} if value is None else {"Authorization": value}
    answered = guarded.ask("GET", "entries", who=None, headers=headers)
    assert code(answered) == (401, "unauthenticated")
    assert answered.json()["reason"] in ("missing", "scheme", "malformed")
    assert answered.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_asks_for_a_token_before_it_reads_anything(service: Service, route: Any) -> None:
    path = route.path.replace("{", "").replace("}", "")
    answered = service.ask(route.method, f"{path}?nonsense=%zz", content=b"{", who=None)
    assert code(answered) == (401, "unauthenticated")


def test_a_token_in_a_query_or_a_cookie_is_none(guarded: Service) -> None:
    token = GOOD_ONES["local"].decode()
    for answered in (
        guarded.ask("GET", f"entries?access_token={token}", who=None),
        guarded.ask("GET", "entries", who=None, headers={"cookie": f"token={token}"}),
    ):
        assert code(answered) == (401, "unauthenticated")


def test_a_wrong_token_tells_nothing_of_what_lies_behind(service: Service) -> None:
    entry = service.kept("hidden")
    paths = (f"entries/{entry['id']}", "entries/0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c")
    first, second = (service.ask("GET", path, who=None) for path in paths)
    assert first.json() == second.json()
