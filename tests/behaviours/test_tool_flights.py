"""Of calls that ask a cached tool for the same at the same time one runs, in threads and in tasks; awaited tools."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast import Cache
from holdfast.entrypoints.python.memory import Memory
from holdfast.entrypoints.python.tool_context import AsyncHandle, Handle, ToolContext
from tests.behaviours.interface import AWAITED, PYTHON, Interface

pytestmark = pytest.mark.interfaces(PYTHON, AWAITED)

FIVE_MINUTES = Cache(ttl=300)


def test_fifty_threads_that_ask_for_the_same_run_it_once(memory: Memory) -> None:
    runs, all_here = [], threading.Barrier(50)

    @memory.tool("slow", version="1", cache=FIVE_MINUTES)
    def slow(value: str) -> dict[str, Any]:
        runs.append(value)
        threading.Event().wait(0.05)
        return {"value": value, "list": []}

    def ask() -> dict[str, Any]:
        with memory.calling("alice"):
            all_here.wait()
            answer: dict[str, Any] = slow("x")
            return answer

    with ThreadPoolExecutor(50) as pool:
        answers = [future.result() for future in [pool.submit(ask) for _ in range(50)]]
    assert answers == [{"value": "x", "list": []}] * 50
    assert len({id(answer["list"]) for answer in answers}) == 50, "each has an answer of its own"
    assert runs == ["x"]


def test_fifty_tasks_that_ask_for_the_same_run_it_once(memory: Memory) -> None:
    runs = []

    @memory.tool("slow", version="1", cache=FIVE_MINUTES)
    async def slow(value: str) -> dict[str, Any]:
        runs.append(value)
        await asyncio.sleep(0.02)
        return {"value": value}

    async def many() -> list[dict[str, Any]]:
        with memory.calling("alice"):
            return await asyncio.gather(*(slow("x") for _ in range(50)))

    assert asyncio.run(many()) == [{"value": "x"}] * 50
    assert runs == ["x"]
    assert asyncio.run(many()) == [{"value": "x"}] * 50
    assert runs == ["x"]


def test_two_callers_at_once_do_not_wait_for_each_other(memory: Memory) -> None:
    inside = threading.Barrier(2, timeout=10)

    @memory.tool("slow", cache=FIVE_MINUTES)
    def slow(ec: ToolContext[Handle]) -> str:
        inside.wait()
        return ec.subject

    def ask(subject: str) -> str:
        with memory.calling(subject):
            return str(slow())

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, ["alice", "bob"])) == ["alice", "bob"]


def test_when_the_one_that_runs_fails_each_that_waited_runs_for_itself(memory: Memory) -> None:
    runs: list[int] = []
    lock = threading.Lock()
    all_here = threading.Barrier(8)

    @memory.tool("flaky", cache=FIVE_MINUTES)
    def flaky(value: str) -> str:
        with lock:
            runs.append(1)
            first = len(runs) == 1
        threading.Event().wait(0.05)
        if first:
            raise LookupError
        return value

    def ask() -> str:
        with memory.calling("alice"):
            all_here.wait()
            try:
                return str(flaky("x"))
            except LookupError:
                return "failed"

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(future.result() for future in [pool.submit(ask) for _ in range(8)])
    assert answers == ["failed"] + ["x"] * 7


def test_what_is_for_one_call_alone_is_not_given_to_those_that_waited(memory: Memory) -> None:
    runs: list[int] = []
    all_here = threading.Barrier(6)

    @memory.tool("volatile", cache=FIVE_MINUTES)
    def volatile(ec: ToolContext[Handle]) -> int:
        ec.do_not_cache()
        runs.append(1)
        threading.Event().wait(0.03)
        return threading.get_ident()

    def ask() -> bool:
        with memory.calling("alice"):
            all_here.wait()
            return bool(volatile() == threading.get_ident())

    with ThreadPoolExecutor(6) as pool:
        assert all(future.result() for future in [pool.submit(ask) for _ in range(6)])
    assert len(runs) == 6


def test_when_the_one_that_runs_is_cancelled_another_takes_its_place(memory: Memory) -> None:
    started, runs = [], []
    begun, go = asyncio.Event(), asyncio.Event()

    @memory.tool("slow", cache=FIVE_MINUTES)
    async def slow(value: str) -> str:
        started.append(value)
        begun.set()
        await go.wait()
        runs.append(value)
        return value

    async def many() -> list[Any]:
        with memory.calling("alice"):
            tasks = [asyncio.create_task(slow("x")) for _ in range(5)]
            await begun.wait()
            tasks[0].cancel()
            go.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = asyncio.run(many())
    assert isinstance(first, asyncio.CancelledError)
    assert others == ["x"] * 4
    assert (len(started), len(runs)) == (2, 1)


def test_one_that_waits_can_be_cancelled_without_harm_to_the_rest(memory: Memory) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @memory.tool("slow", cache=FIVE_MINUTES)
    async def slow(value: str) -> str:
        begun.set()
        await go.wait()
        return value

    async def many() -> list[Any]:
        with memory.calling("alice"):
            tasks = [asyncio.create_task(slow("x")) for _ in range(4)]
            await begun.wait()
            tasks[2].cancel()
            go.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(many())
    assert isinstance(answers.pop(2), asyncio.CancelledError)
    assert answers == ["x"] * 3


def test_a_tool_that_asks_itself_for_the_same_does_not_wait_for_ever(memory: Memory) -> None:
    depth = []

    @memory.tool("again", cache=FIVE_MINUTES)
    def again(value: str) -> str:
        depth.append(value)
        return again(value) if len(depth) < 3 else "end"

    with memory.calling("alice"):
        assert again("x") == "end"


# Awaited functions


def test_an_awaited_function_stays_one_and_is_cached_alike(memory: Memory, interface: Interface) -> None:
    runs, handles = [], []

    @memory.tool("awaited", version="1", cache=FIVE_MINUTES)
    async def awaited(value: str, ec: ToolContext[Any]) -> dict[str, str]:
        runs.append(value)
        handles.append(ec.memory)
        return {"value": value}

    assert inspect.iscoroutinefunction(awaited)

    async def twice() -> list[dict[str, str]]:
        with memory.calling("alice"):
            return [await awaited("x"), await awaited("x")]

    assert asyncio.run(twice()) == [{"value": "x"}] * 2
    assert runs == ["x"]
    kind = AsyncHandle if interface.name == AWAITED else Handle
    assert [type(handle) for handle in handles] == [kind]


def test_a_blocking_function_gets_a_handle_that_blocks_from_every_memory(memory: Memory) -> None:
    @memory.tool("blocking")
    def blocking(ec: ToolContext[Handle]) -> str:
        assert ec.memory is not None
        return ec.memory.store("k", "v").text

    assert blocking() == "v"
