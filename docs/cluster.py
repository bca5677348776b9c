"""The tables of scaling.md: which tables are not partitioned by space, which statements name no space, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import holdfast.storage.postgres.store  # noqa: F401, whose modules list all statements
from holdfast.storage.postgres.statements import BY_PRINCIPAL, STATEMENTS, WHOLE, Reach


def unpartitioned_table() -> Iterator[str]:
    yield "| table | key begins with | why it is one table |"
    yield "|---|---|---|"
    for table, reason in WHOLE.items():
        yield f"| `{table}` | the space | {reason} |"
    for table, reason in BY_PRINCIPAL.items():
        yield f"| `{table}` | something else | {reason} |"


def store_wide_table() -> Iterator[str]:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for statement in STATEMENTS.values():
        if statement.reach is Reach.STORE:
            names[statement.reason].append(f"`{statement.name}`")
    yield "| statement | why it names no space |"
    yield "|---|---|"
    for reason, listed in sorted(names.items(), key=lambda item: item[1]):
        yield f"| {', '.join(sorted(listed))} | {reason} |"
