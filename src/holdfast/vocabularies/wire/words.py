"""The fields that several calls share, each said once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from holdfast.domain.errors import (
    InvalidKey,
    InvalidScope,
    MissingField,
    NotFound,
)
from holdfast.domain.principal import ID_BYTES
from holdfast.domain.retention import CENTURY_SECONDS
from holdfast.vocabularies.wire.fields import Field, Kind


def field(name: str, kind: Kind, sentence: str, example: Any = None, **more: Any) -> Field:
    return Field(name, kind, sentence, example, **more)


# In full, because what `\s` means differs from one language to the next.
_CONTROL = r"\x00-\x1f\x7f"
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BREAK = r"\x85\u2028\u2029"
_SEEN = rf"[^{_SPACE}{_CONTROL}]"
_WORDS = rf"[^\x00]*[^{_SPACE}\x00][^\x00]*"
NAME = {"pattern": rf"^[{_SPACE}]*{_SEEN}([^{_CONTROL}]*{_SEEN})?[{_SPACE}]*$"}
"""Not blank, no control characters; space around it is taken away. Its bytes are capped by a setting."""
LINE = {"pattern": rf"^[^{_CONTROL}{_BREAK}]*[{_BREAK}]?$"}
TAG = {"pattern": rf"^[^{_CONTROL}{_BREAK}]*{_SEEN}[^{_CONTROL}{_BREAK}]*[{_BREAK}]?$"}
NOT_BLANK = {"pattern": rf"^{_WORDS}$"}
NOT_SPACE = {"pattern": rf"[^{_SPACE}]"}
NO_NUL = {"pattern": r"^[^\x00]*$"}
SUBJECT: dict[str, Any] = {
    "pattern": r"^[^\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*$",
    "maxLength": ID_BYTES,
}
"""An id of somebody, as far as a pattern can say what is printable."""
LONGEST_TTL = {"minimum": 1, "maximum": CENTURY_SECONDS}
REVISIONS = {"minimum": 0, "maximum": (1 << 63) - 1}


def name_under(root: str, around: str = "") -> dict[str, str]:
    """A NAME in a tree of paths; `around` may stand before and after it."""
    seen = rf"[^{_SPACE}{_CONTROL}/]"
    name = rf"[{_SPACE}]*{seen}([^{_CONTROL}]*{seen})?[{_SPACE}]*"
    return {"pattern": f"^{root}{around}{name}{around}$"}


KEY = field(
    "key",
    Kind.TEXT,
    "The memory's name; slashes make a hierarchy.",
    "konflux/deploy",
    wrong=InvalidKey,
    bounds=NAME,
)
KNOWN_KEY = field("key", Kind.TEXT, "The memory's name.", "konflux/deploy", wrong=InvalidKey)
ID = field("id", Kind.ID, "The memory's id.", wrong=NotFound)
SPACE = field(
    "space",
    Kind.TEXT,
    "A space by id, reference or kind:reference; default: your own.",
    "user:alice",
    also=(UUID,),
)
REVISION = field(
    "expected_revision",
    Kind.WHOLE,
    "Refused with 412 unless the memory is at this revision.",
    3,
    bounds=REVISIONS,
)
TTL = field(
    "ttl_seconds",
    Kind.WHOLE,
    "How long it lives, in seconds.",
    7_776_000,
    into="ttl",
    also=(timedelta,),
    bounds=LONGEST_TTL,
)
LIMIT = field("limit", Kind.WHOLE, "At most so many.", 10, bounds={"minimum": 1})
CURSOR = field("cursor", Kind.TEXT, "Of the page before: gives the next.")
CATEGORY = field("category", Kind.TEXT, "A word to sort by, on one line.", "preferences", bounds=LINE)
TAGS = field(
    "tags",
    Kind.TEXTS,
    "Words to filter by.",
    ["deploy"],
    bounds={"items": {"type": "string"} | TAG},
)
IN_CATEGORY = field("category", Kind.TEXT, "Only this category.", "preferences")
WITH_TAGS = field("tags", Kind.TEXTS, "Only what has all of these.", ["deploy"])
HINT = field("hint", Kind.TEXT, "One line on what it is good for; weighs more than the text.", bounds=LINE)
ALWAYS = field("always_inject", Kind.SWITCH, "Whether every context holds it.")
IN_CONTEXT = field("in_context", Kind.SWITCH, "False: kept from models.")
QUERY = field("query", Kind.TEXT, "A question, in words.", "how do we deploy?", missing=MissingField)
SCOPE = field(
    "scope",
    Kind.TEXT,
    "`all`, `key:K`, `id:ID`, `pack:ID`, `pipeline:ID`, `packs` or `pipelines`.",
    "key:konflux/deploy",
    missing=InvalidScope,
    wrong=InvalidScope,
    bounds={"pattern": rf"^(all|packs|pipelines|(key|id|pack|pipeline):{_WORDS})$"},
)
LEVELS = ["search", "read", "readwrite", "manage"]

ADDRESS = (KNOWN_KEY, ID, SPACE)
FILTERS = (
    field(
        "spaces",
        Kind.TEXTS,
        "Only these spaces; null: your own.",
        also=(UUID,),
        bounds={"items": {"type": ["string", "null"]}},
    ),
    IN_CATEGORY,
    WITH_TAGS,
    field("since", Kind.MOMENT, "Said or written at this moment or later."),
    field("until", Kind.MOMENT, "Said or written before this moment."),
)
