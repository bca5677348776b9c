"""Translates the errors of SQLite into errors of the product; the only place that does."""

from __future__ import annotations

import apsw

from holdfast.domain.errors import Backend, Conflict, HoldfastError, StorageFull, Unavailable

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
        case apsw.IOError() if _code(error) == apsw.SQLITE_IOERR_SHMSIZE:  # no room for the index of the log
            return StorageFull()
        case apsw.IOError():
            return Unavailable("The disk failed while memory was read or written; nothing was half written.")
    return Backend(f"SQLite refused a statement ({type(error).__name__}).")


def _code(error: apsw.Error) -> int | None:
    """The extended error code, which the types of apsw do not name."""
    return getattr(error, "extendedresult", None)
