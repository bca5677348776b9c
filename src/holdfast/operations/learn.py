"""What recorded runs teach: the usual inputs of each tool and pipeline, what they found, what ran last."""

from __future__ import annotations

from dataclasses import replace

from holdfast.domain.access import Op
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, Principal
from holdfast.domain.run import (
    MOST_RECENT,
    PIPELINE_RUNS,
    TOOL_RUNS,
    Defaults,
    Habit,
    Run,
    common_findings,
    habits,
    read_run,
)
from holdfast.operations.engine import Engine
from holdfast.operations.enter import enter, enter_own
from holdfast.operations.read import Listing, list_entries
from holdfast.operations.record import record

NEWEST = 10_000
"""Rows that are looked at; what lies further back has nothing to add to what is usual now."""
NOTHING_RAN = "No tool or pipeline has run yet."
COUNTS_ONLY = "An administrator sees what ran and how often, not what was learned from it."


def my_defaults(engine: Engine, caller: Caller) -> Defaults:
    record(engine)
    runs = recorded(engine, caller)
    return Defaults(
        f"caller={caller.principal.id}",
        engine.clock(),
        habits(runs, TOOL_RUNS),
        habits(runs, PIPELINE_RUNS),
        common_findings(runs),
        tuple(runs[:MOST_RECENT]),
        note=None if runs else NOTHING_RAN,
    )


def defaults_of(engine: Engine, admin: Caller, whose: Principal) -> Defaults:
    """Somebody else's, for an administrator: counts alone."""
    enter_own(engine, admin, Op.METADATA, engine.clock())
    found = my_defaults(engine, Caller(whose))
    return replace(
        found,
        packs=tuple(map(_counts, found.packs)),
        pipelines=tuple(map(_counts, found.pipelines)),
        common_findings=(),
        recent=(),
        note=found.note or COUNTS_ONLY,
    )


def _counts(habit: Habit) -> Habit:
    return replace(habit, inputs={})


def recorded(engine: Engine, caller: Caller) -> list[Run]:
    """The caller's own runs, newest first."""
    enter(engine, caller, None, Op.READ, engine.clock())
    found: list[Run] = []
    cursor = None
    while len(found) < NEWEST:
        page = list_entries(
            engine, caller, Listing((Partition.RUNS,), limit=engine.limits.list_rows, cursor=cursor)
        )
        found += [run for entry in page if (run := read_run(entry.value)) is not None]
        cursor = page.cursor
        if cursor is None:
            break
    return sorted(found, key=lambda run: -run.at_us)
