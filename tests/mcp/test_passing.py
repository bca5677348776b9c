"""Who passes: the same tokens, names, origins and rates as REST; a session is of who opened it; a yes counts once."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp_types import ElicitResult

import holdfast
from tests.http.serving import Service, serving, serving_running
from tests.mcp.talking import INITIALIZE, VERSION, Person, call, connected, modern, talk

ACCEPT = {"Accept": "application/json, text/event-stream"}


def ask(service: Service, path: str = "/mcp", body: Any = INITIALIZE, **how: Any) -> httpx2.Response:
    headers = ACCEPT | how.pop("headers", {})
    return service.send(path, body, headers=headers, **how)


def test_without_a_token_a_client_learns_where_to_look(service: Service) -> None:
    refused = ask(service, "/mcp/facts", who=None)
    assert refused.status_code == 401
    where = f"{service.url}/.well-known/oauth-protected-resource/mcp/facts"
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
    about = service.ask("GET", where.removeprefix(service.url), who=None).json()
    assert about["resource"] == f"{service.url}/mcp/facts"
    assert about["bearer_methods_supported"] == ["header"]


def test_a_token_that_is_none_is_refused_with_its_reason(service: Service) -> None:
    refused = ask(service, headers={"Authorization": "Bearer nothing"})
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert "resource_metadata=" in refused.headers["www-authenticate"]


def test_the_metadata_names_the_issuer_that_gives_tokens() -> None:
    with serving(jwt_issuer="https://issuer.example") as service:
        about = service.ask("GET", "/.well-known/oauth-protected-resource", who=None).json()
    assert about["authorization_servers"] == ["https://issuer.example"]
    assert about["resource"].endswith("/mcp")


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/mcp/",
            "/mcp/nothing",
            "/mcp/core/x",
            "/mcp/facts,",
            "/mcp/facts,nothing",
            "/mcp/stores,anthropic",
        ),
        *("/.well-known/oauth-protected-resource/x", "/.well-known/oauth-protected-resource/facts"),
    ],
)
def test_there_is_no_surface_of_another_name(service: Service, path: str) -> None:
    assert ask(service, path).status_code == 404


def test_several_surfaces_are_one_however_they_are_written(service: Service) -> None:
    told = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/list"}
    listed = [
        ask(service, f"/mcp/{names}", modern("tools/list", {}), headers=told).json()["result"]["tools"]
        for names in ("facts,corpus", "corpus,facts", "corpus,%20facts,facts")
    ]
    assert listed[0] == listed[1] == listed[2]
    counted = service.ask("GET", "/metrics", who=None).text
    assert ("/mcp/several" in counted, "corpus," in counted) == (True, False)


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_pages_and_names_of_others_are_refused(service: Service, headers: dict[str, str]) -> None:
    assert ask(service, headers=headers).status_code == 403


def test_tools_and_routes_share_one_rate() -> None:
    with serving(rate_per_minute=2) as service:
        assert service.ask("GET", "spaces").status_code == 200
        assert ask(service).status_code == 200
        assert ask(service).status_code == 429


def test_a_session_is_of_who_opened_it(service: Service) -> None:
    session = ask(service, who="alice").headers["mcp-session-id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    again = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    assert ask(service, body=listing, headers=again, who="bob").status_code == 404
    assert ask(service, body=listing, headers=again, who="alice").status_code == 200
    assert ask(service, body=listing, headers=again, who=None).status_code == 401


def test_every_request_of_a_session_is_judged_by_its_own_token(service: Service, who: str) -> None:
    """A session that was opened as a member does not keep what the token no longer says."""
    first = {"mcp-session-id": ask(service, who=who).headers["mcp-session-id"]}
    told = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"text": "Said in a session", "key": "k"}},
    }
    ask(service, body={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=first, who=who)
    assert ask(service, body=told, headers=first, who=who).status_code == 200
    assert service.memory is not None
    assert service.memory.user(who).get("k").provenance.conversation == first["mcp-session-id"]


def confirming(service: Service, who: str, state: str | None) -> Any:
    responses = {"yes": {"action": "accept", "content": {"yes": True}}}
    params: dict[str, Any] = {"name": "forget", "arguments": {"scope": "all"}}
    if state is not None:
        params |= {"requestState": state, "inputResponses": responses}
    headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "forget"}
    body = modern("tools/call", params, {"elicitation": {"form": {}}})
    return ask(service, body=body, headers=headers, who=who).json()


def test_a_yes_counts_once_and_for_the_call_and_caller_it_was_given_to(service: Service, who: str) -> None:
    call(service, "remember", {"text": "a", "key": "a"}, who=who)
    asked = confirming(service, who, None)["result"]
    assert asked["resultType"] == "input_required"
    state = asked["requestState"]
    assert confirming(service, "mallory", state)["error"]["data"]["reason"] == "invalid_request_state"
    assert confirming(service, who, state + "x")["error"]["data"]["reason"] == "invalid_request_state"
    assert confirming(service, who, state)["result"]["structuredContent"]["deleted"] == 1
    call(service, "remember", {"text": "b", "key": "b"}, who=who)
    again = confirming(service, who, state)["result"]
    assert again["structuredContent"]["code"] in ("proposal_consumed", "not_found")
    found = call(service, "recall", {"query": ""}, who=who)
    assert [hit["key"] for hit in found.structured_content["hits"]] == ["b"]


def test_what_a_client_carries_is_understood_by_another_worker(who: str) -> None:
    memory = holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, embedder="none")
    with serving_running(memory.running) as first, serving_running(memory.running) as second:
        state = confirming(first, who, None)["result"]["requestState"]
        assert confirming(second, who, state)["result"]["structuredContent"]["deleted"] == 0
    memory.close()


def test_a_server_whose_memory_is_off_says_so(era: str) -> None:
    memory = holdfast.open(":memory:", key="off")
    with serving_running(memory.running) as service:
        kept = call(service, "remember", {"text": "a"}, era=era)
        assert (kept.structured_content["persisted"], kept.is_error) == (False, False)
        assert "Not kept" in kept.content[0].text  # type: ignore[union-attr]
    memory.close()


def test_many_clients_talk_at_once(service: Service, era: str) -> None:
    async def one(name: str) -> list[str]:
        async with connected(f"{service.url}/mcp", service.token(name), era) as client:
            await client.call_tool("remember", {"text": f"of {name}", "key": "k"})
            found = await client.call_tool("recall", {"query": "of"})
            return [hit["text"] for hit in found.structured_content["hits"]]

    async def all_of_them() -> list[list[str]]:
        return await asyncio.gather(*(one(f"{era} {number}") for number in range(10)))

    assert asyncio.run(all_of_them()) == [[f"of {era} {number}"] for number in range(10)]


def test_a_form_that_is_answered_with_something_else_is_no_yes(service: Service, era: str, who: str) -> None:
    class Odd(Person):
        async def _answer(self, _: Any, params: Any) -> ElicitResult:
            return ElicitResult(action="accept", content={"yes": "true"})

    async def forget(client: Client) -> Any:
        return await client.call_tool("forget", {"scope": "all"})

    assert talk(service, forget, who=who, era=era, person=Odd()).is_error
