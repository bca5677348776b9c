"""Sharing that a model asks for waits for a person, unless the operator said otherwise."""

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refused
from tests.behaviours.models import agent_model, model_of
from tests.behaviours.test_proposals import proposed
from tests.behaviours.test_stores import create, value


def test_a_share_by_a_model_waits_until_the_person_it_works_for_approves(memory: Memory) -> None:
    model, alice, guest = (
        agent_model(memory, "bot", user="alice"),
        memory.user("alice"),
        memory.agent("guest"),
    )
    create(model, "/memories/plan", "ship on Friday")
    id = proposed(lambda: model.stores.memory("share", agent="guest", level="readwrite", ttl=60))
    with refused("access_denied"):
        guest.stores.memory("view", path="/memories/shared/bot/plan")
    (waiting,) = alice.people.proposals()
    assert waiting.shown == "Share /memories/ with guest at readwrite for 60 seconds."
    done = alice.people.approve(id)
    assert done.result == "shared /memories/ with agent:guest at readwrite"
    assert value(guest, "/memories/shared/bot/plan") == "ship on Friday"


def test_taking_a_share_back_waits_likewise(memory: Memory) -> None:
    model, alice = model_of(memory, "alice"), memory.user("alice")
    alice.share("guest")
    id = proposed(lambda: model.stores.memory("unshare", agent="guest"))
    assert [str(grant.grantee) for grant in alice.grants()] == ["agent:guest"]
    alice.people.approve(id)
    assert alice.grants() == []


def test_what_a_model_may_not_share_is_refused_at_once(memory: Memory) -> None:
    model = agent_model(memory, "bot", user="alice")
    with refused("access_denied"):
        model.stores.memory("share", store="stranger", agent="guest")
    with refused("access_denied"):
        model.stores.memory("share", scope="user", agent="guest")
    assert memory.user("alice").people.proposals() == []


def test_an_operator_may_let_models_share(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MODEL_SHARING", "on")
    memory = interface.open()
    done = agent_model(memory, "bot").stores.memory("share", agent="guest")
    assert done == "shared /memories/ with agent:guest at read"
