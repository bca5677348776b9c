"""The same request twice, changes bound to a revision, pages while others write, and how fast one may ask."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from holdfast.domain.errors import RateLimited
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.entrypoints.http import authenticate
from holdfast.entrypoints.http.authenticate import RateLimit
from holdfast.entrypoints.http.routes import ROUTES
from tests.http.serving import Service, code, serving

_numbers = itertools.count(1)

Request = tuple[str, str, Any]
Prepare = Callable[[Service, str], Request]


def _new(service: Service, who: str, *texts: str, **said: Any) -> dict[str, Any]:
    """An entry with these states; of its own room, so that nothing else is looked at."""
    entry = service.kept(texts[0] if texts else "one", who=who, key=f"repeats/{next(_numbers)}", **said)
    for text in texts[1:]:
        service.send(f"entries/{entry['id']}", {"text": text}, "PATCH", who=who)
    return entry


def _trashed(service: Service, who: str) -> dict[str, Any]:
    entry = _new(service, who)
    service.ask("DELETE", f"entries/{entry['id']}", who=who)
    return entry


def _shared(service: Service, who: str) -> str:
    service.send("spaces/~/grants/user:friend", {"level": "read"}, "PUT", who=who)
    return "spaces/~/grants/user:friend"


def _undo(service: Service, who: str) -> Request:
    return "POST", f"entries/{_new(service, who, 'one', 'two', 'three')['id']}/undo", {}


def _renew(service: Service, who: str) -> Request:
    return "POST", f"entries/{_new(service, who, ttl_seconds=100)['id']}/renew", {"ttl_seconds": 500}


def _renew_fact(service: Service, who: str) -> Request:
    key = f"fact/{next(_numbers)}"
    service.send("memory/store", {"key": key, "value": "v"}, who=who)
    return "POST", "memory/renew", {"key": key}


def _kv(service: Service, who: str) -> str:
    key = f"once-{next(_numbers)}"
    service.send(f"kv/{key}", {"value": "v"}, "PUT", who=who)
    return key


def _saving() -> dict[str, str]:
    number = next(_numbers)
    return {"scope": "user", "recallHint": f"subject{number} topic{number}", "content": f"fact {number}"}


def _saved(service: Service, who: str) -> str:
    id: str = service.send("assistant/saveMemory", _saving(), who=who).json()["id"]
    return id


WRITES: dict[str, Prepare] = {
    "remember": lambda service, who: ("POST", "remember", {"text": "once"}),
    "remember/batch": lambda service, who: (
        "POST",
        "remember/batch",
        {"entries": [{"text": "a"}, {"text": "b"}]},
    ),
    "entries/{id} PATCH": lambda service, who: (
        "PATCH",
        f"entries/{_new(service, who)['id']}",
        {"text": "two"},
    ),
    "entries/{id} DELETE": lambda service, who: ("DELETE", f"entries/{_new(service, who)['id']}", None),
    "entries/{id} DELETE purge": lambda service, who: (
        "DELETE",
        f"entries/{_new(service, who)['id']}?purge=true",
        None,
    ),
    "entries/{id}/undo": _undo,
    "entries/{id}/restore": lambda service, who: (
        "POST",
        f"entries/{_trashed(service, who)['id']}/restore",
        {},
    ),
    "entries/{id}/renew": _renew,
    "entries/{id}/replace": lambda service, who: (
        "POST",
        f"entries/{_new(service, who, 'aaa')['id']}/replace",
        {"old": "a", "new": "b"},
    ),
    "entries/{id}/rename": lambda service, who: (
        "POST",
        f"entries/{_new(service, who)['id']}/rename",
        {"new_key": f"renamed/{next(_numbers)}"},
    ),
    "entry PATCH": lambda service, who: ("PATCH", "entry", {"key": _new(service, who)["key"], "text": "two"}),
    "entry DELETE": lambda service, who: ("DELETE", f"entry?key={_new(service, who)['key']}", None),
    "entry/undo": lambda service, who: (
        "POST",
        "entry/undo",
        {"key": _new(service, who, "one", "two")["key"]},
    ),
    "entry/restore": lambda service, who: ("POST", "entry/restore", {"key": _trashed(service, who)["key"]}),
    "entry/renew": lambda service, who: (
        "POST",
        "entry/renew",
        {"key": _new(service, who, ttl_seconds=100)["key"], "ttl_seconds": 500},
    ),
    "entry/replace": lambda service, who: (
        "POST",
        "entry/replace",
        {"key": _new(service, who, "aaa")["key"], "old": "a", "new": "b"},
    ),
    "entry/rename": lambda service, who: (
        "POST",
        "entry/rename",
        {"key": _new(service, who)["key"], "new_key": f"renamed/{next(_numbers)}"},
    ),
    "forget": lambda service, who: ("POST", "forget", {"scope": f"key:{_new(service, who)['key']}"}),
    "spaces": lambda service, who: ("POST", "spaces", {"ref": f"team-{next(_numbers)}"}),
    "spaces/{space}/grants/{grantee} PUT": lambda service, who: (
        "PUT",
        f"spaces/~/grants/user:friend{next(_numbers)}",
        {"level": "read", "ttl_seconds": 60},
    ),
    "spaces/{space}/grants/{grantee} DELETE": lambda service, who: ("DELETE", _shared(service, who), None),
    "memory/store": lambda service, who: ("POST", "memory/store", {"key": "once", "value": "v"}),
    "memory/renew": _renew_fact,
    "memory/forget": lambda service, who: ("POST", "memory/forget", {"scope": "key:once"}),
    "memory/tool": lambda service, who: (
        "POST",
        "memory/tool",
        {"command": "create", "path": f"/memories/once-{next(_numbers)}", "content": "v"},
    ),
    "agents/{id}/memory-settings": lambda service, who: (
        "PUT",
        f"agents/bot-{next(_numbers)}/memory-settings",
        {"enabled": False},
    ),
    "kv/{key} PUT": lambda service, who: ("PUT", f"kv/once-{next(_numbers)}", {"value": "v"}),
    "kv/{key} DELETE": lambda service, who: ("DELETE", f"kv/{_kv(service, who)}", None),
    "anthropic/memory": lambda service, who: (
        "POST",
        "anthropic/memory",
        {"command": "create", "path": f"/memories/once-{next(_numbers)}", "file_text": "v"},
    ),
    "user-memory": lambda service, who: (
        "POST",
        "user-memory",
        {
            "action": "upsert",
            "name": f"once-{next(_numbers)}",
            "type": "user",
            "description": "d",
            "body": "b",
        },
    ),
    "assistant/saveMemory": lambda service, who: ("POST", "assistant/saveMemory", _saving()),
    "assistant/deleteMemory": lambda service, who: (
        "POST",
        "assistant/deleteMemory",
        {"id": _saved(service, who)},
    ),
    "assistant/setMemoryAlwaysInject": lambda service, who: (
        "POST",
        "assistant/setMemoryAlwaysInject",
        {"id": _saved(service, who), "alwaysInject": True},
    ),
    "undo": lambda service, who: (
        "POST",
        "undo",
        {"actor": "agent:nobody", "since": "2026-01-01T00:00:00Z", "apply": True},
    ),
    "chats/{chat}/participants": lambda service, who: ("PUT", "chats/c/participants", ["user:alice"]),
    "systems/{system}/access": lambda service, who: ("PUT", "systems/s/access", {"user:alice": "read"}),
    "rules/{role}": lambda service, who: ("PUT", "rules/guest", {"ai.memory.read": True}),
}


INTERNAL = "stores/{store}/internal/{key}"
ONCE_BY_THEMSELVES = {"proposals/{id}/approve", "proposals/{id}/refuse", "quarantine/{id}/approve", INTERNAL}
"""What can be answered only once, and what only an agent may do, have tests of their own."""


def _do(service: Service, request: Request, key: str, who: str = "writer") -> httpx2.Response:
    method, path, body = request
    said = {} if body is None else {"json": body}
    return service.ask(method, path, headers={"Idempotency-Key": key}, who=who, admin=True, **said)


def _key() -> str:
    return f"key-{next(_numbers)}"


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_is_repeated_with_its_key_is_done_once_and_answered_alike(
    service: Service, write: Prepare
) -> None:
    request, key = write(service, "writer"), _key()
    first = _do(service, request, key)
    assert first.status_code == 200, first.text
    with service.untouched():
        again = _do(service, request, key)
    assert (again.status_code, again.json()) == (200, first.json())
    assert again.headers.get("etag") == first.headers.get("etag")


def test_what_a_skill_keeps_is_kept_once_too(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token('bot', kind='agent')}", "Idempotency-Key": _key()}
    for value, status in (("v", 200), ("v", 200), ("other", 409)):
        answered = service.send("stores/bot/internal/once", {"value": value}, "PUT", headers=headers)
        assert answered.status_code == status, answered.text


def test_every_route_that_writes_is_among_them() -> None:
    written = {route.path for route in ROUTES if route.call.writes}
    assert {name.partition(" ")[0] for name in WRITES} == written - ONCE_BY_THEMSELVES


def test_undoing_twice_with_one_key_goes_back_once(service: Service) -> None:
    request, key = _undo(service, "writer"), _key()
    assert [_do(service, request, key).json()["text"] for _ in range(3)] == ["two", "two", "two"]
    assert _do(service, request, _key()).json()["text"] == "one"


def test_without_a_key_a_write_is_done_each_time(service: Service) -> None:
    texts = [service.send("remember", {"text": "again"}, who="writer").json()["id"] for _ in range(2)]
    assert texts[0] != texts[1]


OTHERS: dict[str, tuple[Request, Request]] = {
    "remember": (("POST", "remember", {"text": "a"}), ("POST", "remember", {"text": "b"})),
    "an added row": (
        ("POST", "remember/batch", {"entries": [{"text": "a"}]}),
        ("POST", "remember/batch", {"entries": [{"text": "a"}, {"text": "b"}]}),
    ),
    "another row": (
        ("POST", "remember/batch", {"entries": [{"text": "a"}]}),
        ("POST", "remember/batch", {"entries": [{"text": "b"}]}),
    ),
    "fewer rows": (
        ("POST", "remember/batch", {"entries": [{"text": "a"}, {"text": "b"}]}),
        ("POST", "remember/batch", {"entries": [{"text": "a"}]}),
    ),
    "another route": (("POST", "remember", {"text": "a"}), ("POST", "forget", {"scope": "key:nothing"})),
    "a batch, then one": (
        ("POST", "remember/batch", {"entries": [{"text": "a"}]}),
        ("POST", "remember", {"text": "a"}),
    ),
    "one, then a batch": (
        ("POST", "remember", {"text": "a"}),
        ("POST", "remember/batch", {"entries": [{"text": "a"}]}),
    ),
    "another scope": (("POST", "forget", {"scope": "key:x1"}), ("POST", "forget", {"scope": "key:x2"})),
    "another grantee": (
        ("PUT", "spaces/~/grants/user:x1", {"level": "read"}),
        ("PUT", "spaces/~/grants/user:x2", {"level": "read"}),
    ),
    "another level": (
        ("PUT", "spaces/~/grants/user:x3", {"level": "read"}),
        ("PUT", "spaces/~/grants/user:x3", {"level": "manage"}),
    ),
    "a fact": (
        ("POST", "memory/store", {"key": "k", "value": "a"}),
        ("POST", "memory/store", {"key": "k", "value": "b"}),
    ),
}


@pytest.mark.parametrize(("first", "other"), OTHERS.values(), ids=OTHERS)
def test_a_key_used_for_another_request_is_a_conflict(
    service: Service, first: Request, other: Request
) -> None:
    key = _key()
    assert _do(service, first, key).status_code == 200
    with service.untouched():
        assert code(_do(service, other, key)) == (409, "conflict")


def test_another_revision_or_entry_is_another_request(service: Service) -> None:
    one, two, key = _new(service, "writer"), _new(service, "writer"), _key()
    assert _do(service, ("PATCH", f"entries/{one['id']}", {"text": "x"}), key).status_code == 200
    with service.untouched():
        assert code(_do(service, ("PATCH", f"entries/{two['id']}", {"text": "x"}), key)) == (409, "conflict")
        again = {"Idempotency-Key": key, "If-Match": '"1"'}
        answered = service.send(f"entries/{one['id']}", {"text": "x"}, "PATCH", headers=again, who="writer")
        assert code(answered) == (409, "conflict")


def test_trash_and_purge_are_not_the_same_request(service: Service) -> None:
    entry, key = _new(service, "writer"), _key()
    assert _do(service, ("DELETE", f"entries/{entry['id']}", None), key).status_code == 200
    with service.untouched():
        assert code(_do(service, ("DELETE", f"entries/{entry['id']}?purge=true", None), key)) == (
            409,
            "conflict",
        )


@pytest.mark.parametrize(
    "request_", [("POST", "remember", {"text": "mine"}), ("POST", "spaces", {"ref": "mine"})]
)
def test_keys_of_two_principals_never_meet(service: Service, request_: Request) -> None:
    key = _key()
    answers = [_do(service, request_, key, who).json()["id"] for who in ("writer-1", "writer-2")]
    assert answers[0] != answers[1]


def test_a_refused_write_uses_up_no_key(service: Service) -> None:
    entry, key = _new(service, "writer"), _key()
    bad: Request = ("POST", f"entries/{entry['id']}/replace", {"old": "nowhere in it", "new": "x"})
    assert code(_do(service, bad, key)) == (400, "edit_no_match")
    assert _do(service, ("PATCH", f"entries/{entry['id']}", {"text": "two"}), key).status_code == 200


def test_a_repeat_is_answered_to_whom_it_was_answered_before_and_to_nobody_else(service: Service) -> None:
    """The key is no way to what somebody else may read."""
    entry, key = _new(service, "writer", "hers alone"), _key()
    request: Request = ("PATCH", f"entries/{entry['id']}", {"text": "still hers"})
    assert _do(service, request, key).status_code == 200
    assert code(_do(service, request, key, "stranger")) == (404, "not_found")


def test_a_change_that_is_repeated_after_its_entry_was_moved_is_answered_alike(service: Service) -> None:
    entry, key = _new(service, "writer"), _key()
    request: Request = ("PATCH", f"entries/{entry['id']}", {"text": "two"})
    first = _do(service, request, key)
    _move(service, entry, "writer")
    with service.untouched():
        assert _do(service, request, key).json() == first.json()


def test_who_changed_what_another_has_moved_since_is_not_shown_it_again(service: Service) -> None:
    """They need not be let in where it lies now."""
    entry, key = _new(service, "mover"), _key()
    service.send("spaces/~/grants/user:helper", {"level": "readwrite"}, "PUT", who="mover")
    request: Request = ("PATCH", f"entries/{entry['id']}", {"text": "two"})
    assert _do(service, request, key, "helper").status_code == 200
    _move(service, entry, "mover")
    assert code(_do(service, request, key, "helper")) == (404, "not_found")


def _move(service: Service, entry: dict[str, Any], who: str) -> None:
    there = service.send("spaces", {"ref": f"attic {next(_numbers)}"}, who=who).json()["id"]
    said = {"new_key": "moved", "to_space": there}
    assert service.send(f"entries/{entry['id']}/rename", said, who=who).status_code == 200


@pytest.mark.parametrize(
    "key", [b"", b"x" * 256, "é".encode(), "é".encode("latin-1"), b"a\tb", b"\xff"], ids=ascii
)
@pytest.mark.parametrize("path", ["remember", "forget", "remember/batch"])
def test_a_key_is_1_to_255_printable_ascii_characters(service: Service, key: bytes, path: str) -> None:
    body = {
        "remember": {"text": "x"},
        "forget": {"scope": "all"},
        "remember/batch": {"entries": [{"text": "x"}]},
    }
    with service.untouched():
        answered = service.send(path, body[path], headers={"Idempotency-Key": key}, who="writer")
        assert code(answered) == (400, "invalid_field")


def test_a_key_of_255_characters_is_taken(service: Service) -> None:
    assert (
        _do(service, ("POST", "remember", {"text": "x"}), "x" * 245 + f"{next(_numbers):010}").status_code
        == 200
    )


# Revisions


@pytest.fixture
def entry(service: Service) -> dict[str, Any]:
    """At revision 2."""
    return _new(service, "alice", "one", "two")


def _patch(service: Service, entry: dict[str, Any], tag: str, **more: Any) -> httpx2.Response:
    headers = {"If-Match": tag}
    return service.send(f"entries/{entry['id']}", {"text": "three"} | more, "PATCH", headers=headers)


def test_every_answer_with_an_entry_has_its_revision_as_etag(service: Service, entry: dict[str, Any]) -> None:
    at = f"entries/{entry['id']}"
    assert service.ask("GET", at).headers["etag"] == '"2"'
    assert service.ask("GET", f"entry?key={entry['key']}").headers["etag"] == '"2"'
    assert service.send(at, {"text": "x"}, "PATCH").headers["etag"] == '"3"'
    assert service.send(f"{at}/undo", {}).headers["etag"] == '"4"'
    assert service.ask("DELETE", at).headers["etag"]


@pytest.mark.parametrize("tag", ['"2"', "*", "2"])
def test_a_change_that_finds_its_revision_is_made(service: Service, entry: dict[str, Any], tag: str) -> None:
    answered = _patch(service, entry, tag)
    assert (answered.status_code, answered.headers["etag"]) == (200, '"3"')


@pytest.mark.parametrize(
    "tag", ['"1"', '"3"', '"0"', 'W/"2"', '"two"', '""', '"-2"', '"2 "', '"' + "9" * 19 + '"', '"9"', "1"]
)
def test_a_change_that_does_not_is_refused(service: Service, entry: dict[str, Any], tag: str) -> None:
    with service.untouched():
        assert code(_patch(service, entry, tag)) == (412, "precondition_failed")


@pytest.mark.parametrize("tag", ['"1", "2"', '"2",', "", '"2', '2"', "w/2", "**", '"2" "3"', "two"])
def test_what_is_not_one_tag_is_refused(service: Service, entry: dict[str, Any], tag: str) -> None:
    with service.untouched():
        assert code(_patch(service, entry, tag)) == (400, "invalid_field")


def test_a_revision_may_be_said_twice_only_alike(service: Service, entry: dict[str, Any]) -> None:
    with service.untouched():
        assert code(_patch(service, entry, '"2"', expected_revision=1))[0] == 412
    assert _patch(service, entry, '"2"', expected_revision=2).status_code == 200


@pytest.mark.parametrize("action", ["undo", "rename", "replace", "renew", "trash", "purge"])
def test_every_change_of_an_entry_can_be_bound_to_a_revision(
    service: Service, entry: dict[str, Any], action: str
) -> None:
    at, stale = f"entries/{entry['id']}", {"If-Match": '"1"'}
    said = {
        "rename": {"new_key": "other"},
        "replace": {"old": "two", "new": "x"},
        "renew": {"ttl_seconds": 60},
    }
    with service.untouched():
        if action in ("trash", "purge"):
            answered = service.ask("DELETE", f"{at}?purge={str(action == 'purge').lower()}", headers=stale)
        else:
            answered = service.send(f"{at}/{action}", said.get(action, {}), headers=stale)
        assert code(answered) == (412, "precondition_failed")


def test_a_first_write_can_be_told_from_a_second_by_revision_0(service: Service) -> None:
    said = {"text": "first", "key": f"repeats/{next(_numbers)}"}
    assert service.send("remember", said, headers={"If-Match": '"0"'}).status_code == 200
    with service.untouched():
        assert code(service.send("remember", said, headers={"If-Match": '"0"'}))[0] == 412


def test_a_condition_that_cannot_be_kept_is_refused(service: Service, entry: dict[str, Any]) -> None:
    at = f"entries/{entry['id']}"
    with service.untouched():
        for method, path, body, header in (
            ("POST", "spaces", {"ref": "x"}, "If-Match"),
            ("POST", f"{at}/restore", {}, "If-Match"),
            ("PATCH", at, {"text": "x"}, "If-None-Match"),
            ("POST", "remember", {"text": "x"}, "If-None-Match"),
        ):
            assert code(service.send(path, body, method, headers={header: '"2"'})) == (400, "invalid_field")
        assert code(service.ask("GET", at, headers={"If-Match": '"2"'})) == (400, "invalid_field")


@pytest.mark.parametrize("tag", ['"2"', 'W/"2"', "*", '"1", "2"', '"x",W/"2" , "3"'])
def test_what_one_has_already_is_not_sent_again(service: Service, entry: dict[str, Any], tag: str) -> None:
    answered = service.ask("GET", f"entries/{entry['id']}", headers={"If-None-Match": tag})
    assert (answered.status_code, answered.content, answered.headers["etag"]) == (304, b"", '"2"')
    assert "content-length" not in answered.headers
    assert "content-type" not in answered.headers


@pytest.mark.parametrize("tag", ['"1"', '"22"', "2", "", '"1", "3"', 'W/"3"', "'2'"])
def test_what_one_does_not_have_is_sent(service: Service, entry: dict[str, Any], tag: str) -> None:
    answered = service.ask("GET", f"entries/{entry['id']}", headers={"If-None-Match": tag})
    assert (answered.status_code, answered.json()["text"]) == (200, "two")


def test_a_tag_tells_a_stranger_nothing(service: Service, entry: dict[str, Any]) -> None:
    for tag in ('"2"', '"1"', "*"):
        at = f"entries/{entry['id']}"
        assert code(service.ask("GET", at, who="stranger", headers={"If-None-Match": tag})) == (
            404,
            "not_found",
        )
        answered = service.send(at, {"text": "x"}, "PATCH", who="stranger", headers={"If-Match": tag})
        assert code(answered) == (404, "not_found")


# Pages


def test_pages_stay_as_they_were_while_others_write(service: Service) -> None:
    who = "reader"
    made = [_new(service, who, f"note {number}")["id"] for number in range(7)]
    seen, cursor = [], None
    for turn in range(9):
        query = "limit=2" if cursor is None else f"limit=2&cursor={cursor}"
        page = service.ask("GET", f"entries?{query}", who=who).json()
        seen += [entry["id"] for entry in page["entries"]]
        cursor = page["cursor"]
        if cursor is None:
            break
        service.send(f"entries/{made[turn]}", {"text": f"changed {turn}"}, "PATCH", who=who)
        _new(service, who, "newer than the first page")
    assert seen == made[::-1]


def test_a_cursor_is_of_use_to_its_caller_for_its_list_alone(service: Service) -> None:
    for number in range(3):
        _new(service, "pager", f"note {number}")
        _new(service, "other", f"note {number}")
    cursor = service.ask("GET", "entries?limit=1", who="pager").json()["cursor"]
    for who, query in (("other", ""), ("pager", "&prefix=x"), ("pager", "&partition=notes"), ("pager", "x")):
        answered = service.ask(
            "GET",
            f"entries?limit=1{query if query != 'x' else ''}&cursor={cursor}{'x' if query == 'x' else ''}",
            who=who,
        )
        assert code(answered) == (400, "invalid_field")
    assert service.ask("GET", f"entries?limit=2&cursor={cursor}", who="pager").status_code == 200


# Rates


@pytest.fixture(scope="module")
def strict() -> Iterator[Service]:
    with serving(rate_per_minute=3) as service:
        yield service


def test_whoever_asks_too_fast_is_told_how_long_to_wait(strict: Service) -> None:
    answered = [strict.ask("GET", "spaces", who="hasty") for _ in range(4)]
    assert [each.status_code for each in answered] == [200, 200, 200, 429]
    assert code(answered[-1]) == (429, "rate_limited")
    assert 1 <= int(answered[-1].headers["retry-after"]) <= 20


def test_one_who_asks_too_fast_takes_nothing_from_others(strict: Service) -> None:
    for _ in range(5):
        strict.ask("GET", "spaces", who="greedy")
    assert strict.ask("GET", "spaces", who="patient").status_code == 200
    assert strict.ask("GET", "/healthz").status_code == 200


def test_a_second_token_of_one_principal_is_the_same_principal(strict: Service) -> None:
    tokens = [strict.token("twofold") for _ in range(4)]
    statuses = [
        strict.ask("GET", "spaces", headers={"Authorization": f"Bearer {token}"}).status_code
        for token in tokens
    ]
    assert statuses == [200, 200, 200, 429]


def test_strangers_are_not_counted_as_anybody(strict: Service) -> None:
    assert {strict.ask("GET", "spaces", who=None).status_code for _ in range(6)} == {401}


def test_a_write_over_the_rate_is_not_made(strict: Service) -> None:
    for _ in range(3):
        strict.ask("GET", "spaces", who="late")
    with strict.untouched():
        assert code(strict.send("remember", {"text": "x"}, who="late")) == (429, "rate_limited")


def _principal(name: object) -> Principal:
    return Principal(PrincipalKind.USER, str(name))


def test_a_minutes_worth_comes_back_evenly() -> None:
    now = 0.0
    rate = RateLimit(60, lambda: now)
    for _ in range(60):
        rate.take(_principal("a"))
    with pytest.raises(RateLimited) as refused:
        rate.take(_principal("a"))
    assert refused.value.seconds == 1
    now = 1.0
    rate.take(_principal("a"))
    with pytest.raises(RateLimited):
        rate.take(_principal("a"))
    now = 1_000.0
    for _ in range(60):
        rate.take(_principal("a"))
    with pytest.raises(RateLimited):
        rate.take(_principal("a"))


def test_only_so_many_are_remembered_and_the_idle_are_forgotten_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authenticate, "KNOWN", 10)
    rate = RateLimit(20, lambda: 0.0)
    for number in range(100):
        rate.take(_principal(number))
        if number % 6 == 0:
            rate.take(_principal("busy"))
    assert len(rate._buckets) == 10
    assert _principal("busy") in rate._buckets


def test_no_rate_is_no_limit() -> None:
    rate = RateLimit(0)
    for _ in range(10_000):
        rate.take(_principal("a"))
    assert not rate._buckets
