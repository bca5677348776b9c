"""The rows of the facts vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from holdfast.domain.errors import InvalidKey, MissingKey, MissingValue
from holdfast.domain.profile import FACTS
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.wire import answers, entries, run_answers
from holdfast.vocabularies.wire.call import NO_VALUE, Call, with_key
from holdfast.vocabularies.wire.fields import Field, Kind
from holdfast.vocabularies.wire.shape import Shape
from holdfast.vocabularies.wire.words import (
    CATEGORY,
    CURSOR,
    IN_CATEGORY,
    LIMIT,
    NAME,
    NOT_BLANK,
    SCOPE,
    SUBJECT,
    TAGS,
    field,
)

VALUE_KEY = field(
    "key", Kind.TEXT, "The fact's name.", "preferences/editor", missing=MissingKey, wrong=InvalidKey
)
_NEW_KEY = replace(VALUE_KEY, bounds=NAME)
_FACT_TTL = field(
    "ttl_seconds",
    Kind.WHOLE,
    "1 hour to 365 days; 0 or none: 90 days.",
    7_776_000,
    also=(timedelta,),
    bounds={
        "anyOf": [
            {"enum": [0, None]},
            {"minimum": FACTS.retention.minimum, "maximum": FACTS.retention.maximum},
        ]
    },
)
_ASKED_BY = ("key", "prefix", "query")
_ONE_OF_THEM = {
    "anyOf": [{"properties": {other: NO_VALUE for other in _ASKED_BY if other != one}} for one in _ASKED_BY]
}


def facts(run: Callable[..., Any], fields: tuple[Field, ...], answer: Shape[Any], **more: Any) -> Call:
    return Call(FactCalls, run, fields, answer, **more)


FACT_STORE = facts(
    FactCalls.store,
    (
        _NEW_KEY,
        field("value", Kind.TEXT, "The fact.", "neovim", missing=MissingValue, bounds=NOT_BLANK),
        CATEGORY,
        TAGS,
        _FACT_TTL,
    ),
    answers.STORED,
    writes=True,
    repeat=with_key,
)
FACT_RECALL = facts(
    FactCalls.recall,
    (
        field("key", Kind.TEXT, "The exact name.", "preferences/editor"),
        field("prefix", Kind.TEXT, "What names begin with, literally.", "preferences/"),
        field("query", Kind.TEXT, "A question, in words.", "which editor?"),
        LIMIT,
    ),
    entries.FACTS,
    aside=True,
    rules=_ONE_OF_THEM,
)
FACT_GET = facts(FactCalls.get, (VALUE_KEY,), entries.FACT)
FACT_LIST = facts(
    FactCalls.list,
    (
        field("prefix", Kind.TEXT, "What names begin with."),
        IN_CATEGORY,
        field("tag", Kind.TEXT, "Only with this tag."),
        field(
            "expiring_within",
            Kind.WHOLE,
            "Only what ends within so many seconds, the first to end first.",
            604_800,
            also=(timedelta,),
            bounds={"minimum": 0},
        ),
        LIMIT,
        CURSOR,
    ),
    entries.FACT_PAGE,
)
FACT_RENEW = facts(
    FactCalls.renew,
    (VALUE_KEY, replace(_FACT_TTL, sentence="1 hour to 365 days from now; 0: 90 days; none: as long again.")),
    entries.FACT,
    writes=True,
)
FACT_HISTORY = facts(FactCalls.history, (VALUE_KEY, LIMIT), entries.REVISIONS)
FACT_FORGET = facts(FactCalls.forget, (SCOPE,), answers.FORGOTTEN, writes=True)
MY_MEMORY = facts(FactCalls.my_memory, (), answers.MY_MEMORY)
MY_DEFAULTS = facts(
    FactCalls.defaults,
    (
        field(
            "caller",
            Kind.TEXT,
            "Whose, as kind:id; for administrators.",
            "user:alice",
            bounds=SUBJECT | {"minLength": 1},
        ),
    ),
    run_answers.DEFAULTS,
    aside=True,
)
CALLERS = facts(FactCalls.callers, (LIMIT,), run_answers.CALLERS, aside=True)
