"""What a request says is read strictly: anything else is refused with a code, nothing is written, the server stays."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from holdfast.domain.errors import InvalidJson, TooLarge
from holdfast.entrypoints.http.messages import read_json
from holdfast.entrypoints.plain_json import LARGE, MOST_VALUES
from holdfast.vocabularies.arguments import MOST_ITEMS
from tests.http.serving import REQUEST_BYTES, Service, code

JSON = {"content-type": "application/json"}
IN_BYTES = {b"content-type": b"application/json"}
DEEP = 10_000


def _said(service: Service, body: bytes, path: str = "remember", **headers: str) -> tuple[int, str]:
    with service.untouched():
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return code(service.ask("POST", path, content=body, headers=JSON | named))


NOT_JSON = {
    "words": b"remember this",
    "cut short": b'{"text": "x"',
    "cut in a string": b'{"text": "x',
    "a trailing comma": b'{"text": "x",}',
    "two values": b'{"text": "x"} {"text": "y"}',
    "single quotes": b"{'text': 'x'}",
    "a comment": b'{"text": "x" /* y */}',
    "a BOM": b"\xef\xbb\xbf" + b'{"text": "x"}',
    "a NUL": b'{"text": "x"}\x00',
    "only space": b"  \n",
    "not UTF-8": b'{"text": "\xff\xfe"}',
    "a surrogate in UTF-8": b'{"text": "\xed\xa0\x80"}',
    "UTF-16": '{"text": "x"}'.encode("utf-16"),
    "Latin-1": '{"text": "é"}'.encode("latin-1"),
    "NaN": b'{"text": "x", "ttl_seconds": NaN}',
    "Infinity": b'{"text": "x", "ttl_seconds": Infinity}',
    "minus Infinity": b'{"text": "x", "ttl_seconds": -Infinity}',
    "a number out of range": b'{"text": "x", "ttl_seconds": 1e400}',
    "a number of 400 digits and more": b'{"text": "x", "ttl_seconds": -' + b"9" * 400 + b".5}",
    "a number of 5,000 digits": b'{"text": "x", "ttl_seconds": ' + b"9" * 5_000 + b"}",
    "a name twice": b'{"text": "x", "text": "y"}',
    "a name twice, spelt differently": b'{"text": "x", "t\\u0065xt": "y"}',
    "a name twice, further in": b'{"text": "x", "tags": [{"a": 1, "a": 1}]}',
    "10,000 lists deep": b'{"text": "x", "tags": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "10,000 objects deep": b'{"text":' * DEEP + b"1" + b"}" * DEEP,
    "33 deep": b'{"text": "x", "tags": ' + b"[" * 32 + b"]" * 32 + b"}",
    "unclosed, 10,000 deep": b"[" * DEEP,
    "a list": b'[{"text": "x"}]',
    "a text": b'"x"',
    "a number": b"7",
    "null": b"null",
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_one_plain_json_object_is_invalid_json(service: Service, body: bytes) -> None:
    assert _said(service, body) == (400, "invalid_json")


def test_facts_are_refused_in_their_own_shape(service: Service) -> None:
    answered = service.ask("POST", "memory/store", content=b"{", headers=JSON)
    assert answered.status_code == 400
    assert answered.json() == {
        "error": "invalid_input",
        "code": "invalid_json",
        "message": "The body is not valid JSON.",
    }


@pytest.mark.parametrize("number", [b"1e308", b"1E+0308", b"12.5e-400", b"2" + b"0" * 308])
def test_a_large_number_within_range_is_read(service: Service, number: bytes) -> None:
    assert _said(service, b'{"text": "x", "hint": %b}' % number) == (400, "invalid_field")


def test_the_own_space_is_said_by_a_sign_in_a_path_alone(service: Service) -> None:
    assert service.ask("GET", "spaces/~/grants").status_code == 200
    for answered in (
        service.send("remember", {"text": "x", "space": "~"}),
        service.ask("GET", "entry", params={"key": "k", "space": "~"}),
    ):
        assert code(answered) == (403, "access_denied")


def test_nesting_within_bounds_is_read(service: Service) -> None:
    body = b'{"text": "x", "tags": ' + b"[" * 31 + b"]" * 31 + b"}"
    assert _said(service, body) == (400, "invalid_field")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("text", 5, "invalid_field"),
        ("text", ["x"], "invalid_field"),
        ("text", {"x": 1}, "invalid_field"),
        ("text", True, "invalid_field"),
        ("text", None, "missing_value"),
        ("text", "", "missing_value"),
        ("text", " \n\t", "missing_value"),
        ("text", "a\x00b", "invalid_field"),
        ("text", "\ud800", "invalid_field"),
        ("key", 5, "invalid_key"),
        ("key", {}, "invalid_key"),
        ("key", "", "invalid_key"),
        ("key", "a\x00b", "invalid_key"),
        ("key", "a\nb", "invalid_key"),
        ("key", "\udfff", "invalid_key"),
        ("hint", 1.5, "invalid_field"),
        ("hint", "a\nb", "invalid_field"),
        ("hint", "a\u2028b", "invalid_field"),
        ("space", 5, "invalid_field"),
        ("space", {"id": "x"}, "invalid_field"),
        ("space", "\ud800", "invalid_field"),
        ("category", [], "invalid_field"),
        ("category", "a\rb", "invalid_field"),
        ("tags", "deploy", "invalid_field"),
        ("tags", {"deploy": True}, "invalid_field"),
        ("tags", [1], "invalid_field"),
        ("tags", [None], "invalid_field"),
        ("tags", [""], "invalid_field"),
        ("tags", ["a\x00"], "invalid_field"),
        ("ttl_seconds", "60", "invalid_field"),
        ("ttl_seconds", True, "invalid_field"),
        ("ttl_seconds", 1.5, "invalid_field"),
        ("ttl_seconds", 0, "ttl_too_short"),
        ("ttl_seconds", -1, "ttl_too_short"),
        ("ttl_seconds", 10**30, "ttl_too_long"),
        ("always_inject", 1, "invalid_field"),
        ("always_inject", "true", "invalid_field"),
        ("in_context", 0, "invalid_field"),
        ("in_context", "false", "invalid_field"),
        ("encrypted", "yes", "invalid_field"),
        ("conversation", 5, "invalid_field"),
        ("speaker", ["Alice"], "invalid_field"),
        ("at", 1_780_000_000, "invalid_field"),
        ("at", "yesterday", "invalid_field"),
        ("at", "2026-05-08", "invalid_field"),
        ("at", "2026-05-08T14:00:00", "invalid_field"),
        ("at", "0001-01-01T00:00:00+23:59", "invalid_field"),
        ("at", "9999-12-31T23:59:59-23:59", "invalid_field"),
        ("expected_revision", "1", "invalid_field"),
        ("expected_revision", -1, "invalid_field"),
        ("expected_revision", 10**30, "invalid_field"),
        ("data", 5, "invalid_field"),
        ("data", "é", "invalid_field"),
        ("data", "eA==", "invalid_field"),
        ("colour", "red", "invalid_field"),
        ("", "x", "invalid_field"),
        ("\ud800", "x", "invalid_field"),
        ("id", "x", "invalid_field"),
        ("namespace", 5, "invalid_field"),
        ("idempotency_key", "x", "invalid_field"),
        ("ttl", 60, "invalid_field"),
    ],
    ids=ascii,
)
def test_a_field_of_another_kind_is_refused_by_its_code(
    service: Service, field: str, value: Any, expected: str
) -> None:
    body = json.dumps({"text": "x", "key": "bodies/wrong"} | {field: value})
    assert _said(service, body.encode()) == (400, expected)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "é" * 32_769),
        ("key", "é" * 257),
        ("hint", "x" * 501),
        ("category", "x" * 501),
        ("tags", ["x" * 65]),
        ("tags", [str(number) for number in range(33)]),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_field_over_its_cap_is_too_large(service: Service, field: str, value: Any) -> None:
    body = json.dumps({"text": "x", "key": "bodies/large"} | {field: value})
    assert _said(service, body.encode()) == (413, "too_large")


def test_an_entry_that_does_not_exist_cannot_be_superseded(service: Service) -> None:
    for other in (5, "x", ["x"], "0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c"):
        assert _said(service, json.dumps({"text": "x", "supersedes": other}).encode()) == (404, "not_found")


def test_a_whole_number_may_be_written_as_json_writes_any_number(service: Service) -> None:
    body = b'{"text": "lives a minute", "key": "bodies/minute", "ttl_seconds": 60.0}'
    answered = service.ask("POST", "remember", content=body, headers=JSON)
    assert answered.status_code == 200
    assert answered.json()["expires_at"] is not None


def test_null_is_as_good_as_nothing_said(service: Service) -> None:
    said = {"text": "x", "key": "bodies/null", "hint": None, "tags": None, "ttl_seconds": None, "at": None}
    assert service.send("remember", said).status_code == 200


def test_a_moment_at_the_end_of_time_breaks_no_list(service: Service) -> None:
    for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"):
        service.send("remember", {"text": "then", "at": moment}, who="historian")
    listed = service.ask("GET", "entries", who="historian").json()["entries"]
    assert sorted(entry["at"] for entry in listed) == ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]


@pytest.mark.parametrize("name", ["\ud800", "é\u2028", "x" * 10_000])
def test_a_refusal_can_quote_any_name(service: Service, name: str) -> None:
    answered = service.ask("POST", "remember", content=json.dumps({name: 1}), headers=JSON)
    assert code(answered) == (400, "invalid_field")
    assert name[:64] in json.loads(answered.content)["message"]


def test_a_question_of_broken_text_is_answered(service: Service) -> None:
    answered = service.ask("POST", "recall", content=b'{"query": "\\ud800"}', headers=JSON)
    assert answered.status_code == 200


# Kinds of bodies


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/jsonp",
        "application",
        "",
        "*/*",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        'application/json; charset="us-ascii"',
        "application/json; version=1; charset=latin-1",
        "application/json; charset=utf-8; charset=latin-1",
    ],
)
def test_only_json_in_utf_8_is_a_supported_media_type(service: Service, kind: str) -> None:
    assert _said(service, b'{"text": "x"}', content_type=kind) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON",
        "application/json;charset=UTF-8",
        'application/json; charset="utf8"',
    ],
)
def test_json_may_be_called_so_in_several_spellings(service: Service, kind: str) -> None:
    said = service.ask(
        "POST", "remember", content=b'{"text": "x", "key": "bodies/kind"}', headers={"content-type": kind}
    )
    assert said.status_code == 200


def test_a_form_is_not_taken_for_json(service: Service) -> None:
    with service.untouched():
        assert code(service.ask("POST", "remember", data={"text": "x"})) == (415, "unsupported_media_type")
        answered = service.ask("POST", "remember", files={"text": ("a.txt", b"x")})
        assert code(answered) == (415, "unsupported_media_type")


def test_a_compressed_body_is_refused_and_not_unpacked(service: Service) -> None:
    bomb = gzip.compress(b'{"text": "x"}' + b" " * 5_000_000)
    assert _said(service, bomb, content_encoding="gzip") == (415, "unsupported_media_type")
    assert _said(service, b"x", content_encoding="br") == (415, "unsupported_media_type")


def test_an_empty_body_says_nothing(service: Service) -> None:
    with service.untouched():
        assert code(service.ask("POST", "remember")) == (400, "missing_value")
        assert code(service.ask("POST", "recall")) == (400, "missing_field")


@pytest.mark.parametrize("path", ["chats/c/participants", "systems/s/access", "rules/guest"])
@pytest.mark.parametrize("body", [b"", b"null", b'"x"', b"7"], ids=ascii)
def test_a_list_that_is_not_sent_empties_none(service: Service, path: str, body: bytes) -> None:
    with service.untouched():
        answered = service.ask("PUT", path, content=body, headers=JSON, who="root", admin=True)
        assert answered.status_code == 400


def test_a_table_is_no_list_of_participants(service: Service) -> None:
    with service.untouched():
        for body in ({}, {"user:alice": True}):
            answered = service.send("chats/c/participants", body, "PUT", who="root", admin=True)
            assert code(answered) == (400, "invalid_field")


def test_a_table_is_no_list_of_rows(service: Service) -> None:
    with service.untouched():
        assert code(service.send("remember/batch", {"entries": {"text": "x"}})) == (400, "invalid_field")


def test_a_list_may_stand_under_its_name(service: Service) -> None:
    rows = [["user:alice"], {"participants": ["user:alice"]}]
    for body in rows:
        answered = service.send("chats/named/participants", body, "PUT", who="root", admin=True)
        assert answered.json() == {"changed": 1}


def test_someone_called_access_can_be_let_into_a_system(service: Service) -> None:
    answered = service.send("systems/s/access", {"access": "read"}, "PUT", who="root", admin=True)
    assert answered.json() == {"changed": 1}


def test_each_bad_row_of_a_batch_has_its_own_outcome(service: Service) -> None:
    rows = [
        {"text": "good"},
        {"text": ""},
        {"text": "x", "colour": "red"},
        7,
        None,
        {"text": "x", "tags": {}},
    ]
    answered = service.send("remember/batch", {"entries": rows}, who="batcher")
    outcomes = [row.get("error", "kept") for row in answered.json()["outcomes"]]
    assert outcomes == ["kept", "missing_value", *["invalid_field"] * 4]


# Sizes


def test_ten_megabytes_are_refused_before_they_are_read(service: Service) -> None:
    head = service.head(
        "POST", "/api/v1/remember", "Content-Type: application/json", "Content-Length: 10485760"
    )
    with service.untouched():
        answered = service.raw(head)
    assert answered.status == 413
    assert json.loads(answered.body)["error"] == "too_large"


def test_a_body_just_over_the_cap_is_refused(service: Service) -> None:
    body = b'{"text": "x"}' + b" " * (REQUEST_BYTES - 12)
    assert _said(service, body) == (413, "too_large")


def test_a_body_just_at_the_cap_is_read(service: Service) -> None:
    body = b'{"text": ""}' + b" " * (REQUEST_BYTES - 12)
    assert _said(service, body) == (400, "missing_value")


def test_chunks_over_the_cap_are_refused_though_no_length_was_said(service: Service) -> None:
    def chunks() -> Any:
        yield b'{"text": "'
        for _ in range(REQUEST_BYTES // 65_536 + 1):
            yield b"x" * 65_536

    with service.untouched():
        answered = service.ask("POST", "remember", content=chunks(), headers=JSON)
    assert code(answered) == (413, "too_large")


@pytest.mark.parametrize("length", ["-1", "abc", "1, 2", "99999999999999999999999", "0x10", "+5"])
def test_a_length_that_is_none_is_refused(service: Service, length: str) -> None:
    head = service.head(
        "POST", "/api/v1/remember", "Content-Type: application/json", f"Content-Length: {length}"
    )
    with service.untouched():
        assert service.raw(head).status in (400, 413)


def test_a_request_cannot_be_smuggled_behind_two_lengths(service: Service) -> None:
    for lines in (
        ("Content-Length: 2", "Content-Length: 30"),
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked, identity",),
    ):
        head = service.head("POST", "/api/v1/remember", "Content-Type: application/json", *lines)
        with service.untouched():
            assert service.raw(head, b"{}GET / HTTP/1.1\r\n\r\n").status == 400


# Queries


@pytest.mark.parametrize(
    "query",
    [
        "limit=1&limit=2",
        "space=a&space=b",
        "colour=red",
        "limit=",
        "limit=ten",
        "limit=1.0",
        "limit=--5",
        "limit=-",
        "limit=%D9%A3",
        "limit=0",
        "limit=-1",
        "limit=" + "9" * 101,
        "expiring_within=-1",
        "prefix=%ff",
        "prefix=%ED%A0%80",
        "prefix=%C3",
        "prefix=%",
        "prefix=%zz",
        "prefix=%2",
        "cursor=x",
        "cursor=",
        "partition=internal",
        "partition=cache",
        "&".join(f"x{number}=1" for number in range(101)),
    ],
)
def test_a_query_that_cannot_be_read_is_an_invalid_field(service: Service, query: str) -> None:
    service.kept("a space with nothing in it has no pages to go on from")
    assert code(service.ask("GET", f"/api/v1/entries?{query}")) == (400, "invalid_field")


def test_a_query_that_is_not_ascii_is_refused(service: Service) -> None:
    head = service.head("GET", "/api/v1/entries?prefix=\xe9")
    assert service.raw(head).status == 400


def test_a_time_before_now_is_refused_in_an_empty_space_too(service: Service) -> None:
    answered = service.ask("GET", "entries?expiring_within=-1", who="nobody-yet")
    assert code(answered) == (400, "invalid_field")


def test_a_huge_number_is_a_number(service: Service) -> None:
    assert service.ask("GET", "entries?limit=" + "9" * 40, who="nobody-yet").status_code == 200
    assert service.ask("GET", "entries?expiring_within=" + "9" * 40, who="nobody-yet").status_code == 200
    assert code(service.ask("GET", "audit?after=" + "9" * 40, admin=True)) == (400, "invalid_field")
    entry = service.kept("with a history")
    answered = service.ask("GET", f"entries/{entry['id']}/history?before=" + "9" * 40)
    assert code(answered) == (400, "invalid_field")


@pytest.mark.parametrize("value", ["True", "1", "0", "yes", "on", "", "TRUE", "false "])
def test_a_switch_in_a_query_is_true_or_false(service: Service, value: str) -> None:
    entry = service.kept("not to be purged")
    with service.untouched():
        answered = service.ask("DELETE", f"entries/{entry['id']}", params={"purge": value})
    assert code(answered) == (400, "invalid_field")


def test_fields_stand_in_the_body_or_in_the_query_never_in_both(service: Service) -> None:
    with service.untouched():
        answered = service.send("remember?key=k", {"text": "x"})
        assert code(answered) == (400, "invalid_field")


@pytest.mark.parametrize("name", ["id", "key", "space"])
def test_what_the_path_says_cannot_be_said_again(service: Service, name: str) -> None:
    entry = service.kept("named by its id")
    with service.untouched():
        answered = service.send(f"entries/{entry['id']}", {"text": "y", name: "x"}, "PATCH")
        assert code(answered) == (400, "invalid_field")
        answered = service.ask("GET", f"entries/{entry['id']}", params={name: "x"})
        assert code(answered) == (400, "invalid_field")


@pytest.mark.parametrize("value", [b"[]", b"{}", b"1", b'"x"'], ids=["lists", "objects", "numbers", "texts"])
def test_a_body_of_countless_values_is_too_large(value: bytes) -> None:
    body = b'{"tags": [' + value + (b"," + value) * MOST_VALUES + b"]}"
    with pytest.raises(TooLarge):
        read_json(body, IN_BYTES)


def test_signs_inside_a_text_are_no_values() -> None:
    text = '{"text": "' + r"\"[{,\\" * MOST_VALUES + '"}'
    assert read_json(text.encode(), IN_BYTES) == json.loads(text)


def test_a_text_without_an_end_is_looked_at_once() -> None:
    with pytest.raises(InvalidJson):
        read_json(b'{"text": "' + rb"\"[," * MOST_VALUES, IN_BYTES)


@pytest.mark.parametrize("row", [{"text": "x"}, {}, 1], ids=["good", "empty", "no row"])
def test_a_batch_has_so_many_rows_at_most(service: Service, row: object) -> None:
    with service.untouched():
        answered = service.send("remember/batch", {"entries": [row] * (MOST_ITEMS + 1)})
    assert code(answered) == (413, "too_large")


def test_a_chat_and_a_system_have_so_many_names_at_most(service: Service) -> None:
    names = [f"user:{number}" for number in range(MOST_ITEMS + 1)]
    for path, said in (("chats/c/participants", names), ("systems/s/access", dict.fromkeys(names, "read"))):
        with service.untouched():
            assert code(service.send(path, said, "PUT", who="root", admin=True)) == (413, "too_large")


def test_a_row_that_was_kept_is_answered_like_one_that_came_alone(service: Service) -> None:
    alone = service.send("remember", {"text": "alone"}, who="batcher").json()
    row = service.send("remember/batch", {"entries": [{"text": "in a row"}]}, who="batcher").json()[
        "outcomes"
    ][0]
    assert row.keys() == alone.keys() - {"similar", "advice"}
    assert row["expires_at"] is None


def test_a_large_body_is_read_like_a_small_one(service: Service) -> None:
    rows = [{"text": "x" * 40_000, "key": f"large/{number}"} for number in range(8)]
    answered = service.send("remember/batch", {"entries": rows}, who="batcher")
    assert [outcome["created"] for outcome in answered.json()["outcomes"]] == [True] * 8
    padded = json.dumps({"text": "x", "nope": "y" * LARGE}).encode()
    assert _said(service, padded) == (400, "invalid_field")
    assert _said(service, padded[:-1]) == (400, "invalid_json")
    listed = service.ask("GET", "entries?prefix=large/", who="batcher", headers={"accept-encoding": "gzip"})
    assert listed.headers["content-encoding"] == "gzip"
    assert len(listed.json()["entries"]) == 8
