"""A recorded run of a tool or a pipeline, and the habits learned from many. Bodies are never kept. Of an input, only
the fields on a closed list that hold one short word are kept, and only successful runs teach."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.domain.principal import Principal
from holdfast.domain.times import to_datetime

TOOL_RUNS = "pack_history"
PIPELINE_RUNS = "pipeline_history"

LEARNABLE = frozenset(
    {
        *("audience", "format", "language", "locale", "model", "persona"),
        *("region", "style", "theme", "timezone", "tone"),
    }
)
"""Inputs worth offering again: settings with few values. Others are never kept."""
LONGEST_VALUE = 64
FINDINGS_A_RUN = 20

MOST_NAMES = 12
MOST_FINDINGS = 20
MOST_RECENT = 200


def run_prefix(head: str, id: str) -> str:
    """The key prefix of the runs of one tool or pipeline. A slash in a name makes no hierarchy: `a` is not `a/b`."""
    return f"{head}/{id.replace('%', '%25').replace('/', '%2F')}/"


def is_word(value: object) -> bool:
    """Returns True for a short value on one line that is no address: a setting, not a text."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_VALUE
        and value.isprintable()
        and value == value.strip()
        and "://" not in value
    )


def learnable(inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The inputs that may be kept."""
    return tuple((name, inputs[name]) for name in sorted(LEARNABLE & inputs.keys()) if is_word(inputs[name]))


class Run(NamedTuple):
    head: str
    id: str
    version: str
    at_us: int
    ok: bool
    hit: bool = False
    """Answered from the cache."""
    micros: int = 0
    inputs: tuple[tuple[str, str], ...] = ()
    findings: tuple[str, ...] = ()
    error: str | None = None
    """The kind of failure, never its message."""
    session: str | None = None
    times: int = 1
    """The number of equal cache hits within one second that this run stands for."""

    @property
    def at(self) -> datetime:
        return to_datetime(self.at_us)

    def body(self) -> bytes:
        fields = self._asdict() | {"inputs": dict(self.inputs), "findings": list(self.findings)}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


class Ran(NamedTuple):
    """A run and its principal."""

    who: Principal
    run: Run


def read_run(body: bytes) -> Run | None:
    """Reads a run; None for a row that another version of the engine wrote differently."""
    try:
        fields = json.loads(body)
        inputs = tuple(sorted(fields["inputs"].items()))
        return Run(**fields | {"inputs": inputs, "findings": tuple(fields["findings"])})
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


@dataclass(frozen=True, slots=True)
class Habit:
    """The usual settings of one tool or pipeline."""

    id: str
    count: int
    failed: int
    hits: int
    last_us: int
    inputs: Mapping[str, str]
    """The most common value of each learnable field."""

    @property
    def last_at(self) -> datetime:
        return to_datetime(self.last_us)


@dataclass(frozen=True, slots=True)
class Finding:
    finding: str
    count: int


@dataclass(frozen=True, slots=True)
class Defaults:
    """A projection of one principal's recorded runs."""

    scope: str
    fetched_us: int
    packs: tuple[Habit, ...] = ()
    pipelines: tuple[Habit, ...] = ()
    common_findings: tuple[Finding, ...] = ()
    recent: tuple[Run, ...] = ()
    note: str | None = None

    @property
    def fetched_at(self) -> datetime:
        return to_datetime(self.fetched_us)


def habits(runs: Iterable[Run], head: str) -> tuple[Habit, ...]:
    """The busiest tools or pipelines, most runs first. Runs come newest first, so among equally common values the
    newest wins."""
    by_id: dict[str, list[Run]] = {}
    for run in runs:
        if run.head == head:
            by_id.setdefault(run.id, []).append(run)
    found = [_habit(id, rows) for id, rows in by_id.items()]
    found.sort(key=lambda habit: (-habit.count, -habit.last_us, habit.id))
    return tuple(found[:MOST_NAMES])


def _habit(id: str, runs: list[Run]) -> Habit:
    values: dict[str, Counter[str]] = {}
    for run in runs:
        for name, value in run.inputs if run.ok else ():
            values.setdefault(name, Counter())[value] += run.times
    return Habit(
        id,
        count=sum(run.times for run in runs),
        failed=sum(run.times for run in runs if not run.ok),
        hits=sum(run.times for run in runs if run.hit),
        last_us=max(run.at_us for run in runs),
        inputs={name: counted.most_common(1)[0][0] for name, counted in sorted(values.items())},
    )


def common_findings(runs: Iterable[Run]) -> tuple[Finding, ...]:
    """Findings of failed runs count too: earlier failures are worth knowing."""
    counted: Counter[str] = Counter()
    for run in runs:
        for finding in run.findings:
            counted[finding] += run.times
    return tuple(Finding(*row) for row in counted.most_common(MOST_FINDINGS))
