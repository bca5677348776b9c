"""File memories over HTTP: the index is Markdown, and nobody without an identity has files."""

import json
import re
from pathlib import Path

from tests.http.serving import Service, serving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "files.md"
LANGUAGE = {
    "action": "upsert",
    "name": "preferred-language",
    "type": "user",
    "description": "User prefers Japanese output",
    "body": "Always respond in Japanese unless the user explicitly asks for another language.",
}


def test_the_calls_of_the_seed_document_do_what_it_says(service: Service) -> None:
    made = service.ask("POST", "user-memory", who="carol", json=LANGUAGE)
    assert (made.status_code, made.json()["created"]) == (200, True)
    index = service.ask("GET", "user-memory", who="carol")
    assert index.headers["content-type"] == "text/markdown; charset=utf-8"
    assert index.text == "- [preferred-language](preferred-language.md) — User prefers Japanese output\n"
    file = service.ask("GET", "user-memory/preferred-language", who="carol").json()
    assert {name: file[name] for name in ("name", "type", "description", "body")} == {
        name: LANGUAGE[name] for name in ("name", "type", "description", "body")
    }
    gone = service.ask(
        "POST", "user-memory", who="carol", json={"action": "delete", "name": "preferred-language"}
    )
    assert gone.json()["action"] == "delete"
    again = service.ask(
        "POST", "user-memory", who="carol", json={"action": "delete", "name": "preferred-language"}
    )
    assert (again.status_code, again.json()["error"]) == (404, "not_found")


def test_the_examples_of_the_page_do_what_it_says(service: Service) -> None:
    page = PAGE.read_text(encoding="utf-8")
    written, deleted = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.S))
    pasted = [json.loads(said) for said in re.findall(r"-d '(.*?)'$", page, re.S | re.M)]
    assert pasted == [written, deleted] == [LANGUAGE, {"action": "delete", "name": "preferred-language"}]
    line = next(line for line in page.splitlines() if line.startswith("- [preferred-language]"))
    assert service.ask("POST", "user-memory", who="erin", json=written).status_code == 200
    assert service.ask("GET", "user-memory", who="erin").text == f"{line}\n"
    assert service.ask("POST", "user-memory", who="erin", json=deleted).status_code == 200


def test_a_repeated_delete_with_one_key_is_answered_as_the_first(service: Service) -> None:
    service.ask("POST", "user-memory", who="dave", json=LANGUAGE)
    delete, key = {"action": "delete", "name": "preferred-language"}, {"Idempotency-Key": "d1"}
    first = service.ask("POST", "user-memory", who="dave", json=delete, headers=key)
    again = service.ask("POST", "user-memory", who="dave", json=delete, headers=key)
    assert (again.status_code, again.json()) == (200, first.json())


def test_without_authentication_there_are_no_files() -> None:
    with serving(auth="off") as service:
        for answer in (
            service.ask("POST", "user-memory", who=None, json=LANGUAGE),
            service.ask("GET", "user-memory", who=None),
            service.ask("GET", "user-memory/preferred-language", who=None),
        ):
            assert (answer.status_code, answer.json()["error"]) == (401, "unauthenticated")
