"""Assistant memories and proposals over plain HTTP: the shapes of the seed, headers, repeats, and who is nobody."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx2

from tests.http.serving import Service, code, serving

Claims = dict[str, Any]

TICKETS = {
    "scope": "user",
    "recallHint": "where to file infra tickets",
    "content": "File infra tickets in OPS",
}


def send(
    service: Service, path: str, body: Any, who: str, claims: Claims | None = None, **headers: str
) -> httpx2.Response:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return service.send(
        path, body, headers={"Authorization": f"Bearer {service.token(who, **claims or {})}", **said}
    )


def test_the_calls_of_the_seed_answer_in_its_shapes(service: Service) -> None:
    who, said = "ada", TICKETS | {"tags": ["ops"], "alwaysInject": False}
    saved = send(service, "assistant/saveMemory", said, who, Holdfast_Conversation="c-42").json()
    assert (saved.keys(), saved["updated"]) == ({"id", "updated"}, False)
    asked = send(service, "assistant/searchMemory", {"query": "infra tickets", "limit": 5}, who)
    [memory] = asked.json()["memories"]
    assert memory.pop("savedAt").endswith("Z")
    assert memory == said | {"id": saved["id"], "systemId": None, "sourceConversationId": "c-42"}
    assert service.ask("GET", "assistant/memories", who=who).json()["memories"][0]["id"] == saved["id"]
    again = send(service, "assistant/saveMemory", TICKETS | {"content": "File them in INFRA"}, who).json()
    assert again == {"id": saved["id"], "updated": True}
    flag = {"id": saved["id"], "alwaysInject": True}
    assert send(service, "assistant/setMemoryAlwaysInject", flag, who).json() == {"updated": True}
    for deleted in (True, False):
        done = send(service, "assistant/deleteMemory", {"id": saved["id"]}, who).json()
        assert done == {"deleted": deleted}


def test_a_machine_gets_a_proposal_that_its_user_approves(service: Service) -> None:
    bot: Claims = {"kind": "agent", "session_user": "eve"}
    waits = send(service, "assistant/saveMemory", TICKETS | {"alwaysInject": True}, "bot", bot).json()
    assert (waits["id"], waits["updated"]) == (None, False)
    [proposal] = service.ask("GET", "proposals", who="eve").json()["proposals"]
    assert (proposal["id"], proposal["proposer"]) == (waits["proposal"], "agent:bot")
    approve = f"proposals/{proposal['id']}/approve"
    assert code(send(service, approve, {}, "bot", bot)) == (403, "access_denied")
    done = send(service, approve, {}, "eve", Idempotency_Key="yes").json()
    assert (done["approved"], done["result"]["updated"]) == (True, False)
    assert send(service, approve, {}, "eve", Idempotency_Key="yes").json() == done
    assert code(send(service, approve, {}, "eve")) == (409, "proposal_consumed")


def test_a_retry_is_answered_again_and_counts_once(service: Service) -> None:
    alone: Claims = {"kind": "service", "run": uuid4().hex}
    last: Any = None
    for name in ("walrus", "otter", "heron"):
        said = TICKETS | {"recallHint": name}
        last = [
            send(service, "assistant/saveMemory", said, "cron", alone, Idempotency_Key=name).json()
            for _ in range(2)
        ]
        assert last[0] == last[1]
    assert code(send(service, "assistant/saveMemory", TICKETS, "cron", alone)) == (429, "run_cap")
    again = send(service, "assistant/saveMemory", said, "cron", alone, Idempotency_Key="heron")
    assert again.json() == last[0]


def test_a_run_is_named_by_its_header_too(service: Service) -> None:
    alone: Claims = {"kind": "service"}
    for name in ("walrus", "otter", "heron", "lynx"):
        said = TICKETS | {"recallHint": name}
        saved = send(service, "assistant/saveMemory", said, "timer", alone, Holdfast_Run="nightly")
        assert saved.status_code == (429 if name == "lynx" else 200)
    other = send(service, "assistant/saveMemory", TICKETS, "timer", alone, Holdfast_Run="hourly")
    assert other.status_code == 200


def test_without_tokens_there_are_no_assistant_memories() -> None:
    with serving(auth="off") as service:
        assert code(service.send("assistant/saveMemory", TICKETS, who=None)) == (401, "unauthenticated")
        assert code(service.ask("GET", "assistant/memories", who=None)) == (401, "unauthenticated")
