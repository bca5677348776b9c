"""Answers that several vocabularies give, and those of core."""

from __future__ import annotations

from uuid import UUID

from holdfast.domain.access import Grant
from holdfast.domain.context import Context
from holdfast.domain.errors import ConfirmationRequired, HoldfastError, family
from holdfast.operations.audit import Reading
from holdfast.operations.edit import Edited, Replaced
from holdfast.operations.results import Forgotten, Outcome, Remembered, Similar, WhyNot
from holdfast.operations.share import Unshared
from holdfast.operations.spaces import SpaceInfo
from holdfast.recall.index import IndexStatus
from holdfast.vocabularies.encoding import (
    ADVICE,
    COUNTS,
    ID,
    LEVELS,
    TEXT,
    Answer,
    Codec,
    Json,
    Part,
    Value,
    decode_advice,
    encode_advice,
    item_of,
    many,
    record,
    rows,
    single,
)
from holdfast.vocabularies.entries import ENTRY, SIMILAR

_STORED = (
    "id", "key", "space", "category", "revision", "created", "updated", "expires_us", "redacted", "redactions",
    "persisted", "note", "advised", "quarantined",
)  # fmt: skip
STORED = record(
    Remembered,
    "Stored",
    order=_STORED,
    optional=("redactions", "note", "advised", "quarantined"),
    renamed={"advised": "advice"},
    of={"advised": ADVICE},
)


def _remembered() -> Codec[Remembered]:
    similar = many(item_of(SIMILAR))

    def encode_similar(found: list[Similar] | None) -> list[Json] | None:
        return None if found is None else [SIMILAR.encode(one) for one in found]

    def encode(remembered: Remembered) -> Json:
        return (
            STORED.encode(remembered)
            | ({"advice": encode_advice(advice)} if (advice := remembered.advice) else {})
            | {"similar": encode_similar(remembered.similar)}
        )

    def decode(encoded: Json) -> Remembered:
        near = encoded.get("similar")
        similar = None if near is None else [SIMILAR.decode(entry) for entry in near]
        return STORED.decode(encoded)._replace(similar=similar)

    schema = {**similar.schema, "type": ["array", "null"]}
    return Codec((*STORED.parts, Part("similar", schema, of=SIMILAR)), encode, decode)


REMEMBERED = Answer("Remembered", _remembered)


def error_named(code: str, message: str, proposal: str | None = None) -> HoldfastError:
    error = family().get(code, HoldfastError)(message)
    if isinstance(error, ConfirmationRequired):
        error.proposal = proposal
    return error


def _outcome() -> Codec[Outcome]:
    """A stored row is encoded as if it had been sent alone."""

    def encode(outcome: Outcome) -> Json:
        if outcome.error is not None:
            return {"error": outcome.error.code, "message": outcome.error.message}
        assert outcome.remembered is not None
        return STORED.encode(outcome.remembered)

    def decode(encoded: Json) -> Outcome:
        if "error" in encoded:
            return Outcome(error=error_named(encoded["error"], encoded["message"]))
        return Outcome(STORED.decode(encoded))

    refusal = Part("error", TEXT, optional=True), Part("message", TEXT, optional=True)
    return Codec((*(part._replace(optional=True) for part in STORED.parts), *refusal), encode, decode)


OUTCOMES = rows("Outcomes", "outcomes", Answer("Outcome", _outcome))


def _edited() -> Codec[Edited]:
    """An entry, and beside its parts what was said about the new words and taken out of them."""

    def encode(edited: Edited) -> Json:
        return (
            ENTRY.encode(edited)
            | ({"advice": encode_advice(edited.advice)} if edited.advice else {})
            | ({"redactions": dict(edited.redactions)} if edited.redactions else {})
        )

    def decode(encoded: Json) -> Edited:
        edited = Edited(*ENTRY.decode(encoded))
        edited.advice = decode_advice(encoded.get("advice", ()))
        edited.redactions = tuple(sorted(encoded.get("redactions", {}).items()))
        return edited

    advice = Part("advice", ADVICE.schema, optional=True), Part("redactions", COUNTS, optional=True)
    return Codec((*ENTRY.parts, *advice), encode, decode)


EDITED = Answer("Edited", _edited)
REPLACED = record(Replaced, order=("entry", "occurrences"), of={"entry": EDITED})
FORGOTTEN = record(Forgotten, optional=("note",))
DELETED = single("Deleted", "deleted", int)
GRANT = record(Grant)
GRANTS = rows("Grants", "grants", GRANT)
UNSHARED = record(Unshared)
SPACE = record(SpaceInfo, "Space", of={"level": LEVELS})
SPACES = rows("Spaces", "spaces", SPACE)
WHY_NOT = record(WhyNot)
INDEX = record(IndexStatus, "Index")
IDS = rows("Ids", "ids", Value(ID, str, UUID))
CONTEXT = record(Context)
READINGS = rows("Readings", "readers", record(Reading))
