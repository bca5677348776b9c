"""`holdfast mcp`: the SDK's client over standard input and output, on the local store and on a server, in both eras."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import INVALID_PARAMS, PARSE_ERROR, CallToolResult

import holdfast
from tests.http.serving import Service
from tests.mcp.talking import INITIALIZE, NOBODY, PATIENCE, Person, call, modern, spoken_to, text

KEY = "5e" * 32
HALF = "\ud800"


def parameters(folder: Path, *options: str, **settings: str) -> StdioServerParameters:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    environment |= {
        "HOLDFAST_DATA_DIR": str(folder),
        "HOLDFAST_MEMORY_KEY": KEY,
        "HOLDFAST_EMBEDDER": "none",
    } | settings
    return StdioServerParameters(
        command=sys.executable, args=["-m", "holdfast", "mcp", *options], env=environment
    )


def talk(
    server: StdioServerParameters, said: Callable[[Client], Awaitable[Any]], era: str, person: Person = NOBODY
) -> Any:
    async def speak() -> Any:
        async with Client(server, mode=era, elicitation_callback=person.callback) as client:
            return await said(client)

    return asyncio.run(speak())


async def a_little_of_everything(client: Client) -> list[Any]:
    await client.call_tool("remember", {"text": "Deploys go through Konflux", "key": "ci/deploy"})
    found: CallToolResult = await client.call_tool("recall", {"query": "how do we deploy?"})
    refused = await client.call_tool("forget", {"scope": "everything"})
    forgotten = await client.call_tool("forget", {"scope": "all"})
    listed = [tool.name for tool in (await client.list_tools()).tools]
    shown = (await client.read_resource("holdfast://my-memory")).contents[0].text  # type: ignore[union-attr]
    return [text(found), refused.structured_content["code"], forgotten.is_error, listed, shown]


def check(seen: list[Any], person: Person, who: str) -> None:
    found, refused, failed, listed, shown = seen
    assert "Konflux" in found
    assert (refused, failed) == ("invalid_scope", False)
    assert person.asked == [
        f"Forget `all` of user:{who} for good: everything that is kept, history, trash, sessions and caches too."
    ]
    assert listed == ["remember", "recall", "forget", "memory_context"]
    assert f'"caller={who}"' in shown


def test_an_agent_has_the_local_store(tmp_path: Path, era: str) -> None:
    person = Person()
    server = parameters(tmp_path, "--as", "alice")
    check(talk(server, a_little_of_everything, era, person), person, "alice")


def test_an_agent_acts_as_the_user_of_the_command_line(tmp_path: Path) -> None:
    async def remember(client: Client) -> Any:
        return await client.call_tool("memory_store", {"key": "editor", "value": "vim"})

    talk(parameters(tmp_path, "--surface", "core,facts"), remember, "2026-07-28")
    with holdfast.open(tmp_path, key=KEY, embedder="none") as memory:
        fact = memory.user("local").facts.get("editor")
    assert (fact.text, fact.provenance.door) == ("vim", "mcp")


def test_an_agent_reaches_a_server_through_the_same_command(
    service: Service, tmp_path: Path, era: str, who: str
) -> None:
    person = Person()
    server = parameters(tmp_path, HOLDFAST_URL=service.url, HOLDFAST_TOKEN=service.token(who))
    check(talk(server, a_little_of_everything, era, person), person, who)
    assert not list(tmp_path.iterdir())


def test_several_surfaces_of_a_server_are_joined_like_those_of_a_store(
    service: Service, tmp_path: Path, era: str, who: str
) -> None:
    async def listed(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    named = ("--surface", "corpus, facts")
    served = parameters(tmp_path, *named, HOLDFAST_URL=service.url, HOLDFAST_TOKEN=service.token(who))
    assert talk(served, listed, era) == talk(parameters(tmp_path, *named), listed, era)
    assert talk(served, listed, era)[-1] == "query"


def test_a_server_that_is_not_there_is_said_in_the_protocol(tmp_path: Path) -> None:
    server = parameters(tmp_path, HOLDFAST_URL="http://127.0.0.1:9", HOLDFAST_TOKEN="x")
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    done = subprocess.run(
        [server.command, *server.args],
        input=hello,
        env=server.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"error"' in done.stdout
    assert "does not answer" in done.stdout


def test_a_token_that_is_refused_is_said_in_the_protocol(service: Service, tmp_path: Path) -> None:
    server = parameters(tmp_path, HOLDFAST_URL=service.url, HOLDFAST_TOKEN="nothing")
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    done = subprocess.run(
        [server.command, *server.args],
        input=hello,
        env=server.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"code":"unauthenticated"' in done.stdout


@pytest.mark.parametrize("surface", ["nothing", "core,nothing", ""])
def test_a_surface_that_is_none_ends_the_command_at_once(tmp_path: Path, surface: str) -> None:
    server = parameters(tmp_path, "--surface", surface)
    with subprocess.Popen(
        [server.command, *server.args],
        env=server.env,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("invalid_field: A surface is one of core")
        assert process.wait() == 1


def test_what_an_agent_remembers_over_stdio_is_there_for_rest(
    service: Service, tmp_path: Path, who: str
) -> None:
    async def remember(client: Client) -> Any:
        return await client.call_tool("remember", {"text": "Größe 漢字 🙂", "key": "k/é"})

    server = parameters(tmp_path, HOLDFAST_URL=service.url, HOLDFAST_TOKEN=service.token(who))
    talk(server, remember, "2026-07-28")
    found = call(service, "recall", {"query": "漢字"}, who=who).structured_content["hits"]
    assert [hit["text"] for hit in found] == ["Größe 漢字 🙂"]


def said_and_answered(server: StdioServerParameters, *lines: str) -> list[Any]:
    """What each line is answered; the last one has an answer of its own."""
    answers = []
    with spoken_to(server) as agent:
        for line in lines:
            agent.say(line)
            answers.append(agent.hear())
    return answers


@pytest.fixture(params=["store", "server"])
def command(request: pytest.FixtureRequest, tmp_path: Path, who: str) -> StdioServerParameters:
    surfaces = ("--surface", "core,facts")
    if request.param == "store":
        return parameters(tmp_path, *surfaces, "--as", who)
    service: Service = request.getfixturevalue("service")
    return parameters(tmp_path, *surfaces, HOLDFAST_URL=service.url, HOLDFAST_TOKEN=service.token(who))


def calling(number: Any, tool: str, **said: str) -> str:
    return json.dumps(modern("tools/call", {"name": tool, "arguments": said}) | {"id": number})


def test_half_a_character_is_refused_by_name_and_the_next_call_is_answered(
    command: StdioServerParameters,
) -> None:
    *tools, unknown, argument, kept = said_and_answered(
        command,
        calling(1, "remember", text=HALF),
        calling(2, "remember", text="x", key=HALF),
        calling(3, "memory_store", key=HALF, value="x"),
        calling(4, "memory_history", key=HALF),
        calling(5, "recall", query=HALF),
        calling(6, HALF),
        json.dumps(modern("prompts/get", {"name": "recall", "arguments": {HALF: "x"}}) | {"id": 7}),
        calling(8, "remember", text="whole 🙂", key="k"),
    )
    assert [answer["id"] for answer in (*tools, unknown, argument, kept)] == [1, 2, 3, 4, 5, 6, 7, 8]
    answered = [answer["result"]["structuredContent"].get("code") for answer in tools]
    assert answered == ["invalid_field", "invalid_key", "invalid_key", "invalid_key", None]
    assert "error" in unknown
    assert argument["error"]["code"] == INVALID_PARAMS
    assert kept["result"]["structuredContent"]["key"] == "k"


def test_half_a_character_is_refused_in_a_session_too(command: StdioServerParameters) -> None:
    call = {"name": "remember", "arguments": {"text": HALF}}
    _, refused = said_and_answered(
        command,
        json.dumps(INITIALIZE),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        + json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    )
    assert refused["id"] == 2
    assert refused["result"]["structuredContent"]["code"] == "invalid_field"


def test_what_is_no_message_is_answered_as_such_and_the_next_one_too(command: StdioServerParameters) -> None:
    *refused, listed = said_and_answered(
        command,
        "\n{no",
        "[" * 100_000,
        '{"no": "message"}',
        json.dumps(modern("tools/list", {})),
    )
    assert [answer["error"]["code"] for answer in refused] == [PARSE_ERROR, PARSE_ERROR, INVALID_PARAMS]
    assert [answer["id"] for answer in refused] == [None, None, None]
    assert listed["result"]["tools"]


@pytest.mark.parametrize("id", ["true", "1.5", "[1]", "{}", "null"])
def test_an_id_that_is_none_is_refused_and_the_next_call_is_answered(
    command: StdioServerParameters, id: str
) -> None:
    refused, called, listed = said_and_answered(
        command,
        f'{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}',
        f'{{"jsonrpc": "2.0", "id": {id}, "method": "tools/call", "params": {{"arguments": [1]}}}}',
        json.dumps(modern("tools/list", {})),
    )
    for answer in (refused, called):
        assert (answer["id"], answer["error"]["data"]) == (None, {"code": "invalid_field"})
    assert listed["result"]["tools"]


def test_a_call_that_is_not_there_cannot_be_cancelled_and_the_next_is_answered(
    command: StdioServerParameters,
) -> None:
    cancelled = '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": %s}\n'
    lines = [cancelled % params for params in ('{"requestId": {}}', "null", '{"requestId": 9}')]
    (listed,) = said_and_answered(command, "".join(lines) + json.dumps(modern("tools/list", {})))
    assert listed["result"]["tools"]


@pytest.mark.parametrize("line", ["[]", "7", r'["\ud800"]', r'"\ud800"', r'[{"a": "\ud800"}]'])
def test_what_is_no_object_is_no_message(command: StdioServerParameters, line: str) -> None:
    refused, listed = said_and_answered(command, line, json.dumps(modern("tools/list", {})))
    assert refused["error"]["data"] == {"code": "invalid_field"}
    assert listed["result"]["tools"]


def piped(server: StdioServerParameters, *messages: Any) -> list[Any]:
    """What a shell gets that pipes these messages into the command and closes the pipe."""
    done = subprocess.run(
        [server.command, *server.args],
        input="".join(json.dumps(message) + "\n" for message in messages),
        env=server.env,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_session(number: int, tool: str, **said: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": said}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_what_is_piped_into_the_command_is_answered(command: StdioServerParameters) -> None:
    said = [json.loads(calling(n, "remember", text=f"note {n}", key=f"k{n}")) for n in range(1, 9)]
    answers = {answer["id"]: answer for answer in piped(command, *said)}
    assert [answers[n]["result"]["structuredContent"]["key"] for n in range(1, 9)] == [
        f"k{n}" for n in range(1, 9)
    ]


def test_what_is_piped_after_a_handshake_is_answered(command: StdioServerParameters) -> None:
    told = piped(command, INITIALIZE, READY, in_session(2, "remember", text="note", key="k"))
    answers = {answer["id"]: answer for answer in told if "id" in answer}
    assert "serverInfo" in answers[1]["result"]
    assert answers[2]["result"]["structuredContent"]["key"] == "k"


def test_a_person_who_has_gone_is_not_waited_for(tmp_path: Path) -> None:
    greeting = INITIALIZE | {"params": INITIALIZE["params"] | {"capabilities": {"elicitation": {}}}}  # type: ignore[operator]
    told = piped(parameters(tmp_path), greeting, READY, in_session(2, "forget", scope="all"))
    assert [message.get("method") for message in told[1:2]] == ["elicitation/create"]


def test_neither_changes_nor_a_cancelled_call_hold_up_the_end(command: StdioServerParameters) -> None:
    piped(command, modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": []}}))
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    piped(command, INITIALIZE, READY, in_session(2, "recall", query="x"), cancelled)


def test_whoever_hangs_up_while_changes_are_waited_for_ends_the_command(
    command: StdioServerParameters,
) -> None:
    listen = modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": []}})
    with spoken_to(command) as agent:
        agent.say(json.dumps(listen))
        agent.hear()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_the_command(command: StdioServerParameters) -> None:
    with spoken_to(command, ends_with=-signal.SIGINT) as agent:
        agent.say(json.dumps(modern("tools/list", {})))
        agent.hear()
        agent.process.send_signal(signal.SIGINT)
        agent.process.wait(PATIENCE)


def test_without_standard_input_the_command_says_who_would_speak_to_it(
    command: StdioServerParameters,
) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", command.command, *command.args],
        env=command.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "invalid_field: An agent talks to this over standard input, which is closed.\n",
    )
