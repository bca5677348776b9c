"""The same text as the arguments of one call, at every door that reads JSON: each says the same code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from holdfast.entrypoints.mcp.protocol import Unreadable, read_message
from holdfast.entrypoints.plain_json import MOST_VALUES
from tests.http.serving import REQUEST_BYTES, Service
from tests.mcp.talking import INITIALIZE, VERSION, modern, spoken_to
from tests.mcp.test_stdio import parameters

DEEP = 10_000
SAID = {
    "a name twice": (rb'{"text": "x", "text": "y"}', "invalid_json"),
    "a name twice, spelt differently": (rb'{"text": "x", "t\u0065xt": "y"}', "invalid_json"),
    "a name twice, further in": (rb'{"text": "x", "tags": [{"a": 1, "a": 1}]}', "invalid_json"),
    "NaN": (rb'{"text": "x", "ttl_seconds": NaN}', "invalid_json"),
    "minus Infinity": (rb'{"text": "x", "ttl_seconds": -Infinity}', "invalid_json"),
    "a number out of range": (rb'{"text": "x", "ttl_seconds": 1e400}', "invalid_json"),
    "a long number and an exponent": (
        b'{"text": "x", "ttl_seconds": %s}' % (b"9" * 210 + b"e99"),
        "invalid_json",
    ),
    "a number of 5,000 digits": (b'{"text": "x", "ttl_seconds": %s}' % (b"9" * 5_000), "invalid_json"),
    "33 deep": (b'{"text": "x", "tags": %s}' % (b"[" * 32 + b"]" * 32), "invalid_json"),
    "32 deep": (b'{"text": "x", "tags": %s}' % (b"[" * 31 + b"]" * 31), "invalid_field"),
    "10,000 deep": (b'{"text": "x", "tags": %s}' % (b"[" * DEEP + b"]" * DEEP), "invalid_json"),
    "a list": (b'["x"]', "invalid_json"),
    "a text": (b'"x"', "invalid_json"),
    "a number": (b"7", "invalid_json"),
    "unclosed": (b'{"text": "x"', "invalid_json"),
    "no JSON": (b"{text: x}", "invalid_json"),
    "not UTF-8": (b'{"text": "\xff"}', "invalid_json"),
    "half a million values": (b'{"text": "x", "tags": [%s1]}' % (b"1," * MOST_VALUES), "too_large"),
    "half a character": (rb'{"text": "\ud800"}', "invalid_field"),
    "half a character in a key": (rb'{"text": "x", "key": "\udfff"}', "invalid_key"),
    "half a character for a name": (rb'{"text": "x", "\ud800": 1}', "invalid_field"),
    "two halves of one": (rb'{"text": "\ud83d\ude42", "colour": 1}', "invalid_field"),
    "nothing": (b"{}", "missing_value"),
}
"""What `remember` is told, and what it answers."""
CODES = [code for _, code in SAID.values()]
MARK = '{"mark": 0}'
JSON = {"content-type": "application/json"}


def message(number: int, said: bytes, era: str) -> bytes:
    """A call with just these bytes for its arguments."""
    call: Any = {"name": "remember", "arguments": json.loads(MARK)}
    if era == VERSION:
        whole = modern("tools/call", call) | {"id": number}
    else:
        whole = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
    before, after = json.dumps(whole).encode().split(MARK.encode())
    return before + said + after


def code(answer: Any) -> str | None:
    told = answer["error"]["data"] if "error" in answer else answer["result"]["structuredContent"]
    return told.get("code")  # type: ignore[no-any-return]


@pytest.mark.parametrize(("said", "expected"), SAID.values(), ids=SAID)
def test_rest(service: Service, who: str, said: bytes, expected: str) -> None:
    answered = service.ask("POST", "remember", who=who, content=said, headers=JSON)
    assert answered.json()["error"] == expected


@pytest.mark.parametrize(("said", "expected"), SAID.values(), ids=SAID)
def test_mcp_over_http(service: Service, who: str, era: str, said: bytes, expected: str) -> None:
    headers = {**JSON, "accept": "application/json, text/event-stream"}
    if era == VERSION:
        headers |= {"mcp-protocol-version": era, "mcp-method": "tools/call", "mcp-name": "remember"}
    else:
        greeted = service.ask("POST", "/mcp", who=who, json=INITIALIZE, headers=headers)
        headers |= {"mcp-session-id": greeted.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    answered = service.ask("POST", "/mcp", who=who, content=message(2, said, era), headers=headers)
    body = answered.text
    answer = json.loads(body if body.startswith("{") else body.split("data: ")[-1])
    assert code(answer) == expected
    assert "result" in answer or answered.status_code == (413 if expected == "too_large" else 400)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
def test_a_message_over_the_cap_of_a_request_is_too_large(service: Service, who: str, method: str) -> None:
    def body() -> Iterator[bytes]:
        yield message(2, b'{"text": "x"}', VERSION)
        for _ in range(REQUEST_BYTES >> 16):
            yield b" " * (1 << 16)

    answered = service.ask(method, "/mcp", who=who, content=body(), headers=JSON)
    assert (answered.status_code, answered.json()["error"]) == (413, "too_large")


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
    ids=str,
)
def test_what_is_not_json_in_utf_8_has_the_wrong_media_type(
    service: Service, who: str, headers: dict[str, str]
) -> None:
    body = message(2, b'{"text": "x"}', VERSION)
    for path in ("/mcp", "remember"):
        answered = service.ask("POST", path, who=who, content=body, headers=headers)
        assert (answered.status_code, answered.json()["error"]) == (415, "unsupported_media_type")


def test_the_era_of_a_message_is_that_of_its_headers(service: Service, who: str) -> None:
    headers = {**JSON, "accept": "application/json, text/event-stream"}
    greeted = service.ask("POST", "/mcp", who=who, json=INITIALIZE, headers=headers)
    headers |= {"mcp-session-id": greeted.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    body = message(2, rb'{"text": "\ud800"}', VERSION)
    answered = service.ask("POST", "/mcp", who=who, content=body, headers=headers)
    assert code(json.loads(answered.text.split("data: ")[-1])) == "invalid_field"


def test_of_a_message_of_too_many_values_only_the_patient_look_for_the_id() -> None:
    text = message(7, b'{"text": "x", "tags": [%b1]}' % (b"1," * MOST_VALUES), VERSION).decode()
    answers = []
    for patient in (True, False):
        with pytest.raises(Unreadable) as refused:
            read_message(text, patient=patient)
        answers.append(refused.value.response)
    assert [answer["id"] for answer in answers] == [7, None]
    assert [code(answer) for answer in answers] == ["too_large", "too_large"]


UNREADABLE = {
    "half a character": r'"result": {"action": "accept", "content": {"yes": true, "note": "\ud800"}}',
    "a name twice": '"result": {"action": "accept"}, "result": {"action": "accept", "content": {"yes": true}}',
    "no object": '"result": "accept"',
    "nothing": '"said": 1',
    "an error without a code": '"error": "no"',
}


@pytest.mark.parametrize("said", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("on", ["a store", "a server"])
def test_an_answer_that_cannot_be_read_is_none_and_whoever_waits_for_it_is_told(
    tmp_path: Path, request: pytest.FixtureRequest, who: str, on: str, said: str
) -> None:
    capable: Any = {**INITIALIZE["params"], "capabilities": {"elicitation": {}}}  # type: ignore[dict-item]
    forget = {"name": "forget", "arguments": {"scope": "all"}}
    with spoken_to(_command(tmp_path, request, who, on)) as agent:
        agent.say(json.dumps(INITIALIZE | {"params": capable}))
        agent.hear()
        agent.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        agent.say(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": forget}))
        asked = agent.hear()
        assert asked["method"] == "elicitation/create"
        agent.say(f'{{"jsonrpc": "2.0", "id": {json.dumps(asked["id"])}, {said}}}')
        answered = agent.hear()
        agent.say('{"jsonrpc": "2.0", "id": 3, "method": "ping"}')
        assert agent.hear()["id"] == 3
    assert (answered["id"], code(answered)) == (2, "confirmation_required")


def _command(folder: Path, request: pytest.FixtureRequest, who: str, on: str) -> StdioServerParameters:
    if on == "a store":
        return parameters(folder, "--as", who)
    service: Service = request.getfixturevalue("service")
    return parameters(folder, HOLDFAST_URL=service.url, HOLDFAST_TOKEN=service.token(who))


@pytest.mark.parametrize("on", ["a store", "a server"])
def test_mcp_over_stdio(tmp_path: Path, request: pytest.FixtureRequest, who: str, era: str, on: str) -> None:
    lines = [message(number, said, era) for number, (said, _) in enumerate(SAID.values(), 2)]
    greeting = [] if era == VERSION else [json.dumps(INITIALIZE).encode()]
    answers = []
    with spoken_to(_command(tmp_path, request, who, on)) as agent:
        for line in greeting + lines:
            agent.say(line)
            answers.append(agent.hear())
    answers = answers[len(greeting) :]
    assert [code(answer) for answer in answers] == CODES
    unknown = {"unclosed", "no JSON", "10,000 deep", "a number of 5,000 digits"}
    assert [answer["id"] for answer in answers] == [
        None if name in unknown else number for number, name in enumerate(SAID, 2)
    ]
