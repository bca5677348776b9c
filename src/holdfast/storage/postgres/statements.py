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


PARTITIONED = ("entries", "revisions", "labels", "terms", "derived")
"""Partitioned by a hash of `space_id`, which comes first in every key."""

WHOLE = {
    "spaces": "one row per space, also found by owner; partitions would only multiply that look-up",
    "data_keys": "one row per space, two while keys rotate; kept by every node, also found by master key",
    "progress": "one row per space and model, read beside `spaces` by the queue of what waits",
    "grants": "a few rows a space, as often found by grantee",
    "members": "a few rows a space, as often found by member",
    "leases": "one row per space that is being worked in",
}
"""`space_id` comes first in every key of these too, and a cluster distributes them with the others."""

BY_PRINCIPAL = {
    "receipts": "answers to idempotency keys, found by who asked; gone after a day",
    "proposals": "what waits for a person, found by id and by person; gone after days",
    "space_names": "a name is taken once in the whole store, so the name is the key",
}
"""Tables that name a space, but are not found by it."""

BY_SPACE = ("spaces", "data_keys", *PARTITIONED, "progress", "grants", "members", "leases")
