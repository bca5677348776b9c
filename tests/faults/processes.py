"""Starting workers, listening to them, killing them; and what must be true of a store after any fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import holdfast
from holdfast.contracts.rows import AuditRow
from holdfast.storage.audit_chain import audit_link
from tests.faults.worker import KEY
from tests.security.raw import engine_of, run, written_terms

LONG = os.environ.get("HOLDFAST_FAULTS") == "long"
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """One process; `said` collects its reports."""

    def __init__(
        self,
        task: str,
        folder: Path,
        name: str = "ada",
        number: int = 0,
        key: str = KEY,
        embedder: str = "none",
    ) -> None:
        self.said: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), task, str(folder), name, str(number), key],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "HOLDFAST_EMBEDDER": embedder,
                "PYTHONPATH": os.pathsep.join([str(WORKER.parents[2]), *sys.path]),
            },
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def listen(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                self.said.append(json.loads(line))
                yield self.said[-1]

    def wait_ready(self) -> None:
        assert next(self.listen()) == {"ready": True}

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def hear(self, reports: int) -> None:
        """Listens until so many reports have come."""
        heard = self.listen()
        for _ in range(reports):
            next(heard)

    def kill(self) -> None:
        """SIGKILL, then the rest of what was said before it."""
        self._process.kill()
        for _ in self.listen():
            pass
        self._process.wait()

    def finish(self) -> None:
        for _ in self.listen():
            pass
        self._process.wait()
        assert self._process.stderr is not None
        assert self._process.returncode == 0, self._process.stderr.read()


@contextmanager
def at_once(workers: Iterable[Worker]) -> Iterator[list[Worker]]:
    """Started one by one, set going together."""
    started = list(workers)
    try:
        for worker in started:
            worker.wait_ready()
        for worker in started:
            worker.go()
        yield started
    finally:
        for worker in started:
            worker.__exit__(None, None, None)


def open_again(folder: Path) -> holdfast.Memory:
    return holdfast.open(folder, key=KEY, sweep_seconds=0)


def check_whole(folder: Path, memory: holdfast.Memory) -> None:
    """Nothing half written: the file is sound, each row opens, the counts are true, the index fits, the log links."""
    assert run(folder, "PRAGMA integrity_check") == [("ok",)]
    engine = engine_of(memory)
    with_words: set[int] = set()
    for space in engine.sealed.store.spaces.all_after(None, 1_000):
        keys = engine.sealed.keyring.look_again(space.id)
        assert len(keys.readable) == len(keys.known)
        counts = engine.sealed.store.spaces.counts(space.id)
        assert counts is not None
        rows = [
            row
            for key_id in keys.known
            for row in engine.sealed.store.entries.sealed_with(space.id, key_id, 0, 1_000_000)
        ]
        assert all(engine.sealed.open_row(keys, row).entry is not None for row in rows)
        for row in rows:
            revisions = engine.sealed.store.entries.revisions_of(space.id, row.number)
            assert [old.revision for old in revisions] == list(range(1, row.revision))
            assert all(engine.sealed.revision(space.id, old).content is not None for old in revisions)
        indexed = [row for row in rows if row.length and row.trashed_us is None]
        assert counts.entries == len(rows)
        assert counts.indexed == len(indexed)
        assert counts.length == sum(row.length for row in indexed)
        [(place,)] = run(folder, "SELECT space FROM spaces WHERE id = ?", (space.id.bytes,))
        with_words |= {place << 32 | row.number for row in indexed}
    assert {entry for (entry,) in run(folder, "SELECT id FROM terms_docsize")} == with_words
    labels = {(entry, label) for entry, label in run(folder, "SELECT entry, label FROM labels")}
    assert labels == {
        (entry, packed[at : at + 8])
        for entry, packed in run(folder, "SELECT entry, labels FROM entries WHERE trashed_us IS NULL")
        for at in range(0, len(packed), 8)
    }
    assert run(folder, "SELECT count(*) FROM revisions WHERE entry NOT IN (SELECT entry FROM entries)") == [
        (0,)
    ]
    assert run(folder, "SELECT count(*) FROM derived WHERE entry NOT IN (SELECT entry FROM entries)") == [
        (0,)
    ]
    assert len(written_terms(folder)) >= min(len(with_words), 1)
    _check_audit(memory)


def _check_audit(memory: holdfast.Memory) -> None:
    engine = engine_of(memory)
    before, position = b"", 0
    while rows := engine.sealed.store.audit.after(position, 10_000):
        for row in rows:
            assert isinstance(row, AuditRow)
            assert row.link == audit_link(engine.sealed.store_key, before, row)
            before = row.link
        position += len(rows)
