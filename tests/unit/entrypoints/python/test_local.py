"""How a call is run on the engine of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Thread, current_thread, main_thread
from typing import Any

import pytest

import holdfast
from holdfast.contracts.storage import Job
from holdfast.domain.errors import ConfirmationRequired, Unavailable
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.engine import TRIES, Engine
from holdfast.storage.keyring import StaleKeys
from tests.behaviours.looking import engine_of, session_of
from tests.behaviours.models import model_of
from tests.support import NOON


@pytest.fixture
def memory() -> Iterator[Memory]:
    with holdfast.open(":memory:", key="ephemeral", embedder="none", sweep_seconds=0) as memory:
        yield memory


def changing_keys(monkeypatch: pytest.MonkeyPatch, memory: Memory, times: int) -> list[Job[Any]]:
    """The jobs that are tried, of which the first ones meet keys that changed."""
    tried: list[Job[Any]] = []
    space = memory.user("alice").remember("a space", key="first").space

    def begin(_: Engine, job: Job[Any]) -> Job[Any]:
        tried.append(job)
        if len(tried) <= times:
            raise StaleKeys(space)
        return job

    monkeypatch.setattr(Engine, "begin", begin)
    return tried


def test_a_write_whose_keys_changed_is_prepared_again_with_the_same_arguments(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = changing_keys(monkeypatch, memory, 2)
    memory.user("alice").remember("Deploys go through Konflux", key="k", tags=(tag for tag in ("a", "b")))
    assert len(tried) == len(set(map(id, tried))) == 3
    assert memory.user("alice").get("k").tags == ("a", "b")


def test_an_awaited_write_whose_keys_changed_is_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def write() -> list[str]:
        async with await holdfast.aopen(":memory:", key="ephemeral", embedder="none") as memory:
            alice = memory.user("alice")
            await alice.remember("a space", key="first")
            begin, stale = Engine.begin, iter([True])

            def changed_once(engine: Engine, job: Job[Any]) -> Job[Any]:
                if next(stale, False):
                    raise StaleKeys()
                return begin(engine, job)

            monkeypatch.setattr(Engine, "begin", changed_once)
            await alice.remember("Deploys go through Konflux", key="k")
            return [entry.key for entry in await alice.list()]

    assert asyncio.run(write()) == ["k", "first"]


def test_keys_that_change_again_and_again_are_unavailable(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = changing_keys(monkeypatch, memory, TRIES)
    with pytest.raises(Unavailable):
        memory.user("alice").remember("x", key="k")
    assert len(tried) == TRIES


def test_a_refusal_that_a_job_returns_is_raised_after_its_commit(memory: Memory) -> None:
    with pytest.raises(ConfirmationRequired) as refused:
        model_of(memory, "alice").forget("all")
    [waiting] = memory.user("alice").people.proposals()
    assert str(waiting.id) == refused.value.proposal


def test_a_job_is_committed_by_the_engine_alone(memory: Memory) -> None:
    session = session_of(memory, "alice")
    assert engine_of(memory).commit(lambda: Job(lambda _: session.principal.id)) == "alice"


@pytest.mark.parametrize(
    ("arguments", "call", "on_the_loop"),
    [
        ({"key": "k"}, "get", True),
        ({"text": "x"}, "remember", True),
        ({"text": "x", "similar": True}, "remember", False),
        ({"query": "x"}, "recall", False),
    ],
)
def test_what_computes_for_long_is_kept_from_the_event_loop(
    arguments: dict[str, Any], call: str, on_the_loop: bool
) -> None:
    threads: list[Thread] = []

    def clock() -> int:
        threads.append(current_thread())
        return NOON

    async def run() -> None:
        options: dict[str, Any] = {"key": "ephemeral", "embedder": "none", "sweep_seconds": 0}
        async with await holdfast.aopen(":memory:", clock=clock, **options) as memory:
            alice = memory.user("alice")
            await alice.remember("Deploys go through Konflux", key="k")
            threads.clear()
            await getattr(alice, call)(**arguments)

    asyncio.run(run())
    assert (main_thread() in threads) == on_the_loop
