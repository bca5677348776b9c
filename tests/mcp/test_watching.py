"""Subscriptions: who watches a resource is told of what they would see there, and of nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

import holdfast
from holdfast.entrypoints.mcp import subscriptions as watching_module
from holdfast.entrypoints.mcp.http import McpHttpApp
from holdfast.entrypoints.mcp.subscriptions import Subscriptions
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.running import Running
from tests.http.serving import Service, serving_running
from tests.mcp.talking import connected
from tests.support import FixedClock

MY_MEMORY, CONTEXT = "holdfast://my-memory", "holdfast://context"
SECONDS = 0.02


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def watched(clock: FixedClock) -> Iterator[Service]:
    def quick(memory: Running, _: Any, key: bytes) -> McpHttpApp:
        return McpHttpApp(memory, key, subscriptions=Subscriptions(SECONDS))

    memory = holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, embedder="none", clock=clock)
    with serving_running(memory.running, clock, quick) as service:
        service.memory = memory
        yield service
    memory.close()


@pytest.fixture
def memory(watched: Service) -> Memory:
    assert watched.memory is not None
    return watched.memory


Told = asyncio.Queue[str]


@asynccontextmanager
async def watching(service: Service, era: str, uri: str, who: str, **claims: Any) -> AsyncIterator[Told]:
    told: Told = asyncio.Queue()

    async def note(message: Any) -> None:
        if era == "legacy" and getattr(message, "method", "") == "notifications/resources/updated":
            told.put_nowait(str(message.params.uri))

    async def forward(events: Any) -> None:
        async for event in events:
            told.put_nowait(str(event.uri))

    token = service.token(who, **claims)
    async with connected(f"{service.url}/mcp", token, era, message_handler=note) as client:
        if era == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.session.subscribe_resource(uri)
            yield told
            return
        async with client.listen(resource_subscriptions=[uri]) as events:
            reader = asyncio.create_task(forward(events))
            yield told
            reader.cancel()


async def next_told(told: Told) -> str:
    return await asyncio.wait_for(told.get(), 10)


async def silence(told: Told, *writes: Callable[[], object]) -> None:
    for write in writes:
        await asyncio.to_thread(write)
    await asyncio.sleep(5 * SECONDS)
    assert told.qsize() == 0


def test_a_watcher_of_my_memory_is_told_of_a_change_and_of_nothing_else(
    watched: Service, memory: Memory, era: str
) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")

    async def watch() -> str:
        async with watching(watched, era, MY_MEMORY, "alice") as told:
            await silence(
                told,
                lambda: bob.remember("Bob's", key="bob"),
                lambda: alice.remember("kept from models", key="internal", in_context=False),
                lambda: alice.remember("c2VhbGVk", key="sealed", encrypted=True),
            )
            await asyncio.to_thread(alice.remember, "Alice's", key="new")
            return await next_told(told)

    assert asyncio.run(watch()) == MY_MEMORY


def test_what_runs_out_or_goes_to_the_trash_is_told_too(
    watched: Service, memory: Memory, clock: FixedClock, era: str
) -> None:
    alice = memory.user("alice")
    alice.remember("soon over", key="brief", ttl=timedelta(seconds=60))
    alice.remember("not for long", key="other")

    async def watch() -> list[str]:
        async with watching(watched, era, MY_MEMORY, "alice") as told:
            await silence(told)
            clock.advance(seconds=61)
            over = await next_told(told)
            await silence(told)
            await asyncio.to_thread(alice.trash, "other")
            return [over, await next_told(told)]

    assert asyncio.run(watch()) == [MY_MEMORY, MY_MEMORY]


def test_a_context_changes_with_every_space_that_it_is_made_of(
    watched: Service, memory: Memory, era: str
) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.remember("always brief", key="tone", always_inject=True)

    async def watch() -> list[str]:
        async with watching(watched, era, CONTEXT, "bob") as told:
            await asyncio.to_thread(alice.share, "user:bob", level="read")
            opened = await next_told(told)
            await silence(told, lambda: alice.remember("alice's own business", key="plain"))
            await asyncio.to_thread(alice.remember, "always polite", key="tone", always_inject=True)
            changed = await next_told(told)
            await asyncio.to_thread(alice.unshare, "user:bob")
            return [opened, changed, await next_told(told)]

    assert asyncio.run(watch()) == [CONTEXT] * 3
    assert bob.list() == []


def test_one_agent_that_works_for_two_people_is_told_of_each_apart(
    watched: Service, memory: Memory, era: str
) -> None:
    async def watch() -> str:
        def told_for(user: str) -> Any:
            return watching(watched, era, CONTEXT, "bot", kind="agent", session_user=user)

        async with told_for("alice") as for_alice, told_for("bob") as for_bob:
            write = memory.user("alice").remember
            await asyncio.to_thread(write, "always brief", key="tone", always_inject=True)
            told = await next_told(for_alice)
            await silence(for_bob)
            return told

    assert asyncio.run(watch()) == CONTEXT


def test_who_watches_is_told_nothing_after_the_end_of_their_token(
    watched: Service, memory: Memory, clock: FixedClock, era: str
) -> None:
    alice = memory.user("alice")

    async def watch() -> None:
        async with watching(watched, era, MY_MEMORY, "alice") as told:
            await asyncio.to_thread(alice.remember, "while it lasts", key="one")
            assert await next_told(told) == MY_MEMORY
            clock.advance(hours=25)
            await asyncio.sleep(5 * SECONDS)
            await silence(told, lambda: alice.remember("after its end", key="two"))

    asyncio.run(watch())


def test_a_watcher_goes_on_after_an_error_that_nobody_foresaw(
    watched: Service, memory: Memory, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = memory.user("alice")
    failed: list[bool] = []
    compare = watching_module._changed

    def fails_once(*given: Any) -> set[str]:
        if not failed:
            failed.append(True)
            raise RuntimeError
        return compare(*given)

    monkeypatch.setattr(watching_module, "_changed", fails_once)

    async def watch() -> str:
        async with watching(watched, era, MY_MEMORY, "alice") as told:
            while not failed:
                await asyncio.sleep(SECONDS)
            await asyncio.to_thread(alice.remember, "Alice's", key="new")
            return await next_told(told)

    assert asyncio.run(watch()) == MY_MEMORY
