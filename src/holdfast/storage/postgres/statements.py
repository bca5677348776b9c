"""The table of all statements. Each stands beside the function that runs it and is listed here by name, with the rows
it may reach. A test lets PostgreSQL explain every one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

Values = Mapping[str, Any]
NOTHING: Values = {}


class Reach(Enum):
    SPACE = "one space"
    """Names one space, in `%(space)s`, and touches one partition of every table."""
    STORE = "all spaces"
    """Names no space and says why; runs with the rights of holdfast_store."""
    SHARED = "no space"
    """Touches only tables that are not kept by space."""


class Statement(NamedTuple):
    name: str
    sql: bytes
    reach: Reach
    reason: str = ""
    """The reason why it names no space."""


Bound = tuple[Statement, Values]

STATEMENTS: dict[str, Statement] = {}


def of_space(name: str, sql: str) -> Statement:
    return _listed(Statement(name, sql.encode(), Reach.SPACE))


def of_store(name: str, sql: str, *, because: str) -> Statement:
    return _listed(Statement(name, sql.encode(), Reach.STORE, because))


def shared(name: str, sql: str, *, because: str) -> Statement:
    return _listed(Statement(name, sql.encode(), Reach.SHARED, because))


def _listed(statement: Statement) -> Statement:
    assert statement.name not in STATEMENTS, f"two statements are named {statement.name}"
    STATEMENTS[statement.name] = statement
    return statement
