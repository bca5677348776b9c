"""What is told of runs and callers, as JSON."""

from __future__ import annotations

from typing import Any

from holdfast.domain.run import Defaults, Finding, Habit, Run
from holdfast.operations.callers import CallerCount
from holdfast.vocabularies.wire.shape import (
    MAYBE_TEXT,
    MOMENT,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    Json,
    Part,
    Shape,
    listed,
    many,
    micros,
    moment,
    plain,
)

WORDS = {"type": "object", "additionalProperties": TEXT}


def _moment(text: str) -> int:
    at = micros(text)
    assert at is not None
    return at


RUN = Shape(
    "Run",
    (
        Part("category", TEXT, lambda run: run.head),
        Part("id", TEXT, lambda run: run.id),
        Part("version", TEXT, lambda run: run.version),
        Part("at", MOMENT, lambda run: moment(run.at_us)),
        Part("ok", SWITCH, lambda run: run.ok),
        Part("hit", SWITCH, lambda run: run.hit),
        Part("micros", WHOLE, lambda run: run.micros),
        Part("inputs", WORDS, lambda run: dict(run.inputs)),
        Part("findings", TEXTS, lambda run: list(run.findings)),
        Part("error", TEXT, lambda run: run.error, optional=True),
        Part("session", TEXT, lambda run: run.session, optional=True),
        Part("count", WHOLE, lambda run: run.times),
    ),
    lambda shown: Run(
        shown["category"],
        shown["id"],
        shown["version"],
        _moment(shown["at"]),
        shown["ok"],
        shown["hit"],
        shown["micros"],
        tuple(sorted(shown["inputs"].items())),
        tuple(shown["findings"]),
        shown.get("error"),
        shown.get("session"),
        shown["count"],
    ),
)


def _read_habit(shown: Json) -> Habit:
    last = _moment(shown["last_at"])
    return Habit(shown["id"], shown["count"], shown["failed"], shown["hits"], last, dict(shown["inputs"]))


HABIT = Shape(
    "Habit",
    (
        Part("id", TEXT, lambda habit: habit.id),
        Part("count", WHOLE, lambda habit: habit.count),
        Part("failed", WHOLE, lambda habit: habit.failed),
        Part("hits", WHOLE, lambda habit: habit.hits),
        Part("last_at", MOMENT, lambda habit: moment(habit.last_us)),
        Part("inputs", WORDS, lambda habit: dict(habit.inputs)),
    ),
    _read_habit,
)
FINDING = plain("Finding", Finding, {"finding": TEXT, "count": WHOLE})


def _rows(name: str, shape: Shape[Any]) -> Part:
    return Part(
        name,
        many(shape),
        lambda defaults: [shape.show(row) for row in getattr(defaults, name)],
        shapes=(shape,),
    )


DEFAULTS = Shape(
    "Defaults",
    (
        Part("scope", TEXT, lambda defaults: defaults.scope),
        Part("fetched_at", MOMENT, lambda defaults: moment(defaults.fetched_us)),
        _rows("packs", HABIT),
        _rows("pipelines", HABIT),
        _rows("common_findings", FINDING),
        _rows("recent", RUN),
        Part("note", TEXT, lambda defaults: defaults.note, optional=True),
    ),
    lambda shown: Defaults(
        shown["scope"],
        _moment(shown["fetched_at"]),
        tuple(map(HABIT.read, shown["packs"])),
        tuple(map(HABIT.read, shown["pipelines"])),
        tuple(map(FINDING.read, shown["common_findings"])),
        tuple(map(RUN.read, shown["recent"])),
        shown.get("note"),
    ),
)
CALLER_COUNT = plain(
    "CallerCount",
    CallerCount,
    {"caller": TEXT, "session": MAYBE_TEXT, "namespace": TEXT, "entries": WHOLE},
)
CALLERS = listed("Callers", "callers", CALLER_COUNT)
