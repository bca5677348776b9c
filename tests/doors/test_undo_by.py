"""Undo by actor: everything one agent or run did since a moment, shown first, then reversed in one step."""

from datetime import datetime

import pytest

from holdfast.domain.times import to_datetime
from holdfast.entrypoints.python import Memory, Own
from tests.doors.looking import keys, refused
from tests.doors.models import agent_model, model_of
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    alice = memory.user("alice")
    for key in ("edited", "deleted", "argued", "untouched"):
        alice.remember(f"{key} as alice wrote it", key=key)
    alice.share("agent:bot", level="manage")
    return alice


@pytest.fixture
def since(memory: Memory, alice: Own, clock: FixedClock) -> datetime:
    """When the agent began to write: a note of its own, an edit, a deletion, and one that Alice edited after it."""
    clock.advance(seconds=60)
    began = to_datetime(clock.now)
    bot = memory.agent("bot")
    clock.advance(seconds=1)
    bot.remember("spam", key="new", space="user:alice")
    bot.edit("edited", text="vandalised", space="user:alice")
    bot.edit("edited", text="vandalised twice", space="user:alice")
    bot.edit("argued", text="vandalised", space="user:alice")
    bot.trash("deleted", space="user:alice")
    clock.advance(seconds=1)
    alice.edit("argued", text="repaired by alice")
    return began


STEPS = {"new": "trash", "edited": "revert", "deleted": "restore", "argued": "keep"}


def test_it_is_shown_first_and_nothing_changes(alice: Own, since: datetime) -> None:
    shown = alice.people.undo_by("agent:bot", since)
    assert not shown.applied
    assert {step.key: step.step for step in shown.changes} == STEPS
    texts = {step.key: step.text for step in shown.changes}
    assert (texts["edited"], texts["new"]) == ("edited as alice wrote it", "spam")
    assert alice.get("edited").text == "vandalised twice"
    assert "deleted" not in keys(alice.list())


def test_it_is_reversed_in_one_step(alice: Own, since: datetime) -> None:
    done = alice.people.undo_by("agent:bot", since, apply=True)
    assert done.applied
    assert {step.key: step.step for step in done.changes} == STEPS
    assert sorted(keys(alice.list())) == ["argued", "deleted", "edited", "untouched"]
    assert alice.get("edited").text == "edited as alice wrote it"
    assert alice.get("deleted").text == "deleted as alice wrote it"
    assert alice.get("argued").text == "repaired by alice"
    assert alice.people.undo_by("agent:bot", since).changes[0].step == "keep"


def test_the_reversal_can_be_reversed(alice: Own, since: datetime, clock: FixedClock) -> None:
    clock.advance(seconds=1)
    moment = to_datetime(clock.now)
    alice.people.undo_by("agent:bot", since, apply=True)
    alice.people.undo_by("user:alice", moment, apply=True)
    assert alice.get("edited").text == "vandalised twice"
    assert [alice.get("new").text for _ in alice.list("new")] == ["spam"]


def test_what_was_done_before_stays(alice: Own, since: datetime, clock: FixedClock) -> None:
    clock.advance(seconds=60)
    assert alice.people.undo_by("agent:bot", to_datetime(clock.now)).changes == ()


def test_one_run_is_undone_by_its_id(memory: Memory, alice: Own, clock: FixedClock) -> None:
    began = to_datetime(clock.now)
    agent_model(memory, "bot", run="r1").remember("one", key="one", space="user:alice")
    agent_model(memory, "bot", run="r2").remember("two", key="two", space="user:alice")
    assert keys(alice.people.undo_by("r1", began).changes) == ["one"]


def test_only_what_one_manages_is_undone(memory: Memory, alice: Own, since: datetime) -> None:
    alice.share("user:carol", level="readwrite")
    assert memory.user("carol").people.undo_by("agent:bot", since).changes == ()
    for machine in (memory.agent("bot"), model_of(memory, "alice")):
        with refused("access_denied"):
            machine.people.undo_by("agent:bot", since)


@pytest.mark.parametrize("actor", ["", "a\x00b"])
def test_an_actor_that_names_nobody_is_refused(alice: Own, actor: str) -> None:
    with refused("invalid_field"):
        alice.people.undo_by(actor, "2026-05-08T14:00:00Z")
