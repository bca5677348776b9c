"""Translates the errors of PostgreSQL and its driver into errors of the product; the only place that does."""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from holdfast.domain.errors import Backend, Conflict, HoldfastError, StorageFull, Unavailable

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
