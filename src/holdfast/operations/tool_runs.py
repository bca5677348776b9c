"""Runs of tools and pipelines: queued, recorded in the background, and summarised as facts."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace

from holdfast.domain.access import Op
from holdfast.domain.errors import HoldfastError
from holdfast.domain.partition import Partition
from holdfast.domain.principal import Caller, Principal
from holdfast.domain.profile import RUNS
from holdfast.domain.run import (
    MOST_RECENT,
    PIPELINE_RUNS,
    TOOL_RUNS,
    Defaults,
    Ran,
    Run,
    common_findings,
    habits,
    read_run,
    run_prefix,
)
from holdfast.operations.authorize import authorize, authorize_own
from holdfast.operations.engine import Engine
from holdfast.operations.notes import NoteInput
from holdfast.operations.read import Listing, list_entries
from holdfast.operations.remember import MANY, Row, remember_many
from holdfast.operations.session import Session

SECONDS = 0.5
"""Time for which runs are gathered before they are written."""

log = logging.getLogger("holdfast.runs")


def record(engine: Engine) -> None:
    """Writes all queued runs. A failure is logged and retried where that may help, and never reaches the caller."""
    if not len(engine.runs) and not engine.runs.writing.locked():
        return
    with engine.runs.writing:
        waiting = engine.runs.take()
        by_principal: dict[Principal, list[Ran]] = {}
        for ran in waiting:
            by_principal.setdefault(ran.who, []).append(ran)
        for who, runs in by_principal.items():
            for start in range(0, len(runs), MANY):
                _record(engine, who, runs[start : start + MANY])


def _record(engine: Engine, who: Principal, runs: list[Ran]) -> None:
    session = Session(engine, Caller(who, door="handler"), engine.limits, engine.clock)
    rows = [_row(_without_secrets(engine, ran.run)) for ran in runs]
    try:
        outcomes = engine.commit(lambda: remember_many(session, rows))
    except HoldfastError as error:
        log.warning("%d runs could not be recorded and will be tried again: %s", len(runs), error.message)
        engine.runs.put_back(runs)
        return
    refused = [outcome.error for outcome in outcomes if outcome.error is not None]
    if refused:
        log.warning("%d runs were not recorded: %s", len(refused), refused[0].message)


def _without_secrets(engine: Engine, run: Run) -> Run:
    if not run.inputs and not run.findings:
        return run
    return run._replace(
        inputs=tuple((name, value) for name, value in run.inputs if not engine.scrub(value).count),
        findings=tuple(word for word in run.findings if not engine.scrub(word).count),
    )


def _row(run: Run) -> Row:
    key = f"{run_prefix(run.head, run.id)}{run.at_us:016x}-{secrets.token_hex(4)}"
    return Row(RUNS, None, NoteInput(run.body(), key, category=run.head))


NEWEST = 10_000
"""The most rows that are read; older ones say nothing about present habits."""
NOTHING_RAN = "No tool or pipeline has run yet."
COUNTS_ONLY = "An administrator sees what ran and how often, not what was learned from it."


def my_defaults(session: Session) -> Defaults:
    record(session.engine)
    runs = recorded(session)
    return Defaults(
        f"caller={session.principal.id}",
        session.clock(),
        habits(runs, TOOL_RUNS),
        habits(runs, PIPELINE_RUNS),
        common_findings(runs),
        tuple(runs[:MOST_RECENT]),
        note=None if runs else NOTHING_RAN,
    )


def defaults_of(session: Session, whose: Principal) -> Defaults:
    """Counts of another principal's runs, for an administrator."""
    authorize_own(session, Op.METADATA, session.clock())
    found = my_defaults(session.acting_as(Caller(whose)))
    return replace(
        found,
        packs=tuple(replace(habit, inputs={}) for habit in found.packs),
        pipelines=tuple(replace(habit, inputs={}) for habit in found.pipelines),
        common_findings=(),
        recent=(),
        note=found.note or COUNTS_ONLY,
    )


def recorded(session: Session) -> list[Run]:
    """The caller's own runs, newest first."""
    authorize(session, None, Op.READ, session.clock())
    found: list[Run] = []
    cursor = None
    while len(found) < NEWEST:
        page = list_entries(
            session, Listing((Partition.RUNS,), limit=session.limits.list_rows, cursor=cursor)
        )
        found += [run for entry in page if (run := read_run(entry.value)) is not None]
        cursor = page.cursor
        if cursor is None:
            break
    return sorted(found, key=lambda run: -run.at_us)
