"""MCP against the SDK itself. A recall over HTTP beside the SDK's echo tool plus a recall through Python. The start of
`holdfast mcp` beside an SDK server with one tool. In turns, CPU of the serving process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import holdfast
from bench.http import CLIENTS, Server
from bench.measure import Cost, Line, Options, Turns, cost_of, micros, take_turns
from bench.speaking import ECHO, HOLDFAST, STDIO
from holdfast.entrypoints.http.tokens import local_secret, mint
from holdfast.settings import load
from holdfast.wiring import system_clock

TURNS = 7
REQUESTS = 2_048
NOTES = 1_000
QUESTION = "how do we deploy service 17?"
VERSION = "2026-07-28"

RECALL_RATIO = 1.5
READY_RATIO = 1.3

_GREETING: dict[str, object] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}

_LISTING: tuple[dict[str, object], ...] = (
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def run(options: Options) -> list[Line]:
    requests = REQUESTS // (8 if options.small else 1)
    return [_recall(requests), *_ready(3 if options.small else 11)]


class Speaking(Server):
    def tool(self, name: str, arguments: dict[str, object]) -> bytes:
        """A call in one request, as since 2026-07-28."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@contextmanager
def _speaking(*arguments: str, token: str = "") -> Iterator[Speaking]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.speaking", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Speaking(int(process.stdout.readline()), token)
    finally:
        process.terminate()
        process.wait()


def _recall(requests: int) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        token = mint(
            local_secret(load(data_dir=folder)), subject="alice", ttl_seconds=3_600, now=system_clock()
        )
        with holdfast.open(folder, embedder="none", sweep_seconds=0) as memory:
            alice = memory.user("alice")
            alice.remember_many(
                [{"text": f"Service {n} is deployed by pipeline {n % 7}"} for n in range(NOTES)]
            )
            with _speaking(HOLDFAST, folder, token=token) as ours, _speaking(ECHO) as echo:
                asked, said = ours.tool("recall", {"query": QUESTION}), echo.tool("echo", {"text": QUESTION})
                assert ours.ask(asked)["result"]["structuredContent"]["hits"]  # type: ignore[index]
                assert echo.ask(said)["result"]["structuredContent"] == {"result": QUESTION}  # type: ignore[index]

                def recalled() -> None:
                    for _ in range(requests):
                        alice.recall(QUESTION)

                apart: list[tuple[Cost, Cost]] = []

                def bare() -> Cost:
                    parts = echo.cost(requests, lambda _: said), cost_of(requests, recalled)
                    apart.append(parts)
                    return Cost(parts[0].cpu + parts[1].cpu, parts[0].wall + parts[1].wall)

                ours.cost(CLIENTS * 4, lambda _: asked)
                echo.cost(CLIENTS * 4, lambda _: said)
                turns = take_turns(TURNS, lambda: ours.cost(requests, lambda _: asked), bare)
    cpu, _ = turns.cpu()
    echoed, plain = apart[len(apart) // 2]
    return Line(
        "MCP recall over HTTP, against the SDK's echo plus a Python recall",
        turns.cpu_ratio(),
        at_most=RECALL_RATIO,
        beside=f"CPU {micros(cpu)}; echo {micros(echoed.cpu)}, Python recall {micros(plain.cpu)}",
    )


def _ready(turns: int) -> list[Line]:
    """Greeted, as a client waits for it; and beside it the first list of tools, for which ours has opened the store."""
    with tempfile.TemporaryDirectory() as folder:
        ours = [sys.executable, "-m", "holdfast", "mcp", "--data", folder]
        bare = [sys.executable, "-m", "bench.speaking", STDIO]
        _greeted(ours)  # makes the store
        greeted = take_turns(turns, lambda: _greeted(ours), lambda: _greeted(bare))
        listed = take_turns(turns, lambda: _greeted(ours, *_LISTING), lambda: _greeted(bare, *_LISTING))
    return [
        Line(
            "stdio server ready, against an SDK server with one tool",
            greeted.wall_ratio(),
            at_most=READY_RATIO,
            beside=_times(greeted),
        ),
        Line("the same until the tools are listed", listed.wall_ratio(), beside=_times(listed)),
    ]


def _times(turns: Turns) -> str:
    wall, bare_wall = turns.wall()
    cpu, bare_cpu = turns.cpu()
    return f"{micros(wall)}, {micros(bare_wall)}; CPU {micros(cpu)}, {micros(bare_cpu)}"


def _greeted(command: list[str], *more: dict[str, object]) -> Cost:
    """Until a client knows that it is spoken to, and has the answer to what else it asks."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (_GREETING, *more):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            answered = json.loads(process.stdout.readline())
            assert "result" in answered, answered
    wall = time.perf_counter() - began
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return Cost((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), wall)
