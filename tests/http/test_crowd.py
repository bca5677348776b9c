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


async def _kept(texts: list[str], **more: Any) -> list[dict[str, Any]]:
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
            sent = (client.post(f"{BASE}/remember", json={"text": text, **more}) for text in texts)
            return [answered.json() for answered in await asyncio.gather(*sent)]


def test_similar_notes_are_listed_for_who_asks_however_many_others_write() -> None:
    texts = [f"Deploys of service {number} go through Konflux" for number in range(CROWD)]
    kept = asyncio.run(_kept(texts, similar=True))
    assert all(note["created"] and isinstance(note["similar"], list) for note in kept)


def test_nobody_else_waits_for_a_search() -> None:
    assert [note["similar"] for note in asyncio.run(_kept(["one", "two"]))] == [None, None]
