"""Spaces and grants from the shell."""

from __future__ import annotations

from tests.cli.command import Command


def test_a_shared_space_is_open_to_whom_it_was_shared_with(holdfast: Command) -> None:
    made = holdfast("spaces", "create", "team-notes", "--json").json
    assert (made["kind"], made["ref"], made["level"]) == ("shared", "team-notes", "manage")
    holdfast("remember", "Standup at nine", "--key", "standup", "--space", "team-notes")
    assert holdfast("get", "standup", "--space", made["id"], "--as", "bob").code == 1

    shared = holdfast("share", "team-notes", "user:bob", "--ttl", "12h", "--json").json
    assert (shared["grantee"], shared["level"]) == ("user:bob", "read")
    assert shared["expires_at"] is not None
    assert holdfast("get", "standup", "--space", made["id"], "--as", "bob").out == "Standup at nine\n"
    assert [row[:2] for row in holdfast("grants", "team-notes").rows] == [["user:bob", "read"]]

    assert holdfast("unshare", "team-notes", "user:bob", "--json").json == {"revoked": 1, "cascaded": 0}
    assert holdfast("get", "standup", "--space", made["id"], "--as", "bob").code == 1
    assert holdfast("grants", "team-notes", "--json").json == {"grants": []}


def test_the_own_space_is_listed_with_its_level(holdfast: Command) -> None:
    assert [row[:3] for row in holdfast("spaces").rows] == [["user:local", "manage", "self"]]
    (space,) = holdfast("spaces", "--json").json["spaces"]
    assert (space["kind"], space["ref"]) == ("user", "local")


def test_a_level_that_is_none_is_refused(holdfast: Command) -> None:
    holdfast("spaces", "create", "notes")

    assert holdfast("share", "notes", "user:bob", "--level", "all").err.startswith("invalid_level: ")
