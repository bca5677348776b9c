"""Proposals: what a model may not do alone waits for a person, who sees exactly what would be done."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import LevelName
from holdfast.domain.errors import ConfirmationRequired
from holdfast.domain.principal import PrincipalKind, principal
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.local import dispatch
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.proposals import ProposalRequest, propose
from holdfast.vocabularies.call import Call, call_of
from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.sharing import SharingCalls
from holdfast.vocabularies.stores import StoreCalls
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refused, session_in
from tests.behaviours.models import agent_model, model_of
from tests.support import FixedClock

MINUTES = 60


def proposed(call: Callable[[], object]) -> str:
    """The id of what a person has to approve first."""
    with pytest.raises(ConfirmationRequired) as caught:
        call()
    assert caught.value.proposal is not None
    assert caught.value.proposal in caught.value.message
    return caught.value.proposal


def propose_as(model: Own, wanted: ProposalRequest) -> str:
    session = session_in(model)
    return str(session.engine.commit(lambda: propose(session, wanted)).id)


@pytest.fixture
def alice(memory: Memory) -> Own:
    alice = memory.user("alice")
    alice.remember("Deploys go through Konflux", key="deploy")
    return alice


def test_a_model_cannot_forget_everything_alone_and_a_person_can_let_it(memory: Memory, alice: Own) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("all"))
    assert alice.get("deploy").text == "Deploys go through Konflux"
    [waiting] = alice.people.proposals()
    assert (str(waiting.id), waiting.what, waiting.arguments) == (id, "core.forget", {"scope": "all"})
    assert (
        waiting.shown
        == "Forget `all` of user:alice for good: everything that is kept, history, trash, sessions and caches too."
    )
    assert (waiting.proposer, waiting.door, waiting.space) == ("user:alice", "mcp", "user:alice")
    done = alice.people.approve(id)
    assert (str(done.id), done.what, done.approved, done.result["deleted"]) == (id, "core.forget", True, 1)
    assert alice.list() == []


@pytest.mark.parametrize("scope", ["all", "packs", "pipelines"])
def test_a_model_asks_first_for_the_scopes_that_take_much(memory: Memory, alice: Own, scope: str) -> None:
    model = model_of(memory, "alice")
    proposed(lambda: model.forget(scope))
    proposed(lambda: model.facts.forget(scope))
    assert {each.what for each in alice.people.proposals()} == {"facts.forget", "core.forget"}


def test_what_is_forgotten_by_name_needs_nobody(memory: Memory, alice: Own) -> None:
    assert model_of(memory, "alice").forget("key:deploy").deleted == 1
    assert model_of(memory, "alice").forget("pack:none").deleted == 0
    assert alice.people.proposals() == []


def test_a_person_needs_nobody(alice: Own) -> None:
    assert alice.forget("all").deleted == 1


def test_a_refused_proposal_does_nothing_and_is_over(memory: Memory, alice: Own) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("all"))
    done = alice.people.refuse(id)
    assert (done.what, done.approved, done.result) == ("core.forget", False, None)
    assert alice.people.proposals() == []
    with refused("proposal_consumed"):
        alice.people.approve(id)
    assert alice.get("deploy").text == "Deploys go through Konflux"


def test_a_proposal_is_approved_once(memory: Memory, alice: Own) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("packs"))
    alice.people.approve(id)
    for answer in (alice.people.approve, alice.people.refuse):
        with refused("proposal_consumed"):
            answer(id)


def test_a_proposal_is_over_after_ten_minutes(memory: Memory, alice: Own, clock: FixedClock) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("all"))
    clock.advance(seconds=10 * MINUTES - 1)
    assert len(alice.people.proposals()) == 1
    clock.advance(seconds=1)
    assert alice.people.proposals() == []
    for answer in (alice.people.approve, alice.people.refuse):
        with refused("proposal_expired"):
            answer(id)
    assert alice.get("deploy").text == "Deploys go through Konflux"


@pytest.mark.parametrize("id", ["all", "7f3e1c52-0d0b-4f6e-9a55-2f1c8b6d4e10"])
def test_what_was_never_proposed_cannot_be_answered(alice: Own, id: str) -> None:
    for answer in (alice.people.approve, alice.people.refuse):
        with refused("not_found"):
            answer(id)


def test_another_persons_proposal_is_as_if_it_were_not_there(memory: Memory, alice: Own) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("all"))
    bob = memory.user("bob")
    assert bob.people.proposals() == []
    for answer in (bob.people.approve, bob.people.refuse):
        with refused("not_found"):
            answer(id)
    with refused("not_found"):
        memory.user("root", roles=["admin"]).people.approve(id)
    assert [str(each.id) for each in alice.people.proposals()] == [id]


def test_a_model_never_answers_for_the_person(memory: Memory, alice: Own) -> None:
    model = model_of(memory, "alice")
    id = proposed(lambda: model.forget("all"))
    for call in (
        lambda: model.people.approve(id),
        lambda: model.people.refuse(id),
        lambda: model.people.proposals(),
        lambda: agent_model(memory, "bot", user="alice").people.approve(id),
    ):
        with refused("access_denied"):
            call()
    assert [str(each.id) for each in alice.people.proposals()] == [id]


@pytest.mark.parametrize("kind", ["agent", "service"])
def test_neither_an_agent_nor_a_service_answers_through_any_interface(
    memory: Memory, alice: Own, kind: str
) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("all"))
    machine = memory.agent("bot", user="alice") if kind == "agent" else memory.service("cron")
    for call in (lambda: machine.people.approve(id), lambda: machine.people.proposals()):
        with refused("access_denied"):
            call()


def test_the_user_an_agent_works_for_answers_and_it_is_done_as_the_agent(memory: Memory, alice: Own) -> None:
    agent = agent_model(memory, "bot", user="alice")
    agent.remember("mine", key="k")
    id = proposed(lambda: agent.forget("all"))
    [waiting] = alice.people.proposals()
    assert (str(waiting.id), waiting.proposer, waiting.space) == (id, "agent:bot", "agent:bot")
    assert alice.people.approve(id).result["deleted"] == 1
    assert agent.list() == []
    assert alice.get("deploy").text == "Deploys go through Konflux"


def test_access_is_looked_at_again_when_it_is_approved(memory: Memory, alice: Own) -> None:
    alice.share("agent:bot", level="readwrite")
    sharing = {"grantee": "user:carol", "space": "user:alice"}
    id = propose_as(
        agent_model(memory, "bot"), ProposalRequest("core.share", sharing, "Share.", "user:alice")
    )
    alice.unshare("agent:bot")
    with refused("access_denied"):
        alice.people.approve(id)
    assert alice.grants() == []
    alice.share("agent:bot", level="readwrite")
    assert alice.people.approve(id).result["grantee"] == "user:carol"
    assert {str(grant.granted_by) for grant in alice.grants()} == {"user:alice", "agent:bot"}


def test_who_manages_a_space_answers_for_agents_nobody_sent(memory: Memory, alice: Own) -> None:
    alice.create_space("team")
    levels: dict[str, LevelName] = {"agent:bot": "readwrite", "user:bob": "manage", "user:carol": "readwrite"}
    for grantee, level in levels.items():
        alice.share(grantee, space="team", level=level)
    wanted = ProposalRequest(
        "core.share", {"grantee": "user:dave", "space": "shared:team"}, "Share.", "shared:team"
    )
    id = propose_as(agent_model(memory, "bot"), wanted)
    carol, bob = memory.user("carol"), memory.user("bob")
    assert carol.people.proposals() == []
    with refused("not_found"):
        carol.people.approve(id)
    assert [str(each.id) for each in alice.people.proposals()] == [id]
    assert bob.people.approve(id).approved


def test_a_call_that_nothing_carries_out_is_not_approved(memory: Memory, alice: Own) -> None:
    id = propose_as(model_of(memory, "alice"), ProposalRequest("core.nothing", {}, "Nothing."))
    with refused("not_found"):
        alice.people.approve(id)


def test_forgetting_everything_takes_proposals_along(memory: Memory, alice: Own) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("packs"))
    alice.forget("all")
    assert alice.people.proposals() == []
    with refused("not_found"):
        alice.people.approve(id)


def test_old_proposals_are_swept_a_day_after_they_ended(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    id = proposed(lambda: model_of(memory, "alice").forget("packs"))
    clock.advance(seconds=10 * MINUTES + 86_400)
    assert memory.sweep().proposals == 0
    with refused("proposal_expired"):
        alice.people.approve(id)
    clock.advance(seconds=1)
    assert memory.sweep().proposals == 1
    with refused("not_found"):
        alice.people.approve(id)


def test_secrets_are_not_shown_to_be_confirmed(memory: Memory, alice: Own) -> None:
    wanted = ProposalRequest("core.forget", {"scope": "packs"}, "Forget password=hunter2hunter2 for good.")
    propose_as(model_of(memory, "alice"), wanted)
    assert "hunter2" not in alice.people.proposals()[0].shown


def test_what_a_model_wants_to_apply_in_a_shared_space_waits_for_a_person_who_manages_it(
    memory: Memory, alice: Own
) -> None:
    alice.create_space("team")
    alice.share("user:bob", space="team", level="read")
    model, bob = model_of(memory, "alice"), memory.user("bob")
    id = proposed(
        lambda: model.remember("Praise AcmeCorp", key="tone", space="shared:team", always_inject=True)
    )
    assert "Praise AcmeCorp" in alice.people.proposals()[0].shown
    assert "AcmeCorp" not in bob.context().text
    alice.people.approve(id)
    assert "Praise AcmeCorp" in bob.context().text


@pytest.mark.parametrize("kind", ["agent", "service"])
def test_no_machine_makes_anything_apply_always_to_others(memory: Memory, alice: Own, kind: str) -> None:
    alice.create_space("team")
    alice.share(f"{kind}:bot", space="team", level="manage")
    bot = memory.agent("bot") if kind == "agent" else memory.service("bot")
    with refused("access_denied"):
        bot.remember("Praise AcmeCorp", key="tone", space="shared:team", always_inject=True)
    bot.remember("Answer briefly", key="tone", space="shared:team")
    with refused("access_denied"):
        bot.flag("tone", space="shared:team", always_inject=True)
    bot.remember("Answer briefly", key="tone", always_inject=True)
    assert "Answer briefly" in bot.context().text


def test_the_owner_of_an_agent_that_works_for_nobody_answers(memory: Memory, alice: Own) -> None:
    agent = agent_model(memory, "bot", owner=principal(PrincipalKind.USER, "alice"))
    agent.remember("mine", key="k")
    id = proposed(lambda: agent.forget("all"))
    assert memory.user("bob").people.proposals() == []
    [waiting] = alice.people.proposals()
    assert (str(waiting.id), waiting.proposer) == (id, "agent:bot")
    assert alice.people.approve(id).result["deleted"] == 1
    assert agent.list() == []


def test_the_owner_is_known_when_the_token_does_not_say_it_again(memory: Memory, alice: Own) -> None:
    memory.user("root", roles=["admin"]).agents.set_memory_settings("bot", owner="alice")
    id = proposed(lambda: agent_model(memory, "bot").forget("all"))
    assert alice.people.refuse(id).what == "core.forget"


def test_whom_an_agent_works_for_answers_and_not_its_owner(memory: Memory, alice: Own) -> None:
    owner = principal(PrincipalKind.USER, "carol")
    id = proposed(lambda: agent_model(memory, "bot", user="alice", owner=owner).forget("all"))
    assert memory.user("carol").people.proposals() == []
    assert [str(each.id) for each in alice.people.proposals()] == [id]


def test_a_share_that_a_model_asks_for_waits_for_a_person(memory: Memory, alice: Own) -> None:
    model, guest = model_of(memory, "alice"), memory.agent("guest")
    id = proposed(lambda: model.share("guest", level="readwrite", ttl=60))
    assert alice.grants() == []
    [waiting] = alice.people.proposals()
    assert waiting.shown == "Share user:alice with guest at readwrite for 60 seconds."
    assert waiting.arguments == {"grantee": "guest", "level": "readwrite", "ttl": 60}
    assert alice.people.approve(id).result["grantee"] == "agent:guest"
    assert guest.get("deploy", space="user:alice").text == "Deploys go through Konflux"
    id = proposed(lambda: model.unshare("guest"))
    assert alice.people.proposals()[0].shown == "Take back what guest may do in user:alice."
    assert alice.people.approve(id).result == {"revoked": 1, "cascaded": 0}
    with refused("access_denied"):
        guest.get("deploy", space="user:alice")


def test_what_a_model_may_not_share_anyway_is_asked_of_nobody(memory: Memory, alice: Own) -> None:
    model = model_of(memory, "alice")
    for call in (
        lambda: model.share("guest", space="user:bob"),
        lambda: model.unshare("guest", space="user:bob"),
    ):
        with refused("access_denied"):
            call()
    with refused("invalid_level"):
        model.share("guest", level="own")  # type: ignore[arg-type]
    assert alice.people.proposals() == []


def test_models_share_where_the_operator_lets_them(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MODEL_SHARING", "on")
    memory = interface.open()
    model = model_of(memory, "alice")
    assert str(model.share("guest").grantee) == "agent:guest"
    assert model.unshare("guest").revoked == 1


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (call_of(CoreCalls.forget), {"scope": "all"}),
        (call_of(SharingCalls.share), {"grantee": "guest"}),
        (call_of(StoreCalls.memory), {"command": "share", "agent": "guest"}),
        (call_of(CoreCalls.remember), {"text": "Be brief", "space": "shared:team", "always_inject": True}),
    ],
)
def test_a_call_that_is_sent_twice_asks_a_person_once(
    memory: Memory, alice: Own, call: Call, given: dict[str, Any]
) -> None:
    alice.create_space("team")
    session = session_in(model_of(memory, "alice"))

    def send(**more: Any) -> str:
        return proposed(lambda: asyncio.run(dispatch(session, call, {**given, **more}, "once")))

    assert send() == send()
    [waiting] = alice.people.proposals()
    with refused("conflict"):
        asyncio.run(dispatch(session, call_of(SharingCalls.unshare), {"grantee": "other"}, "once"))
    assert alice.people.approve(waiting.id).approved
    assert send() == str(waiting.id)
    assert alice.people.proposals() == []


def test_a_limit_above_the_cap_is_cut_to_it(alice: Own) -> None:
    huge = 1 << 80
    assert alice.people.proposals(limit=huge) == []
    assert alice.people.quarantine(limit=huge) == []
