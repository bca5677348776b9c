"""The policy of each vocabulary as data: partition, lifetime, delete, key. Vocabularies pick a profile; operations
obey."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from holdfast.domain.entry import JSON, TEXT
from holdfast.domain.partition import Partition
from holdfast.domain.retention import DAY_SECONDS, HOUR_SECONDS, Retention, Zero
from holdfast.domain.run import PIPELINE_RUNS, TOOL_RUNS

RESERVED_HEADS = (TOOL_RUNS, PIPELINE_RUNS, "plan_history")
"""Categories and first key segments that only the engine writes, because projections read them."""

DEFAULT_FACT_CATEGORY = "user_facts"


class KeyRule(Enum):
    GIVEN = "given"
    GIVEN_OR_MADE = "given or made"
    MADE = "made"


class Delete(Enum):
    TRASH = "trash"
    PURGE = "purge"


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    partition: Partition
    retention: Retention
    delete: Delete
    key: KeyRule
    scrubbed: bool = True
    indexed: bool = True
    text_only: bool = True
    trims_text: bool = False
    keeps_omitted: bool = True
    """Writing an existing key keeps omitted fields (hint, category, tags, flags) instead of clearing them."""
    keeps_history: bool = True
    may_crowd: bool = True
    """False: stored only while its space is less than half full, so that tools never keep a person from
    remembering."""
    default_category: str = ""
    media_type: str = TEXT
    """The media type of values given as text."""
    allows_blank: bool = False
    reserved_heads: tuple[str, ...] = ()
    of_files: bool = False
    """Keys are file names, unique without their case; categories are the types of files."""


CORE = Profile("core", Partition.NOTES, Retention(Zero.REFUSED), Delete.TRASH, KeyRule.GIVEN_OR_MADE)

FACTS = Profile(
    "facts",
    Partition.FACTS,
    Retention(Zero.DEFAULT, default=90 * DAY_SECONDS, minimum=HOUR_SECONDS, maximum=365 * DAY_SECONDS),
    Delete.PURGE,
    KeyRule.GIVEN,
    trims_text=True,
    keeps_omitted=False,
    default_category=DEFAULT_FACT_CATEGORY,
    reserved_heads=RESERVED_HEADS,
)

HANDLER = Profile(
    "handler",
    Partition.HANDLER,
    Retention(Zero.NONE),
    Delete.PURGE,
    KeyRule.GIVEN,
    scrubbed=False,
    indexed=False,
    text_only=False,
    keeps_omitted=False,
)

INTERNAL = Profile(
    "internal",
    Partition.INTERNAL,
    Retention(Zero.NONE),
    Delete.TRASH,
    KeyRule.GIVEN_OR_MADE,
    scrubbed=False,
    indexed=False,
    keeps_omitted=False,
)
SKILL = replace(INTERNAL, key=KeyRule.GIVEN, allows_blank=True)
"""A skill's own entries beside the entries of a store."""
SKILL_JSON = replace(SKILL, media_type=JSON)

STORES = Profile(
    "stores", Partition.STORES, Retention(Zero.NONE), Delete.TRASH, KeyRule.GIVEN, allows_blank=True
)
STORES_JSON = replace(STORES, media_type=JSON)
"""Values that are not text: stored as JSON, found by their words, not edited as text."""

FILES = Profile(
    "files", Partition.FILES, Retention(Zero.NONE, endless=True), Delete.TRASH, KeyRule.GIVEN, of_files=True
)

ASSISTANT = Profile(
    "assistant", Partition.ASSISTANT, Retention(Zero.NONE, endless=True), Delete.TRASH, KeyRule.MADE
)

RUNS = Profile(
    "runs",
    Partition.RUNS,
    Retention(Zero.DEFAULT, default=30 * DAY_SECONDS),
    Delete.PURGE,
    KeyRule.GIVEN,
    scrubbed=False,
    indexed=False,
    text_only=False,
    keeps_omitted=False,
    keeps_history=False,
    may_crowd=False,
)

CACHE = Profile(
    "cache",
    Partition.CACHE,
    Retention(Zero.REFUSED, required=True),
    Delete.PURGE,
    KeyRule.GIVEN,
    scrubbed=False,
    indexed=False,
    text_only=False,
    keeps_omitted=False,
    keeps_history=False,
    may_crowd=False,
)
CACHE_JSON = replace(CACHE, media_type=JSON)

PROFILES = {
    profile.partition: profile
    for profile in (CORE, FACTS, STORES, FILES, ASSISTANT, HANDLER, INTERNAL, RUNS, CACHE)
}
