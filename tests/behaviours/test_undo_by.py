"""Undo by actor: everything one agent or run did since a moment, shown first, then reversed in one step."""

from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.entry import Entry
from holdfast.domain.errors import HoldfastError
from holdfast.domain.times import to_datetime
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import keys, refused
from tests.behaviours.models import agent_model, model_of
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
    assert "deleted" not in keys(alice.list())
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


def state(own: Own) -> dict[str, dict[UUID, tuple[Any, ...]]]:
    """All that can be seen of every entry, live and in the trash."""
    return {
        "live": {each.id: _seen(each) for each in own.list()},
        "trash": {each.id: _seen(each) for each in own.trashed()},
    }


def _seen(entry: Entry) -> tuple[Any, ...]:
    said = (entry.key, entry.text, entry.hint, entry.category, entry.tags)
    return (*said, entry.expires_us, entry.always_inject, entry.quarantined, entry.owner)


def something(random: Random, own: Own, names: list[str], kinds: int) -> None:
    """One write of some kind, under names that meet often."""
    space, key = "user:alice", random.choice(names)
    text = f"text {random.randrange(10_000)}"
    match random.randrange(kinds):
        case 0 | 1:
            own.remember(text, key=key, tags=[text], ttl=random.choice([None, 86_400]), space=space)
        case 2:
            own.edit(key, text=text, hint=text, space=space)
        case 3:
            own.rename(key, new_key=random.choice(names), space=space)
        case 4 | 5:
            own.trash(key, space=space)
        case _:
            own.restore(key, space=space)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_was_done_is_reversed_and_the_reversal_too(
    memory: Memory, clock: FixedClock, seed: int
) -> None:
    random, alice, bot = Random(seed), memory.user("alice"), memory.agent("bot")
    names = [f"k{number}" for number in range(6)]
    alice.remember("first", key="k0")
    alice.share("agent:bot", level="manage")

    def act(own: Own, times: int, kinds: int = 7) -> None:
        for _ in range(times):
            clock.advance(seconds=1)
            with suppress(HoldfastError):
                something(random, own, names, kinds)

    act(alice, 20)
    clock.advance(seconds=1)
    began, before = to_datetime(clock.now), state(alice)
    if seed % 2:
        act(bot, 30)
        act(alice, 3)
    else:
        act(bot, 30, kinds=6)  # what it brings back from the trash it neither wrote nor removed
    acted = state(alice)
    clock.advance(seconds=1)
    done = alice.people.undo_by("agent:bot", began, apply=True)
    undone = state(alice)
    if not seed % 2:
        assert "keep" not in {step.step for step in done.changes}
        assert undone["live"] == before["live"]
    clock.advance(seconds=1)
    back = alice.people.undo_by(str(done.run), began, apply=True)
    assert state(alice) == acted
    clock.advance(seconds=1)
    alice.people.undo_by(str(back.run), began, apply=True)
    assert state(alice) == undone


def test_names_that_went_in_a_circle_stay(memory: Memory, alice: Own, clock: FixedClock) -> None:
    clock.advance(seconds=60)
    began = to_datetime(clock.now)
    bot = memory.agent("bot")
    for old, new in (("edited", "aside"), ("deleted", "edited"), ("aside", "deleted")):
        bot.rename(old, new_key=new, space="user:alice")
    acted = state(alice)
    done = alice.people.undo_by("agent:bot", began, apply=True)
    assert {step.step for step in done.changes} == {"keep"}
    assert state(alice) == acted


def test_what_was_edited_and_then_trashed_comes_back_as_it_was(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    clock.advance(seconds=60)
    began, before = to_datetime(clock.now), state(alice)
    bot = memory.agent("bot")
    bot.edit("edited", text="vandalised", space="user:alice")
    bot.trash("edited", space="user:alice")
    bot.remember("spam", key="spam", space="user:alice")
    bot.trash("spam", space="user:alice")
    alice.people.undo_by("agent:bot", began, apply=True)
    assert state(alice)["live"] == before["live"]


def test_a_name_that_another_has_now_stays_theirs(memory: Memory, alice: Own, since: datetime) -> None:
    alice.remember("written anew", key="deleted")
    done = alice.people.undo_by("agent:bot", since, apply=True)
    assert {step.key: step.step for step in done.changes}["deleted"] == "keep"
    assert alice.get("deleted").text == "written anew"
    assert alice.get("edited").text == "edited as alice wrote it"
