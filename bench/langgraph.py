"""Writing and searching beside LangGraph's PostgresStore: its own package in the interpreter that
HOLDFAST_BENCH_LANGGRAPH names, the same server, the same notes, the same vectors. Questions are asked in turns, and
times are on the wall, because server and client share the machine."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.embedder import by_words
from bench.floors import LIMIT
from bench.measure import CACHE, Cost, Line, Options, Turns, cost_of, micros
from bench.server import OWNER, Server, found, keep
from bench.texts import questions, wordy_notes
from holdfast.entrypoints.facade import Own

LANGGRAPH = "HOLDFAST_BENCH_LANGGRAPH"
NOTES = 5_000
QUESTIONS = 101
ASKED_IN_TURN = 10
STORE_TURNS = 3

BATCH_RATIO = 3
SEARCH_RATIO = 1 / 2


@dataclass(frozen=True, slots=True)
class StoreTurn:
    """Seconds to write all notes, without and with an embedder at work, and until their vectors are stored too. Then of
    LangGraph's batch(), and of a question, in turns, before and after ANALYZE. Statements are prepared as LangGraph's
    always are."""

    wrote: float
    wrote_beside: float
    settled: float
    batch: float
    fresh: Turns
    analysed: Turns
    prepared: Turns


def against_langgraph(server: Server, options: Options) -> list[Line]:
    interpreter = os.environ.get(LANGGRAPH)
    if not interpreter:
        print(f"  LangGraph left out: {LANGGRAPH} names no python with langgraph-checkpoint-postgres")
        return []
    _vectors()
    turns = [_store_turn(server, interpreter) for _ in range(1 if options.small else STORE_TURNS)]
    return [
        _written(f"remember_many of {NOTES:,}, times LangGraph's batch()", turns, "wrote", BATCH_RATIO),
        _written("  while vectors are made in the background", turns, "wrote_beside"),
        _written("  until the last vector is stored too", turns, "settled"),
        _searched(f"recall in {NOTES:,} against search(), as just written", [turn.fresh for turn in turns]),
        _searched("  after ANALYZE (LangGraph then takes its HNSW index)", [turn.analysed for turn in turns]),
        _searched("  and with prepared statements, as LangGraph has them", [turn.prepared for turn in turns]),
    ]


def _written(what: str, turns: list[StoreTurn], ours: str, at_least: float | None = None) -> Line:
    here, there = median(getattr(turn, ours) for turn in turns), median(turn.batch for turn in turns)
    times = median(turn.batch / getattr(turn, ours) for turn in turns)
    beside = f"{NOTES / here:,.0f} notes/s, LangGraph {NOTES / there:,.0f}/s with its vectors"
    return Line(what, times, at_least=at_least, beside=beside)


def _searched(what: str, turns: list[Turns]) -> Line:
    together = Turns(
        [cost for turn in turns for cost in turn.ours], [cost for turn in turns for cost in turn.bare]
    )
    here, there = together.wall()
    beside = f"{micros(here)}, LangGraph {micros(there)}"
    return Line(what, together.wall_ratio(), at_most=SEARCH_RATIO, beside=beside)


def _store_turn(server: Server, interpreter: str) -> StoreTurn:
    notes, asked = _plain_notes(), _all_questions()
    server.make("ours")
    with server.opened("ours", "none") as memory:
        wrote = cost_of(1, partial(keep, memory.user(OWNER), notes)).wall
    server.make("ours")
    with server.opened("ours", _PRECOMPUTED) as memory:
        door = memory.user(OWNER)
        beside = cost_of(1, partial(keep, door, notes)).wall
        settled = cost_of(1, partial(memory.settle, timeout=600)).wall
        with _langgraph(server, interpreter, notes, asked) as theirs:
            fresh = _both_asked(door, theirs, asked[0])
            for name in ("ours", "langgraph"):
                server.look_over(name)
            analysed = _both_asked(door, theirs, asked[1])
            with server.opened("ours", _PRECOMPUTED, prepared=True) as again:
                prepared = _both_asked(again.user(OWNER), theirs, asked[2])
    for name in ("ours", "langgraph"):
        server.drop(name)
    return StoreTurn(wrote, beside, beside + settled, theirs.batch, fresh, analysed, prepared)


def _both_asked(door: Own, theirs: LangGraph, asked: list[str]) -> Turns:
    """Some questions to one and the same to the other, so that a busy moment falls upon both; of each the middle."""
    found(door, asked[0])
    theirs.ask(asked[:1])
    chunks = iter([asked[start : start + ASKED_IN_TURN] for start in range(1, len(asked), ASKED_IN_TURN)])
    turns = Turns([], [])
    for chunk in chunks:
        turns.ours.append(Cost(0.0, median(cost_of(1, partial(found, door, one)).wall for one in chunk)))
        turns.bare.append(Cost(0.0, median(theirs.ask(chunk))))
    return turns


def _all_questions() -> list[list[str]]:
    """Others each time: what is remembered of a question must not help."""
    asked = questions(OWNER, NOTES, 3 * QUESTIONS)
    return [asked[start : start + QUESTIONS] for start in range(0, len(asked), QUESTIONS)]


def _plain_notes() -> list[dict[str, Any]]:
    """Without conversations: the vector of a turn depends on the turn before, which LangGraph knows nothing of."""
    return [
        {"text": note["text"], "key": f"notes/{number}", "tags": ["work"]}
        for number, note in enumerate(wordy_notes(OWNER, NOTES))
    ]


@dataclass(frozen=True, slots=True)
class LangGraph:
    """A PostgresStore in a process of its own, which answers questions with the seconds each one took."""

    process: subprocess.Popen[str]
    batch: float

    def ask(self, asked: list[str]) -> list[float]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return _read_answer(self.process)


def _read_answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError(f"LangGraph ended with {process.wait()}; what it said stands above")
    return json.loads(line)


@contextmanager
def _langgraph(
    server: Server, interpreter: str, notes: list[dict[str, Any]], asked: list[list[str]]
) -> Iterator[LangGraph]:
    server.make("langgraph")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        texts = [*(note["text"] for note in notes), *chain(*asked)]
        (Path(folder) / "given.json").write_text(json.dumps({"notes": notes, "texts": texts}))
        np.save(Path(folder) / "vectors.npy", np.stack([_vectors()[text] for text in texts]))
        command = [interpreter, "-c", _LANGGRAPH, server.of("langgraph"), folder, str(LIMIT)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:  # closing its input ends it
            yield LangGraph(process, float(_read_answer(process)))


_PRECOMPUTED = "bench.langgraph:precomputed"
_LANGGRAPH = """
import json, sys, time
from pathlib import Path
import numpy as np
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore

