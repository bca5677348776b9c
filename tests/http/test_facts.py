"""Facts over REST: the shape that their clients know, and what a failure looks like beside a refusal."""

from typing import Any

import pytest

import holdfast
from holdfast.domain.errors import Backend
from holdfast.operations.engine import Engine
from tests.http.serving import Service, serving

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"value": "v"}, "missing_key"),
        ({"key": "  ", "value": "v"}, "missing_key"),
        ({"key": "k"}, "missing_value"),
        ({"key": "k", "value": " "}, "missing_value"),
        ({"key": "k", "value": "v", "category": "pack_history"}, "reserved_category"),
        ({"key": "k", "value": "v", "category": "pipeline_history"}, "reserved_category"),
        ({"key": "pack_history/x/1", "value": "v"}, "reserved_key"),
        ({"key": "k", "value": "v", "ttl_seconds": 1}, "ttl_too_short"),
        ({"key": "k", "value": "v", "ttl_seconds": -5}, "ttl_too_short"),
        ({"key": "k", "value": "v", "ttl_seconds": 400 * 86_400}, "ttl_too_long"),
        ({"key": "k", "value": "v", "ttl_seconds": 2**80}, "ttl_too_long"),
    ],
)
def test_every_refusal_of_a_fact_is_invalid_input_with_its_own_code(
    service: Service, body: dict[str, Any], code: str
) -> None:
    with service.untouched():
        answered = service.send("memory/store", body)
    assert (answered.status_code, answered.json()["error"], answered.json()["code"]) == (
        400,
        "invalid_input",
        code,
    )
    assert answered.json()["message"]


@pytest.mark.parametrize("path", ["memory/store", "memory/forget"])
def test_malformed_json_is_400_on_store_and_forget(service: Service, path: str) -> None:
    answered = service.ask("POST", path, content=b"{", headers=JSON)
    assert (answered.status_code, answered.json()["code"]) == (400, "invalid_json")


def test_a_failure_of_the_store_is_never_called_invalid_input(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Backend

    monkeypatch.setattr(Engine, "submit", fail)
    monkeypatch.setattr(Engine, "write", fail)
    answered = service.send("memory/store", {"key": "k", "value": "v"})
    assert (answered.status_code, answered.json()["error"], answered.json()["code"]) == (
        500,
        "backend",
        "backend",
    )


def test_an_answer_to_a_store_names_key_category_expiry_and_that_it_was_kept(service: Service) -> None:
    answered = service.send("memory/store", {"key": " prefs/a ", "value": "v"}).json()
    assert (answered["key"], answered["category"], answered["persisted"]) == ("prefs/a", "user_facts", True)
    assert answered["expires_at"].endswith("Z")


def test_a_store_that_keeps_nothing_says_so_over_rest() -> None:
    with holdfast.open(":memory:", key="off") as memory, serving(memory=memory) as off:
        answered = off.send("memory/store", {"key": "k", "value": "v"}).json()
        forgotten = off.send("memory/forget", {"scope": "all"}).json()
    assert (answered["persisted"], answered["category"]) == (False, "user_facts")
    assert answered["note"]
    assert answered["expires_at"]
    assert (forgotten["deleted"], forgotten["persisted"]) == (0, False)


def test_another_caller_is_only_named_by_an_administrator(service: Service) -> None:
    service.send("memory/store", {"key": "k", "value": "v"}, who="carol")
    seen = service.ask("GET", "memory/defaults?caller=carol", who="dave").json()
    assert (seen["scope"], bool(seen["note"])) == ("caller=dave", True)
    seen = service.ask("GET", "memory/defaults?caller=carol", who="dave", admin=True).json()
    assert seen["scope"] == "caller=carol"
    mine = service.ask("GET", "memory/callers", who="carol").json()["callers"]
    assert [row["caller"] for row in mine] == ["user:carol"]
    assert "user:carol" in str(service.ask("GET", "memory/callers", who="dave", admin=True).json())
