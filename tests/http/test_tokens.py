"""Local tokens: what is minted is taken, everything else is refused with one reason; and who a request comes from."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from holdfast.domain.errors import InvalidField, Unauthenticated
from holdfast.domain.principal import Caller, Principal, PrincipalKind
from holdfast.domain.times import SECOND
from holdfast.entrypoints.http import authenticate
from holdfast.entrypoints.http.authenticate import (
    SENTENCE,
    Authenticator,
    Verifier,
    challenge,
    check_auth_allowed,
    reason_of,
    unauthenticated,
)
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.tokens import Secret, mint
from holdfast.settings import load
from tests.support import NOON, FixedClock

SECRET = Secret(b"the secret of this test, 32 bytes")
NOON_SECONDS = NOON // SECOND
HS256 = {"alg": "HS256", "typ": "JWT"}
ORDER: dict[str, Any] = {"subject": "alice", "ttl_seconds": 60, "now": NOON}
ALICE: dict[str, Any] = {"sub": "alice", "exp": NOON_SECONDS + 3600}


def _segment(part: object) -> bytes:
    body = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(body).rstrip(b"=")


def _signed(header: object, claims: object, secret: bytes = SECRET.key) -> str:
    """Any header and claims, also as raw bytes, with a good signature."""
    signed = _segment(header) + b"." + _segment(claims)
    return (signed + b"." + _segment(hmac.digest(secret, signed, "sha256"))).decode()


def _alice(**claims: Any) -> str:
    return _signed(HS256, ALICE | claims)


def _verifier(clock: FixedClock | None = None, **given: Any) -> Verifier:
    return Verifier(load({}, **given), SECRET, clock or FixedClock())


def _verify(token: str | bytes, verifier: Verifier | None = None) -> Caller:
    sent = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
    return asyncio.run((verifier or _verifier()).verify(sent))


def _who(token: str | bytes, verifier: Verifier | None = None) -> str:
    return str(_verify(token, verifier).principal)


def _reason(token: str | bytes, verifier: Verifier | None = None) -> str | None:
    with pytest.raises(Unauthenticated) as refused:
        _verify(token, verifier)
    assert refused.value.message == SENTENCE
    text = token if isinstance(token, str) else token.decode("latin-1")
    assert len(text) < 3 or text not in str(refused.value) + str(refused.value.__cause__)
    return reason_of(refused.value)


# What is minted


def test_a_minted_token_is_taken_for_its_subject() -> None:
    caller = _verify(mint(SECRET, subject="alice", ttl_seconds=60, now=NOON))

    assert caller.principal == Principal(PrincipalKind.USER, "alice")
    assert (set(caller.roles), caller.door) == ({"member"}, "http")
    assert (caller.session_user, caller.unattended, caller.conversation) == (None, False, None)
    assert (len(caller.chats), len(caller.teams), len(caller.systems)) == (0, 0, 0)


def test_a_minted_token_carries_everything_it_was_given() -> None:
    token = mint(
        SECRET,
        subject="bot",
        kind="agent",
        owner="alice",
        roles=["member", "admin"],
        ttl_seconds=60,
        now=NOON,
        teams=["platform"],
        chats=["c1", "c2"],
        systems={"crm": "read", "erp": "manage"},
        session_user="bob",
        unattended=True,
        run="nightly",
    )
    caller = _verify(token)
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))

    assert str(caller.principal) == "agent:bot"
    assert caller.is_admin
    assert caller.session_user == Principal(PrincipalKind.USER, "bob")
    assert (set(caller.teams), set(caller.chats)) == ({"platform"}, {"c1", "c2"})
    assert caller.systems == {"crm": "read", "erp": "manage"}
    assert (caller.unattended, caller.run) == (True, "nightly")
    assert claims["owner"] == "alice"
    assert (claims["iat"], claims["exp"]) == (NOON_SECONDS, NOON_SECONDS + 60)
    assert claims["jti"]
    assert "iss" not in claims
    assert "aud" not in claims


def test_two_tokens_of_one_moment_differ() -> None:
    assert mint(SECRET, subject="a", ttl_seconds=9, now=NOON) != mint(
        SECRET, subject="a", ttl_seconds=9, now=NOON
    )


def test_a_minted_token_has_issuer_and_audience_where_they_are_configured() -> None:
    strict = _verifier(jwt_issuer="https://us", jwt_audience="memory")
    token = mint(SECRET, subject="a", ttl_seconds=9, now=NOON, issuer="https://us", audience="memory")

    assert _who(token, strict) == "user:a"
    assert _reason(mint(SECRET, subject="a", ttl_seconds=9, now=NOON), strict) == "issuer"


@pytest.mark.parametrize(
    "given",
    [
        {"subject": ""},
        {"subject": " "},
        {"subject": "line\nend"},
        {"subject": "x" * 513},
        {"kind": "admin"},
        {"ttl_seconds": 0},
        {"ttl_seconds": 11 * 365 * 86_400},
        {"roles": [""]},
        {"session_user": "bob"},
        {"systems": {"crm": "write"}},
        {"run": "token:x"},
        {"owner": ""},
        {"chats": [f"chat-{number}" for number in range(1_000)]},
    ],
    ids=str,
)
def test_a_token_that_would_not_be_taken_is_not_minted(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidField):
        mint(SECRET, **{**ORDER, **given})


# The envelope


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "nOnE", "", "HS384", "HS512", "hs256", "RS256"]
)
def test_no_other_algorithm_is_taken_for_a_local_token(algorithm: str) -> None:
    assert _reason(_signed({"alg": algorithm}, ALICE)) == "algorithm"


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE"])
def test_a_token_without_a_signature_is_refused(algorithm: str) -> None:
    unsigned = _segment({"alg": algorithm}) + b"." + _segment(ALICE) + b"."
    assert _reason(unsigned) == "algorithm"


@pytest.mark.parametrize(
    "header", [{}, {"alg": None}, {"alg": 1}, {"alg": ["HS256"]}, {"alg": {"a": 1}}], ids=str
)
def test_a_header_without_an_algorithm_is_refused(header: dict[str, Any]) -> None:
    assert _reason(_signed(header, ALICE)) == "algorithm"


def test_a_local_token_with_an_empty_signature_is_refused() -> None:
    assert _reason(_segment(HS256) + b"." + _segment(ALICE) + b".") == "signature"


def test_a_token_of_another_secret_is_refused() -> None:
    assert _reason(_signed(HS256, ALICE, b"another secret, just as long as ours")) == "signature"


def test_changed_claims_are_refused() -> None:
    header, _, signature = _alice().split(".")
    changed = _segment(ALICE | {"sub": "bob"}).decode()
    assert _reason(f"{header}.{changed}.{signature}") == "signature"


def test_a_cut_signature_is_refused_at_every_length() -> None:
    token = _alice()
    body = token.rindex(".") + 1
    assert {_reason(token[:end]) for end in range(body, len(token))} <= {"signature", "malformed"}


@pytest.mark.parametrize("name", ["jku", "x5u", "jwk", "x5c", "crit", "b64"])
def test_a_header_that_brings_its_own_key_or_extension_is_refused(name: str) -> None:
    assert _reason(_signed(HS256 | {name: ["https://evil.example/keys"]}, ALICE)) == "header"


@pytest.mark.parametrize("size", [8 * 1024 + 1, 64 * 1024, 8 * 1024 * 1024])
def test_a_token_over_8_kib_is_refused_before_any_work(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long = _alice(pad="x" * size)
    monkeypatch.delattr(authenticate, "_split")
    monkeypatch.delattr(authenticate, "hashlib")

    assert _reason(long) == "too_long"
    assert _reason(long.encode()) == "too_long"


def test_a_token_of_just_8_kib_is_taken() -> None:
    bare = len(_alice(pad=""))
    fitting = _alice(pad="x" * ((8 * 1024 - bare) * 3 // 4))

    assert 8 * 1024 - 2 <= len(fitting) <= 8 * 1024
    assert _who(fitting) == "user:alice"


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c.d",
        "é.é.é",
        "\ud800",
        "not a token",
        b"\xff\xfe",
        b"\x00",
        _alice() + "=",
        _alice() + "\n",
        " " + _alice(),
        _alice().replace(".", "..", 1),
        _alice() + "." + _alice(),
    ],
    ids=ascii,
)
def test_what_is_not_three_segments_of_base64url_is_refused(token: str | bytes) -> None:
    assert _reason(token) == "malformed"


def test_a_second_spelling_of_a_good_signature_is_refused() -> None:
    """The last character of 32 bytes carries two bits that decode to nothing."""
    token = _alice()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]

    assert _reason(twin) == "malformed"


BAD_JSON = [
    b"",
    b"\xff\xfe",
    b"\x80",
    b"not json",
    b"[]",
    b"null",
    b'"text"',
    b"1",
    b"{",
    b"\xef\xbb\xbf{}",
    '{"alg":"HS256"}'.encode("utf-16"),
    b'{"a":NaN}',
    b'{"a":-Infinity}',
    b'{"a":' + b"[" * 9 + b"]" * 9 + b"}",
    b'{"a":' + b"[" * 2_000 + b"]" * 2_000 + b"}",
    b'{"a":' + b'{"a":' * 800 + b"1" + b"}" * 801,
    b'{"a":' + b"9" * 4_500 + b"}",
]


@pytest.mark.parametrize("body", BAD_JSON, ids=lambda body: ascii(body[:20]))
def test_a_header_that_is_no_plain_json_object_is_refused(body: bytes) -> None:
    assert _reason(_signed(body, ALICE)) == "malformed"


@pytest.mark.parametrize("body", BAD_JSON, ids=lambda body: ascii(body[:20]))
def test_claims_that_are_no_plain_json_object_are_refused_though_signed(body: bytes) -> None:
    assert _reason(_signed(HS256, body)) == "malformed"


@pytest.mark.parametrize(
    "header",
    [
        b'{"alg":"HS256","alg":"HS256"}',
        b'{"alg":"none","alg":"HS256"}',
        b'{"alg":"HS256","kid":"a","kid":"a"}',
        b'{"alg":"HS256","\\u0061lg":"HS256"}',
        b'{"alg":"HS256","x":{"y":1,"y":1}}',
    ],
)
def test_a_name_twice_in_the_header_is_refused(header: bytes) -> None:
    assert _reason(_signed(header, ALICE)) == "malformed"


@pytest.mark.parametrize(
    "repeat", [b'"sub":"bob"', b'"sub":"alice"', b'"s\\u0075b":"bob"', b'"systems":{"a":"read","a":"manage"}']
)
def test_a_claim_twice_is_refused(repeat: bytes) -> None:
    claims = b'{"sub":"alice","exp":%d,%b}' % (NOON_SECONDS + 60, repeat)
    assert _reason(_signed(HS256, claims)) == "malformed"


# Times, issuer, audience


def test_a_token_ends_at_its_exp_without_leeway() -> None:
    clock = FixedClock()
    token = _alice(exp=NOON_SECONDS + 10)

    clock.advance(seconds=9)
    assert _who(token, _verifier(clock)) == "user:alice"
    clock.advance(seconds=1)
    assert _reason(token, _verifier(clock)) == "expired"


def test_fractions_of_a_second_count() -> None:
    clock = FixedClock(NOON + SECOND // 2)
    assert _who(_alice(exp=NOON_SECONDS + 0.75), _verifier(clock)) == "user:alice"
    assert _reason(_alice(exp=NOON_SECONDS + 0.25), _verifier(clock)) == "expired"


@pytest.mark.parametrize("claim", ["nbf", "iat"])
def test_a_token_of_the_future_is_refused_beyond_30_seconds(claim: str) -> None:
    assert _who(_alice(**{claim: NOON_SECONDS + 30})) == "user:alice"
    assert _reason(_alice(**{claim: NOON_SECONDS + 31})) == "not_yet"


@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
@pytest.mark.parametrize(
    "moment", ["1780003600", None, True, [], {}, -1, 10**13, 10**400], ids=lambda m: str(m)[:12]
)
def test_a_time_that_is_not_seconds_is_refused(claim: str, moment: object) -> None:
    assert _reason(_alice(**{claim: moment})) == "claims"


@pytest.mark.parametrize("number", [b"1e999", b"-1e999"])
def test_an_infinite_exp_is_refused(number: bytes) -> None:
    assert _reason(_signed(HS256, b'{"sub":"alice","exp":%b}' % number)) == "claims"


def test_a_token_without_exp_is_refused() -> None:
    assert _reason(_signed(HS256, {"sub": "alice"})) == "claims"


@pytest.mark.parametrize("audience", ["memory", ["memory"], ["other", "memory"]], ids=str)
def test_our_audience_is_taken_alone_and_among_others(audience: object) -> None:
    assert _who(_alice(aud=audience), _verifier(jwt_audience="memory")) == "user:alice"


@pytest.mark.parametrize(
    "audience",
    ["other", "", "memory ", ["other"], [], ["memory", 1], [["memory"]], {"memory": 1}, None, 1],
    ids=str,
)
def test_another_audience_is_refused(audience: object) -> None:
    assert _reason(_alice(aud=audience), _verifier(jwt_audience="memory")) == "audience"


def test_no_audience_is_refused_where_one_is_wanted() -> None:
    assert _reason(_alice(), _verifier(jwt_audience="memory")) == "audience"


@pytest.mark.parametrize("issuer", ["https://other", "", None, ["https://us"], "https://us/"], ids=str)
def test_another_issuer_is_refused(issuer: object) -> None:
    assert _reason(_alice(iss=issuer), _verifier(jwt_issuer="https://us")) == "issuer"


def test_a_local_token_is_known_by_its_subject_whatever_issuer_it_names() -> None:
    assert _who(_alice(iss="https://us")) == "user:alice"


# Who it vouches for


@pytest.mark.parametrize(
    "subject", ["", " ", None, 1, ["alice"], "a\nb", "a\x00", "x" * 513, "\ud800"], ids=ascii
)
def test_a_subject_that_is_no_printable_text_is_refused(subject: object) -> None:
    assert _reason(_alice(sub=subject)) == "subject"


def test_a_token_without_a_subject_is_refused() -> None:
    assert _reason(_signed(HS256, {"exp": NOON_SECONDS + 60})) == "subject"


def test_the_local_secret_may_vouch_for_a_foreign_user() -> None:
    assert _who(_alice(sub="https://idp|bob")) == "user:https://idp|bob"


@pytest.mark.parametrize("kind", ["user", "agent", "service"])
def test_each_kind_is_taken_and_a_service_is_unattended(kind: str) -> None:
    caller = _verify(_alice(kind=kind, unattended=False))
    assert str(caller.principal) == f"{kind}:alice"
    assert caller.unattended is (kind == "service")


@pytest.mark.parametrize("kind", ["admin", "User", "", "team", None, 1, ["user"], {}], ids=str)
def test_any_other_kind_is_refused(kind: object) -> None:
    assert _reason(_alice(kind=kind)) == "claims"


@pytest.mark.parametrize(
    "claim",
    [
        {"roles": "admin"},
        {"roles": None},
        {"roles": [1]},
        {"roles": [["admin"]]},
        {"roles": {"admin": True}},
        {"roles": [""]},
        {"roles": ["ad\nmin"]},
        {"teams": "platform"},
        {"teams": [None]},
        {"chats": {"c": 1}},
        {"chats": ["\ud800"]},
        {"systems": ["crm"]},
        {"systems": {"crm": "write"}},
        {"systems": {"crm": True}},
        {"systems": {"crm": ["read"]}},
        {"systems": {"": "read"}},
        {"systems": None},
        {"unattended": "yes"},
        {"unattended": 1},
        {"unattended": None},
        {"run": 1},
        {"run": ""},
        {"run": "token:other"},
        {"run": "x" * 513},
        {"jti": 7},
        {"owner": ["bob"]},
        {"session_user": "bob"},
        {"session_user": "bob", "kind": "user"},
        {"session_user": "", "kind": "agent"},
        {"session_user": 1, "kind": "agent"},
        {"session_user": {"sub": "bob"}, "kind": "service"},
    ],
    ids=ascii,
)
def test_a_claim_of_the_wrong_type_is_refused(claim: dict[str, Any]) -> None:
    assert _reason(_alice(**claim)) == "claims"


def test_no_roles_at_all_may_be_said() -> None:
    assert _verify(_alice(roles=[])).roles == frozenset()


@pytest.mark.parametrize("kind", ["agent", "service"])
def test_an_agent_or_service_may_have_a_session_user(kind: str) -> None:
    assert str(_verify(_alice(kind=kind, session_user="bob")).session_user) == "user:bob"


def test_a_run_is_the_claim_else_the_token() -> None:
    bare = _alice()

    assert _verify(_alice(run="r1", jti="j1")).run == "r1"
    assert _verify(_alice(jti="j1")).run == "token:j1"
    assert _verify(bare).run == "token:" + hashlib.sha256(bare.encode()).hexdigest()[:32]


def test_the_reasons_are_a_closed_list() -> None:
    assert {str(reason) for reason in Reason} == {
        "missing", "scheme", "too_long", "malformed", "header", "algorithm", "unknown_key", "signature", "expired",
        "not_yet", "issuer", "audience", "subject", "claims",
    }  # fmt: skip


# Known tokens


def test_a_verified_token_is_known_for_a_minute() -> None:
    clock = FixedClock()
    verifier = _verifier(clock)
    token = _alice().encode()

    assert verifier.known(token) is None
    caller = _verify(token, verifier)
    clock.advance(seconds=59)
    assert verifier.known(token) is caller
    clock.advance(seconds=1)
    assert verifier.known(token) is None


def test_a_verified_token_is_not_known_past_its_end() -> None:
    clock = FixedClock()
    verifier = _verifier(clock)
    token = _alice(exp=NOON_SECONDS + 5).encode()

    _verify(token, verifier)
    clock.advance(seconds=4)
    assert verifier.known(token)
    clock.advance(seconds=1)
    assert verifier.known(token) is None
    assert _reason(token, verifier) == "expired"


@pytest.mark.parametrize(
    "token", [_alice(sub=""), _alice(kind="x"), _signed(HS256, ALICE, b"y" * 32), "", "x" * 9_000]
)
def test_a_refused_token_is_never_known(token: str) -> None:
    verifier = _verifier()
    _reason(token, verifier)
    assert verifier.known(token.encode()) is None


def test_so_many_tokens_are_known_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authenticate, "KNOWN_TOKENS", 3)
    verifier = _verifier()
    made = [_alice(sub=f"user{number}").encode() for number in range(5)]
    for token in made:
        _verify(token, verifier)

    assert [verifier.known(token) is not None for token in made] == [False, False, True, True, True]
    assert len(verifier._cache) == 3


def test_ended_tokens_leave_memory_when_others_come() -> None:
    clock = FixedClock()
    verifier = _verifier(clock)
    for number in range(5):
        _verify(_alice(sub=f"user{number}"), verifier)
    clock.advance(seconds=61)
    _verify(_alice(), verifier)

    assert len(verifier._cache) == 1


def test_what_is_known_does_not_hold_the_token() -> None:
    verifier = _verifier()
    token = _alice()
    _verify(token, verifier)

    assert token not in repr(verifier._cache)


def test_a_kept_caller_cannot_be_changed_by_those_who_share_it() -> None:
    caller = _verify(_alice(systems={"crm": "read"}))
    with pytest.raises(TypeError):
        caller.systems["crm"] = "manage"  # type: ignore[index]


def test_knowing_a_token_costs_a_small_part_of_verifying_it() -> None:
    """A ratio within one run; the machine's speed drops out."""
    clock = FixedClock()
    token = _alice(teams=["a", "b"]).encode()

    async def verify_all(rounds: int) -> float:
        start = time.process_time()
        for _ in range(rounds):
            await Verifier(load_once, SECRET, clock).verify(token)
        return time.process_time() - start

    load_once = load({})
    verifying = asyncio.run(verify_all(300))
    verifier = _verifier(clock)
    _verify(token, verifier)
    start = time.process_time()
    for _ in range(300):
        verifier.known(token)
    knowing = time.process_time() - start

    assert knowing < verifying / 3


