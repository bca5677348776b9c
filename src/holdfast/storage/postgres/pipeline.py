"""Statements sent to the server in one round trip, whose rows are read when they are needed. Uses libpq itself
(`psycopg.pq`): two cursors and a pipeline of psycopg take three times as long as sending, receiving and waiting
do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.generators import fetch, send
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from holdfast.storage.postgres.statements import Values

Row = tuple[Any, ...]
_NAMED = re.compile(rb"%\((\w+)\)([sb])")
_FORMATS = {b"s": PyFormat.AUTO, b"b": PyFormat.BINARY}
_GONE = "the server closed the connection"


class Numbered(NamedTuple):
    """A statement in the server's form, with `$1` for the first of its values."""

    sql: bytes
    names: tuple[str, ...]
    formats: tuple[PyFormat, ...]


class _Adapted(NamedTuple):
    sql: bytes
    parameters: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[Format]


@lru_cache(maxsize=1_024)
def numbered(sql: bytes) -> Numbered:
    found = {name: _FORMATS[kind] for name, kind in _NAMED.findall(sql)}
    numbers = {name: b"$%d" % number for number, name in enumerate(found, 1)}
    text = _NAMED.sub(lambda match: numbers[match[1]], sql).replace(b"%%", b"%")
    return Numbered(text, tuple(name.decode() for name in found), tuple(found.values()))


class PendingStatements:
    """Statements on their way, sent when this is made, as one transaction: one that fails ends the others too.
    `plans` names the statements prepared on this connection and grows; None prepares nothing."""

    def __init__(
        self,
        db: psycopg.Connection[Any],
        statements: Sequence[tuple[bytes, Values]],
        plans: set[bytes] | None = None,
    ) -> None:
        self._db = db
        self._pgconn = db.pgconn
        self._adapting = Transformer(db)
        self._plans = plans
        self._expected: list[bytes | None] = []
        """For each result to come the plan it confirms; None for rows."""
        adapted = [self._adapt(sql, values) for sql, values in statements]
        self._pgconn.enter_pipeline_mode()
        try:
            for one in adapted:
                self._send(*one)
            self._pgconn.pipeline_sync()
            db.wait(send(self._pgconn))
        except BaseException:
            db.close()
            raise

    def _adapt(self, sql: bytes, values: Values) -> _Adapted:
        """Adapts values before anything is sent, so that a value that cannot be sent leaves the connection usable."""
        statement, adapting = numbered(sql), self._adapting
        parameters = adapting.dump_sequence([values[name] for name in statement.names], statement.formats)
        return _Adapted(statement.sql, parameters, adapting.types or (), adapting.formats or ())

    def _send(
        self,
        sql: bytes,
        parameters: Sequence[Buffer | None],
        types: tuple[int, ...],
        formats: Sequence[Format],
    ) -> None:
        if self._plans is None:
            self._pgconn.send_query_params(sql, parameters, types, formats, Format.BINARY)
        else:
            plan = b"holdfast_" + blake2b(b"%r%b" % (types, sql), digest_size=12).hexdigest().encode()
            if plan not in self._plans:
                self._pgconn.send_prepare(plan, sql, types)
                self._expected.append(plan)
            self._pgconn.send_query_prepared(plan, parameters, formats, Format.BINARY)
        self._expected.append(None)

    def rows(self) -> list[list[Row]]:
        """The rows of every statement, once all have run."""
        try:
            answers = self._db.wait(self._answers())
            self._pgconn.exit_pipeline_mode()
        except BaseException:
            self._db.close()  # in the middle of an answer it is of no use to anybody
            raise
        raise_refused(answers)
        return [
            self._read(answer) for answer, plan in zip(answers, self._expected, strict=True) if plan is None
        ]

    def _answers(self) -> PQGen[list[PGresult]]:
        answers: list[PGresult] = []
        try:
            for plan in self._expected:
                answer = yield from fetch(self._pgconn)
                if answer is None:
                    raise psycopg.OperationalError(_GONE)
                answers.append(answer)
                if plan is not None and self._plans is not None and answer.status == ExecStatus.COMMAND_OK:
                    self._plans.add(plan)
                yield from fetch(self._pgconn)  # the end of this one
            yield from fetch(self._pgconn)  # the end of all
        except psycopg.OperationalError:
            raise_refused(answers)  # a server that goes away says why before it closes the connection
            raise
        return answers

    def _read(self, answer: PGresult) -> list[Row]:
        self._adapting.set_pgresult(answer)
        return self._adapting.load_rows(0, answer.ntuples, tuple)


def raise_refused(answers: Sequence[PGresult]) -> None:
    for answer in answers:
        if answer.status == ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(answer)
