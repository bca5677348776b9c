"""Resources, prompts, completion and subscriptions: what a model is shown beside the tools, and what it never is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from mcp import Client
from mcp_types import INVALID_PARAMS, PromptReference, ResourceTemplateReference

import holdfast
from holdfast.domain.partition import Partition
from holdfast.domain.profile import CORE
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from tests.behaviours.looking import quarantine, write_as
from tests.http.serving import Service, serving_running
from tests.mcp.talking import call, refused, talk, text
from tests.support import FixedClock

MY_MEMORY = "holdfast://my-memory"


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    return content


def reading(service: Service, uri: str, **how: Any) -> Any:
    return talk(service, lambda client: read(client, uri), **how)


def completed(
    service: Service, argument: str, begun: str, *, prompt: str = "remember", **how: Any
) -> list[str]:
    async def ask(client: Client) -> list[str]:
        answer = await client.complete(PromptReference(name=prompt), {"name": argument, "value": begun})
        return list(answer.completion.values)

    values: list[str] = talk(service, ask, **how)
    return values


def test_my_memory_lists_counts_and_keys_never_values(service: Service, era: str, who: str) -> None:
    call(service, "remember", {"text": "The value", "key": "a/b", "category": "work"}, who=who)
    content = reading(service, MY_MEMORY, who=who, era=era)
    said = json.loads(content.text)
    assert said["scope"] == f"caller={who}"
    assert said["categories"] == [{"name": "work", "count": 1, "recent_keys": ["a/b"]}]
    assert "The value" not in content.text


def test_resources_may_be_cached_by_their_reader_alone(service: Service, who: str) -> None:
    answer = talk(service, lambda client: client.read_resource(MY_MEMORY), who=who)
    assert (answer.cache_scope, answer.ttl_ms) == ("private", 0)


def test_the_context_is_what_every_door_gives(service: Service, era: str, who: str) -> None:
    call(service, "remember", {"text": "Always tea", "always_inject": True}, who=who)
    shown = service.ask("GET", "context", who=who).json()["text"]
    assert "Always tea" in shown
    assert reading(service, "holdfast://context", who=who, era=era).text == shown
    assert text(call(service, "memory_context", who=who, era=era)) == shown

    async def prompt(client: Client) -> Any:
        return (await client.get_prompt("context")).messages[0].content

    assert talk(service, prompt, who=who, era=era).text == shown


def test_while_memory_is_off_every_text_says_why_it_is_empty(era: str) -> None:
    memory = holdfast.open(":memory:", key="off")
    with serving_running(memory.running) as service:
        for surface, tool, said in (
            ("core", "recall", {"query": "tea"}),
            ("core", "memory_context", {}),
            ("facts", "memory_recall", {"query": "tea"}),
            ("facts", "memory_recall", {"prefix": "a/"}),
        ):
            assert text(call(service, tool, said, surface=surface, era=era)) == memory.reason
        assert reading(service, "holdfast://context", era=era).text == memory.reason
        assert json.loads(reading(service, MY_MEMORY, era=era).text)["note"] == memory.reason
    memory.close()


def test_an_entry_is_read_by_its_id(service: Service, era: str, who: str) -> None:
    kept = call(service, "remember", {"text": "By id", "key": "k"}, who=who).structured_content
    entry = json.loads(reading(service, f"holdfast://entries/{kept['id']}", who=who, era=era).text)
    assert (entry["text"], entry["key"]) == ("By id", "k")


@pytest.mark.parametrize(
    "uri", ["holdfast://entries/", "holdfast://entries/nothing", "holdfast://nothing", "file:///etc/passwd"]
)
def test_what_is_not_there_is_not_found(service: Service, era: str, uri: str) -> None:
    assert refused(service, lambda client: read(client, uri), era=era).code == INVALID_PARAMS


def test_what_another_wrote_is_answered_like_what_is_not_there(service: Service, who: str) -> None:
    kept = call(service, "remember", {"text": "Alice's own", "key": "k"}, who=who).structured_content
    uri = f"holdfast://entries/{kept['id']}"
    absent = f"holdfast://entries/{UUID(int=UUID(kept['id']).int + 1)}"
    errors = [refused(service, lambda client, at=at: read(client, at), who="bob") for at in (uri, absent)]  # type: ignore[misc]
    assert {(error.code, error.message) for error in errors} == {(INVALID_PARAMS, errors[0].message)}
    assert json.loads(reading(service, uri, who=who).text)["text"] == "Alice's own"


def test_the_prompts_are_listed_and_find_what_they_ask_for(service: Service, era: str, who: str) -> None:
    call(service, "remember", {"text": "Deploys go through Konflux", "key": "ci"}, who=who)

    async def prompts(client: Client) -> Any:
        listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
        given = [
            (await client.get_prompt(name, said)).messages[0].content.text  # type: ignore[union-attr]
            for name, said in (
                ("remember", {"text": "Tea", "key": "drinks"}),
                ("recall", {"question": "how do we deploy?"}),
                ("review", {}),
            )
        ]
        return listed, given

    listed, (remember, recall, review) = talk(service, prompts, who=who, era=era)
    assert listed == ["remember", "recall", "review", "context"]
    assert '"Tea"' in remember
    assert '"drinks"' in remember
    assert "Konflux" in recall
    assert '"uncategorized": 1' in review


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing", {}), ("remember", {}), ("recall", {"question": " "}), ("review", {"x": "y"})],
)
def test_a_prompt_that_cannot_be_written_is_refused(
    service: Service, name: str, said: dict[str, str]
) -> None:
    assert refused(service, lambda client: client.get_prompt(name, said)).code == INVALID_PARAMS


def test_keys_categories_and_spaces_are_completed(service: Service, era: str, who: str) -> None:
    for key, category in (("ci/deploy", "work"), ("ci/test", "work"), ("tea", "drinks")):
        call(service, "remember", {"text": key, "key": key, "category": category}, who=who)
    assert sorted(completed(service, "key", "ci/", who=who, era=era)) == ["ci/deploy", "ci/test"]
    assert completed(service, "category", "d", who=who, era=era) == ["drinks"]
    assert completed(service, "space", "us", who=who, era=era) == [f"user:{who}"]
    assert completed(service, "text", "anything", who=who, era=era) == []


def test_ids_of_the_template_are_completed(service: Service, who: str) -> None:
    kept = call(service, "remember", {"text": "a", "key": "k"}, who=who).structured_content["id"]

    async def ask(client: Client) -> list[str]:
        reference = ResourceTemplateReference(uri="holdfast://entries/{id}")
        answer = await client.complete(reference, {"name": "id", "value": kept[:4]})
        return list(answer.completion.values)

    assert talk(service, ask, who=who) == [kept]


# What no model sees


@dataclass
class Hidden:
    """A memory with one entry of every kind that is not for models, all about one word, and one that is."""

    service: Service
    memory: Memory
    ids: dict[str, str]
    shown: str


WORD = "zirconium"


@pytest.fixture(scope="module")
def hidden() -> Iterator[Hidden]:
    clock = FixedClock()
    memory = holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, clock=clock, embedder="none")
    alice, bob = memory.user("alice"), memory.user("bob")

    def kept(kind: str, own: Own = alice, **more: Any) -> str:
        return str(own.remember(f"{WORD} {kind}", key=f"h/{kind}", category=f"c-{kind}", **more).id)

    ids = {
        "internal": kept("internal", in_context=False),
        "encrypted": kept("encrypted", encrypted=True),
        "expired": kept("expired", ttl=timedelta(seconds=5)),
        "trashed": kept("trashed"),
        "foreign": kept("foreign", bob, always_inject=True),
        "quarantined": kept("quarantined"),
    }
    alice.trash("h/trashed")
    quarantine(memory, UUID(ids["quarantined"]))
    for kind, room in (("run", Partition.RUNS), ("cache", Partition.CACHE), ("handler", Partition.HANDLER)):
        draft = NoteInput(f"{WORD} {kind}", f"h/{kind}", category=f"c-{kind}")
        ids[kind] = str(write_as(memory, replace(CORE, partition=room), "alice", draft).id)
    clock.advance(seconds=10)
    shown = kept("shown")
    with serving_running(memory.running, clock) as service:
        yield Hidden(service, memory, ids, shown)
    memory.close()


KINDS = ["internal", "encrypted", "expired", "trashed", "foreign", "quarantined", "run", "cache", "handler"]


def everything_shown(client: Client) -> Any:
    """All that a model gets to see without naming an entry, as one text."""

    async def look() -> str:
        tools: list[tuple[str, dict[str, Any]]] = [
            ("recall", {"query": WORD, "limit": 50}),
            ("recall", {"query": ""}),
            ("memory_context", {}),
            ("memory_recall", {"prefix": "h/"}),
            ("memory_recall", {"query": WORD}),
            ("memory_recall", {}),
            ("remember", {"text": f"{WORD} shown", "key": "h/shown"}),
        ]
        seen = [(await client.call_tool(name, said)).model_dump_json() for name, said in tools]
        seen += [
            (await client.read_resource(uri)).model_dump_json() for uri in (MY_MEMORY, "holdfast://context")
        ]
        seen += [
            (await client.get_prompt(name, said)).model_dump_json()
            for name, said in (("recall", {"question": "anything of mine"}), ("review", {}), ("context", {}))
        ]
        for argument in ("key", "category", "space", "id"):
            told = {"name": argument, "value": ""}
            seen.append((await client.complete(PromptReference(name="remember"), told)).model_dump_json())
        return "\n".join(seen)

    return look()


def test_what_is_not_for_a_model_reaches_none(hidden: Hidden, era: str) -> None:
    seen = talk(hidden.service, everything_shown, era=era, surface="all")
    assert hidden.shown in seen
    assert f"{WORD} shown" in seen
    for kind in KINDS:
        assert f"h/{kind}" not in seen, kind
        assert f"{WORD} {kind}" not in seen, kind
        assert f"c-{kind}" not in seen, kind
        assert hidden.ids[kind] not in seen, kind


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_for_a_model_is_not_read_by_its_id_either(hidden: Hidden, era: str, kind: str) -> None:
    uri = f"holdfast://entries/{hidden.ids[kind]}"
    assert refused(hidden.service, lambda client: read(client, uri), era=era).code == INVALID_PARAMS


def test_the_owner_of_a_foreign_entry_does_find_it(hidden: Hidden) -> None:
    found = call(hidden.service, "recall", {"query": WORD}, who="bob").structured_content["hits"]
    assert [hit["key"] for hit in found] == ["h/foreign"]
