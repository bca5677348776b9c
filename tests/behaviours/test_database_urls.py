"""Only the URL changes: the same interface on PostgreSQL."""

import asyncio
from collections.abc import Iterator

import pytest

import holdfast
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.looking import keys, refused
from tests.postgres.databases import empty_database, url_of

KEY = "22" * 32


@pytest.fixture
def url() -> Iterator[str]:
    with empty_database() as dsn:
        yield url_of(dsn)


def opened(url: str, **said: str) -> Memory:
    return holdfast.open(url, **{"key": KEY, **said})  # type: ignore[arg-type]


def test_what_one_node_keeps_another_finds(url: str) -> None:
    with opened(url) as here, opened(url) as there:
        here.user("alice").remember("Deploys go through Konflux", key="deploy")
        assert there.user("alice").get("deploy").text == "Deploys go through Konflux"
        assert keys(there.user("alice").recall("how do we deploy?")) == ["deploy"]
        there.user("alice").edit("deploy", text="Deploys go through Tekton")
        assert [state.text for state in here.user("alice").history("deploy")] == [
            "Deploys go through Tekton",
            "Deploys go through Konflux",
        ]
        here.user("alice").share("user:bob", level="search")
        assert keys(there.user("bob").recall("tekton")) == ["deploy"]
        there.user("alice").forget("all")
        assert keys(here.user("alice").recall("tekton")) == []
        assert here.user("alice").list() == []


def test_awaited_python_does_not_hold_up_its_loop(url: str) -> None:
    async def many() -> list[str]:
        async with await holdfast.aopen(url, key=KEY) as memory:
            own = [memory.user(f"user {number}") for number in range(8)]
            await asyncio.gather(*(one.remember(f"note of {n}", key="k") for n, one in enumerate(own)))
            entries = await asyncio.gather(*(one.get("k") for one in own))
            return [entry.text for entry in entries]

    assert asyncio.run(many()) == [f"note of {number}" for number in range(8)]


def test_without_a_key_it_refuses_to_start_and_says_how_to_make_one(url: str) -> None:
    with pytest.raises(holdfast.HoldfastError, match=r"secrets\.token_hex\(32\)"):
        holdfast.open(url)
    with holdfast.open(url, required=False) as off:
        assert not off.enabled


def test_a_wrong_key_is_refused_and_nothing_changes(url: str) -> None:
    with opened(url) as memory:
        memory.user("alice").remember("kept", key="k")
    with refused("locked"):
        opened(url, key="33" * 32)
    with opened(url) as memory:
        assert memory.user("alice").get("k").text == "kept"


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    with refused("unavailable"):
        opened("postgresql://nobody@127.0.0.1:1/none")


def test_another_kind_of_url_is_refused() -> None:
    with refused("invalid_field"):
        opened("mysql://localhost/x")
