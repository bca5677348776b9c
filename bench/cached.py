"""A cache hit of a tool through the door, against a get by key of as many entries with texts as long."""

from __future__ import annotations

import json
import tempfile
from random import Random
from typing import Any

import holdfast
from bench.measure import Cost, Line, Options, cost_of, micros, take_turns

ENTRIES = 1_000
TURNS = 25
ISSUES = 3


def run(_options: Options) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, holdfast.open(folder) as memory:
        return [_compare(memory)]


def _answer(number: int) -> list[dict[str, Any]]:
    return [{"number": number + each, "title": f"An issue about {number} {each}"} for each in range(ISSUES)]


def _compare(memory: holdfast.Memory) -> Line:
    alice, numbers = memory.user("alice"), list(range(ENTRIES))
    Random(1).shuffle(numbers)

    @memory.tool("github.list_issues", version="1", cache=holdfast.Cache(ttl=86_400))
    def list_issues(owner: str, repo: str, state: str = "open") -> list[dict[str, Any]]:
        assert (owner, state) == ("acme", "open")
        return _answer(int(repo))

    def ours() -> None:
        for number in numbers:
            list_issues("acme", str(number))

    def gets() -> None:
        for number in numbers:
            alice.get(f"issues/{number}")

    def timed_ours() -> Cost:
        return cost_of(ENTRIES, ours)

    def timed_gets() -> Cost:
        return cost_of(ENTRIES, gets)

    alice.remember_many(
        [{"text": json.dumps(_answer(number)), "key": f"issues/{number}"} for number in numbers]
    )
    with memory.calling("alice"):
        ours()
        gets()
        turns = take_turns(TURNS, timed_ours, timed_gets)
    info = list_issues.cache_info()
    assert info.misses == ENTRIES, "every call but the first of each was a hit"
    cpu, get_cpu = turns.cpu()
    return Line(
        f"a cache hit, {ENTRIES:,} entries",
        turns.cpu_ratio(),
        at_most=3,
        beside=f"CPU {micros(cpu)}, get {micros(get_cpu)}; wall {turns.wall_ratio():.3g} x",
    )