# From a request to its caller


def _authenticator(**given: Any) -> Authenticator:
    return Authenticator(load({}, **given), _verifier())


def _caller(headers: dict[str, str], **given: Any) -> Caller:
    return asyncio.run(_authenticator(**given).caller(Headers(headers).raw))


def _refused(*headers: tuple[bytes, bytes]) -> str | None:
    with pytest.raises(Unauthenticated) as refused:
        asyncio.run(_authenticator().caller(list(headers)))
    return reason_of(refused.value)


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "bEaReR   "])
def test_the_scheme_is_bearer_in_any_case(scheme: str) -> None:
    assert str(_caller({"Authorization": scheme + _alice()}).principal) == "user:alice"


def test_no_authorization_is_missing() -> None:
    assert _refused() == "missing"


@pytest.mark.parametrize("value", ["Basic YTpi", "", "Token x", _alice(), "BearerX " + _alice(), " Bearer x"])
def test_another_scheme_is_refused(value: str) -> None:
    assert _refused((b"authorization", value.encode())) == "scheme"


def test_two_authorizations_are_refused_though_both_are_good() -> None:
    good = (b"authorization", b"Bearer " + _alice().encode())
    assert _refused(good, good) == "scheme"


@pytest.mark.parametrize(
    "value", [b"Bearer", b"Bearer ", b"Bearer a, Bearer b", b"Bearer \xff\xff.\xff.\xff"]
)
def test_a_bearer_without_a_token_is_refused(value: bytes) -> None:
    assert _refused((b"authorization", value)) == "malformed"


