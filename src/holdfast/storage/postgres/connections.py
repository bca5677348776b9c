"""Connections to one database, lent from a pool. Every transaction takes a role and enters a space by settings that
end with it. No connection keeps state between transactions, so a pooler in transaction mode may stand in between."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from threading import local
from typing import Any, NamedTuple, Protocol, TypeAlias
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from holdfast.domain.errors import Backend, Conflict, HoldfastError, StorageFull, Unavailable
from holdfast.storage.fork_guard import FORKED, abandon_in_children
from holdfast.storage.postgres.pipeline import PendingStatements, Row
from holdfast.storage.postgres.statements import NOTHING, Bound, Reach, Statement, Values

CLOSED = "This memory is closed; open it again."
UNCERTAIN = (
    "The database went away while it confirmed this write: it is there whole or not at all. Read it first."
)

AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Errors after which nothing was written, and a retry of the job succeeds."""


def translated(error: psycopg.Error) -> HoldfastError:
    match error:
        case PoolClosed():
            return Unavailable(CLOSED)
        case PoolTimeout():
            return Unavailable("The database cannot be reached or every connection is busy; try again.")
        case errors.DiskFull():
            return StorageFull()
        case errors.UniqueViolation():
            return Conflict()
        case errors.QueryCanceled() | errors.LockNotAvailable() | errors.IdleInTransactionSessionTimeout():
            return Unavailable("The database took too long and the statement was stopped; try again.")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return Unavailable("Too many others write the same; try again.")
        case errors.InsufficientPrivilege() | errors.UndefinedTable() | errors.InvalidSchemaName():
            return Backend("The database refused a statement; check the rights of its login and its schema.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unavailable("The database cannot be reached; try again.")
    return Backend(f"PostgreSQL refused a statement ({type(error).__name__}).")


Db: TypeAlias = psycopg.Connection[TupleRow]
log = logging.getLogger("holdfast")

APP, STORE_WIDE = "holdfast_app", "holdfast_store"
CONNECT_SECONDS = 5
PREPARED_AFTER = 3
"""The number of runs before a connection prepares a statement, where preparing is on."""
LOST_TRIES = 20
"""A restarted server leaves a pool full of dead connections: each is tried once and thrown away."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits, after which the answer is Unavailable."""

    pool_seconds: float = 10.0
    statement_ms: int = 30_000
    lock_ms: int = 10_000
    idle_ms: int = 60_000
    """A node that stops in the middle of a transaction loses it, and the lock on its space."""


class BigintArray(bytes):
    """A bigint[] as PostgreSQL sends it."""

    _HEAD = Struct(">iiIii")

    @classmethod
    def of(cls, numbers: list[int]) -> BigintArray:
        if not numbers:
            return cls(Struct(">iiI").pack(0, 0, 20))
        items = [part for number in numbers for part in (8, number)]
        return cls(cls._HEAD.pack(1, 0, 20, len(numbers), 1) + Struct(">" + "iq" * len(numbers)).pack(*items))


class Halfvec(bytes):
    """A halfvec as PostgreSQL sends it: the dimensions, then big-endian halves. Ours are little-endian."""

    _HEAD = Struct(">HH")

    @classmethod
    def of(cls, stored: bytes) -> Halfvec:
        halves = array("H", stored)
        halves.byteswap()
        return cls(cls._HEAD.pack(len(halves), 0) + halves.tobytes())


class _AsSent(Dumper):
    format = Format.BINARY
    oid = 0  # the statement's own cast says which type it is

    def dump(self, obj: Buffer) -> Buffer:
        return obj


class TransactionScope(NamedTuple):
    """The role of a transaction, and the space whose rows it reaches."""

    role: str
    space: UUID | None


def scope_of(statement: Statement, values: Values) -> TransactionScope:
    match statement.reach:
        case Reach.SPACE:
            return TransactionScope(APP, values["space"])
        case Reach.STORE:
            return TransactionScope(STORE_WIDE, None)
        case Reach.SHARED:
            return TransactionScope(APP, None)


ENTER = b"""
SELECT set_config('role', %(role)s, true),
       set_config('holdfast.space', %(space)s, true),
       set_config('statement_timeout', %(statement_ms)s, true),
       set_config('lock_timeout', %(lock_ms)s, true),
       set_config('idle_in_transaction_session_timeout', %(idle_ms)s, true)
"""
_SET = b"SELECT set_config(%(name)s, %(value)s, true)"


class Reader(Protocol):
    """Runs one reading statement to its end."""

    def rows(self, statement: Statement, values: Values = NOTHING) -> list[Row]: ...


class Connections:
    def __init__(self, dsn: str, *, size: int, patience: Patience, prepared: bool = False) -> None:
        self.dsn = dsn
        self.size = size
        self.patience = patience
        self._settings = {
            "statement_ms": str(patience.statement_ms),
            "lock_ms": str(patience.lock_ms),
            "idle_ms": str(patience.idle_ms),
        }
        self._pool: ConnectionPool[Db] = ConnectionPool(
            dsn,
            min_size=min(2, size),
            max_size=size,
            timeout=patience.pool_seconds,
            reconnect_timeout=2.0,
            kwargs=connecting(dsn, prepared=prepared),
            configure=adapt,
            open=False,
            name="holdfast",
        )
        self._plans: WeakKeyDictionary[Db, set[bytes]] | None = WeakKeyDictionary() if prepared else None
        self._here = local()
        self._refusal = ""
        self._pool.open()
        abandon_in_children(self)

    @contextmanager
    def lent(self) -> Iterator[Db]:
        """Lends a connection for one transaction; an open transaction is rolled back at the end."""
        if self._refusal:
            raise Unavailable(self._refusal)
        if ahead := getattr(self._here, "ahead", None):
            ahead.take_in()
        db = self._pool.getconn()
        try:
            yield db
        finally:
            self._pool.putconn(db)

    def rows(
        self, statement: Statement, values: Values = NOTHING, also: Mapping[str, str] = NOTHING
    ) -> list[Row]:
        """Runs one statement in a transaction of its own, in one round trip with its settings. Retried when the
        connection is lost."""
        for turn in range(LOST_TRIES):
            try:
                with self.lent() as db:
                    return self.send(db, [(statement, values)], also).rows()[-1]
            except psycopg.Error as error:
                if not lost(error) or turn == LOST_TRIES - 1:
                    raise translated(error) from error
        raise AssertionError("the last turn returns or raises")

    @contextmanager
    def ahead(self, statements: Sequence[Bound]) -> Iterator[Callable[[], list[list[Row]]]]:
        """Sends statements now, in one transaction; the call waits for the rows of each. Another request of the
        thread takes them in first, so that nobody waits for a second connection while holding one."""
        ahead = self._here.ahead = _Ahead(self, statements)
        try:
            yield ahead.rows
        finally:
            self._here.ahead = None
            ahead.take_in()

    def send(
        self, db: Db, statements: Sequence[Bound], also: Mapping[str, str] = NOTHING
    ) -> PendingStatements:
        """Runs each statement in its space; the rows of each follow those of entering its space."""
        settings = [(_SET, {"name": name, "value": value}) for name, value in also.items()]
        plans = None if self._plans is None else self._plans.setdefault(db, set())
        sent: list[tuple[bytes, Values]] = []
        for statement, values in statements:
            sent += [
                (ENTER, self.settings_of(scope_of(statement, values))),
                *settings,
                (statement.sql, values),
            ]
        return PendingStatements(db, sent, plans)

    def settings_of(self, scope: TransactionScope) -> Mapping[str, str]:
        space = "" if scope.space is None else str(scope.space)
        return {"role": scope.role, "space": space, **self._settings}

    def close(self) -> None:
        if not self._refusal:
            self._refusal = CLOSED
            self._pool.close()

    def abandon(self) -> None:
        """Leaves the connections open; they know themselves that they belong to another process."""
        self._refusal = FORKED


class _Ahead:
    """Statements that were sent, on a connection that is given back with their answer."""

    def __init__(self, connections: Connections, statements: Sequence[Bound]) -> None:
        self._connections = connections
        self._statements = statements
        self._answer: list[list[Row]] = []
        self._lent = ExitStack()
        self._pending: PendingStatements | None = None
        try:
            self._pending = connections.send(self._lent.enter_context(connections.lent()), statements)
        except psycopg.Error as error:
            self._lent.close()
            if not lost(error):
                raise translated(error) from error

    def rows(self) -> list[list[Row]]:
        """The rows of each statement; sent again one by one when the connection was lost."""
        self.take_in()
        return self._answer or [
            self._connections.rows(statement, values) for statement, values in self._statements
        ]

    def take_in(self) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        with self._lent, suppress(psycopg.Error):  # `rows` sends the statements again and reports the error
            self._answer = pending.rows()[1::2]


class OnConnection:
    """The statements of a transaction, on one connection. It begins with the first statement. Entering a space locks
    it: its writers take turns, and each sees the last one's writes."""

    def __init__(self, db: Db, connections: Connections) -> None:
        self.db = db
        self._connections = connections
        self.begun = False
        self._scope: TransactionScope | None = None
        self._locked: set[int] = set()
        self._before: list[tuple[bytes, Values]] = []
        self.failure: psycopg.Error | None = None
        self._kept_back: list[tuple[tuple[bytes, ...], Callable[[], list[Bound]]]] = []

    def keep_back(self, tables: tuple[bytes, ...], left: Callable[[], list[Bound]]) -> None:
        """Registers deferred writes. `left` hands them over, and forgets them, before a statement that names their
        tables."""
        self._kept_back.append((tables, left))

    def rows(self, statement: Statement, values: Values = NOTHING) -> list[Row]:
        return self._run(statement, values).fetchall()

    def run(self, statement: Statement, values: Values = NOTHING) -> None:
        self._run(statement, values)

    def count(self, statement: Statement, values: Values = NOTHING) -> int:
        """Runs a writing statement and returns the number of rows it changed."""
        return self._run(statement, values).rowcount

    def run_last(self, statements: list[Bound]) -> None:
        """Sends the last statements and the COMMIT in one round trip; a statement that fails ends the others too."""
        with self.db.pipeline():
            for statement, values in statements:
                self._send(statement, values)
            self.db.execute("COMMIT")

    def lock(self, name: bytes) -> None:
        """Takes an advisory lock until the end of the transaction, sent along with the next statement."""
        key = lock_key(name)
        if key not in self._locked:
            self._locked.add(key)
            self._before.append((_LOCK, {"key": key}))

    def _run(self, statement: Statement, values: Values) -> psycopg.Cursor[TupleRow]:
        cursor, kept_back = self.db.cursor(binary=True), self._before_looking(statement)
        self._enter(scope_of(statement, values))
        try:
            if self._before or kept_back:
                with self.db.pipeline():
                    for kept, kept_values in kept_back:
                        self._send(kept, kept_values)
                    self._enter(scope_of(statement, values))
                    self._send_before()
                    cursor.execute(statement.sql, values)
            else:
                cursor.execute(statement.sql, values)
        except psycopg.Error as error:
            self.failure = self.failure or error
            raise
        return cursor

    def _before_looking(self, statement: Statement) -> list[Bound]:
        return [
            kept
            for tables, left in self._kept_back
            if any(table in statement.sql for table in tables)
            for kept in left()
        ]

    def _send(self, statement: Statement, values: Values) -> None:
        self._enter(scope_of(statement, values))
        self._send_before()
        self.db.execute(statement.sql, values)

    def _enter(self, scope: TransactionScope) -> None:
        if not self.begun:
            self.begun = True
            self._before.insert(0, (b"BEGIN", {}))
        if scope.space is not None:
            self._change_scope(scope)
            self.lock(scope.space.bytes)
        elif self._scope is None or (scope.role == STORE_WIDE != self._scope.role):
            self._change_scope(scope)

    def _change_scope(self, scope: TransactionScope) -> None:
        if scope != self._scope:
            self._scope = scope
            self._before.append((ENTER, self._connections.settings_of(scope)))

    def _send_before(self) -> None:
        before, self._before = self._before, []
        for sql, values in before:
            self.db.execute(sql, values)


class Reads:
    """The base of the reads of one kind of row, from the last committed state or inside a transaction."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader


class Writes(Reads):
    """The base of the writes of one kind of row in a transaction, which reads its own writes."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx


_LOCK = b"SELECT pg_advisory_xact_lock(%(key)s)"


def lock_key(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8, person=b"holdfast lock").digest(), "big", signed=True)


def connecting(dsn: str, *, prepared: bool = False) -> dict[str, Any]:
    """Connection options. Prepared statements are off by default: they outlive a transaction, and an older pooler
    gives the connection to another client."""
    options = psycopg.conninfo.conninfo_to_dict(dsn)
    wait = {} if "connect_timeout" in options else {"connect_timeout": CONNECT_SECONDS}
    name = {} if "application_name" in options else {"application_name": "holdfast"}
    threshold = PREPARED_AFTER if prepared else None
    return {"autocommit": True, "prepare_threshold": threshold, **wait, **name}


def adapt(db: psycopg.Connection[Any]) -> None:
    db.adapters.register_dumper(BigintArray, _AsSent)
    db.adapters.register_dumper(Halfvec, _AsSent)


def lost(error: psycopg.Error) -> bool:
    """Returns True when the connection was lost or the server was going away, so that another connection may work."""
    if isinstance(error, psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown):
        return True
    is_connection = isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08")[:2] == "08"
    return is_connection and not isinstance(error, PoolClosed | PoolTimeout)
