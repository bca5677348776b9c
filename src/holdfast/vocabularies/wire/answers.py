"""What writing, sharing and administration answer, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast
from uuid import UUID

from holdfast.domain.context import Context
from holdfast.domain.errors import ConfirmationRequired, HoldfastError, family
from holdfast.domain.grant import Grant, parse_level
from holdfast.domain.principal import parse_grantee
from holdfast.operations.administer import AuditLine, Stats
from holdfast.operations.audit import Reading
from holdfast.operations.edit import Edited, Replaced
from holdfast.operations.results import Forgotten, Outcome, Redactions, Remembered
from holdfast.operations.share import Unshared
from holdfast.operations.spaces import SpaceInfo
from holdfast.recall.index import IndexStatus
from holdfast.safety.advice import Advice
from holdfast.vocabularies.facts import Category, MyMemory
from holdfast.vocabularies.wire.entries import ENTRY, SIMILAR
from holdfast.vocabularies.wire.shape import (
    ID,
    MAYBE_ID,
    MAYBE_MOMENT,
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
    ref,
    space_text,
)


def _read_remembered(shown: Json) -> Remembered:
    id, space = shown.get("id"), shown.get("space")
    kept = Remembered(
        None if id is None else UUID(id),
        shown["key"],
        None if space is None else UUID(space),
        shown["revision"],
        shown["created"],
        micros(shown.get("expires_at")),
        shown["redacted"],
        shown["persisted"],
        shown.get("note"),
        shown["category"],
        tuple(sorted(shown.get("redactions", {}).items())),
        read_advice(shown),
        shown.get("quarantined", False),
    )
    near = shown.get("similar", [])
    kept.look = lambda: [SIMILAR.read(one) for one in near]
    return kept


COUNTS: Json = {"type": "object", "additionalProperties": {"type": "integer"}}
ADVICE: Json = {
    "type": "array",
    "description": "What the save coach has to say about the text.",
    "items": {
        "type": "object",
        "properties": {"code": TEXT, "message": TEXT},
        "required": ["code", "message"],
    },
}


def show_advice(advised: Iterable[Advice]) -> list[Json] | None:
    return [{"code": str(code), "message": message} for code, message in advised] or None


def read_advice(shown: Json) -> tuple[Advice, ...]:
    return tuple(Advice(each["code"], each["message"]) for each in shown.get("advice", []))


ADVISED = Part("advice", ADVICE, lambda done: show_advice(done.advice), optional=True)
TAKEN_OUT = Part("redactions", COUNTS, lambda done: dict(done.redactions) or None, optional=True)


def read_redactions(shown: Json) -> Redactions:
    return tuple(sorted(shown.get("redactions", {}).items()))


_KEPT = (
    Part("id", MAYBE_ID, lambda kept: None if kept.id is None else str(kept.id)),
    Part("key", TEXT, lambda kept: kept.key),
    Part("space", MAYBE_ID, lambda kept: None if kept.space is None else str(kept.space)),
    Part("category", TEXT, lambda kept: kept.category),
    Part("revision", WHOLE, lambda kept: kept.revision),
    Part("created", SWITCH, lambda kept: kept.created),
    Part("updated", SWITCH, lambda kept: kept.updated),
    Part("expires_at", MAYBE_MOMENT, lambda kept: moment(kept.expires_us)),
    Part("redacted", WHOLE, lambda kept: kept.redacted),
    Part("redactions", COUNTS, lambda kept: dict(kept.redactions) or None, optional=True),
    Part("persisted", SWITCH, lambda kept: kept.persisted),
    Part("note", TEXT, lambda kept: kept.note, optional=True),
    Part("advice", ADVICE, lambda kept: show_advice(kept.advised), optional=True),
    Part("quarantined", SWITCH, lambda kept: kept.quarantined or None, optional=True),
)


def _show_stored(kept: Remembered) -> Json:
    """What the parts say, in one go: it is shown for every write."""
    (
        id,
        key,
        space,
        revision,
        created,
        expires,
        redacted,
        persisted,
        note,
        category,
        kinds,
        advised,
        held_back,
    ) = kept
    shown: Json = {
        "id": None if id is None else str(id),
        "key": key,
        "space": None if space is None else space_text(space),
        "category": category,
        "revision": revision,
        "created": created,
        "updated": kept.updated,
        "expires_at": moment(expires),
        "redacted": redacted,
        "persisted": persisted,
    }
    if kinds:
        shown["redactions"] = dict(kinds)
    if advised:
        shown["advice"] = show_advice(advised)
    if held_back:
        shown["quarantined"] = True
    return shown if note is None else shown | {"note": note}


STORED = Shape("Stored", _KEPT, _read_remembered, _show_stored)
REMEMBERED = Shape(
    "Remembered",
    (
        *_KEPT[:-2],
        ADVISED,
        _KEPT[-1],
        Part(
            "similar",
            many(SIMILAR),
            lambda kept: [SIMILAR.show(one) for one in kept.similar],
            optional=True,
            shapes=(SIMILAR,),
        ),
    ),
    _read_remembered,
)


def error_named(code: str, message: str, proposal: str | None = None) -> HoldfastError:
    error = family().get(code, HoldfastError)(message)
    if isinstance(error, ConfirmationRequired):
        error.proposal = proposal
    return error


def _read_outcome(shown: Json) -> Outcome:
    if "error" in shown:
        return Outcome(error=error_named(shown["error"], shown["message"]))
    return Outcome(STORED.read(shown))


def _show_outcome(outcome: Outcome) -> Json:
    """A row that was kept is answered as if it had come alone."""
    if outcome.error is not None:
        return {"error": outcome.error.code, "message": outcome.error.message}
    assert outcome.remembered is not None
    return _show_stored(outcome.remembered)


def _of_kept(part: Part) -> Part:
    def of(outcome: Any) -> Any:
        return None if outcome.remembered is None else part.of(outcome.remembered)

    return Part(part.name, part.schema, of, optional=True)


OUTCOME = Shape(
    "Outcome",
    (
        *(_of_kept(part) for part in _KEPT),
        Part("error", TEXT, lambda outcome: outcome.error and outcome.error.code, optional=True),
        Part("message", TEXT, lambda outcome: outcome.error and outcome.error.message, optional=True),
    ),
    _read_outcome,
    _show_outcome,
)
OUTCOMES = listed("Outcomes", "outcomes", OUTCOME)


def _read_edited(shown: Json) -> Edited:
    edited = Edited(*ENTRY.read(shown))
    edited.advice, edited.redactions = read_advice(shown), read_redactions(shown)
    return edited


EDITED = Shape("Edited", (*ENTRY.parts, ADVISED, TAKEN_OUT), _read_edited)
REPLACED = Shape(
    "Replaced",
    (
        Part("entry", ref(EDITED), lambda done: EDITED.show(done.entry), shapes=(EDITED,)),
        Part("occurrences", WHOLE, lambda done: done.occurrences),
    ),
    lambda shown: Replaced(EDITED.read(shown["entry"]), shown["occurrences"]),
)
FORGOTTEN = Shape(
    "Forgotten",
    (
        Part("scope", TEXT, lambda done: done.scope),
        Part("deleted", WHOLE, lambda done: done.deleted),
        Part("kept_elsewhere", WHOLE, lambda done: done.kept_elsewhere),
        Part("persisted", SWITCH, lambda done: done.persisted),
        Part("note", TEXT, lambda done: done.note, optional=True),
    ),
    lambda shown: Forgotten(**shown),
)
DELETED = Shape(
    "Deleted", (Part("deleted", WHOLE, lambda count: count),), lambda shown: cast(int, shown["deleted"])
)
CHANGED = Shape(
    "Changed", (Part("changed", WHOLE, lambda count: count),), lambda shown: cast(int, shown["changed"])
)
DONE = Shape("Done", (Part("done", SWITCH, lambda _: True),), lambda _: None)

_LEVELS = {"type": "string", "enum": ["search", "read", "readwrite", "manage"]}


def _read_grant(shown: Json) -> Grant:
    created = micros(shown["created_at"])
    assert created is not None
    return Grant(
        UUID(shown["space"]),
        parse_grantee(shown["grantee"]),
        parse_level(shown["level"]),
        parse_grantee(shown["granted_by"]),
        created,
        micros(shown["expires_at"]),
    )


GRANT = Shape(
    "Grant",
    (
        Part("space", ID, lambda grant: str(grant.space)),
        Part("grantee", TEXT, lambda grant: str(grant.grantee)),
        Part("level", _LEVELS, lambda grant: grant.level.label),
        Part("granted_by", TEXT, lambda grant: str(grant.granted_by)),
        Part("created_at", MOMENT, lambda grant: moment(grant.created_us)),
        Part("expires_at", MAYBE_MOMENT, lambda grant: moment(grant.expires_us)),
    ),
    _read_grant,
)
GRANTS = listed("Grants", "grants", GRANT)
UNSHARED = Shape(
    "Unshared",
    (
        Part("revoked", WHOLE, lambda done: done.revoked),
        Part("cascaded", WHOLE, lambda done: done.cascaded),
    ),
    lambda shown: Unshared(**shown),
)
SPACE = Shape(
    "Space",
    (
        Part("id", MAYBE_ID, lambda space: None if space.id is None else str(space.id)),
        Part("kind", TEXT, lambda space: space.kind),
        Part("ref", TEXT, lambda space: space.ref),
        Part("level", _LEVELS, lambda space: space.level),
        Part("source", TEXT, lambda space: space.source),
    ),
    lambda shown: SpaceInfo(**shown | {"id": None if shown["id"] is None else UUID(shown["id"])}),
)
SPACES = listed("Spaces", "spaces", SPACE)

# Looking


def _read_why_not(shown: Json) -> Any:
    from holdfast.operations.why_not import WhyNot

    return WhyNot(**shown)


MAYBE_WHOLE = {"type": ["integer", "null"]}
WHY_NOT: Shape[Any] = Shape(
    "WhyNot",
    (
        Part("stage", TEXT, lambda why: why.stage),
        Part("reason", TEXT, lambda why: why.reason),
        Part("word_rank", MAYBE_WHOLE, lambda why: why.word_rank),
        Part("vector_rank", MAYBE_WHOLE, lambda why: why.vector_rank),
        Part("rank", MAYBE_WHOLE, lambda why: why.rank),
        Part("score", {"type": ["number", "null"]}, lambda why: why.score),
    ),
    _read_why_not,
)
INDEX = plain(
    "Index",
    IndexStatus,
    {
        "pending": WHOLE,
        "embedder": MAYBE_TEXT,
        "following": MAYBE_TEXT,
        "held": MAYBE_TEXT,
        "overlap": {"type": ["number", "null"]},
        "note": MAYBE_TEXT,
    },
)
IDS = Shape(
    "Ids",
    (Part("ids", {"type": "array", "items": ID}, lambda ids: [str(id) for id in ids]),),
    lambda shown: [UUID(id) for id in shown["ids"]],
)


def _read_my_memory(shown: Json) -> MyMemory:
    fetched = micros(shown["fetched_at"])
    assert fetched is not None
    return MyMemory(
        shown["scope"],
        fetched,
        tuple(Category(row["name"], row["count"], tuple(row["recent_keys"])) for row in shown["categories"]),
        shown["locked"],
        shown.get("note"),
    )


CATEGORY = plain("Category", Category, {"name": TEXT, "count": WHOLE, "recent_keys": TEXTS})
MY_MEMORY = Shape(
    "MyMemory",
    (
        Part("scope", TEXT, lambda memory: memory.scope),
        Part("fetched_at", MOMENT, lambda memory: moment(memory.fetched_us)),
        Part(
            "categories",
            many(CATEGORY),
            lambda memory: [CATEGORY.show(row) for row in memory.categories],
            shapes=(CATEGORY,),
        ),
        Part("locked", WHOLE, lambda memory: memory.locked),
        Part("note", TEXT, lambda memory: memory.note, optional=True),
    ),
    _read_my_memory,
)
CONTEXT = plain("Context", Context, {"text": TEXT, "tokens": WHOLE, "left_out": WHOLE, "note": MAYBE_TEXT})
STATS = plain("Stats", Stats, {"spaces": WHOLE, "entries": WHOLE, "pending": WHOLE, "embedder": MAYBE_TEXT})


def _read_audit_line(shown: Json) -> AuditLine:
    at = micros(shown.pop("at"))
    assert at is not None
    return AuditLine(at_us=at, **shown)


def _read_reading(shown: Json) -> Reading:
    at = micros(shown["at"])
    assert at is not None
    return Reading(shown["by"], shown["operation"], at)


READING = Shape(
    "Reading",
    (
        Part("by", TEXT, lambda reading: reading.by),
        Part("operation", TEXT, lambda reading: reading.operation),
        Part("at", MOMENT, lambda reading: moment(reading.at_us)),
    ),
    _read_reading,
)
READINGS = listed("Readings", "readers", READING)
AUDIT_LINE = Shape(
    "AuditLine",
    (
        Part("position", WHOLE, lambda line: line.position),
        Part("at", MOMENT, lambda line: moment(line.at_us)),
        Part("operation", TEXT, lambda line: line.operation),
        Part("actor", TEXT, lambda line: line.actor),
        Part("space", TEXT, lambda line: line.space),
        Part("object", TEXT, lambda line: line.object),
        Part("revision", WHOLE, lambda line: line.revision),
    ),
    _read_audit_line,
)
AUDIT = listed("AuditLines", "lines", AUDIT_LINE)
