"""Cached tools, recorded runs, callers and the corpus on PostgreSQL, blocking and awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import holdfast

KEY = "6b" * 32
OPTIONS: dict[str, Any] = {"key": KEY, "sweep_seconds": 0, "embedder": "none"}


def test_a_tool_is_cached_and_recorded_on_postgresql(dsn: str) -> None:
    runs = []
    with holdfast.open(dsn, **OPTIONS) as memory:

        @memory.tool("slides", version="1", cache=holdfast.Cache(ttl=300))
        def slides(topic: str, theme: str) -> dict[str, str]:
            runs.append(topic)
            return {"topic": topic}

        for subject in ("alice", "alice", "bob"):
            with memory.calling(subject):
                assert slides("x", "dark") == {"topic": "x"}
        assert len(runs) == 2
        [habit] = memory.user("alice").facts.defaults().packs
        assert (habit.count, habit.hits, habit.inputs) == (2, 1, {"theme": "dark"})
        everyone = memory.user("root", roles=["admin"]).facts.callers()
        assert {one.caller for one in everyone} == {"user:alice", "user:bob"}
        assert [one.caller for one in memory.user("bob").facts.callers()] == ["user:bob"]
        assert [one.docid for one in memory.user("alice").corpus.query("slides")] == ["pack_history/slides"]
        assert memory.user("alice").facts.forget("packs").deleted == 2
        assert memory.user("alice").facts.defaults().packs == ()


def test_fifty_tasks_run_it_once_on_postgresql(dsn: str) -> None:
    runs = []

    async def many() -> list[str]:
        async with await holdfast.aopen(dsn, **OPTIONS) as memory:

            @memory.tool("slow", version="1", cache=holdfast.Cache(ttl=300))
            async def slow(value: str, ec: Any) -> str:
                runs.append(value)
                await ec.memory.store("last", value)
                return value

            with memory.calling("alice"):
                return await asyncio.gather(*(slow("x") for _ in range(50)))

    assert asyncio.run(many()) == ["x"] * 50
    assert runs == ["x"]
