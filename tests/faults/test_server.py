"""The server as a process: how it starts, drains, is killed, and starts again."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import HoldfastError
from holdfast.entrypoints.http.server import DRAIN_SECONDS
from tests.faults.serving import Served
from tests.mcp.talking import ERAS, connected

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@pytest.fixture
def started() -> Iterator[list[Served]]:
    servers: list[Served] = []
    yield servers
    for server in servers:
        server.close()


def start(started: list[Served], folder: Path, **environment: str) -> Served:
    started.append(Served(folder, **environment))
    return started[-1]


def test_it_says_where_it_listens_and_what_to_do_next(started: list[Served], tmp_path: Path) -> None:
    server = start(started, tmp_path)
    url = server.url()
    with server.client() as alice:
        assert alice.remember("Deploys go through Konflux").persisted
    code, _ = server.end(signal.SIGINT)
    out, _ = server.ended()
    assert code == 0
    assert str(tmp_path / "holdfast.db") in out
    assert "holdfast connect claude-code" in out
    assert f"{url}/docs" in out


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_drains_and_ends_within_ten_seconds_while_others_write(
    started: list[Served], tmp_path: Path, ending: signal.Signals
) -> None:
    server = start(started, tmp_path)
    server.url()
    acknowledged: list[str] = []
    over = threading.Event()

    def write(number: int) -> None:
        with server.client(retries=0) as alice:
            for turn in range(10_000):
                try:
                    kept = alice.remember("x", key=f"{number}/{turn}")
                except HoldfastError:
                    return
                acknowledged.append(kept.key)
                over.set()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    assert over.wait(20)
    code, seconds = server.end(ending)
    for writer in writers:
        writer.join()
    assert (code, seconds < 10) == (0, True)
    again = start(started, tmp_path)
    with again.client() as alice:
        for key in acknowledged:
            assert alice.get(key).text == "x"


@pytest.mark.parametrize("era", ERAS)
def test_its_drain_does_not_wait_for_an_agent_that_listens(
    started: list[Served], tmp_path: Path, era: str
) -> None:
    server = start(started, tmp_path)
    url, token = f"{server.url()}/mcp", server.token("alice")

    async def listen() -> tuple[int, float]:
        async with connected(url, token, era) as client:
            if era != ERAS[0]:
                await client.list_tools()  # the session's own stream is open from the start
                return await asyncio.to_thread(server.end, signal.SIGINT)
            async with client.listen(resource_subscriptions=["holdfast://my-memory"]):
                return await asyncio.to_thread(server.end, signal.SIGINT)

    code, seconds = asyncio.run(listen())
    assert (code, seconds < DRAIN_SECONDS) == (0, True)


def test_after_a_kill_it_starts_without_repair_and_knows_every_acknowledged_memory(
    started: list[Served], tmp_path: Path
) -> None:
    server = start(started, tmp_path)
    with server.client() as alice:
        keys = [alice.remember("x", key=f"k{number}").key for number in range(50)]
    assert server.end(signal.SIGKILL)[0] == -signal.SIGKILL
    again = start(started, tmp_path)
    with again.client() as alice:
        assert sorted(entry.key for entry in alice.list(limit=1_000)) == sorted(keys)


def test_a_port_that_is_taken_is_said_and_nothing_hangs(started: list[Served], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = start(started, tmp_path, HOLDFAST_PORT=str(taken.getsockname()[1]))
        _, said = server.ended()
    assert server.process.returncode == 1
    assert "unavailable: Nothing can listen on 127.0.0.1" in said


def test_it_refuses_to_start_without_tokens_where_others_could_reach_it(
    started: list[Served], tmp_path: Path
) -> None:
    server = start(started, tmp_path, HOLDFAST_AUTH="off", HOLDFAST_HOST="0.0.0.0")
    _, said = server.ended()
    assert server.process.returncode == 1
    assert "invalid_field: HOLDFAST_AUTH=off is for a loopback address alone" in said


def test_with_a_wrong_key_it_starts_and_says_so_to_everyone(started: list[Served], tmp_path: Path) -> None:
    first = start(started, tmp_path)
    with first.client() as alice:
        alice.remember("x", key="k")
    first.end(signal.SIGINT)
    wrong = start(started, tmp_path, HOLDFAST_MEMORY_KEY="ab" * 32)
    with wrong.client() as alice, pytest.raises(HoldfastError) as refused:
        alice.get("k")
    assert refused.value.code == "unavailable"
    wrong.end(signal.SIGINT)
    assert "MEMORY IS OFF" in wrong.ended()[0]
