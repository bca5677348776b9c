"""SQLite connections: one handle for each file, their settings, and a pool of readers."""

from __future__ import annotations

import ctypes
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Protocol
from uuid import UUID

import apsw

from holdfast.bounded_cache import BoundedCache
from holdfast.domain.errors import Backend, Conflict, HoldfastError, StorageFull, Unavailable
from holdfast.storage.fork_guard import FORKED, abandon_in_children
from holdfast.storage.sqlite.secure_erase import clear_file

CLOSED = "This memory is closed; open it again."


def translated(error: apsw.Error) -> HoldfastError:
    match error:
        case apsw.FullError():
            return StorageFull()
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("Another process has been writing for too long; try again.")
        case apsw.ConstraintError():
            return Conflict()
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return Unavailable(
                "The memory file cannot be written; check its permissions and those of its folder."
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return Backend("The memory file is damaged or not a Holdfast store; restore a backup.")
        case apsw.IOError() if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
            return StorageFull()  # no room for the index of the log
        case apsw.IOError():
            return Unavailable("The disk failed while memory was read or written; nothing was half written.")
    return Backend(f"SQLite refused a statement ({type(error).__name__}).")


BUSY_MS = 10_000
IDLE_READERS = 16
READER_CACHE_KIB = 8_192
WRITER_CACHE_KIB = 65_536

KNOWN_SPACES = 100_000
NOWHERE = 0
"""The number of a space that is not stored; no row has it."""

Row = tuple[Any, ...]
Batch = tuple[str, Sequence[Row]]
"""A statement, and the values of each of its runs."""
log = logging.getLogger("holdfast")


class SpaceNumbers:
    """Maps space ids to numbers. A number is never reused, so a committed one can be cached. Users hold the method,
    because Python calls it at half the price of the object."""

    __slots__ = ("_known", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: BoundedCache[int, int] = BoundedCache(KNOWN_SPACES)

    def __call__(self, space: UUID) -> int:
        number = self._known.get(space.int)
        if number is None:
            rows = self._reader.rows("SELECT space FROM spaces WHERE id = ?", (space.bytes,))
            if not rows:
                return NOWHERE
            number = int(rows[0][0])
            self._known[space.int] = number
        return number


class Reader(Protocol):
    """Runs one reading statement to its end."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def number_of(self, space: UUID) -> int:
        """The number that stands for a space, or NOWHERE."""
        ...


class Connections(Reader, Protocol):
    path: Path | None

    def writing(self) -> Any:
        """A context manager that lends the writer's connection to one thread at a time."""
        ...

    def clear(self, patience: float) -> bool:
        """Clears everything outside live rows from the files; False when a reader was in the way for longer than
        `patience` seconds."""
        ...

    def close(self) -> None: ...


class OnConnection:
    """The statements of a transaction, on one connection. They share a cursor, because a new one costs as much as a
    short statement.

    Some writes are deferred until the commit, to run with others of their kind. Every other statement runs them
    first, so that a job sees its own writes."""

    __slots__ = ("_cursor", "_execute", "_kept_back", "_written", "at_once", "db", "kept", "number_of")

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.number_of = SpaceNumbers(self).__call__
        self._cursor = cursor = db.cursor()
        self._execute = cursor.execute
        self._kept_back: list[Callable[[], list[Batch]]] = []
        self._written = 0
        self.kept = 0
        """The number of rows deferred so far, counted by those who defer them."""
        self.at_once = False
        """True when no write is deferred."""

    def keep_back(self, left: Callable[[], list[Batch]]) -> None:
        """Registers a function that hands over its deferred writes and forgets them."""
        self._kept_back.append(left)

    def catch_up(self) -> None:
        """Runs the deferred writes. A constraint that one breaks is not the fault of the job that runs now."""
        if self._written != self.kept:
            self._written = self.kept
            for left in self._kept_back:
                for sql, rows in left():
                    self._cursor.executemany(sql, rows)

    def changes(self) -> int:
        """A number that grows with every row written or deferred."""
        return self.db.total_changes() + self.kept

    def look(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Reads without running deferred writes first, for rows that are never deferred."""
        return self._execute(sql, values).fetchall()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        self.catch_up()
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Runs a writing statement. A broken constraint is the job's own error; any other error of the database fails
        the batch."""
        self.catch_up()
        try:
            self._execute(sql, values)
        except apsw.ConstraintError as error:
            raise translated(error) from error

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.catch_up()
        try:
            self._cursor.executemany(sql, rows)
        except apsw.ConstraintError as error:
            raise translated(error) from error

    def count(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Runs a writing statement and returns the number of rows it changed."""
        self.run(sql, values)
        return self.db.changes()


class Reads:
    """The base of the reads of one kind of row, from the last committed state or inside a transaction."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._number_of = reader.number_of


class Writes(Reads):
    """The base of the writes of one kind of row in a transaction, which reads its own writes."""

    def __init__(self, tx: OnConnection) -> None:
        super().__init__(tx)
        self._tx = tx


class FileConnections:
    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path: Path | None = path
        self.number_of = SpaceNumbers(self).__call__
        self._file = str(path)
        self._durable = durable
        self._idle: deque[apsw.Connection] = deque()
        self._lock = RLock()
        self._counting = Lock()
        self._connected = 0
        self._refusal = ""
        self._bytes = take(path)
        self._writer = self._connect(WRITER_CACHE_KIB)
        abandon_in_children(self)

    def _connect(self, cache_kib: int) -> apsw.Connection:
        with self._counting:
            if self._refusal:
                raise Unavailable(self._refusal)
            self._connected += 1
        try:
            return _opened(self._file, cache_kib, durable=self._durable)
        except BaseException:
            self._disconnected()
            raise

    def _disconnect(self, db: apsw.Connection) -> None:
        try:
            db.close()
        finally:
            self._disconnected()

    def _disconnected(self) -> None:
        """Gives the handle back with the last connection: the writer's at the latest, unless somebody still reads."""
        with self._counting:
            self._connected -= 1
            if not self._connected:
                give_back(self._bytes)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            db = self._idle.pop()
        except IndexError:
            db = self._connect(READER_CACHE_KIB)
        try:
            return db.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise translated(error) from error
        finally:
            self._idle.append(db)
            if len(self._idle) > IDLE_READERS or self._refusal:
                self._disconnect_idle()

    def _disconnect_idle(self) -> None:
        """Disconnects idle readers beyond the limit; once closed, all of them."""
        while len(self._idle) > IDLE_READERS or self._refusal:
            try:
                db = self._idle.pop()
            except IndexError:
                return
            self._disconnect(db)

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        with self._lock:
            if self._refusal:
                raise Unavailable(self._refusal)
            yield self._writer

    def clear(self, patience: float) -> bool:
        assert self.path is not None
        self._writer.set_busy_timeout(int(patience * 1000) or 50)
        try:
            return clear_file(self._writer, self.path, self._bytes, patience)
        finally:
            self._writer.set_busy_timeout(BUSY_MS)

    def close(self) -> None:
        with self._lock:
            if self._refusal:
                return
            self._refusal = CLOSED
        try:
            self._disconnect_idle()
        finally:
            self._disconnect(self._writer)

    def abandon(self) -> None:
        self._lock, self._counting, self._refusal = RLock(), Lock(), FORKED
        never_close([self._writer, *self._idle])
        self._idle.clear()


class MemoryConnection:
    """A store in the memory of this process. Its one connection serves one statement at a time."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.number_of = SpaceNumbers(self).__call__
        self._db: apsw.Connection | None = apsw.Connection(":memory:")
        _list_places(self._db)
        self._lock = RLock()
        self._refusal = CLOSED
        abandon_in_children(self)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self.writing() as db:
            try:
                return db.execute(sql, values).fetchall()
            except apsw.Error as error:
                raise translated(error) from error

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        with self._lock:
            if self._db is None:
                raise Unavailable(self._refusal)
            yield self._db

    def clear(self, patience: float) -> bool:  # noqa: ARG002
        with self.writing() as db:
            db.execute("VACUUM").fetchall()
        return True

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def abandon(self) -> None:
        never_close([self._db])
        self._lock, self._db, self._refusal = RLock(), None, FORKED


def _opened(file: str, cache_kib: int, *, durable: bool) -> apsw.Connection:
    try:
        db = apsw.Connection(file)
        try:
            _set_up(db, cache_kib, durable=durable)
        except BaseException:
            db.close()
            raise
    except apsw.Error as error:
        raise translated(error) from error
    return db


def _set_up(db: apsw.Connection, cache_kib: int, *, durable: bool) -> None:
    db.set_busy_timeout(BUSY_MS)
    _use_wal(db)
    for pragma in (
        f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}",
        "PRAGMA secure_delete = ON",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA trusted_schema = OFF",
        "PRAGMA journal_size_limit = 67108864",
        f"PRAGMA cache_size = -{cache_kib}",
    ):
        db.execute(pragma).fetchall()
    _list_places(db)


def _list_places(db: apsw.Connection) -> None:
    """Makes FTS5's list of the places of terms, which recall reads. It belongs to the connection, not to the file."""
    db.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab (main, terms, instance)").fetchall()


def _use_wal(db: apsw.Connection) -> None:
    """Switches to WAL. Retries, because the switch does not wait while another process opens the same new file."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


_File = tuple[int, int]
"""Device and inode, which name a file however its path is spelt."""

_lock = Lock()
_open: dict[_File, list[FileIO]] = {}
"""The handle of each open file, once for every opening of it."""
_inherited: dict[_File, list[FileIO]] = {}
"""Files that the parent had open when it forked. SQLite would take the parent's locks on them for locks of this
process, so they are never opened here."""


def take(path: Path) -> FileIO:
    """Takes the handle of a file, which is made (0600) if it is missing. Give it back after closing everything else
    that this opening has of the file."""
    with _lock:
        file = _file(path.stat()) if path.exists() else None
        if file in _inherited:
            raise Unavailable(FORKED)
        if file in _open:
            handle = _open[file][0]
            _refuse_other_name(path, Path(os.fsdecode(handle.name)))
        else:
            handle = FileIO(os.path.realpath(path), "r+", opener=_open_or_make)
        _open.setdefault(_file(os.fstat(handle.fileno())), []).append(handle)
        return handle


def give_back(handle: FileIO) -> None:
    with _lock:
        file = _file(os.fstat(handle.fileno()))
        _open[file].pop()
        if not _open[file]:
            del _open[file]
            handle.close()


def never_close(connections: Iterable[apsw.Connection | None]) -> None:
    """Keeps connections of the parent open in a forked child, where closing one would remove a log that others write
    to. A reference to them and to the driver is leaked, because both close them at the end."""
    for kept in (apsw, *connections):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _refuse_other_name(path: Path, first: Path) -> None:
    """Refuses a second name of an open file: by a hard link it would get a second log, and each opening would miss
    the other's writes. A folder that was renamed gives its files no second name."""
    named = Path(os.path.realpath(path))
    elsewhere = first.parent.exists() and not named.parent.samefile(first.parent)
    if named.name != first.name or elsewhere:
        raise Unavailable(
            f"{path} is open as {first} already, and SQLite keeps a log for each name; use one name."
        )


def _file(about: os.stat_result) -> _File:
    return about.st_dev, about.st_ino


def _open_or_make(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o600)


def _leave_to_parent() -> None:
    """Runs in a forked child."""
    global _lock
    _lock = Lock()
    _inherited.update(_open)
    _open.clear()
    never_close([])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
