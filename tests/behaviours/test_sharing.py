"""Grants: given within what one holds, taken back with everything that stood on them."""

from typing import Any

import pytest

from holdfast import LevelName
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import refused, unchanged
from tests.support import FixedClock

SECOND = 1_000_000


def holders(own: Own, space: str | None = None) -> dict[str, str]:
    return {str(grant.grantee): grant.level.label for grant in own.grants(space=space)}


def test_a_share_is_at_read_level_to_an_agent_unless_said_otherwise(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.remember("x", key="k")
    grant = alice.share("bot")
    assert (str(grant.grantee), grant.level.label, str(grant.granted_by)) == (
        "agent:bot",
        "read",
        "user:alice",
    )
    assert memory.agent("bot").get("k", space="user:alice").text == "x"
    with refused("access_denied"):
        memory.user("bot").get("k", space="user:alice")


def test_an_empty_space_can_be_shared_before_anything_is_in_it(memory: Memory) -> None:
    memory.user("alice").share("user:bob", level="readwrite")
    memory.user("bob").remember("x", key="k", space="user:alice")
    assert memory.user("alice").get("k").text == "x"


@pytest.mark.parametrize("level", ["", "admin", "READ", None, 2, "write"])
def test_an_unknown_level_is_refused(memory: Memory, level: Any) -> None:
    with unchanged(memory), refused("invalid_level"):
        memory.user("alice").share("user:bob", level=level)


@pytest.mark.parametrize("grantee", ["", "user:", "agent:", "user:\ud800", "user:a\x00", "user:" + "a" * 513])
def test_a_grantee_that_names_nobody_is_refused(memory: Memory, grantee: str) -> None:
    with unchanged(memory), refused("invalid_field"):
        memory.user("alice").share(grantee)


def test_the_owner_needs_no_grant(memory: Memory) -> None:
    with unchanged(memory), refused("invalid_field"):
        memory.user("alice").share("user:alice")


@pytest.mark.parametrize("level", ["search", "read"])
def test_sharing_needs_readwrite(memory: Memory, level: LevelName) -> None:
    memory.user("alice").share("user:bob", level=level)
    bob = memory.user("bob")
    for call in (
        lambda: bob.share("user:carol", space="user:alice", level="search"),
        lambda: bob.unshare("user:carol", space="user:alice"),
        lambda: bob.grants(space="user:alice"),
    ):
        with unchanged(memory), refused("access_denied"):
            call()


def test_nobody_gives_more_than_they_hold(memory: Memory) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.share("user:bob", level="readwrite")
    with unchanged(memory), refused("access_denied"):
        bob.share("user:carol", space="user:alice", level="manage")
    with unchanged(memory), refused("invalid_field"):
        bob.share("user:bob", space="user:alice", level="manage")
    bob.share("user:carol", space="user:alice", level="readwrite")
    assert holders(alice) == {"user:bob": "readwrite", "user:carol": "readwrite"}


def test_nobody_gives_for_longer_than_they_hold(memory: Memory, clock: FixedClock) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    ends = alice.share("user:bob", level="readwrite", ttl=100).expires_us
    assert bob.share("user:carol", space="user:alice").expires_us == ends
    assert bob.share("user:dave", space="user:alice", ttl=1_000).expires_us == ends
    assert bob.share("user:erin", space="user:alice", ttl=10).expires_us == clock.now + 10 * SECOND
    clock.advance(seconds=100)
    for name in ("bob", "carol", "dave", "erin"):
        with refused("access_denied"):
            memory.user(name).list(space="user:alice")


def test_nobody_prolongs_their_own_grant(memory: Memory, clock: FixedClock) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    ends = alice.share("user:bob", level="readwrite", ttl=100).expires_us
    with unchanged(memory), refused("invalid_field"):
        bob.share("user:bob", space="user:alice", level="readwrite")
    bob.share("user:carol", space="user:alice", level="readwrite")
    assert carol.share("user:bob", space="user:alice", level="readwrite").expires_us == ends
    clock.advance(seconds=100)
    with refused("access_denied"):
        bob.list(space="user:alice")


def test_a_longer_grant_at_a_lower_level_does_not_lengthen_a_higher_one(
    memory: Memory, clock: FixedClock
) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    alice.share("user:carol", level="readwrite")
    alice.share("user:bob", level="readwrite", ttl=100)
    carol.share("user:bob", space="user:alice", level="read")
    bob.share("user:dave", space="user:alice", level="readwrite")
    clock.advance(seconds=100)
    bob.list(space="user:alice")
    with refused("access_denied"):
        memory.user("dave").list(space="user:alice")


def test_readwrite_takes_back_its_own_grants_and_manage_any(memory: Memory) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    for name in ("bob", "carol"):
        alice.share(f"user:{name}", level="readwrite")
    alice.share("user:boss", level="manage")
    bob.share("user:dave", space="user:alice")
    assert carol.unshare("user:dave", space="user:alice").revoked == 0
    assert carol.unshare("user:bob", space="user:alice").revoked == 0
    assert bob.unshare("user:dave", space="user:alice").revoked == 1
    bob.share("user:dave", space="user:alice")
    assert memory.user("boss").unshare("user:dave", space="user:alice").revoked == 1
    assert memory.user("boss").unshare("user:carol", space="user:alice").revoked == 1
    assert holders(alice) == {"user:bob": "readwrite", "user:boss": "manage"}


def test_taking_back_what_was_never_given_says_so(memory: Memory) -> None:
    gone = memory.user("alice").unshare("user:nobody")
    assert (gone.revoked, gone.cascaded) == (0, 0)


def test_a_grant_from_another_giver_stays_when_one_is_taken_back(memory: Memory) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    for name in ("bob", "carol"):
        alice.share(f"user:{name}", level="readwrite")
    bob.share("user:dave", space="user:alice", level="readwrite")
    carol.share("user:dave", space="user:alice", level="read")
    memory.user("dave").remember("x", key="k", space="user:alice")
    bob.unshare("user:dave", space="user:alice")
    with refused("access_denied"):
        memory.user("dave").remember("x", key="k", space="user:alice")
    assert memory.user("dave").get("k", space="user:alice").text == "x"


def test_taking_a_grant_back_takes_every_reshare_that_stood_on_it(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.share("user:bob", level="readwrite")
    memory.user("bob").share("user:carol", space="user:alice", level="readwrite")
    memory.user("carol").share("user:dave", space="user:alice")
    alice.share("user:erin")
    gone = alice.unshare("user:bob")
    assert (gone.revoked, gone.cascaded) == (1, 2)
    assert holders(alice) == {"user:erin": "read"}
    for name in ("bob", "carol", "dave"):
        with refused("access_denied"):
            memory.user(name).list(space="user:alice")


def test_reshares_in_a_circle_do_not_hold_each_other_up(memory: Memory) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    alice.share("user:bob", level="readwrite")
    bob.share("user:carol", space="user:alice", level="readwrite")
    carol.share("user:bob", space="user:alice", level="readwrite")
    alice.unshare("user:bob")
    assert holders(alice) == {}


def test_reshares_in_a_circle_fall_when_a_third_link_is_cut(memory: Memory) -> None:
    alice, bob, carol, dave = (memory.user(name) for name in ("alice", "bob", "carol", "dave"))
    alice.share("user:boss", level="manage")
    alice.share("user:bob", level="readwrite")
    bob.share("user:carol", space="user:alice", level="readwrite")
    carol.share("user:dave", space="user:alice", level="readwrite")
    dave.share("user:carol", space="user:alice", level="readwrite")
    bob.unshare("user:carol", space="user:alice")
    assert holders(alice) == {"user:boss": "manage", "user:bob": "readwrite"}


def test_lowering_a_grant_takes_back_what_was_given_above_it(memory: Memory) -> None:
    """DESIGN 3: a share never gives more than one holds, and what stood on a grant goes with it."""
    alice = memory.user("alice")
    alice.share("user:bob", level="readwrite")
    memory.user("bob").share("user:carol", space="user:alice", level="readwrite")
    alice.share("user:bob", level="read")
    with refused("access_denied"):
        memory.user("carol").remember("x", space="user:alice")


def test_shortening_a_grant_shortens_what_stood_on_it(memory: Memory, clock: FixedClock) -> None:
    alice = memory.user("alice")
    alice.share("user:bob", level="readwrite")
    memory.user("bob").share("user:carol", space="user:alice", level="read")
    alice.share("user:bob", level="readwrite", ttl=60)
    clock.advance(seconds=60)
    with refused("access_denied"):
        memory.user("carol").list(space="user:alice")


def test_a_reshare_does_not_stand_on_a_grant_that_has_expired(memory: Memory, clock: FixedClock) -> None:
    alice, bob, carol = memory.user("alice"), memory.user("bob"), memory.user("carol")
    alice.share("user:carol", level="readwrite")
    carol.share("user:bob", space="user:alice", level="readwrite", ttl=10)
    alice.share("user:dave", level="readwrite")
    memory.user("dave").share("user:bob", space="user:alice", level="readwrite")
    bob.share("user:erin", space="user:alice")
    clock.advance(seconds=10)
    memory.user("dave").unshare("user:bob", space="user:alice")
    with refused("access_denied"):
        bob.list(space="user:alice")
    with refused("access_denied"):
        memory.user("erin").list(space="user:alice")


def test_a_withdrawn_grant_ends_at_once(memory: Memory) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.remember("x", key="k")
    alice.share("user:bob", level="readwrite")
    page = bob.list(space="user:alice")
    assert len(page) == 1
    alice.unshare("user:bob")
    for call in (
        lambda: bob.list(space="user:alice"),
        lambda: bob.get("k", space="user:alice"),
        lambda: bob.remember("y", space="user:alice"),
    ):
        with refused("access_denied"):
            call()


def test_grants_are_shown_to_those_who_may_share(memory: Memory) -> None:
    alice = memory.user("alice")
    alice.share("user:bob", level="readwrite")
    memory.user("bob").share("service:ci", space="user:alice", level="search")
    assert (
        holders(alice)
        == holders(memory.user("bob"), "user:alice")
        == {
            "user:bob": "readwrite",
            "service:ci": "search",
        }
    )
