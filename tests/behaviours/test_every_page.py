"""`list(...).all()`: every entry of a list, a page at a time, blocking and awaited, here and over HTTP."""

import asyncio
import copy
import pickle
from itertools import islice
from typing import Any

import pytest

import holdfast
from holdfast.entrypoints.facade import AsyncOwn, Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import HTTP, KEY
from tests.behaviours.looking import keys, refused

NAMES = ["k4", "k3", "k2", "k1", "k0"]


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def fill(own: Own) -> None:
    for number in range(5):
        own.remember("x", key=f"k{number}", ttl=100 + number, tags=["even"] if number % 2 == 0 else [])


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_all_gives_every_entry_once_in_the_order_of_the_list(alice: Own, limit: int) -> None:
    fill(alice)
    page = alice.list(limit=limit)
    assert (len(page), page.more) == (min(limit, 5), limit < 5)
    assert (page.cursor is not None) == page.more
    assert keys(page.all()) == keys(page.all()) == NAMES


def test_all_keeps_to_the_filters_of_the_list(alice: Own) -> None:
    fill(alice)
    alice.remember("x", key="k5", namespace="a")
    alice.remember("x", key="k6", namespace="a")
    assert keys(alice.list("k", tag="even", limit=1).all()) == ["k4", "k2", "k0"]
    assert keys(alice.list(expiring_within=103, limit=1).all()) == ["k0", "k1", "k2", "k3"]
    assert keys(alice.list(namespace="a", limit=1).all()) == ["k6", "k5"]
    assert keys(alice.list(limit=2, cursor=alice.list(limit=2).cursor).all()) == ["k2", "k1", "k0"]


def test_what_is_trashed_and_facts_have_all_too(alice: Own) -> None:
    for number in range(5):
        alice.facts.store(f"k{number}", "walrus")
    assert keys(alice.facts.list("k", limit=2).all()) == NAMES
    for facts in (alice.facts.recall(limit=2), alice.facts.recall(prefix="k", limit=2)):
        assert keys(facts.all()) == NAMES
    assert keys(alice.facts.recall("k3").all()) == ["k3"]
    assert len(list(alice.facts.recall(query="walrus", limit=2).all())) == 2
    for name in reversed(NAMES):
        alice.trash(name)
    assert keys(alice.trashed(limit=2).all()) == NAMES
    assert list(alice.people.quarantine().all()) == []


def test_an_empty_list_has_no_more(alice: Own) -> None:
    page = alice.list()
    assert (page.more, list(page.all())) == (False, [])


def test_a_page_is_fetched_when_it_is_reached(alice: Own) -> None:
    fill(alice)
    entries = alice.list(limit=2).all()
    assert keys(islice(entries, 2)) == ["k4", "k3"]
    alice.trash("k2")
    alice.remember("x", key="new")
    assert keys(entries) == ["k1", "k0"]


def test_a_copy_of_a_page_has_its_cursor_and_fetches_nothing(alice: Own) -> None:
    fill(alice)
    page = alice.list(limit=2)
    for same in (copy.copy(page), pickle.loads(pickle.dumps(page))):
        assert (same, same.cursor, same.more) == (page, page.cursor, True)
        with refused("invalid_field"):
            list(same.all())
    assert keys(copy.copy(alice.list()).all()) == NAMES


async def look(alice: AsyncOwn) -> list[list[str]]:
    pages: list[Any] = [
        await alice.list(limit=2),
        await alice.list("k", tag="even", limit=1),
        await alice.trashed(limit=1),
        await alice.facts.list(limit=1),
        await alice.facts.recall(prefix="f", limit=1),
        await alice.people.quarantine(),
    ]
    assert [page.more for page in pages] == [True, True, True, True, True, False]
    return [[entry.key async for entry in page.all()] for page in pages]


FOUND = [["f1", "f0", *NAMES], ["k4", "k2", "k0"], ["t1", "t0"], ["f1", "f0"], ["f1", "f0"], []]


async def fill_awaited(alice: AsyncOwn) -> None:
    for number in range(5):
        await alice.remember("x", key=f"k{number}", tags=["even"] if number % 2 == 0 else [])
    for number in range(2):
        await alice.facts.store(f"f{number}", "x")
        await alice.remember("x", key=f"t{number}")
        await alice.trash(f"t{number}")


@pytest.mark.interfaces(HTTP)
def test_all_is_awaited_over_http(memory: Any) -> None:
    memory.user("alice")

    async def play() -> list[list[str]]:
        async with holdfast.AsyncClient(memory.url, memory.tokens[-1]) as alice:
            await fill_awaited(alice)
            return await look(alice)

    assert asyncio.run(play()) == FOUND


def test_all_is_awaited_in_python() -> None:
    async def play() -> list[list[str]]:
        async with await holdfast.aopen(":memory:", key=KEY, embedder="none") as memory:
            await fill_awaited(memory.user("alice"))
            return await look(memory.user("alice"))

    assert asyncio.run(play()) == FOUND
