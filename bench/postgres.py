"""PostgreSQL: get, remember and recall against a bare psycopg loop of the same statements. Writing and searching
against LangGraph's PostgresStore on the same server. A small space in a large table against the same space alone. The
statements are recorded from the product as the driver was given them, and replayed on one connection by cursors and
pipelines of psycopg. Server and client share the machine, so ratios are of time on the wall."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import psycopg

from bench.embedder import BY_WORDS
from bench.langgraph import against_langgraph
from bench.measure import CACHE, Cost, Line, Options, Turns, cost_of, micros, take_turns
from bench.server import OWNER, Server, fill, found, started_server
from bench.texts import questions, wordy_notes
from holdfast.entrypoints.facade import Own
from holdfast.storage.postgres import connections
from holdfast.storage.postgres.connections import adapt

SPACE = 1_000
TABLE = 400_000
QUICK = 40_000
ROUNDS = 200
"""Operations of a turn."""
TURNS = 7

BARE_RATIO = 2
TABLE_RATIO = 1.5

Run = Callable[[Own], None]
Sent = list[tuple[Any, Any]]
"""Statements with their values that went to the server in one go."""


def run(options: Options) -> list[Line]:
    CACHE.mkdir(exist_ok=True)
    with started_server() as server:
        server.build("base", partial(fill, notes=wordy_notes(OWNER, SPACE)))
        return [*_against_bare(server), *against_langgraph(server, options), *_growth(server, options)]


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
        found(door, _FIRST)
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
        found(door, question)


def _remember(door: Own) -> None:
    for note in wordy_notes(OWNER, ROUNDS, start=SPACE):
        door.remember(**note)


@contextmanager
def _bare(server: Server, name: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.of(name), autocommit=True, prepare_threshold=None) as db:
        adapt(db)
        yield db


@contextmanager
def _recording() -> Iterator[list[Sent]]:
    """Statements this thread gives to the driver, with their values; those sent in one go together. Jobs give them to
    cursors, single reads to libpq."""
    sent: list[Sent] = []
    execute, pipeline, asked = psycopg.Cursor.execute, psycopg.Connection.pipeline, connections.PendingStatements
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

    def note_asked(db: Any, statements: Any, plans: Any = None) -> Any:
        if threading.get_ident() == here:
            sent.append(list(statements))
        return asked(db, statements, plans)

    with (
        patch.object(connections, "PendingStatements", note_asked),
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
