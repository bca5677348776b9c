"""get by key through Python, against a bare apsw read of the same rows. Both run the statement of get, with its values,
prepared once. The bare read has a connection of its own with the same settings."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import apsw

import holdfast
from bench.measure import Cost, Line, Options, cost_of, micros, take_turns
from bench.notes import notes
from bench.watching import Statement, recording
from holdfast.entrypoints.python.memory import Memory

ENTRIES = 1_000
TURNS = 25


def run(_options: Options) -> list[Line]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        keys = [note["key"] for note in notes("reads", ENTRIES)]
        with holdfast.open(folder) as memory:
            memory.user("alice").remember_many(notes("reads", ENTRIES))
        Random(1).shuffle(keys)
        settings, statements = _record(folder, keys)
        with holdfast.open(folder) as memory:
            return [_compare(memory, keys, _open_bare(folder, settings), statements)]


def _record(folder: str, keys: list[str]) -> tuple[list[str], list[Statement]]:
    with recording() as watched, holdfast.open(folder, sweep_seconds=0) as memory:
        alice = memory.user("alice")
        alice.get(keys[0])
        watched.clear()
        for key in keys:
            alice.get(key)
        statements = [(sql, values) for sql, values in watched.reads() if "entries.sealed" in sql]
        return watched.settings(), statements


def _open_bare(folder: str, settings: list[str]) -> apsw.Connection:
    db = apsw.Connection(str(Path(folder) / "holdfast.db"))
    for pragma in settings:
        db.execute(pragma).fetchall()
    return db


def _compare(memory: Memory, keys: list[str], db: apsw.Connection, statements: list[Statement]) -> Line:
    get, execute = memory.user("alice").get, db.execute

    def ours() -> None:
        for key in keys:
            get(key)

    def bare() -> None:
        for sql, values in statements:
            execute(sql, values).fetchall()

    def timed_ours() -> Cost:
        return cost_of(len(keys), ours)

    def timed_bare() -> Cost:
        return cost_of(len(statements), bare)

    ours()
    bare()
    turns = take_turns(TURNS, timed_ours, timed_bare)
    cpu, bare_cpu = turns.cpu()
    db.close()
    return Line(
        f"get by key, space of {ENTRIES:,}",
        turns.cpu_ratio(),
        at_most=4,
        beside=f"CPU {micros(cpu)}, bare read {micros(bare_cpu)}, {len(statements) / len(keys):.3g} reads a get",
    )
