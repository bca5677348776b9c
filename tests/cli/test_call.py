"""`holdfast call`: any call of any vocabulary from the shell, with the codes that every door gives."""

from __future__ import annotations

import json

import pytest

from holdfast.entrypoints.cli.call import _table
from holdfast.entrypoints.http.routes import ROUTES
from holdfast.entrypoints.mcp.tools import NAMED
from tests.cli.command import Command
from tests.mcp.test_same_json import SAID


def said(**fields: object) -> str:
    return json.dumps(fields)


def test_a_tool_is_called_by_the_name_agents_know_it_by(holdfast: Command) -> None:
    stored = holdfast("call", "facts", "memory_store", said(key="prefs/editor", value="vim"), "--json")

    assert stored.code == 0
    assert (stored.json["key"], stored.json["category"], stored.json["persisted"]) == (
        "prefs/editor",
        "user_facts",
        True,
    )
    recalled = holdfast("call", "facts", "memory_recall", said(prefix="prefs/"), "--json")
    assert [(fact["key"], fact["value"]) for fact in recalled.json["facts"]] == [("prefs/editor", "vim")]
    history = holdfast("call", "facts", "memory_history", said(key="prefs/editor"), "--json")
    assert [one["text"] for one in history.json["revisions"]] == ["vim"]
    forgotten = holdfast("call", "facts", "memory_forget", said(scope="key:prefs/editor"), "--json")
    assert forgotten.json["deleted"] == 1


def test_every_row_of_the_tables_can_be_called(holdfast: Command) -> None:
    table = _table()
    assert {(route.tag, route.call.name) for route in ROUTES} <= {
        (surface, name) for surface, calls in table.items() for name in calls
    }
    assert {(surface.name, tool.name) for surface in NAMED.values() for tool in surface.tools} <= {
        (surface, name) for surface, calls in table.items() for name in calls
    }
    assert table["facts"]["memory_store"] is table["facts"]["store"]


def test_the_memory_tool_takes_paths_keys_and_the_older_words(holdfast: Command) -> None:
    kept = holdfast("call", "stores", "memory", said(action="set", key="a/b", value="x"), "--json")
    assert kept.json == "created /memories/a/b"
    for asked in (
        said(action="get", key="a/b"),
        said(command="view", path="/memories/a/b"),
        said(command="view", scope="agent", key="a/b"),
    ):
        assert holdfast("call", "stores", "memory", asked, "--json").json["value"] == "x"
    unnamed = holdfast("call", "stores", "memory", said(key="a/b"))
    assert unnamed.code == 1
    assert "missing_field" in unnamed.err


def test_other_vocabularies_answer_too(holdfast: Command) -> None:
    holdfast("call", "core", "remember", said(text="Deploys go through Konflux", key="deploy"))

    assert holdfast("call", "corpus", "query", said(query="konflux"), "--json").json["results"]
    assert holdfast("call", "core", "get", said(key="deploy"), "--json").json["text"].startswith("Deploys")
    assert holdfast("call", "facts", "my_memory", "--json").json["categories"]
    assert holdfast("call", "facts", "callers", "--json").json["callers"][0]["namespace"] == "local"


def test_without_json_an_answer_is_for_people_to_read(holdfast: Command) -> None:
    done = holdfast("call", "facts", "memory_store", said(key="k", value="é"))

    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["key"] == "k"
    assert '\n  "key": "k"' in done.out


