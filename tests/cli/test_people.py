"""What waits for a person, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as library
from holdfast.domain.errors import ConfirmationRequired
from tests.behaviours.models import model_of
from tests.cli.command import Command


def asked_by_a_model(data: Path) -> str:
    """A model asks to forget everything that the local user has."""
    with library.open(data) as memory, pytest.raises(ConfirmationRequired) as caught:
        model_of(memory, "local").forget("all")
    assert caught.value.proposal is not None
    return caught.value.proposal


def test_a_proposal_is_listed_and_approved(holdfast: Command, data: Path) -> None:
    holdfast("remember", "Standup at nine", "--key", "standup")
    id = asked_by_a_model(data)
    ((shown, asked_by, _, what, text),) = holdfast("proposals").rows
    assert (shown, asked_by, what, text) == (
        id,
        "user:local",
        "core.forget",
        "Forget `all` of user:local for good: everything that is kept, history, trash, sessions and caches too.",
    )
    (listed,) = holdfast("proposals", "--json").json["proposals"]
    assert (listed["id"], listed["arguments"], listed["door"]) == (id, {"scope": "all"}, "mcp")
    assert holdfast("proposals", "approve", id).out == "Approved core.forget; it is done.\n"
    assert holdfast("list", "--json").json["entries"] == []
    assert holdfast("proposals", "approve", id).code == 1


def test_a_proposal_is_refused(holdfast: Command, data: Path) -> None:
    holdfast("remember", "Standup at nine", "--key", "standup")
    id = asked_by_a_model(data)
    assert holdfast("proposals", "refuse", id, "--as", "bob").err.startswith("not_found: ")
    assert holdfast("proposals", "refuse", id, "--json").json == {
        "id": id,
        "what": "core.forget",
        "approved": False,
        "result": None,
    }
    assert holdfast("proposals").out == ""
    assert holdfast("get", "standup").out == "Standup at nine\n"
