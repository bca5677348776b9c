"""New data keys while a server answers: no read and no write fails, nothing is missing, and everything is sealed anew.
Shortly, or with HOLDFAST_FAULTS=long over 100,000 entries."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

import holdfast
from holdfast import Client
from tests.faults.processes import LONG
from tests.faults.serving import Served

ENTRIES = 100_000 if LONG else 600
WRITTEN_AT_MOST = 900
BATCH = 1_000


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("HOLDFAST_MAX_ENTRIES", "200000")
    with holdfast.open(tmp_path, embedder="none", durability="relaxed") as memory:
        alice = memory.user("alice")
        for first in range(0, ENTRIES, BATCH):
            rows = range(first, min(first + BATCH, ENTRIES))
            alice.remember_many({"text": f"note number{n} of many", "key": f"old/{n}"} for n in rows)
    server = Served(tmp_path, HOLDFAST_RATE_PER_MINUTE="0")
    server.url()
    yield server
    server.close()


class Callers:
    """Clients that read and write one after another until they are told to stop; every failure is kept."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._stop = Event()
        self.failures: list[str] = []
        self.done: Counter[str] = Counter()
        self.written: list[str] = []
        self._threads = [
            Thread(target=self._repeat, args=(what, act))
            for what, act in (
                ("read", self._read),
                ("read", self._read),
                ("write", self._write),
                ("recall", self._recall),
            )
        ]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, what: str, act: Callable[[Client, int], None]) -> None:
        with self._served.client() as alice:
            turn = 0
            while not self._stop.is_set():
                try:
                    act(alice, turn)
                    self.done[what] += 1
                except Exception as error:  # whatever it is, it is a failed call
                    self.failures.append(f"{what} {turn}: {error!r}")
                turn += 1

    def _read(self, alice: Client, turn: int) -> None:
        number = turn * 7_919 % ENTRIES
        assert alice.get(f"old/{number}").text == f"note number{number} of many"

    def _recall(self, alice: Client, turn: int) -> None:
        number = turn * 104_729 % ENTRIES
        hits = [hit.key for hit in alice.recall(f"number{number}", limit=3)]
        assert hits[:1] == [f"old/{number}"], (number, hits)

    def _write(self, alice: Client, turn: int) -> None:
        if turn < WRITTEN_AT_MOST:
            self.written.append(alice.remember(f"written meanwhile {turn}", key=f"new/{turn}").key)
        else:
            alice.edit("new/0", text=f"edited {turn}")


def test_nothing_fails_while_every_entry_is_sealed_anew(served: Served, tmp_path: Path) -> None:
    with Callers(served) as callers:
        rotated = subprocess.run(
            [
                sys.executable,
                "-m",
                "holdfast",
                "keys",
                "rotate",
                "--data-keys",
                "--json",
                "--data",
                str(tmp_path),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    assert rotated.returncode == 0, rotated.stderr
    assert callers.failures == []
    assert min(callers.done[what] for what in ("read", "write", "recall")) > 0
    print(f"{dict(callers.done)} while {rotated.stdout}")
    with served.client() as alice:
        assert all(alice.get(key).key == key for key in callers.written[:200])
    assert served.end(signal.SIGTERM)[0] == 0
    with holdfast.open(tmp_path, embedder="none") as memory:
        page = memory.user("alice").list(limit=1)
        assert page.locked == 0
        space = page[0].space
        engine = memory._opened.engine
        assert engine is not None
        assert [row.key_id for row in engine.sealed.store.keys.of(space)] == [2]
        assert engine.sealed.store.spaces.counts(space).entries == ENTRIES + len(callers.written)  # type: ignore[union-attr]
        assert memory.audit.verify().intact
