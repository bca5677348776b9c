"""Tokens of a foreign issuer, against a real server that publishes its keys."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from holdfast.domain.errors import InvalidField, Unauthenticated, Unavailable
from holdfast.domain.principal import Caller
from holdfast.domain.times import SECOND
from holdfast.entrypoints.http import jwks as jwks_module
from holdfast.entrypoints.http.authenticate import Verifier, reason_of
from holdfast.entrypoints.http.jwks import MAX_BYTES, Jwks, check_algorithms
from holdfast.entrypoints.http.tokens import Secret, mint
from holdfast.settings import load
from tests.support import NOON, FixedClock, until

SECRET = Secret(b"the secret of this test, 32 bytes")
ISSUER = "https://idp.example"
THREE = ("RS256", "ES256", "EdDSA")


@cache
def _private(name: str) -> Any:
    """The algorithm opens the name; making an RSA key takes a while, so each is made once."""
    match name.partition("-")[0]:
        case "RS256":
            return rsa.generate_private_key(65_537, 2_048)
        case "weak":
            return rsa.generate_private_key(65_537, 1_024)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case "ES384":
            return ec.generate_private_key(ec.SECP384R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def _jwk(name: str, **more: Any) -> dict[str, Any]:
    """The public key with its name as `kid`; None as a value leaves a member out."""
    private = _private(name)
    public = private.public_key()
    match public:
        case rsa.RSAPublicKey():
            jwk = RSAAlgorithm.to_jwk(public, as_dict=True)
        case ec.EllipticCurvePublicKey():
            jwk = ECAlgorithm.to_jwk(public, as_dict=True)
        case _:
            jwk = OKPAlgorithm.to_jwk(public, as_dict=True)
    return {member: value for member, value in (jwk | {"kid": name} | more).items() if value is not None}


def _token(name: str, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
    said = {"iss": ISSUER, "sub": "alice", "exp": NOON // SECOND + 7 * 86_400} | claims
    algorithm = {"weak": "RS256"}.get(name.partition("-")[0], name.partition("-")[0])
    kept = {member: value for member, value in said.items() if value is not None}
    return jwt.encode(kept, _private(name), algorithm=algorithm, headers={"kid": name} | (header or {}))


def _without_kid(name: str) -> str:
    said = {"iss": ISSUER, "sub": "alice", "exp": NOON // SECOND + 3600}
    return jwt.encode(said, _private(name), algorithm=name.partition("-")[0])


class Issuer:
    """What it publishes can be changed between requests; `asked` counts them."""

    def __init__(self) -> None:
        self.asked = 0
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = b""
        self.delay = self.pause = 0.0
        self.closing = threading.Event()
        """Ends every delay."""
        self.piece = 1 << 20
        self.publish()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                issuer.closing.wait(issuer.delay)
                self.send_response(issuer.status)
                for name, value in issuer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(issuer.body)))
                self.end_headers()
                with suppress(ConnectionError):  # the other side had enough
                    for at in range(0, len(issuer.body), issuer.piece):
                        self.wfile.write(issuer.body[at : at + issuer.piece])
                        time.sleep(issuer.pause)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"

    def publish(self, *keys: Any) -> None:
        self.body = json.dumps({"keys": keys}).encode()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    issuer.publish(*(_jwk(name) for name in THREE))
    yield issuer
    issuer.close()


class Desk:
    """A verifier with its clock; every call runs in one event loop."""

    def __init__(self, url: str, algorithms: tuple[str, ...] = THREE, **given: Any) -> None:
        self.clock = FixedClock()
        self.jwks = Jwks(url, algorithms, self.clock)
        self.verifier = Verifier(load({}, **given), SECRET, self.clock, self.jwks)
        self._runner = asyncio.Runner()

    def verify(self, token: str) -> Caller:
        return self._runner.run(self.verifier.verify(token.encode()))

    def verify_all(self, tokens: list[str]) -> list[Caller | BaseException]:
        async def together() -> list[Caller | BaseException]:
            return await asyncio.gather(
                *map(self.verifier.verify, map(str.encode, tokens)), return_exceptions=True
            )

        return self._runner.run(together())

    def reason(self, token: str) -> str | None:
        with pytest.raises(Unauthenticated) as refused:
            self.verify(token)
        return reason_of(refused.value)

    def close(self) -> None:
        self._runner.run(self.jwks.close())
        self._runner.close()


@pytest.fixture
def desk(issuer: Issuer) -> Iterator[Desk]:
    desk = Desk(issuer.url)
    yield desk
    desk.close()


# Which tokens are taken


@pytest.mark.parametrize("name", THREE)
def test_a_token_of_the_issuer_is_taken_for_its_qualified_subject(desk: Desk, name: str) -> None:
    caller = desk.verify(_token(name))
    assert str(caller.principal) == f"user:{ISSUER}|alice"
    assert caller.door == "http"


def test_a_foreign_issuer_vouches_for_its_own_session_users_alone(desk: Desk) -> None:
    caller = desk.verify(_token("RS256", kind="agent", session_user="bob"))
    assert str(caller.session_user) == f"user:{ISSUER}|bob"


def test_local_and_foreign_tokens_are_taken_side_by_side(desk: Desk, issuer: Issuer) -> None:
    assert str(desk.verify(mint(SECRET, subject="alice", ttl_seconds=60, now=NOON)).principal) == "user:alice"
    assert issuer.asked == 0
    assert str(desk.verify(_token("ES256")).principal) == f"user:{ISSUER}|alice"


@pytest.mark.parametrize("iss", [None, "", " ", 1, "a|b", "a\nb"])
def test_a_foreign_token_without_a_plain_issuer_is_refused(desk: Desk, iss: object) -> None:
    forged = {"iss": iss, "sub": "alice", "exp": NOON // SECOND + 60}
    if iss is None:
        del forged["iss"]
    body = json.dumps(forged).encode()
    token = jwt.api_jws.encode(body, _private("ES256"), algorithm="ES256", headers={"kid": "ES256"})
    assert desk.reason(token) == "issuer"


def test_issuer_and_audience_are_checked_when_configured(issuer: Issuer) -> None:
    desk = Desk(issuer.url, jwt_issuer=ISSUER, jwt_audience="memory")
    assert str(desk.verify(_token("ES256", aud=["other", "memory"])).principal) == f"user:{ISSUER}|alice"
    assert desk.reason(_token("ES256", aud="other")) == "audience"
    assert desk.reason(_token("ES256", aud="memory", iss="https://other.example")) == "issuer"
    desk.close()


def test_a_subject_that_is_too_long_with_its_issuer_is_refused(desk: Desk) -> None:
    assert desk.reason(_token("ES256", sub="x" * 500)) == "subject"


@pytest.mark.parametrize("claim", [{"exp": NOON // SECOND}, {"nbf": NOON // SECOND + 31}], ids=str)
def test_times_hold_for_foreign_tokens_too(desk: Desk, claim: dict[str, Any]) -> None:
    assert desk.reason(_token("RS256", **claim)) in ("expired", "not_yet")


@pytest.mark.parametrize("name", THREE)
def test_a_public_key_is_no_secret(desk: Desk, name: str) -> None:
    """The classic confusion: HS256 over what everyone knows, as PEM, as DER and as JSON."""
    public = _private(name).public_key()
    known = [
        public.public_bytes(form, PublicFormat.SubjectPublicKeyInfo) for form in (Encoding.PEM, Encoding.DER)
    ]
    for key in (*known, known[0].strip(), json.dumps(_jwk(name)).encode()):
        for algorithm, reason in (("HS256", "signature"), ("HS384", "algorithm"), ("HS512", "algorithm")):
            signed = b".".join(
                base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
                for part in ({"alg": algorithm, "kid": name}, {"iss": ISSUER, "sub": "alice", "exp": 1e12})
            )
            mac = hmac.digest(key, signed, algorithm.replace("HS", "sha"))
            token = (signed + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()
            assert desk.reason(token) == reason


@pytest.mark.parametrize(("key", "algorithm"), [("RS256", "ES256"), ("ES256", "RS256"), ("EdDSA", "ES256")])
def test_a_key_is_used_with_its_own_algorithm_alone(desk: Desk, key: str, algorithm: str) -> None:
    assert desk.reason(_token(algorithm, header={"kid": key})) == "algorithm"


def test_another_hash_with_the_right_key_is_refused(desk: Desk) -> None:
    said = {"iss": ISSUER, "sub": "alice", "exp": NOON // SECOND + 60}
    for algorithm in ("RS384", "RS512", "PS256"):
        token = jwt.encode(said, _private("RS256"), algorithm=algorithm, headers={"kid": "RS256"})
        assert desk.reason(token) == "algorithm"


def test_an_algorithm_that_is_not_configured_is_refused_without_a_fetch(issuer: Issuer) -> None:
    desk = Desk(issuer.url, ("RS256",))
    assert desk.reason(_token("ES256")) == "algorithm"
    assert issuer.asked == 0
    assert str(desk.verify(_token("RS256")).principal) == f"user:{ISSUER}|alice"
    desk.close()


def test_a_key_without_alg_serves_each_configured_algorithm_of_its_type(issuer: Issuer) -> None:
    desk = Desk(issuer.url, ("PS256", "RS512"))
    said = {"iss": ISSUER, "sub": "alice", "exp": NOON // SECOND + 60}
    for algorithm in ("PS256", "RS512"):
        token = jwt.encode(said, _private("RS256"), algorithm=algorithm, headers={"kid": "RS256"})
        assert str(desk.verify(token).principal) == f"user:{ISSUER}|alice"
    desk.close()


def test_a_key_with_alg_serves_that_one_alone(issuer: Issuer) -> None:
    issuer.publish(_jwk("RS256", alg="RS512"))
    desk = Desk(issuer.url, ("RS256", "RS512"))
    assert desk.reason(_token("RS256")) == "algorithm"
    desk.close()


@pytest.mark.parametrize("name", THREE)
def test_the_signature_of_another_key_of_that_name_is_refused(desk: Desk, name: str) -> None:
    assert desk.reason(_token(f"{name}-evil", header={"kid": name})) == "signature"


@pytest.mark.parametrize("name", THREE)
def test_a_cut_foreign_signature_is_refused(desk: Desk, name: str) -> None:
    token = _token(name)
    signature = token.rindex(".") + 1
    assert {desk.reason(token[: signature + kept]) for kept in (0, 4, 40)} == {"signature"}


@pytest.mark.parametrize("header", ["jku", "x5u", "jwk", "x5c"])
def test_a_key_that_the_token_brings_along_is_never_looked_at(
    desk: Desk, issuer: Issuer, header: str
) -> None:
    brought = _jwk("ES256-evil") if header == "jwk" else issuer.url
    assert desk.reason(_token("ES256-evil", header={header: brought})) == "header"
    assert issuer.asked == 0


def test_a_wrong_kid_is_refused(desk: Desk) -> None:
    assert desk.reason(_token("ES256", header={"kid": "nobody"})) == "unknown_key"


@pytest.mark.parametrize("kid", [1, ["ES256"], {"a": 1}], ids=str)
def test_a_kid_that_is_no_text_is_refused(desk: Desk, kid: object) -> None:
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "ES256", "kid": kid}, {"sub": "alice"})
    ]
    assert desk.reason(".".join([*parts, "AAAA"])) == "malformed"


def test_without_kid_the_only_key_of_the_algorithm_is_taken(desk: Desk) -> None:
    assert str(desk.verify(_without_kid("ES256")).principal) == f"user:{ISSUER}|alice"


def test_without_kid_and_with_several_keys_none_is_guessed(desk: Desk, issuer: Issuer) -> None:
    issuer.publish(_jwk("ES256"), _jwk("ES256-two"))
    assert desk.reason(_without_kid("ES256")) == "unknown_key"


def test_two_keys_of_one_name_are_not_guessed_between(desk: Desk, issuer: Issuer) -> None:
    issuer.publish(_jwk("ES256"), _jwk("ES256-two", kid="ES256"))
    assert desk.reason(_token("ES256")) == "unknown_key"


def test_a_key_listed_twice_is_one_key(desk: Desk, issuer: Issuer) -> None:
    issuer.publish(_jwk("ES256"), _jwk("ES256"))
    assert str(desk.verify(_token("ES256")).principal) == f"user:{ISSUER}|alice"


@pytest.mark.parametrize(
    "unusable",
    [
        None,
        "text",
        [],
        {},
        {"kty": "oct", "kid": "ES256", "k": "c2VjcmV0", "alg": "HS256"},
        {"kty": "EC", "kid": "ES256"},
        {"kty": "EC", "kid": "ES256", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "kid": "ES256", "crv": "P-256", "x": 1, "y": 2},
        {"kty": "RSA", "kid": "ES256", "n": "!!", "e": "AQAB"},
        {"kty": ["EC"], "kid": "ES256"},
        {"kty": "EC", "kid": "ES256", "crv": ["P-256"]},
    ],
    ids=ascii,
)
def test_keys_that_cannot_be_used_are_passed_over(desk: Desk, issuer: Issuer, unusable: object) -> None:
    issuer.publish(unusable, _jwk("ES256"))
    assert str(desk.verify(_token("ES256")).principal) == f"user:{ISSUER}|alice"


@pytest.mark.parametrize(
    "jwk",
    [
        _jwk("ES256", use="enc"),
        _jwk("ES256", key_ops=["sign"]),
        _jwk("ES256", key_ops="verify"),
        _jwk("ES256", kid=7),
        _jwk("ES256", alg="HS256"),
        _jwk("ES256", alg="none"),
        _jwk("ES384", kid="ES256"),
        ECAlgorithm.to_jwk(_private("ES256"), as_dict=True) | {"kid": "ES256"},
    ],
    ids=[
        "for encryption",
        "for signing",
        "ops no list",
        "kid no text",
        "HS256",
        "none",
        "other curve",
        "private",
    ],
)
def test_keys_for_something_else_verify_nothing(desk: Desk, issuer: Issuer, jwk: dict[str, Any]) -> None:
    issuer.publish(jwk)
    assert desk.reason(_token("ES256")) == "unknown_key"


def test_an_rsa_key_under_2048_bits_is_not_used(desk: Desk, issuer: Issuer) -> None:
    issuer.publish(_jwk("weak"))
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        token = _token("weak")
    assert desk.reason(token) == "unknown_key"


def test_without_keys_of_an_issuer_no_foreign_algorithm_is_taken() -> None:
    verifier = Verifier(load({}), SECRET, FixedClock())
    with pytest.raises(Unauthenticated) as refused:
        asyncio.run(verifier.verify(_token("RS256").encode()))
    assert reason_of(refused.value) == "algorithm"


# What may be configured


@pytest.mark.parametrize("name", ["none", "None", "HS256", "HS512", "rs256", "ES256K", "nonsense", ""])
def test_an_algorithm_that_is_not_asymmetric_cannot_be_configured(name: str) -> None:
    with pytest.raises(InvalidField, match="HOLDFAST_JWT_ALGORITHMS"):
        check_algorithms(["RS256", name])
    with pytest.raises(InvalidField, match="HOLDFAST_JWT_ALGORITHMS"):
        Jwks("https://idp.example/keys", [name], FixedClock())


def test_no_algorithm_at_all_cannot_be_configured() -> None:
    with pytest.raises(InvalidField):
        check_algorithms([])


def test_the_default_algorithms_may_be_configured() -> None:
    assert check_algorithms(load({}).jwt_algorithms) == set(THREE)


@pytest.mark.parametrize(
    "url",
    [
        "http://idp.example/keys",
        "http://192.168.1.5/keys",
        "http://localhost.example.org/keys",
        "http://127.0.0.1.example.org/keys",
        "http://localhost@idp.example/keys",
        "file:///etc/passwd",
        "ftp://127.0.0.1/keys",
        "idp.example/keys",
        "https://",
        "https://idp.example:port/keys",
        "",
    ],
)
def test_keys_are_fetched_by_https_unless_from_loopback(url: str) -> None:
    with pytest.raises(InvalidField, match="HOLDFAST_JWKS_URL"):
        Jwks(url, THREE, FixedClock())


@pytest.mark.parametrize(
    "url",
    ["https://idp.example/keys", "http://localhost:8080/keys", "http://127.0.0.1/k", "http://[::1]:9/k"],
)
def test_https_and_loopback_may_be_configured(url: str) -> None:
    Jwks(url, THREE, FixedClock())


def test_keys_without_a_wanted_audience_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "holdfast"):
        Desk("https://idp.example/keys", jwt_issuer=ISSUER, jwt_audience="memory").close()
        assert caplog.records == []
        Desk("https://idp.example/keys", jwt_issuer=ISSUER).close()
    assert "HOLDFAST_JWT_AUDIENCE" in caplog.text


# When keys are fetched


def test_nothing_is_fetched_before_a_foreign_token_comes(desk: Desk, issuer: Issuer) -> None:
    desk.clock.advance(days=1)
    assert desk.reason("nonsense") == "malformed"
    assert issuer.asked == 0


def test_keys_are_kept_for_ten_minutes(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    desk.clock.advance(seconds=599)
    desk.verify(_token("RS256"))
    assert issuer.asked == 1
    desk.clock.advance(seconds=1)
    desk.verify(_token("EdDSA"))
    assert issuer.asked == 2


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("max-age=120", 120),
        ("public, Max-Age=120, must-revalidate", 120),
        ("max-age=1", 60),
        ("max-age=0", 60),
        ("no-store", 60),
        ("no-cache, max-age=300", 60),
        ("max-age=86400", 600),
        ("s-maxage=120", 600),
        ("max-age=soon", 600),
    ],
)
def test_the_issuer_may_shorten_that_down_to_a_minute(
    desk: Desk, issuer: Issuer, said: str, seconds: int
) -> None:
    issuer.headers["Cache-Control"] = said
    desk.verify(_token("ES256"))
    desk.clock.advance(seconds=seconds - 1)
    desk.verify(_token("RS256"))
    assert issuer.asked == 1
    desk.clock.advance(seconds=1)
    desk.verify(_token("EdDSA"))
    assert issuer.asked == 2


def test_a_new_key_is_found_by_its_unknown_name(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    issuer.publish(_jwk("ES256"), _jwk("ES256-new"))
    desk.clock.advance(seconds=60)
    assert str(desk.verify(_token("ES256-new")).principal) == f"user:{ISSUER}|alice"
    assert issuer.asked == 2


def test_unknown_names_cause_one_fetch_a_minute_at_most(desk: Desk, issuer: Issuer) -> None:
    strangers = [_token("ES256-evil", header={"kid": f"stranger{number}"}) for number in range(20)]
    for token in strangers:
        assert desk.reason(token) == "unknown_key"
    assert issuer.asked == 1
    desk.clock.advance(seconds=59)
    assert desk.reason(strangers[0]) == "unknown_key"
    assert issuer.asked == 1
    desk.clock.advance(seconds=1)
    for token in strangers:
        assert desk.reason(token) == "unknown_key"
    assert issuer.asked == 2


def test_many_at_once_share_one_fetch(desk: Desk, issuer: Issuer) -> None:
    issuer.delay = 0.1
    callers = desk.verify_all([_token("ES256", sub=f"user{number}") for number in range(30)])
    assert [str(caller.principal) for caller in callers if isinstance(caller, Caller)] == [
        f"user:{ISSUER}|user{number}" for number in range(30)
    ]
    assert issuer.asked == 1


def test_many_at_once_with_an_unknown_name_share_one_fetch(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    desk.clock.advance(seconds=61)
    issuer.delay = 0.1
    issuer.publish(_jwk("ES256-new"))
    callers = desk.verify_all([_token("ES256-new", sub=f"user{number}") for number in range(30)])
    assert all(isinstance(caller, Caller) for caller in callers)
    assert issuer.asked == 2


def test_one_who_hangs_up_does_not_end_the_fetch_for_others(issuer: Issuer) -> None:
    issuer.delay = 0.2
    clock = FixedClock()
    verifier = Verifier(load({}), SECRET, clock, Jwks(issuer.url, THREE, clock))

    async def story() -> Caller:
        first = asyncio.create_task(verifier.verify(_token("ES256").encode()))
        second = asyncio.create_task(verifier.verify(_token("ES256", sub="bob").encode()))
        await asyncio.to_thread(until, lambda: issuer.asked)
        first.cancel()
        return await second

    assert str(asyncio.run(story()).principal) == f"user:{ISSUER}|bob"
    assert issuer.asked == 1


def test_closing_ends_a_fetch_that_is_under_way(issuer: Issuer) -> None:
    issuer.delay = 60
    jwks = Jwks(issuer.url, THREE, FixedClock())

    async def story() -> None:
        waiting = asyncio.create_task(jwks.named("ES256"))
        await asyncio.to_thread(until, lambda: issuer.asked)
        await jwks.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    start = time.monotonic()
    asyncio.run(story())
    assert time.monotonic() - start < issuer.delay


# When the issuer fails


def _break(issuer: Issuer) -> None:
    issuer.status, issuer.body = 500, b"out of order"


def test_without_any_keys_the_answer_is_unavailable_not_refused(
    desk: Desk, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    _break(issuer)
    token = _token("ES256")
    with caplog.at_level(logging.WARNING, "holdfast"), pytest.raises(Unavailable, match="try again"):
        desk.verify(token)
    assert "status 500" in caplog.text
    assert token not in caplog.text


def test_a_failed_first_fetch_is_tried_again_after_five_seconds(desk: Desk, issuer: Issuer) -> None:
    _break(issuer)
    for _ in range(5):
        with pytest.raises(Unavailable):
            desk.verify(_token("ES256"))
    assert issuer.asked == 1
    issuer.status = 200
    issuer.publish(_jwk("ES256"))
    desk.clock.advance(seconds=5)
    assert str(desk.verify(_token("ES256")).principal) == f"user:{ISSUER}|alice"


def test_old_keys_serve_for_a_day_when_the_issuer_fails(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    _break(issuer)
    desk.clock.advance(hours=23, seconds=3_599)
    assert str(desk.verify(_token("ES256", sub="bob")).principal) == f"user:{ISSUER}|bob"
    desk.clock.advance(seconds=1)
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256", sub="carol"))


def test_an_issuer_that_fails_is_asked_once_a_minute(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    _break(issuer)
    desk.clock.advance(seconds=600)
    for number in range(5):
        desk.verify(_token("ES256", sub=f"user{number}"))
    assert issuer.asked == 2
    desk.clock.advance(seconds=60)
    desk.verify(_token("ES256", sub="bob"))
    assert issuer.asked == 3


def test_nobody_listening_is_unavailable(issuer: Issuer) -> None:
    desk = Desk(issuer.url.replace("/keys", "/").replace("127.0.0.1", "127.0.0.2"))
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))
    desk.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[]", b"{}", b'{"keys":{}}', b'{"keys":null}', b"\xff\xfe", b"[" * 100_000],
    ids=lambda body: ascii(body[:12]),
)
def test_an_answer_that_is_no_set_of_keys_is_a_failure(desk: Desk, issuer: Issuer, body: bytes) -> None:
    issuer.body = body
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))


def test_an_empty_set_is_an_answer_the_issuer_took_its_keys_back(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    issuer.publish()
    desk.clock.advance(seconds=600)
    assert desk.reason(_token("ES256", sub="bob")) == "unknown_key"


def test_an_answer_over_256_kib_is_a_failure(desk: Desk, issuer: Issuer) -> None:
    issuer.publish(_jwk("ES256"), "x" * MAX_BYTES)
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))


def test_a_compressed_answer_is_a_failure(desk: Desk, issuer: Issuer) -> None:
    issuer.headers["Content-Encoding"] = "gzip"
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(desk: Desk, issuer: Issuer, status: int) -> None:
    issuer.status = status
    issuer.headers["Location"] = issuer.url
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))
    assert issuer.asked == 1


def test_an_issuer_that_does_not_answer_in_time_is_a_failure(
    desk: Desk, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks_module, "TIMEOUT_SECONDS", 0.1)
    issuer.delay = 0.5
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))


def test_an_answer_that_trickles_is_a_failure_after_the_same_time(
    desk: Desk, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece comes in time; all of them together do not."""
    monkeypatch.setattr(jwks_module, "TIMEOUT_SECONDS", 0.4)
    issuer.publish(_jwk("ES256"))
    issuer.piece, issuer.pause = len(issuer.body) // 8, 0.1
    with pytest.raises(Unavailable):
        desk.verify(_token("ES256"))


