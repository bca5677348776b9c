"""The server against its own framework: GET of an entry and POST remember beside a constant with the same token check,
in one process, by turns. Rates are requests a CPU second of the server, so that the load need not share them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.measure import Cost, Line, Options, micros, take_turns
from holdfast.entrypoints.http.tokens import local_secret, mint
from holdfast.settings import load
from holdfast.wiring import system_clock

TURNS = 7
CLIENTS = 64
REQUESTS = 4_096
SYNCED = 2_048

GET_SHARE = 0.5
POST_SHARE = 1 / 3
SYNCS_A_WRITE = 1 / 8
HELP_RATIO = 1.3
READY_SECONDS = 2.0

_ONE_COMMAND = """
import typer
app = typer.Typer()
@app.command()
def hello(name: str) -> None:
    "Says hello."
app()
"""


def run(options: Options) -> list[Line]:
    requests = REQUESTS // (4 if options.small else 1)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        lines = [_get(server, requests), _post(server, requests)]
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--count-syncs") as server:
        lines.append(_syncs(server))
    return [*lines, _help(), _ready()]


class Server:
    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = token

    def request(self, method: str, path: str, body: object = None) -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    def ask(self, request: bytes) -> dict[str, object]:
        return asyncio.run(self._ask(request))

    async def _ask(self, request: bytes) -> dict[str, object]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answer = json.loads(await _exchange(reader, writer, request))
        writer.close()
        assert isinstance(answer, dict)
        return answer

    def spent(self, what: str = "cpu") -> float:
        return float(self.ask(self.request("GET", "/spent"))[what])  # type: ignore[arg-type]

    def cost(self, count: int, request: Callable[[int], bytes]) -> Cost:
        """Cost of one of these requests, sent by 64 clients at once."""
        before, began = self.spent(), time.perf_counter()
        asyncio.run(_load(self.port, count, request))
        wall = time.perf_counter() - began
        return Cost((self.spent() - before) / count, wall / count)


async def _load(port: int, count: int, request: Callable[[int], bytes]) -> None:
    numbers = iter(range(count))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            await _exchange(reader, writer, request(number))
        writer.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    assert status == 200, (status, body)
    return body


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Server]:
    settings = load(data_dir=folder)
    token = mint(local_secret(settings), subject="alice", ttl_seconds=3_600, now=system_clock())
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.serving", str(folder), *flags], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()), token)
    finally:
        process.terminate()
        process.wait()


def _get(server: Server, requests: int) -> Line:
    kept = server.ask(server.request("POST", "/api/v1/remember", {"text": "Deploys go through Konflux"}))
    ours, constant = (
        server.request("GET", f"/api/v1/entries/{kept['id']}"),
        server.request("GET", "/bare/get"),
    )
    return _against(server, requests, "GET of an entry", GET_SHARE, lambda _: ours, lambda _: constant)


def _post(server: Server, requests: int) -> Line:
    def body(number: int) -> dict[str, str]:
        return {"text": f"Deploys of service {number} go through Konflux since Friday"}

    return _against(
        server,
        requests,
        f"POST remember, {CLIENTS} clients",
        POST_SHARE,
        lambda number: server.request("POST", "/api/v1/remember", body(number)),
        lambda number: server.request("POST", "/bare/post", body(number)),
    )


def _against(
    server: Server,
    requests: int,
    what: str,
    share: float,
    ours: Callable[[int], bytes],
    constant: Callable[[int], bytes],
) -> Line:
    server.cost(CLIENTS * 4, ours)
    server.cost(CLIENTS * 4, constant)
    turns = take_turns(TURNS, lambda: server.cost(requests, ours), lambda: server.cost(requests, constant))
    cpu, bare = turns.cpu()
    wall, bare_wall = turns.wall()
    return Line(
        f"{what}, rate against a constant",
        1 / turns.cpu_ratio(),
        at_least=share,
        beside=f"CPU {micros(cpu)}, constant {micros(bare)}; {1 / wall:,.0f}/s, constant {1 / bare_wall:,.0f}/s",
    )


def _syncs(server: Server) -> Line:
    before = server.spent("syncs")
    server.cost(
        SYNCED, lambda number: server.request("POST", "/api/v1/remember", {"text": f"Note {number} of many"})
    )
    syncs = server.spent("syncs") - before
    return Line(
        f"fsyncs a write, {CLIENTS} clients",
        syncs / SYNCED,
        unit="",
        at_most=SYNCS_A_WRITE,
        beside=f"{syncs:,.0f} for {SYNCED:,} writes",
    )


def _help() -> Line:
    ours, bare = [sys.executable, "-m", "holdfast", "--help"], [sys.executable, "-c", _ONE_COMMAND, "--help"]
    turns = take_turns(11, lambda: _cpu_of(ours), lambda: _cpu_of(bare))
    cpu, one = turns.cpu()
    return Line(
        "holdfast --help, against a one-command typer app",
        turns.cpu_ratio(),
        at_most=HELP_RATIO,
        beside=f"CPU {micros(cpu)}, {micros(one)}",
    )


def _ready() -> Line:
    """Until the server says that it listens, without the embedder, which loads behind."""
    samples = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            samples.append(_cpu_until_ready(Path(folder)))
    return Line("server ready", median(samples), unit="s CPU", at_most=READY_SECONDS)


def _cpu_until_ready(folder: Path) -> float:
    environment = os.environ | {
        "HOLDFAST_DATA_DIR": str(folder),
        "HOLDFAST_PORT": "0",
        "HOLDFAST_EMBEDDER": "default",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    process.stdout.readline()
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    process.terminate()
    process.wait()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_of(command: list[str]) -> Cost:
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(spent, time.perf_counter() - began)