def test_what_it_is_told_may_come_from_standard_input(holdfast: Command) -> None:
    done = holdfast("call", "facts", "memory_store", "-", "--json", given=said(key="k", value="from a pipe"))

    assert done.code == 0
    assert holdfast("get", "k").out == "from a pipe\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["facts", "memory_store", said(value="v")], "missing_key"),
        (["facts", "memory_store", said(key="k")], "missing_value"),
        (["facts", "memory_store", said(key="k", value="v", ttl_seconds=1)], "ttl_too_short"),
        (["facts", "memory_store", said(key="k", value="v", category="pack_history")], "reserved_category"),
        (["facts", "memory_store", said(key="pack_history/x", value="v")], "reserved_key"),
        (["facts", "memory_store", said(key="k", value="v", more=1)], "invalid_field"),
        (["kv", "kv_set", said(key="", value="x")], "missing_key"),
        (["kv", "kv_get", said(key="")], "missing_key"),
        (["kv", "kv_delete", said(key="")], "missing_key"),
        (["facts", "memory_forget", said()], "invalid_scope"),
        (["facts", "memory_forget", said(scope="everything")], "invalid_scope"),
        (["facts", "memory_history", said(key="never")], "not_found"),
        (["facts", "memory_store", "{"], "invalid_json"),
        (["facts", "memory_store", "[1]"], "invalid_json"),
        (["facts", "no_such_tool"], "invalid_field"),
        (["no_such_surface", "memory_store"], "invalid_field"),
        (["administration", "stats"], "access_denied"),
    ],
)
def test_a_refusal_is_exit_code_1_with_its_code_on_standard_error(
    holdfast: Command, words: list[str], code: str
) -> None:
    done = holdfast("call", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"{code}: ")
    told = holdfast("call", *words, "--json")
    assert (told.code, told.json["error"]) == (1, code)


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        '{"key": "a", "value": "v", "key": "z"}',
        '{"key": "a", "value": "v", "k\\u0065y": "z"}',
        '{"key": "a", "value": "v", "tags": [{"a": 1, "a": 1}]}',
        '{"key": "a", "value": "v", "tags": ' + "[" * DEEP + "]" * DEEP + "}",
        '{"key": "a", "value": "v", "tags": ' + "[" * 32 + "]" * 32 + "}",
        "[" * DEEP,
        '{"key": "a", "value": "v", "ttl_seconds": NaN}',
        '{"key": "a", "value": "v", "ttl_seconds": -Infinity}',
    ],
    ids=[
        "twice",
        "twice, spelt differently",
        "twice, further in",
        "deep",
        "33 deep",
        "unclosed",
        "nan",
        "inf",
    ],
)
def test_json_is_read_as_strictly_as_by_the_server(holdfast: Command, text: str) -> None:
    refused = holdfast("call", "facts", "memory_store", "-", "--json", given=text)

    assert (refused.code, refused.json["error"]) == (1, "invalid_json")
    assert holdfast("call", "facts", "memory_recall", "--json").json["facts"] == []


def test_a_call_without_a_tool_is_a_usage_error(holdfast: Command) -> None:
    assert holdfast("call", "facts").code == 2


def test_it_acts_as_whom_it_is_told(holdfast: Command) -> None:
    holdfast("call", "facts", "memory_store", said(key="k", value="v"), "--as", "alice")

    assert holdfast("call", "facts", "memory_recall", "--as", "alice", "--json").json["facts"]
    assert holdfast("call", "facts", "memory_recall", "--json").json["facts"] == []


@pytest.mark.parametrize(("told", "expected"), SAID.values(), ids=SAID)
def test_what_is_no_plain_json_is_refused_as_by_every_door(
    holdfast: Command, told: bytes, expected: str
) -> None:
    refused = holdfast("call", "core", "remember", "-", given=told)

    assert (refused.code, refused.err.partition(":")[0]) == (1, expected)


def test_a_namespace_is_a_field_of_core_calls(holdfast: Command) -> None:
    holdfast("call", "core", "remember", said(text="of a", key="k", namespace="a"), "--json")
    listed = holdfast("call", "core", "list", said(namespace="a"), "--json").json["entries"]
    assert [(entry["key"], entry["namespace"]) for entry in listed] == [("k", "a")]
    assert holdfast("call", "core", "history", said(key="k", namespace="a"), "--json").code == 0
    assert holdfast("call", "core", "history", said(key="k"), "--json").code == 1
