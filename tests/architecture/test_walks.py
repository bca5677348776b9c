"""Limits on how many files and functions one call goes through. Caches that other tests fill need a little room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from httpx2 import Response
from mcp import Client

import holdfast
from holdfast.entrypoints.cli import run
from tests.architecture.walks import CALLS, Tracer, Walk
from tests.http.serving import Service, serving
from tests.mcp.talking import talk
from tests.support import FixedClock, move_home

EMBEDDER = "tests.behaviours.embedders:sensible"


class Budget(NamedTuple):
    files: int
    functions: int
    upward: int


def within(walk: Walk, budget: Budget) -> bool:
    print(walk.report())
    found = Budget(len(walk.files), len(walk.functions), len(walk.upward))
    return all(count <= most for count, most in zip(found, budget, strict=True))


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    with Tracer() as tracer:
        yield tracer


def test_remember_in_python(tracer: Tracer) -> None:
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0) as memory:
        alice = memory.user("alice")
        assert within(tracer.smallest(lambda key: alice.remember("x", key=key)), Budget(42, 130, 3))


@pytest.fixture
def service(tracer: Tracer) -> Iterator[Service]:
    with serving(FixedClock(), embedder="none") as service:
        yield service


@pytest.fixture
def send(service: Service) -> Callable[[str, dict[str, str]], Response]:
    """Sends as one caller, whose token the server knows after the first request."""
    headers = {"Authorization": f"Bearer {service.token()}"}
    return lambda path, body: service.send(path, body, headers=headers)


def test_remember_over_http(tracer: Tracer, send: Callable[[str, dict[str, str]], Response]) -> None:
    walk = tracer.smallest(lambda key: send("remember", {"text": "x", "key": key}))
    assert within(walk, Budget(56, 190, 3))


def test_recall_over_http(tracer: Tracer, send: Callable[[str, dict[str, str]], Response]) -> None:
    send("remember", {"text": "Deploys go through Konflux"})
    walk = tracer.smallest(lambda _: send("recall", {"query": "how do we deploy?"}))
    assert within(walk, Budget(51, 173, 2))


def test_remember_over_mcp(tracer: Tracer, service: Service) -> None:
    async def remember(client: Client) -> Walk:
        walks = []
        for number in range(CALLS):
            with tracer.recording() as walk:
                await client.call_tool("remember", {"text": "x", "key": f"key {number}"})
            walks.append(walk)
        return min(walks, key=lambda walk: len(walk.functions))

    assert within(talk(service, remember), Budget(78, 345, 4))


def test_forget_all_on_the_command_line(
    tracer: Tracer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_home(tmp_path, monkeypatch)
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.setenv("HOLDFAST_DATA_DIR", str(tmp_path))
    assert run(["remember", "x"]) == 0
    walk = tracer.walk(lambda: run(["forget", "all", "--yes"]))
    assert within(walk, Budget(60, 280, 4))


def test_embedding_a_new_entry_in_the_background(tracer: Tracer) -> None:
    tracer.threads = "holdfast-embedder".__eq__
    with holdfast.open(":memory:", key="ephemeral", sweep_seconds=0, embedder=EMBEDDER) as memory:
        alice = memory.user("alice")
        alice.remember("warm")
        memory.settle()
        with tracer.recording() as walk:
            alice.remember("Deploys go through Konflux")
            memory.settle()
        assert within(walk, Budget(24, 82, 2))