dsn, folder, limit = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
given = json.loads((folder / "given.json").read_text())
vectors = dict(zip(given["texts"], np.load(folder / "vectors.npy").tolist()))
index = {"dims": 384, "embed": lambda asked: [vectors[text] for text in asked], "fields": ["text"]}
with PostgresStore.from_conn_string(dsn, index=index) as store:
    store.setup()
    operations = [PutOp(("measured",), note["key"], note) for note in given["notes"]]
    began = time.perf_counter()
    store.batch(operations)
    batch = time.perf_counter() - began
    print(batch, flush=True)
    for line in sys.stdin:
        took = []
        for question in json.loads(line):
            began = time.perf_counter()
            found = store.search(("measured",), query=question, limit=limit)
            took.append(time.perf_counter() - began)
            assert len(found) == limit
        print(json.dumps(took), flush=True)
"""
"""One batch() with all notes, which is its quickest way."""


class _Precomputed:
    """Vectors of the notes and questions, looked up; made before anything is timed."""

    model_id = "bench-precomputed-1"
    dimensions = 384

    def embed(self, text: str) -> Any:
        return _vectors()[text]

    embed_query = embed


def precomputed() -> _Precomputed:
    return _Precomputed()


_KNOWN: dict[str, Any] = {}


def _vectors() -> dict[str, Any]:
    if not _KNOWN:
        embedder = by_words()
        texts = [*(note["text"] for note in _plain_notes()), *chain(*_all_questions())]
        _KNOWN.update((text, embedder.embed(text)) for text in texts)
    return _KNOWN
