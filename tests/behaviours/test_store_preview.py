"""Before sharing: what somebody would see of a store at a level, without giving it."""

import pytest

from holdfast import LevelName
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused, unchanged
from tests.behaviours.test_stores import create


def test_a_preview_shows_what_a_reader_would_see_and_gives_nothing(memory: Memory) -> None:
    owner = memory.agent("owner")
    create(owner, "/memories/a")
    create(owner, "/memories/b")
    owner.stores.set_internal("owner", "secret", "x")
    with unchanged(memory):
        seen = owner.stores.preview("guest")
    assert (seen.grantee, seen.level, seen.holds, seen.lists, seen.writes) == (
        "agent:guest",
        "read",
        None,
        True,
        False,
    )
    assert ([entry.key for entry in seen.entries], seen.total, seen.hidden) == (["b", "a"], 2, 0)
    with refused("access_denied"):
        memory.agent("guest").stores.memory("view", path="/memories/shared/owner/a")


def test_a_preview_counts_what_is_kept_from_others_and_from_searches(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("a note", key="note")
    alice.remember("sealed", key="sealed", encrypted=True)
    alice.files.update_user_memory("upsert", "diet", type="user", description="what she eats", body="No nuts")
    read, search = alice.stores.preview("user:bob"), alice.stores.preview("user:bob", level="search")
    assert ({entry.key for entry in read.entries}, read.hidden) == ({"note", "sealed"}, 1)
    assert ([entry.key for entry in search.entries], search.hidden, search.lists) == (["note"], 2, False)


def test_a_preview_agrees_with_what_is_seen_once_it_is_given(memory: Memory) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    for number in range(5):
        create(owner, f"/memories/{number}")
    seen = owner.stores.preview("guest", limit=3)
    assert (len(seen.entries), seen.total) == (3, 5)
    owner.stores.memory("share", agent="guest")
    listed = guest.stores.memory("view", store="owner")["entries"]
    assert len(listed) == seen.total
    assert owner.stores.preview("guest", level="readwrite").holds == "read"


@pytest.mark.parametrize("level", ["search", "read", None])
def test_a_preview_is_for_those_who_could_share(memory: Memory, level: LevelName | None) -> None:
    owner, guest = memory.agent("owner"), memory.agent("guest")
    create(owner)
    if level is not None:
        owner.share("guest", level=level)
    with refused("access_denied"):
        guest.stores.preview("third", space="owner", level="search")
    with refused("invalid_level"):
        owner.stores.preview("third", level="everything")  # type: ignore[arg-type]
