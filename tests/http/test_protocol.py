"""The edges of HTTP: who may ask under which name and from where, what a path means, how a connection ends."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from holdfast.entrypoints.http import messages, protocol
from holdfast.entrypoints.http.messages import takes_gzip
from holdfast.entrypoints.http.routes import ROUTES
from tests.http.serving import Service, code, read_answer, serving

PAGES = ["/", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz"]
EVERYWHERE = [*PAGES, "/api/v1/entries", "/api/v1/nowhere", "/nowhere"]
TYPES = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def known() -> Iterator[Service]:
    """A server that goes by a name of its own."""
    with serving(allowed_hosts="memory.example") as service:
        yield service


# Names and origins


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:{port}",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "0.0.0.0",
        "localhost@evil.example",
        "localhost:80@evil.example",
        "[::1]evil.example",
        "[::2]",
        "2130706433",
        "",
    ],
)
def test_a_name_that_is_not_ours_is_refused_on_every_route(service: Service, path: str, host: str) -> None:
    answered = service.ask("GET", path, headers={"host": host.format(port=service.port)})
    assert code(answered) in ((403, "access_denied"), (400, "invalid_field"))


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("port", ["", ":1", ":7077", ":"])
def test_loopback_is_ours_by_any_port(service: Service, host: str, port: str) -> None:
    assert service.ask("GET", "/healthz", headers={"host": host + port}).status_code == 200


def test_a_request_names_its_host_exactly_once(service: Service) -> None:
    nameless = b"GET /healthz HTTP/1.1\r\n\r\n"
    twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"
    for head in (nameless, twice, nameless.replace(b"1.1", b"1.0")):
        assert service.raw(head).status == 400


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "file://",
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1.evil.example:{port}",
        "http://127.0.0.1:{port}@evil.example",
        "http://evil.example#127.0.0.1:{port}",
        "chrome-extension://abcdef",
        "127.0.0.1:{port}",
    ],
)
def test_a_page_of_another_origin_is_refused_on_every_route(service: Service, path: str, origin: str) -> None:
    answered = service.ask("GET", path, headers={"origin": origin.format(port=service.port)})
    assert code(answered) == (403, "access_denied")


@pytest.mark.parametrize("path", PAGES)
def test_our_own_pages_may_ask(service: Service, path: str) -> None:
    own = f"http://127.0.0.1:{service.port}"
    assert service.ask("GET", path, headers={"origin": own}).status_code == 200


def test_a_name_that_the_settings_list_is_ours(known: Service) -> None:
    for headers in (
        {"host": "memory.example"},
        {"host": "memory.example:443"},
        {"host": "memory.example", "origin": "https://memory.example"},
        {"host": "127.0.0.1", "origin": "https://memory.example:8443"},
    ):
        assert known.ask("GET", "/healthz", headers=headers).status_code == 200
    assert known.ask("GET", "/healthz", headers={"host": "other.example"}).status_code == 403


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize("method", ["GET", "OPTIONS", "POST"])
@pytest.mark.parametrize("own", [True, False])
def test_no_cors_header_is_ever_sent(service: Service, path: str, method: str, own: bool) -> None:
    asking = {
        "origin": f"http://127.0.0.1:{service.port}" if own else "https://evil.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
        "access-control-request-private-network": "true",
    }
    answered = service.ask(method, path, headers=asking)
    assert not [name for name in answered.headers if name.lower().startswith("access-control")]


# Paths and methods


def _at(path: str) -> str:
    return (
        f"/api/v1/{path}".replace("{id}", "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c")
        .replace("{", "")
        .replace("}", "")
    )


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_a_method_that_a_route_does_not_take_is_named_with_those_it_does(service: Service, path: str) -> None:
    taken = {route.method for route in ROUTES if route.path == path}
    allowed = taken | ({"HEAD"} if "GET" in taken else set())
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - taken:
        answered = service.ask(method, _at(path))
        assert code(answered)[0] == 405
        assert answered.json()["error"] == "method_not_allowed"
        assert answered.headers["allow"] == ", ".join(sorted(allowed))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_pages_are_only_read(service: Service, path: str, method: str) -> None:
    answered = service.ask(method, path)
    assert code(answered) == (405, "method_not_allowed")
    assert answered.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/entries",
        "/api/v1/nowhere",
        "/api/v1/entries/",
        "/api/v1//entries",
        "//api/v1/entries",
        "/api//v1/entries",
        "/api/v1/entries//history",
        "/api/v1/Entries",
        "/api/v1/entries/x/nowhere",
        "/api/v1/%65ntries",
        "/%61pi/v1/entries",
        "/api%2Fv1/entries",
        "/api/v1%2Fentries",
        "/api/v1/./entries",
        "/api/v1/x/../entries",
        "/api/v1/%2e%2e/entries",
        "/healthz/",
        "/docs/",
        "//",
        "/openapi.json/",
    ],
)
def test_every_route_that_is_none_is_answered_alike(service: Service, path: str) -> None:
    answered = service.raw(service.head("GET", path))
    said = json.loads(answered.body)
    assert (answered.status, said) == (404, {"error": "not_found", "message": "There is no such route."})
    assert "location" not in answered.headers


def test_head_is_a_read_without_its_body(service: Service) -> None:
    entry = service.kept("to be looked at")
    for path in (f"/api/v1/entries/{entry['id']}", "/api/v1/spaces", *PAGES):
        read, looked = service.ask("GET", path), service.ask("HEAD", path)
        assert (looked.status_code, looked.content) == (200, b"")
        assert looked.headers.get("etag") == read.headers.get("etag")
    assert service.ask("HEAD", "remember").status_code == 405


@pytest.mark.parametrize(
    "ref",
    [
        "a/b",
        "a:b",
        "user:x:y",
        "100%",
        "a%2Fb",
        "a b",
        "a+b",
        "é",
        "..",
        ".",
        "a?b#c",
        "~~",
        "💾",
    ],
)
def test_a_space_is_found_by_any_reference(service: Service, ref: str) -> None:
    made = service.send("spaces", {"ref": ref}, who="maker")
    assert made.status_code in (200, 409)
    at = f"/api/v1/spaces/{quote(f'shared:{ref}', safe='')}/grants"
    answered = service.raw(service.head("GET", at, who="maker"))
    assert (answered.status, json.loads(answered.body)) == (200, {"grants": []})
    if not ref.startswith("user:"):  # which would name somebody's own space
        at = f"/api/v1/spaces/{quote(ref, safe='').replace('.', '%2E')}/grants"
        assert service.raw(service.head("GET", at, who="maker")).status == 200


@pytest.mark.parametrize(
    "grantee", ["user:a/b", "user:a:b", "user:https://idp|x", "a%2Fb", "user:100%", "user:é"]
)
def test_a_grantee_may_be_called_anything_printable(service: Service, grantee: str) -> None:
    at = f"spaces/~/grants/{quote(grantee, safe='')}"
    given = service.send(at, {"level": "search"}, "PUT", who="giver")
    assert given.status_code == 200
    named = given.json()["grantee"]
    assert named in (grantee, f"agent:{grantee}")
    assert named in [
        row["grantee"] for row in service.ask("GET", "spaces/~/grants", who="giver").json()["grants"]
    ]
    assert service.ask("DELETE", at, who="giver").json()["revoked"] == 1


@pytest.mark.parametrize("segment", ["%ff", "%zz", "%", "%e9", "%2"])
def test_a_path_that_cannot_be_read_is_an_invalid_field(service: Service, segment: str) -> None:
    answered = service.raw(service.head("GET", f"/api/v1/spaces/{segment}/grants"))
    assert (answered.status, json.loads(answered.body)["error"]) == (400, "invalid_field")


@pytest.mark.parametrize(
    "id", ["x", "0", "%00", "%ED%A0%80", "a%2Fb", "{id}", "00000000-0000-0000-0000-000000000000"]
)
def test_what_is_no_id_is_no_entry(service: Service, id: str) -> None:
    answered = service.raw(service.head("GET", f"/api/v1/entries/{id}"))
    assert (answered.status, json.loads(answered.body)["error"]) == (404, "not_found")


# Answers


def test_large_answers_are_compressed_and_small_ones_are_not(service: Service) -> None:
    big, small = service.kept("word " * 2_000), service.kept("word")
    for entry, zipped in ((big, True), (small, False)):
        target = f"/api/v1/entries/{entry['id']}"
        answered = service.raw(service.head("GET", target, "Accept-Encoding: gzip"))
        assert (answered.headers.get("content-encoding") == "gzip") is zipped
        body = gzip.decompress(answered.body) if zipped else answered.body
        assert json.loads(body) == entry
        plain = service.raw(service.head("GET", target))
        assert "content-encoding" not in plain.headers
        assert json.loads(plain.body) == entry
    assert "accept-encoding" in service.raw(service.head("GET", "/openapi.json")).headers["vary"].lower()


def test_answers_are_not_to_be_kept_by_anybody(service: Service) -> None:
    entry = service.kept("private")
    for answered in (
        service.ask("GET", f"entries/{entry['id']}"),
        service.ask("GET", f"entries/{entry['id']}", headers={"if-none-match": '"1"'}),
        service.ask("GET", "entries/x"),
        service.ask("GET", "/"),
    ):
        assert answered.headers["cache-control"] == "no-store"
        assert "server" not in answered.headers


def test_pages_hold_no_script_and_load_nothing(service: Service) -> None:
    for path in ("/", "/docs"):
        answered = service.ask("GET", path, who=None)
        assert "<script" not in answered.text.lower()
        assert answered.headers["content-security-policy"].startswith("default-src 'none'")
        assert answered.headers["x-content-type-options"] == "nosniff"


# Connections


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(messages, "SECONDS", 0.3)


def test_a_client_that_sends_nothing_is_closed(service: Service, hasty: None) -> None:
    with service.line() as line:
        assert line.recv(1) == b""


def test_a_client_that_dribbles_its_head_is_closed(service: Service, hasty: None) -> None:
    began = time.monotonic()
    with service.line() as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\n")
        while time.monotonic() - began < 10:
            try:
                line.sendall(b"X-More: 1\r\n")
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("it was still listened to")


def test_a_client_that_dribbles_empty_lines_after_an_answer_is_closed(service: Service, hasty: None) -> None:
    began = time.monotonic()
    with service.line() as line:
        line.sendall(service.head("GET", "/healthz"))
        assert read_answer(line).status == 200
        while time.monotonic() - began < 10:
            try:
                line.sendall(b"\r\n")
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("it was still listened to")


def test_what_follows_a_refused_body_is_not_listened_to_for_ever(service: Service, hasty: None) -> None:
    began = time.monotonic()
    head = service.head(
        "POST", "/api/v1/remember", "Content-Type: application/json", "Content-Length: 10485760"
    )
    with service.line() as line:
        line.sendall(head)
        assert read_answer(line).status == 413
        while time.monotonic() - began < 10:
            try:
                line.sendall(b"x")
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("it was still listened to")


def test_a_body_that_stops_coming_is_refused(service: Service, hasty: None) -> None:
    head = service.head("POST", "/api/v1/remember", "Content-Type: application/json", "Content-Length: 100")
    with service.untouched():
        answered = service.raw(head, b'{"text": "x')
    assert answered.status == 400
    assert "in time" in json.loads(answered.body)["message"]


def test_a_slow_body_is_waited_for(service: Service) -> None:
    body = b'{"text": "slowly", "key": "protocol/slow"}'
    head = service.head(
        "POST", "/api/v1/remember", "Content-Type: application/json", f"Content-Length: {len(body)}"
    )
    with service.line() as line:
        line.sendall(head)
        for place in range(0, len(body), 10):
            time.sleep(0.02)
            line.sendall(body[place : place + 10])
        assert read_answer(line).status == 200


def test_a_client_that_leaves_in_the_middle_of_its_body_writes_nothing(service: Service) -> None:
    with service.untouched(), service.line() as line:
        line.sendall(
            service.head("POST", "/api/v1/remember", "Content-Type: application/json", "Content-Length: 50")
        )
        line.sendall(b'{"text": "x"}')


def test_requests_behind_each_other_are_answered_in_order(service: Service) -> None:
    first, second = service.kept("first"), service.kept("second")
    with service.line() as line:
        line.sendall(
            service.head("GET", f"/api/v1/entries/{first['id']}")
            + service.head("GET", f"/api/v1/entries/{second['id']}")
        )
        texts = b""
        while texts.count(b'"partition"') < 2:
            texts += line.recv(65_536)
    assert texts.index(b'"first"') < texts.index(b'"second"')


def test_a_connection_serves_many_requests_and_refusals(service: Service) -> None:
    with service.line() as line:
        for target, status in (
            ("/healthz", 200),
            ("/nowhere", 404),
            ("/api/v1/entries", 200),
            ("/healthz", 200),
        ):
            line.sendall(service.head("GET", target))
            assert read_answer(line).status == status


def test_a_connection_is_kept_after_a_body_that_was_too_large(service: Service) -> None:
    large = service.head(
        "POST", "/api/v1/remember", "Content-Type: application/json", "Content-Length: 2097152"
    )
    with service.line() as line:
        line.sendall(large)
        assert read_answer(line).status == 413
        line.sendall(b"x" * 2_097_152)
        line.sendall(service.head("GET", "/healthz"))
        assert read_answer(line).status == 200


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"HELLO\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=lambda nonsense: ascii(nonsense[:16]),
)
def test_what_is_not_http_is_refused_and_closed(service: Service, nonsense: bytes) -> None:
    answered = service.raw(nonsense)
    assert (answered.status, answered.headers["connection"]) == (400, "close")
    assert json.loads(answered.body)["error"] == "invalid_field"
    assert service.ask("GET", "/healthz").status_code == 200


def test_an_endless_head_is_refused_before_it_fills_the_memory(service: Service) -> None:
    with service.line() as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        try:
            for _ in range(200):
                line.sendall(b"x" * 65_536)
        except OSError:
            pass
        else:
            pytest.fail("13 MB of head were taken")
    assert service.ask("GET", "/healthz").status_code == 200


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_an_upgrade_is_not_taken(service: Service, upgrade: str) -> None:
    answered = service.raw(service.head("GET", "/healthz", "Connection: Upgrade", f"Upgrade: {upgrade}"))
    assert answered.status == 200


@pytest.mark.parametrize("name", ["Idempotency-Key", "If-Match", "Content-Type", "Content-Encoding"])
def test_a_header_that_decides_something_is_sent_once(service: Service, name: str) -> None:
    lines = ("Content-Type: application/json", "Content-Length: 13", f"{name}: 1", f"{name}: 2")
    with service.untouched():
        answered = service.raw(service.head("POST", "/api/v1/remember", *lines), b'{"text": "x"}')
    assert (answered.status, json.loads(answered.body)["error"]) == (400, "invalid_field")


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [
        (b"gzip", True),
        (b"br, GZIP;q=0.5", True),
        (b"gzip; q=0", False),
        (b"gzip;q=0.000, br", False),
        (b"br", False),
        (b"notgzip", False),
        (b"", False),
    ],
)
def test_a_client_that_gives_gzip_no_weight_is_not_sent_any(accepted: bytes, taken: bool) -> None:
    assert takes_gzip(accepted) is taken
