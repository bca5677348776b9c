"""Cost of the memory tool beside the core calls behind its commands, and of a search over fifty stores beside a search
over one. The tool answers in JSON, so the core's answers are encoded as JSON too. The last line of the first kind is
beside a `get` that gives its object."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import holdfast
from bench.measure import Cost, Line, Options, cost_of, micros, take_turns
from bench.notes import notes
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.vocabularies.answers import REPLACED, STORED
from holdfast.vocabularies.entries import ENTRY, HITS, PAGE

ENTRIES = 500
STORES = 50
TURNS = 15
CALLS = 100
QUERY = "how do we deploy the service?"


def run(_options: Options) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, holdfast.open(folder) as memory:
        return [*_commands(memory), _stores(memory)]


def _commands(memory: Memory) -> list[Line]:
    bot, numbers = memory.agent("bot"), count()
    keys = [note["key"] for note in notes("vocabularies", ENTRIES)]
    for note in notes("vocabularies", ENTRIES):
        bot.stores.memory("create", path=f"/memories/{note['key']}", content=note["text"])
    twin = memory.agent("twin")  # the core side has a space of its own, with the same notes
    twin.remember_many(notes("vocabularies", ENTRIES))
    bot.stores.memory("create", path="/memories/colours", content="red and blue")
    twin.remember("red and blue", key="colours")
    tool = bot.stores.memory
    moves, moved, deletes, deleted = count(), count(), count(), count()
    for own in (
        lambda key: tool("create", path=f"/memories/{key}", content="x"),
        lambda key: twin.remember("x", key=key),
    ):
        own("moved/0")
        for number in range(TURNS * CALLS + 1):
            own(f"old/{number}")
    pairs: list[tuple[str, Callable[[int], object], Callable[[int], object], int]] = [
        (
            "view",
            lambda n: tool("view", path=f"/memories/{keys[n]}"),
            lambda n: ENTRY.encode(twin.get(keys[n])),
            CALLS,
        ),
        (
            "create",
            lambda _: tool("create", path=f"/memories/new/{next(numbers)}", content="Prefers short answers"),
            lambda _: STORED.encode(twin.remember("Prefers short answers", key=f"new/{next(numbers)}")),
            CALLS,
        ),
        (
            "edit",
            lambda _: tool("edit", path="/memories/colours", old_str="red", new_str="red"),
            lambda _: REPLACED.encode(twin.replace("colours", old="red", new="red")),
            CALLS,
        ),
        (
            "rename",
            lambda _: tool(
                "rename", path=f"/memories/moved/{(at := next(moves))}", new_str=f"moved/{at + 1}"
            ),
            lambda _: ENTRY.encode(twin.rename(f"moved/{(at := next(moved))}", new_key=f"moved/{at + 1}")),
            CALLS,
        ),
        (
            "delete",
            lambda _: tool("delete", path=f"/memories/old/{next(deletes)}"),
            lambda _: ENTRY.encode(twin.trash(f"old/{next(deleted)}")),
            CALLS,
        ),
        (
            "list",
            lambda _: tool("view", path="/memories/new/", limit=50),
            lambda _: PAGE.encode(twin.list("new/", limit=50)),
            CALLS // 5,
        ),
        (
            "search",
            lambda _: tool("search", query=QUERY),
            lambda _: HITS.encode(twin.recall(QUERY)),
            CALLS // 5,
        ),
    ]
    plain = _compare(
        "view", lambda n: tool("view", path=f"/memories/{keys[n]}"), lambda n: twin.get(keys[n]), CALLS
    )
    return [
        *(_compare(*pair) for pair in pairs),
        replace(plain, what="memory view (JSON) against a get (an object)", at_most=None),
    ]


def _compare(what: str, ours: Callable[[int], object], bare: Callable[[int], object], calls: int) -> Line:
    def timed(call: Callable[[int], object]) -> Cost:
        return cost_of(calls, lambda: [call(number) for number in range(calls)])

    ours(0)
    bare(0)
    turns = take_turns(TURNS, lambda: timed(ours), lambda: timed(bare))
    cpu, bare_cpu = turns.cpu()
    return Line(
        f"memory {what} against its core call",
        turns.cpu_ratio(),
        at_most=1.5,
        beside=f"CPU {micros(cpu)}, core {micros(bare_cpu)}",
    )


def _stores(memory: Memory) -> Line:
    """Equal entries, in one store and spread over fifty that were shared."""
    alone, reader = memory.agent("alone"), memory.agent("reader")
    for number, note in enumerate(notes("stores", ENTRIES)):
        owner = memory.agent(f"owner-{number % STORES}")
        for own in (alone, owner):
            own.stores.memory("create", path=f"/memories/{note['key']}", content=note["text"])
    for number in range(STORES):
        memory.agent(f"owner-{number}").stores.memory("share", agent="reader", level="search")

    def search(own: Own) -> Cost:
        return cost_of(10, lambda: [own.stores.memory("search", query=QUERY) for _ in range(10)])

    search(reader)
    search(alone)
    turns = take_turns(TURNS, lambda: search(reader), lambda: search(alone))
    wall, one = turns.wall()
    return Line(
        f"search over {STORES} stores against one with the same {ENTRIES} entries",
        turns.wall_ratio(),
        at_most=5,
        beside=f"{micros(wall)}, one store {micros(one)}",
    )
