"""The surfaces stores, kv and anthropic over MCP: the tools of their systems, in their words."""

from typing import Any

import pytest

from tests.http.serving import Service
from tests.mcp.talking import Person, call, code, talk, text
from tests.mcp.test_tools import listed as listed_tools


def how(who: str, surface: str, **more: Any) -> dict[str, Any]:
    return {"who": who, "surface": surface, "kind": "agent", **more}


def test_the_memory_tool_speaks_the_commands_of_its_system(service: Service, era: str, who: str) -> None:
    def memory(**said: Any) -> Any:
        return call(service, "memory", said, **how(who, "stores", era=era))

    done = memory(command="create", path="/memories/style", content="Prefers short answers")
    assert text(done) == "created /memories/style"
    assert done.structured_content == {"result": "created /memories/style"}
    shown = memory(command="view", path="/memories/style").structured_content
    assert (shown["value"], shown["storeId"], shown["owner_id"]) == (
        "Prefers short answers",
        who,
        f"agent:{who}",
    )
    missing = memory(command="view", path="/memories/nothing")
    assert (missing.structured_content, text(missing), missing.is_error) == ({"result": None}, "null", False)
    memory(command="create", path="/memories/limits", content={"words": 50})
    found = memory(command="search", query="short answers").structured_content["entries"]
    assert [hit["key"] for hit in found] == ["style"]
    edited = memory(
        command="edit", path="/memories/style", old_str="short", new_str="long"
    ).structured_content
    assert edited["occurrences"] == 1
    assert memory(command="stores").structured_content["stores"][0]["source"] == "self"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, "missing_field"),
        ({"command": "view", "path": "/etc/passwd"}, "invalid_field"),
        ({"command": "view", "path": "/memories/shared/stranger/k"}, "access_denied"),
        ({"command": "delete", "path": "/memories/nothing"}, "not_found"),
        ({"command": "create", "path": "/memories/k", "content": "x", "encrypted": True}, "invalid_field"),
        ({"action": "fetch", "key": "k"}, "invalid_field"),
        ({"action": "get", "command": "view"}, "invalid_field"),
    ],
)
def test_a_refusal_is_a_value_with_a_sentence_and_the_code_of_every_door(
    service: Service, who: str, said: dict[str, Any], expected: str
) -> None:
    refused = call(service, "memory", said, **how(who, "stores"))
    assert code(refused) == expected
    assert refused.structured_content == {"error": text(refused), "code": expected}


def test_older_agents_are_understood_in_their_words_which_no_model_is_told_of(
    service: Service, who: str
) -> None:
    def memory(**said: Any) -> Any:
        return call(service, "memory", said, **how(who, "stores")).structured_content

    assert memory(action="set", key="a/b", value={"n": 1}, ttl=60, namespace="old") == {
        "result": "created /memories/a/b"
    }
    assert memory(action="get", key="a/b") == {"result": None}
    kept = memory(action="get", key="a/b", namespace="old")
    assert (kept["value"], kept["namespace"]) == ({"n": 1}, "old")
    assert "expires_at" in kept
    listed = memory(action="list", store=who, prefix="a/", namespace="old")["entries"]
    assert [entry["key"] for entry in listed] == ["a/b"]
    assert memory(action="stores")["stores"][0]["storeId"] == who
    assert memory(action="delete", key="a/b", namespace="old") == {"result": "deleted /memories/a/b"}
    (tool,) = talk(service, listed_tools, surface="stores")
    assert not {"action", "value", "namespace", "ttl", "encrypted"} & tool["inputSchema"]["properties"].keys()


@pytest.mark.parametrize(
    ("surface", "made"),
    [
        ("stores", {"command": "create", "path": "/memories/k", "content": "x"}),
        ("anthropic", {"command": "create", "path": "/memories/k", "file_text": "x"}),
    ],
)
def test_a_model_that_nobody_watches_deletes_nothing(
    service: Service, who: str, surface: str, made: dict[str, Any]
) -> None:
    alone: dict[str, Any] = {"who": who, "surface": surface, "kind": "service"}
    assert not call(service, "memory", made, **alone).is_error
    gone = call(service, "memory", {"command": "delete", "path": "/memories/k"}, **alone)
    assert code(gone) == "access_denied"
    assert not call(service, "memory", {"command": "view", "path": "/memories/k"}, **alone).is_error


def test_a_share_is_asked_of_the_person_and_done_when_they_agree(
    service: Service, era: str, who: str
) -> None:
    agrees = Person()
    done = call(
        service,
        "memory",
        {"command": "share", "agent": "guest"},
        **how(who, "stores", era=era, person=agrees, session_user="alice"),
    )
    assert agrees.asked == ["Share /memories/ with guest at read."]
    assert text(done) == "shared /memories/ with agent:guest at read"
    waits = call(service, "memory", {"command": "unshare", "agent": "guest"}, **how(who, "stores", era=era))
    assert code(waits) == "confirmation_required"
    assert waits.structured_content["proposal"]


def test_no_tool_reaches_what_is_internal(service: Service) -> None:
    for surface in ("stores", "kv", "anthropic", "all"):
        assert not [
            tool for tool in talk(service, listed_tools, surface=surface) if "internal" in tool["name"]
        ]


def test_the_schema_of_the_memory_tool_is_strict_and_has_no_unions_at_its_top(service: Service) -> None:
    (tool,) = talk(service, listed_tools, surface="stores")
    schema = tool["inputSchema"]
    assert schema["required"] == ["command"]
    assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
    assert schema["properties"]["scope"]["enum"] == ["agent", "user", "chat"]
    assert schema["properties"]["level"]["enum"] == ["search", "read", "readwrite"]
    assert len(schema["properties"]["command"]["enum"]) == 9


def test_the_kv_tools_keep_texts(service: Service, era: str, who: str) -> None:
    def kv(tool: str, **said: Any) -> Any:
        return call(service, tool, said, **how(who, "kv", era=era))

    kv("kv_set", key="timezone", value="Europe/Lisbon")
    assert text(kv("kv_get", key="timezone")) == "Europe/Lisbon"
    assert text(kv("kv_get", key="nothing")) == ""
    assert kv("kv_delete", key="timezone").structured_content == {"removed": True}


def test_the_tool_of_claude_models_answers_in_its_own_words(service: Service, era: str, who: str) -> None:
    def memory(**said: Any) -> Any:
        return call(service, "memory", said, **how(who, "anthropic", era=era))

    made = memory(command="create", path="/memories/f", file_text="a\nb\n")
    assert text(made) == "File created successfully at: /memories/f"
    seen = memory(command="view", path="/memories/f", view_range=[2, -1])
    assert text(seen) == "Here's the content of /memories/f with line numbers:\n     2\tb\n     3\t"
    again = memory(command="create", path="/memories/f", file_text="c")
    assert (again.is_error, text(again)) == (True, "File /memories/f already exists")
    gone = memory(command="view", path="/memories/nothing")
    assert text(gone) == "The path /memories/nothing does not exist. Please provide a valid path."
