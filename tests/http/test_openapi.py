"""The OpenAPI document says all that the server does and nothing else: read, and tried by Schemathesis."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from holdfast.domain.errors import HoldfastError, family
from holdfast.domain.limits import Limits, check_hint, check_key, check_tags, check_text
from holdfast.domain.principal import is_subject
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.routes import BASE, ROUTES
from holdfast.vocabularies.fields import LINE, NAME, NO_NUL, NOT_BLANK, NOT_SPACE, SUBJECT, TAG
from holdfast.vocabularies.store_requests import ACTIONS, COMMANDS, parse
from tests.http.serving import Service, serving

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
HERE = Path(__file__).parent
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    said: dict[str, Any] = service.ask("GET", "/openapi.json", who=None).json()
    return said


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert method in METHODS
            yield f"{method.upper()} {path}", operation


def _is_valid(document: dict[str, Any], schema: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.is_valid(
        {**schema, "components": document["components"]}, value, validate_formats=True
    )


def test_every_route_is_described(document: dict[str, Any]) -> None:
    described = {name for name, _ in _operations(document)}
    assert {f"{route.method} /api/v1/{route.path}" for route in ROUTES} <= described
    assert {
        f"GET {path}" for path in ("/", "/docs", "/healthz", "/metrics", "/openapi.json", "/readyz")
    } <= described
    assert len(described) == len(ROUTES) + 6
    assert document["openapi"].startswith("3.1")


def test_every_operation_has_a_name_of_its_own_and_a_sentence(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in _operations(document)]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] for _, operation in _operations(document))
    assert all(
        parameter["description"]
        for _, operation in _operations(document)
        for parameter in operation.get("parameters", ())
    )


def test_every_status_that_a_route_can_come_to_is_documented(document: dict[str, Any]) -> None:
    always = {"200", "400", "401", "403", "404", "405", "409", "413", "423", "429", "500", "503"}
    by_name = dict(_operations(document))
    for route in ROUTES:
        operation = by_name[f"{route.method} /api/v1/{route.path}"]
        expected = always | ({"415"} if route.takes_body else set())
        expected |= {"412", "507"} if route.call.writes else set()
        expected |= {"304"} if route.call.answer.name == "Entry" and not route.call.writes else set()
        assert operation["responses"].keys() == expected


def test_every_code_of_the_closed_list_is_shown_as_an_error_body(document: dict[str, Any]) -> None:
    shown = {
        code
        for response in document["components"]["responses"].values()
        for code in response["content"]["application/json"]["examples"]
    }
    assert shown == set(family())


def test_the_headers_of_refusals_are_documented(document: dict[str, Any]) -> None:
    for status, header in (("401", "WWW-Authenticate"), ("405", "Allow"), ("429", "Retry-After")):
        assert header in document["components"]["responses"][f"Error{status}"]["headers"]


def test_every_example_is_what_its_schema_says(document: dict[str, Any]) -> None:
    count = 0
    refusals = {"parameters": (), "responses": document["components"]["responses"]}
    for name, operation in (*_operations(document), ("refusals", refusals)):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for part in (*operation["responses"].values(), *bodies):
            for content in part.get("content", {}).values():
                examples = [each["value"] for each in content.get("examples", {}).values()]
                examples += [content["example"]] if "example" in content else []
                for example in examples:
                    assert _is_valid(document, content["schema"], example), (name, example)
                    count += 1
        for parameter in operation.get("parameters", ()):
            if "example" in parameter:
                assert _is_valid(document, parameter["schema"], parameter["example"]), (
                    name,
                    parameter["name"],
                )
    assert count > 100


def test_every_answer_has_an_example(document: dict[str, Any]) -> None:
    for name, operation in _operations(document):
        for kind in operation["responses"]["200"]["content"].values():
            assert kind["examples"] if "/api/v1/" in name else kind["example"]


def _newer(shown: Any) -> Any:
    """As a server of a later version may say it."""
    if isinstance(shown, dict):
        return {name: _newer(value) for name, value in shown.items()} | {"from_the_future": {"more": 1}}
    return [_newer(value) for value in shown] if isinstance(shown, list) else shown


def test_a_client_reads_every_example_and_passes_over_what_a_newer_server_adds(
    document: dict[str, Any],
) -> None:
    for route in ROUTES:
        answers = document["paths"][f"{BASE}/{route.path}"][route.method.lower()]["responses"]["200"]
        for call in filter(None, (route.call, route.purge)):
            shown = answers["content"][call.answer.media_type]["examples"][call.answer.name]["value"]
            shown = {"text": shown} if call.answer.is_text else shown
            first, second = call.answer.decode(copy.deepcopy(shown)), call.answer.decode(_newer(shown))
            assert type(first) is type(second)


def test_every_reference_and_link_leads_somewhere(document: dict[str, Any]) -> None:
    for pointer in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found: Any = document
        for step in pointer.split("/"):
            found = found[step]
    operations = {operation["operationId"]: operation for _, operation in _operations(document)}
    links = [
        link
        for operation in operations.values()
        for link in operation["responses"]["200"].get("links", {}).values()
    ]
    assert len(links) >= 15
    for link in links:
        taken = {parameter["name"] for parameter in operations[link["operationId"]]["parameters"]}
        assert link["parameters"].keys() <= taken


def test_an_id_in_a_path_is_said_to_be_a_uuid(document: dict[str, Any]) -> None:
    [id] = [
        parameter
        for parameter in document["paths"]["/api/v1/entries/{id}"]["get"]["parameters"]
        if parameter["name"] == "id"
    ]
    assert (id["schema"]["format"], id["required"]) == ("uuid", True)


def test_the_reasons_of_a_401_are_listed(document: dict[str, Any]) -> None:
    listed = document["components"]["schemas"]["Error"]["properties"]["reason"]["enum"]
    assert set(listed) == {reason.value for reason in Reason}


def _takes(check: Callable[..., object], *given: object) -> bool:
    try:
        check(*given)
    except HoldfastError:
        return False
    return True


def test_a_pattern_takes_exactly_what_the_server_takes() -> None:
    """Strings of few characters, mostly odd ones: spaces, line ends, controls."""
    every = [chr(code) for code in range(0x3100)]
    odd = [character for character in every if character.isspace() or not character.isprintable()][:120]
    choose, limits = random.Random(7), Limits()
    for _ in range(5_000):
        text = "".join(choose.choices(odd + ["a"] * 60 + every[:256], k=choose.randrange(5)))
        judged = {
            NAME["pattern"]: _takes(check_key, text, limits),
            LINE["pattern"]: _takes(check_hint, text, limits),
            TAG["pattern"]: _takes(check_tags, [text], limits),
            NOT_BLANK["pattern"]: _takes(check_text, text, 1_000),
            NO_NUL["pattern"]: "\0" not in text,
            NOT_SPACE["pattern"]: bool(text.strip()),
        }
        for pattern, taken in judged.items():
            assert bool(re.search(pattern.replace("$", r"\Z"), text)) == taken, (pattern, text)


def test_the_pattern_of_an_id_takes_whatever_is_printable() -> None:
    pattern = re.compile(SUBJECT["pattern"].replace("$", r"\Z"))
    every = map(chr, range(sys.maxunicode + 1))
    assert [text for text in every if is_subject(text) and not pattern.search(text)] == []


_SAID: dict[str, tuple[Any, ...]] = {
    "path": ("/memories", "/memories/a", "/memories/a/", "/memories/a//b", "/memories/../a", "/etc/a", 5),
    "key": ("a", " ", "", "k" * 201),
    "scope": ("agent", "team"),
    "store": ("bot", ""),
    "content": ("text", "", {"a": 1}),
    "value": (5, False),
    "old_str": ("old", ""),
    "new_str": ("new", 5),
    "query": ("what?", []),
    "agent": ("reviewer", 5),
    "level": ("read", "manage"),
    "ttl": (0, 60, -1),
    "encrypted": (True, "yes"),
    "limit": (1, 0, "ten"),
    "prefix": ("a/", 5),
}


def test_the_memory_tool_is_described_as_it_reads_a_request(document: dict[str, Any]) -> None:
    """Requests of few fields, of which some are wrong, missing, too many or not for that command."""
    body = document["paths"]["/api/v1/memory/tool"]["post"]["requestBody"]
    described = jsonschema_rs.validator_for(body["content"]["application/json"]["schema"])
    choose, good = random.Random(7), 0
    for _ in range(20_000):
        names = choose.sample(sorted(_SAID), k=choose.randrange(4))
        said = {name: choose.choice((*_SAID[name][:1] * 4, *_SAID[name])) for name in names}
        if choose.random() < 0.9:
            said["command"] = choose.choice([*COMMANDS, "format"])
        if "command" not in said or choose.random() < 0.05:
            said["action"] = choose.choice([*ACTIONS, "fetch"])
        assert described.is_valid(said) == _takes(parse, said), said
        good += described.is_valid(said)
    assert 1_000 < good < 19_000


# Schemathesis


def _tried(service: Service, folder: Path, *options: str, token: bool = True) -> int:
    """How many cases were tried; none may fail."""
    headers = (
        ["-H", f"Authorization: Bearer {service.token('tester', roles=['admin', 'tester'])}"] if token else []
    )
    config = ["--config-file", str(HERE / "schemathesis.toml")]
    asked = ["run", f"{service.url}/openapi.json", "--checks", "all", "--no-color", "--warnings", "off"]
    done = subprocess.run(
        [Path(sys.executable).with_name("st"), *config, *asked, *headers, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    count = re.search(r"(\d+) generated, \1 passed|(\d+) generated, (\d+) passed", done.stdout)
    assert count is not None, done.stdout[-2_000:]
    return int(count[1] or count[2])


@pytest.fixture
def tried() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_no_case_that_schemathesis_makes_fails(tried: Service, tmp_path: Path) -> None:
    """Shortly, with a fixed seed; with HOLDFAST_FAULTS=long in all phases, at least 5,000 cases of a new seed."""
    if LONG:
        count = _tried(tried, tmp_path, "-n", "40") + _tried(tried, tmp_path, "-n", "10", token=False)
        print(f"{count} cases")
        assert count >= 5_000
        return
    count = _tried(tried, tmp_path, "--seed", "1", "-n", "2", "--phases", "examples,fuzzing,stateful")
    count += _tried(
        tried, tmp_path, "--seed", "1", "--phases", "coverage", "--include-tag", "facts", token=False
    )
    assert count >= 300
