"""What the save coach has to say stands beside the answer of every call whose answer has room for it."""

from collections.abc import Iterable
from typing import Any

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import refused

DOUBTFUL = "We meet tomorrow"
LIVE = "checkout-api is down right now"


def codes(advice: Iterable[Any]) -> list[str]:
    return [str(each["code"] if isinstance(each, dict) else each.code) for each in advice]


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def test_an_edit_is_advised_about_the_words_it_changes(alice: Own) -> None:
    alice.remember("We meet on Fridays", key="k")
    assert codes(alice.edit("k", text=DOUBTFUL).advice) == ["relative_date"]
    assert codes(alice.edit("k", ttl=60).advice) == []
    assert codes(alice.edit("k", text="We meet on Mondays").advice) == []
    assert codes(alice.edit("k", hint="what we do tomorrow").advice) == ["relative_date"]


def test_a_replaced_passage_is_advised_about(alice: Own) -> None:
    alice.remember("We meet on Fridays", key="k")
    assert codes(alice.replace("k", old="on Fridays", new="tomorrow").entry.advice) == ["relative_date"]


def test_a_fact_is_advised_about(alice: Own) -> None:
    assert codes(alice.facts.store("k", DOUBTFUL).advice) == ["relative_date"]
    assert codes(alice.facts.store("k", "We meet on Fridays").advice) == []


def test_a_file_is_advised_about(alice: Own) -> None:
    def write(body: str) -> list[str]:
        change = alice.files.update_user_memory(
            "upsert", "meetings", type="user", description="when we meet", body=body
        )
        return codes(change.advice)

    assert write(DOUBTFUL) == ["relative_date"]
    assert write("We meet on Fridays") == []


def test_the_memory_tool_adds_advice_to_what_it_says(alice: Own) -> None:
    path = "/memories/k"
    told = alice.stores.memory("create", path=path, content=DOUBTFUL)
    assert (
        told
        == f"created {path}; note: A day relative to today will be ambiguous later. Write the date, or set `at`."
    )
    assert alice.stores.memory("create", path=path, content="We meet on Fridays") == f"created {path}"
    edited = alice.stores.memory("edit", path=path, old_str="on Fridays", new_str="tomorrow")
    assert codes(edited["advice"]) == ["relative_date"]
    edited = alice.stores.memory("edit", path=path, old_str="tomorrow", new_str="on Mondays")
    assert "advice" not in edited


def test_an_assistant_memory_is_advised_about_when_new_and_when_updated(alice: Own) -> None:
    first = alice.assistant.save_memory("user", "When the team meets", DOUBTFUL)
    again = alice.assistant.save_memory("user", "When the team meets", "We also meet tomorrow")
    assert (again.id, again.updated) == (first.id, True)
    assert (codes(first.advice), codes(again.advice)) == (["relative_date"], ["relative_date"])


def test_rows_of_many_are_advised_about(alice: Own) -> None:
    [first, second] = alice.remember_many([{"text": DOUBTFUL}, {"text": "We meet on Fridays"}])
    assert first.remembered is not None
    assert second.remembered is not None
    assert (codes(first.remembered.advice), second.remembered.advice) == (["relative_date"], [])


def test_while_memory_is_off_live_state_is_refused_and_the_rest_advised_about(interface: Interface) -> None:
    alice = interface.open(key="off").user("alice")
    with refused("live_state"):
        alice.assistant.save_memory("user", "How the checkout is", LIVE)
    told = alice.assistant.save_memory("user", "When the team meets", DOUBTFUL)
    assert (told.id, codes(told.advice)) == (None, ["relative_date"])
    kept = alice.remember(LIVE, key="k")
    assert (kept.persisted, codes(kept.advice)) == (False, ["live_state"])


# Secrets, by kind


TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
ONE = (("github-token", 1),)


def test_every_write_with_room_for_it_tells_which_secrets_were_taken_out(alice: Own) -> None:
    kept = alice.remember(f"use {TOKEN}", key="k")
    assert (kept.redacted, kept.redactions) == (1, ONE)
    assert alice.facts.store("f", TOKEN).redactions == ONE
    assert alice.edit("k", text=f"now {TOKEN}").redactions == ONE
    assert alice.edit("k", hint="a hint").redactions == ()
    assert alice.replace("k", old="now", new=f"and {TOKEN}").entry.redactions == ONE
    saved = alice.assistant.save_memory("user", "Where the token is", f"It is {TOKEN}")
    assert (saved.redacted, saved.redactions) == (1, ONE)


def test_the_memory_tool_tells_them_and_shows_what_it_keeps(alice: Own) -> None:
    path = "/memories/k"
    told = alice.stores.memory("create", path=path, content=f"use {TOKEN}")
    assert told == f"created {path}; secrets left out: 1 github-token"
    edited = alice.stores.memory("edit", path=path, old_str="use", new_str=f"take {TOKEN} or")
    assert edited["redactions"] == {"github-token": 1}
    assert TOKEN not in edited["diff"]