def test_raw_headers_are_read_as_well() -> None:
    authenticator = _authenticator()
    headers = [
        (b"host", b"localhost"),
        (b"authorization", b"Bearer " + _alice().encode()),
        (b"holdfast-conversation", b"c9"),
    ]

    caller = asyncio.run(authenticator.caller(headers))
    assert caller.conversation == "c9"
    assert asyncio.run(authenticator.caller(headers[:2])) == replace(caller, conversation=None)


def test_headers_name_the_run_and_the_conversation() -> None:
    named = {"Authorization": f"Bearer {_alice()}", "Holdfast-Run": "r7", "Holdfast-Conversation": "c7"}
    caller = _caller(named)
    assert (caller.run, caller.conversation) == ("r7", "c7")
    assert _caller({"Authorization": f"Bearer {_alice(jti='j')}"}).run == "token:j"


def test_a_header_in_utf_8_is_read_as_such() -> None:
    authenticator = _authenticator()
    bearer = (b"authorization", b"Bearer " + _alice().encode())
    caller = asyncio.run(authenticator.caller([bearer, (b"holdfast-conversation", "café".encode())]))
    assert caller.conversation == "café"


def test_headers_of_one_request_do_not_stay_with_the_token() -> None:
    authenticator = _authenticator()
    bearer = {"Authorization": f"Bearer {_alice(jti='j')}"}
    asyncio.run(
        authenticator.caller(Headers(bearer | {"Holdfast-Run": "r", "Holdfast-Conversation": "c"}).raw)
    )
    later = asyncio.run(authenticator.caller(Headers(bearer).raw))
    assert (later.run, later.conversation) == ("token:j", None)


