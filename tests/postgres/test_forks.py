"""A child of the process that opened the database is refused; the parent's connections stay its own."""

from __future__ import annotations

import pytest

from tests.faults.test_forks import forked
from tests.postgres.databases import url_of
from tests.security.raw import KEY

pytestmark = pytest.mark.faults


def test_a_child_is_refused_until_it_opens_the_database_itself_and_the_parent_goes_on(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MEMORY_KEY", KEY)
    child, kept = forked(url_of(dsn))
    assert {name for name, answer in child.items() if answer == "unavailable"} == {
        "remember",
        "get",
        "list",
        "purge",
    }
    assert (child["open again"], child["close"]) == ("None", "None")
    assert kept == ["after", "before"]
