"""The surface `files` over MCP: the tools of seed documents in their words, and the index as a resource."""

from typing import Any

import pytest
from mcp import Client

from tests.http.serving import Service
from tests.mcp.talking import call, code, refused, talk, text

LANGUAGE = {
    "action": "upsert",
    "name": "preferred-language",
    "type": "user",
    "description": "User prefers Japanese output",
    "body": "Always respond in Japanese unless the user explicitly asks for another language.",
}
INDEX = "holdfast://MEMORY.md"


def index(service: Service, who: str, **how: Any) -> str:
    async def read(client: Client) -> Any:
        return await client.read_resource(INDEX)

    [contents] = talk(service, read, who=who, surface="files", **how).contents
    assert contents.mime_type == "text/markdown"
    return str(contents.text)


def test_the_calls_of_the_seed_document_do_what_it_says(service: Service, era: str, who: str) -> None:
    how: dict[str, Any] = {"who": who, "surface": "files", "era": era}
    assert text(call(service, "UpdateUserMemory", LANGUAGE, **how)) == 'Saved "preferred-language".'
    assert text(call(service, "UpdateUserMemory", LANGUAGE, **how)) == 'Updated "preferred-language".'
    line = "- [preferred-language](preferred-language.md) — User prefers Japanese output\n"
    assert index(service, who, era=era) == line
    read = call(service, "ReadUserMemory", {"name": "preferred-language"}, **how)
    assert text(read) == (
        f"# preferred-language\n\n**user**: User prefers Japanese output\n\n{LANGUAGE['body']}"
    )
    assert read.structured_content is not None
    assert read.structured_content["body"] == LANGUAGE["body"]
    delete = {"action": "delete", "name": "preferred-language"}
    assert "trash" in text(call(service, "UpdateUserMemory", delete, **how))
    assert code(call(service, "UpdateUserMemory", delete, **how)) == "not_found"
    assert index(service, who, era=era) == "> Nothing is stored yet.\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"action": "upsert"}, "missing_field"),
        (LANGUAGE | {"name": "../x"}, "invalid_name"),
        (LANGUAGE | {"type": "secret"}, "invalid_type"),
        (LANGUAGE | {"description": "a\nb"}, "invalid_field"),
        (LANGUAGE | {"body": None}, "missing_field"),
        (LANGUAGE | {"expected_revision": 1}, "invalid_field"),
        ({"action": "delete", "name": "nothing"}, "not_found"),
    ],
)
def test_a_refusal_has_the_code_of_every_door(
    service: Service, who: str, said: dict[str, Any], expected: str
) -> None:
    assert code(call(service, "UpdateUserMemory", said, who=who, surface="files")) == expected


@pytest.mark.parametrize("kind", ["agent", "service"])
def test_only_users_have_files(service: Service, who: str, kind: str) -> None:
    how: dict[str, Any] = {"who": who, "surface": "files", "kind": kind}
    assert code(call(service, "UpdateUserMemory", LANGUAGE, **how)) == "access_denied"
    assert code(call(service, "ReadUserMemory", {"name": "x"}, **how)) == "access_denied"

    async def read(client: Client) -> Any:
        return await client.read_resource(INDEX)

    assert "users" in str(refused(service, read, **how))


def test_a_caller_whom_nobody_watches_saves_but_deletes_nothing(service: Service, who: str) -> None:
    how: dict[str, Any] = {"who": who, "surface": "files", "unattended": True}
    assert not call(service, "UpdateUserMemory", LANGUAGE, **how).is_error
    delete = {"action": "delete", "name": "preferred-language"}
    assert code(call(service, "UpdateUserMemory", delete, **how)) == "access_denied"
    assert not call(service, "UpdateUserMemory", delete, who=who, surface="files").is_error
