"""Many requests at once: nobody waits for what another did not ask for."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

import holdfast
from holdfast.entrypoints.http.app import create_app
from holdfast.entrypoints.http.tokens import mint
from holdfast.settings import load
from tests.http.serving import BASE, DAY_SECONDS, SECRET
from tests.support import FixedClock

CROWD = 8


async def _kept(texts: list[str]) -> list[dict[str, Any]]:
    """What is answered to notes that are all sent before the first is kept."""
    clock = FixedClock()
    token = mint(SECRET, subject="alice", ttl_seconds=DAY_SECONDS, now=clock())
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, clock=clock) as memory:
        app = create_app(memory.running, load({}, rate_per_minute=0), SECRET, clock)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app),
            base_url="http://127.0.0.1",
            headers={"Authorization": f"Bearer {token}"},
        ) as client:
            sent = (client.post(f"{BASE}/remember", json={"text": text}) for text in texts)
            return [answered.json() for answered in await asyncio.gather(*sent)]


def test_what_is_similar_is_told_who_asks_alone() -> None:
    [kept] = asyncio.run(_kept(["Deploys go through Konflux"]))
    assert kept["similar"] == []


def test_of_many_notes_that_come_at_once_none_waits_for_a_search_not_even_the_last() -> None:
    kept = asyncio.run(_kept([f"Deploys of service {number} go through Konflux" for number in range(CROWD)]))
    assert all(note["created"] and "similar" not in note for note in kept)
