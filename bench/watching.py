"""Watching the product's own SQLite connections from outside: which statements they run, what they commit and sync."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

Statement = tuple[str, Any]
_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"})
_BASE_VFS = apsw.vfs_names()[0]


class Recording:
    """Every statement with its bound values, by connection, in the order in which they were run."""

    def __init__(self) -> None:
        self._connections: list[list[Statement]] = []

    def watch(self, db: apsw.Connection) -> None:
        statements: list[Statement] = []
        self._connections.append(statements)

        def note(_cursor: apsw.Cursor, sql: str, values: Any) -> bool:
            statements.append((sql, values))
            return True

        db.exec_trace = note

    def clear(self) -> None:
        """Forgets what was run; the settings of the connections stay."""
        for statements in self._connections:
            statements[:] = [statement for statement in statements if _verb(statement) == "PRAGMA"]

    def settings(self) -> list[str]:
        """The pragmas of the connection that wrote, or else of the one opened last."""
        return [sql for sql, _ in self._writer() if sql.lstrip().upper().startswith("PRAGMA")]

    def reads(self) -> list[Statement]:
        """Statements that read outside transactions."""
        return [
            statement
            for statements in self._connections
            for statement in statements
            if _verb(statement) == "SELECT"
        ]

    def transactions(self) -> list[list[Statement]]:
        """Statements the writer ran between BEGIN and COMMIT, savepoints left out: the bare work of these writes."""
        found: list[list[Statement]] = []
        inside = False
        for statement in self._writer():
            verb = _verb(statement)
            if verb == "BEGIN":
                found.append([])
                inside = True
            elif verb == "COMMIT":
                inside = False  # what follows until the next BEGIN is tidying, no part of a write
            elif verb == "ROLLBACK":
                raise RuntimeError("a write failed while it was recorded")
            elif inside and verb not in _CONTROL:
                found[-1].append(statement)
        return found

    def _writer(self) -> list[Statement]:
        for statements in self._connections:
            if any(_verb(statement) == "BEGIN" for statement in statements):
                return statements
        return self._connections[-1]


def _verb(statement: Statement) -> str:
    return statement[0].split(maxsplit=1)[0].upper()


@contextmanager
def recording() -> Iterator[Recording]:
    """Records the connections that are opened inside."""
    watched = Recording()
    with _hook(watched.watch):
        yield watched


class Commits:
    def __init__(self) -> None:
        self.count = 0

    def watch(self, db: apsw.Connection) -> None:
        db.set_commit_hook(self._committed)

    def _committed(self) -> bool:
        self.count += 1
        return False


@contextmanager
def counting_commits() -> Iterator[Commits]:
    """Counts commits of the connections that are opened inside; costs next to nothing, so it may be timed."""
    commits = Commits()
    with _hook(commits.watch):
        yield commits


@contextmanager
def _hook(watch: Any) -> Iterator[None]:
    apsw.connection_hooks.append(watch)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(watch)


class Syncs(apsw.VFS):
    """The default file system, with every sync counted. Too slow to be timed."""

    def __init__(self) -> None:
        self.count = 0
        super().__init__("counting", _BASE_VFS, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _CountedFile(self, name, flags)


class _CountedFile(apsw.VFSFile):
    def __init__(self, syncs: Syncs, name: Any, flags: list[int]) -> None:
        super().__init__(_BASE_VFS, name, flags)
        self._syncs = syncs

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._syncs.count += 1
        super().xSync(flags)

    def xLock(self, level: int) -> None:  # noqa: N802
        """SQLite tries in vain to lock a file that it opened for reading, and expects to hear that it is busy."""
        try:
            super().xLock(level)
        except apsw.IOError:
            raise apsw.BusyError from None


@contextmanager
def counting_syncs() -> Iterator[Syncs]:
    """Counts syncs of every file that connections opened inside write, the log as well as the database."""
    syncs = Syncs()
    try:
        yield syncs
    finally:
        syncs.unregister()
