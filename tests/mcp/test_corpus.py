"""The corpus for agents: one tool, `query`, that finds what was written through any door; and my-defaults."""

import json
from typing import Any

import pytest
from mcp import Client

import holdfast
from tests.http.serving import Service
from tests.mcp.talking import call, refused, talk, text


def test_the_surface_has_exactly_one_tool(service: Service, era: str, who: str) -> None:
    async def listed(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = talk(service, listed, who=who, era=era, surface="corpus")
    assert [tool.name for tool in tools] == ["query"]
    assert tools[0].annotations.read_only_hint


def test_a_marker_written_over_rest_is_found_and_gone_once_forgotten(
    service: Service, era: str, who: str
) -> None:
    service.send("memory/store", {"key": "smoke/marker", "value": "marker zebra-41"}, who=who)
    how: Any = {"who": who, "era": era, "surface": "corpus"}
    found = call(service, "query", {"searches": [{"type": "lex", "query": "zebra-41"}]}, **how)
    [row] = found.structured_content["results"]
    assert (row["docid"], row["collection"]) == ("user_facts/smoke/marker", "holdfast-user_facts")
    assert 0.9 <= row["score"] <= 1
    assert "zebra-41" in text(found), "old clients read the text, new ones what is structured"
    service.send("memory/forget", {"scope": "key:smoke/marker"}, who=who)
    assert call(service, "query", {"query": "zebra-41"}, **how).structured_content["results"] == []


def test_nobody_finds_the_documents_of_another(service: Service, era: str, who: str) -> None:
    service.send("memory/store", {"key": "mine", "value": "the quokka phrase"}, who=who)
    theirs = call(
        service, "query", {"query": "the quokka phrase"}, who="somebody else", era=era, surface="corpus"
    )
    assert theirs.structured_content["results"] == []
    mine = call(service, "query", {"query": "the quokka phrase"}, who=who, era=era, surface="corpus")
    assert len(mine.structured_content["results"]) == 1


@pytest.mark.parametrize("said", [{"limit": 0}, {"searches": [{"type": "sql", "query": "x"}]}, {"more": 1}])
def test_what_cannot_be_asked_is_a_tool_error(service: Service, who: str, said: dict[str, Any]) -> None:
    answered = call(service, "query", {"query": "x"} | said, who=who, surface="corpus")
    assert answered.is_error
    assert answered.structured_content["code"] == "invalid_field"


def test_another_tool_is_unknown_here(service: Service, who: str) -> None:
    refused(service, lambda client: client.call_tool("memory_store", {"key": "k"}), who=who, surface="corpus")


def test_my_defaults_are_a_resource_of_the_facts_surface(service: Service, era: str, who: str) -> None:
    memory = service.memory
    assert memory is not None

    @memory.tool("slides", cache=holdfast.Cache(ttl=60))
    def slides(theme: str, topic: str) -> str:
        return f"SECRETOUTPUT {topic}"

    with memory.calling(who):
        slides("dark", "SECRETINPUT")

    async def read(client: Client) -> Any:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert {"holdfast://my-memory", "holdfast://my-defaults"} <= set(listed)
        return (await client.read_resource("holdfast://my-defaults")).contents[0].text  # type: ignore[union-attr]

    shown = talk(service, read, who=who, era=era, surface="facts")
    [habit] = json.loads(shown)["packs"]
    assert (habit["id"], habit["count"], habit["inputs"]) == ("slides", 1, {"theme": "dark"})
    assert "SECRET" not in shown
