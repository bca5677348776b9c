"""Mixed load on a running server: nothing fails, and its memory stays flat. Half an hour in the long form."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from statistics import median, quantiles

import pytest

from holdfast import AsyncClient
from tests.faults.processes import LONG
from tests.faults.serving import Served

pytestmark = [pytest.mark.faults, pytest.mark.slow]

SECONDS = 1_800 if LONG else 4
CLIENTS = 50
KEYS = 20
SAMPLE_SECONDS = SECONDS / 100
GROWTH = 1.05
WORDS = [
    "deploy",
    "konflux",
    "tekton",
    "staging",
    "cluster",
    "friday",
    "review",
    "editor",
    "vim",
    "tabs",
    "kafka",
    "topic",
    "branch",
    "release",
]


async def one_of_many(client: AsyncClient, dice: random.Random, until: float, took: list[float]) -> int:
    """Does what agents do, over and over the same keys, so that there is never more to keep than at the start."""
    done = 0
    while not done or time.monotonic() < until:
        key, text = f"note/{dice.randrange(KEYS)}", " ".join(dice.choices(WORDS, k=8))
        began = time.monotonic()
        match dice.randrange(10):
            case 0 | 1 | 2:
                await client.remember(text, key=key)
            case 3 | 4:
                await client.recall(dice.choice(WORDS), limit=5)
            case 5:
                await client.list("note/")
            case 6:
                await client.forget(f"key:{key}")
            case 7:
                await client.context()
            case _:
                await client.facts.recall(key)
        took.append(time.monotonic() - began)
        done += 1
    return done


async def press(server: Served, took: list[float], held: list[int]) -> int:
    clients = [server.awaited(f"user-{number}", retries=0) for number in range(CLIENTS)]
    until = time.monotonic() + SECONDS

    async def watch() -> None:
        while time.monotonic() < until:
            held.append(server.resident())
            await asyncio.sleep(SAMPLE_SECONDS)

    try:
        counts = await asyncio.gather(
            *(one_of_many(client, random.Random(at), until, took) for at, client in enumerate(clients)),
            watch(),
        )
    finally:
        for client in clients:
            await client.close()
    return sum(count for count in counts if count is not None)


@pytest.mark.timeout(SECONDS + 120)
def test_fifty_clients_get_no_error_and_the_memory_of_the_server_stays_flat(tmp_path: Path) -> None:
    server = Served(tmp_path, HOLDFAST_RATE_PER_MINUTE="0")
    took: list[float] = []
    held: list[int] = []
    try:
        server.url()
        done = asyncio.run(press(server, took, held))
    finally:
        server.close()
    p99 = quantiles(took, n=100)[98]
    fifth = max(1, len(held) // 5)
    warm, last = median(held[fifth : 2 * fifth]), median(held[-fifth:])
    print(
        f"\n{done:,} calls, {done / SECONDS:,.0f}/s, p50 {median(took) * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms; "
        f"resident {warm / 1e6:.0f} MB after warming up, {last / 1e6:.0f} MB at the end"
    )
    assert done > CLIENTS
    if LONG:
        assert last < GROWTH * warm