def test_a_run_that_the_token_names_stays_whatever_the_header_says() -> None:
    caller = _caller({"Authorization": f"Bearer {_alice(run='r1', kind='service')}", "Holdfast-Run": "r2"})
    assert caller.run == "r1"


@pytest.mark.parametrize("name", [b"holdfast-run", b"holdfast-conversation"])
@pytest.mark.parametrize(
    "values", [[b""], [b" "], [b"a\tb"], [b"\xff"], [b"\xc2\x85"], [b"x" * 513], [b"a", b"a"]], ids=ascii
)
def test_a_bad_run_or_conversation_is_invalid(name: bytes, values: list[bytes]) -> None:
    bearer = (b"authorization", b"Bearer " + _alice().encode())
    with pytest.raises(InvalidField):
        asyncio.run(_authenticator().caller([bearer, *((name, value) for value in values)]))


def test_a_header_may_not_name_the_run_of_a_token() -> None:
    with pytest.raises(InvalidField):
        _caller({"Authorization": f"Bearer {_alice()}", "Holdfast-Run": "token:j"})


def test_a_stranger_hears_only_that_a_token_is_required() -> None:
    assert _refused((b"holdfast-run", b"\xff")) == "missing"


def test_with_auth_off_everyone_is_the_unknown_user_even_with_a_token() -> None:
    authenticator = _authenticator(auth="off")
    for headers in ({}, {"Authorization": f"Bearer {_alice(roles=['admin'])}"}, {"Authorization": "Basic x"}):
        caller = asyncio.run(authenticator.caller(Headers(headers).raw))
        assert str(caller.principal) == "user:unknown"
        assert (set(caller.roles), caller.door) == ({"member"}, "http")
    assert asyncio.run(authenticator.caller(Headers({"Holdfast-Run": "r"}).raw)).run == "r"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_auth_may_be_off_on_loopback(host: str) -> None:
    check_auth_allowed(load({}, auth="off", host=host))


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "192.168.1.5",
        "10.0.0.1",
        "example.org",
        "localhost.example.org",
        "127.1",
        "fe80::1",
        "",
    ],
)
def test_auth_off_refuses_to_start_anywhere_else(host: str, tmp_path: Path) -> None:
    settings = load({}, auth="off", host=host, data_dir=str(tmp_path))
    with pytest.raises(InvalidField, match="loopback"):
        check_auth_allowed(settings)
    with pytest.raises(InvalidField, match="loopback"):
        Authenticator(settings, _verifier())


def test_auth_on_may_listen_anywhere() -> None:
    check_auth_allowed(load({}, host="0.0.0.0"))


def test_the_challenge_names_an_error_only_where_a_token_was_shown() -> None:
    assert challenge(unauthenticated(Reason.MISSING)) == "Bearer"
    assert challenge(Unauthenticated()) == "Bearer"
    assert (
        challenge(unauthenticated(Reason.EXPIRED))
        == 'Bearer error="invalid_token", error_description="expired"'
    )
