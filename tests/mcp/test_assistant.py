"""The assistant surface over MCP: a model searches and saves, and only asks for what steers or removes."""

from typing import Any

from tests.http.serving import Service
from tests.mcp.talking import Person, call, code, talk, text
from tests.mcp.test_tools import listed, names

TICKETS = {
    "scope": "user",
    "recallHint": "where to file infra tickets",
    "content": "File infra tickets in OPS",
}


def ask(service: Service, who: str, tool: str, said: dict[str, Any], **more: Any) -> Any:
    return call(service, tool, said, who=who, surface="assistant", **more)


def test_a_model_saves_and_finds_again(service: Service, era: str, who: str) -> None:
    saved = ask(service, who, "ai_saveMemory", TICKETS, era=era).structured_content
    assert (saved["updated"], list(saved)) == (False, ["id", "updated"])
    [memory] = ask(service, who, "ai_searchMemory", {"query": "infra tickets"}, era=era).structured_content[
        "memories"
    ]
    assert (memory["id"], memory["content"]) == (saved["id"], TICKETS["content"])
    assert memory["alwaysInject"] is False


def test_deleting_waits_for_a_person_and_is_done_when_they_agree(
    service: Service, era: str, who: str
) -> None:
    id = ask(service, who, "ai_saveMemory", TICKETS, era=era).structured_content["id"]
    waits = ask(service, who, "ai_deleteMemory", {"id": id}, era=era).structured_content
    assert waits["deleted"] is False
    assert waits["proposal"]
    refuses = Person(yes=False)
    assert code(ask(service, who, "ai_deleteMemory", {"id": id}, era=era, person=refuses)) == (
        "confirmation_required"
    )
    agrees = Person()
    done = ask(service, who, "ai_deleteMemory", {"id": id}, era=era, person=agrees)
    assert done.structured_content == {"deleted": True}
    assert agrees.asked == [f"Delete:\n{TICKETS['recallHint']}\n\n{TICKETS['content']}"]


def test_what_always_applies_is_shown_to_the_person_first(service: Service, era: str, who: str) -> None:
    always = {"scope": "user", "recallHint": "tone", "content": "Answer briefly", "alwaysInject": True}
    asked = ask(service, who, "ai_saveMemory", always, era=era)
    waits = asked.structured_content
    assert (waits["id"], waits["updated"]) == (None, False)
    assert f"holdfast proposals approve {waits['proposal']}" in text(asked)
    agrees = Person()
    done = ask(service, who, "ai_saveMemory", always, era=era, person=agrees).structured_content
    assert agrees.asked == ["Save, always applied:\ntone\n\nAnswer briefly"]
    assert done["id"]
    assert "Answer briefly" in text(call(service, "memory_context", {}, who=who))


def test_live_state_is_refused(service: Service, who: str) -> None:
    said = TICKETS | {"content": "checkout-api is down right now"}
    assert code(ask(service, who, "ai_saveMemory", said)) == "live_state"


def test_a_run_that_nobody_watches_is_offered_no_delete_and_saves_three(service: Service, who: str) -> None:
    alone: dict[str, Any] = {"kind": "service", "run": f"run of {who}"}
    assert names(talk(service, listed, who=who, surface="assistant", **alone)) == [
        "ai_searchMemory",
        "ai_saveMemory",
    ]
    for name in ("walrus", "otter", "heron"):
        saved = ask(service, who, "ai_saveMemory", TICKETS | {"recallHint": name}, **alone)
        assert saved.structured_content["id"]
    assert code(ask(service, who, "ai_saveMemory", TICKETS | {"recallHint": "lynx"}, **alone)) == "run_cap"