def test_a_clock_set_back_does_not_keep_old_keys_for_ever(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("ES256"))
    issuer.publish(_jwk("RS256"))
    desk.clock.advance(days=-30)
    assert desk.reason(_token("ES256", sub="bob")) == "unknown_key"


# Known tokens


def test_a_known_token_is_forgotten_when_its_key_is_withdrawn(desk: Desk, issuer: Issuer) -> None:
    desk.clock.advance(seconds=1)
    gone, stays = _token("ES256"), _token("RS256")
    desk.verify(stays)
    desk.clock.advance(seconds=50)
    desk.verify(gone)
    issuer.publish(_jwk("RS256"), _jwk("EdDSA"))
    desk.clock.advance(seconds=9)
    assert desk.verifier.known(gone.encode()) is not None
    assert desk.verifier.known(stays.encode()) is not None
    desk.clock.advance(seconds=1)
    desk.verify(stays)
    assert desk.reason(_token("ES256", header={"kid": "stranger"})) == "unknown_key"

    assert issuer.asked == 2
    assert desk.verifier.known(gone.encode()) is None
    assert desk.verifier.known(stays.encode()) is not None
    assert desk.reason(gone) == "unknown_key"


def test_a_known_token_is_forgotten_when_another_key_takes_the_name(desk: Desk, issuer: Issuer) -> None:
    desk.verify(_token("RS256"))
    desk.clock.advance(seconds=30)
    token = _token("ES256")
    desk.verify(token)
    issuer.publish(_jwk("ES256-two", kid="ES256"))
    desk.clock.advance(seconds=30)
    desk.reason(_token("ES256-evil"))

    assert desk.verifier.known(token.encode()) is None
    assert desk.reason(token) == "signature"
