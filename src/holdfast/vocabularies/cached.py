"""Cached tools: outputs are stored in the caller's own space, under the tool's name, version and input, for a bounded
time. An output that cannot be stored faithfully, or must not be stored, is refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from holdfast.contracts.storage import Job
from holdfast.domain.entry import BYTES, JSON, TEXT, Entry
from holdfast.domain.errors import InvalidField, NotFound, TtlTooShort
from holdfast.domain.limits import Limits, check_label
from holdfast.domain.partition import Partition
from holdfast.domain.profile import CACHE, CACHE_JSON
from holdfast.domain.retention import Ttl
from holdfast.operations import read, remember
from holdfast.operations.authorize import EntryName
from holdfast.operations.notes import NoteInput
from holdfast.safety.scrub import Scrubbed
from holdfast.vocabularies.call import Vocabulary

PARTITIONS = (Partition.CACHE,)
LONGEST_NAME = 200
FORM = 2
"""Version of the stored form of outputs. Part of their keys, so that outputs in an older form are never found."""

_PLAIN = frozenset((str, int, float, bool, type(None)))
_decode = json.JSONDecoder().raw_decode
"""Decodes without skipping white space: there is none."""
_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


@dataclass(frozen=True, slots=True)
class Cache:
    """Time to live of a tool's outputs, and their category."""

    ttl: int | timedelta
    category: str = "cache"


class StoredOutput(NamedTuple):
    """An output as it is stored: text and bytes unchanged, so that their size is that of the output; anything else as
    JSON."""

    body: str | bytes
    media_type: str


class Uncacheable(Exception):
    """The reason an input or an output is not for the cache."""


def check_cache(cache: object, limits: Limits) -> Cache:
    """Checks a cache when a tool is registered, not when it is called."""
    if not isinstance(cache, Cache):
        raise InvalidField("Say how to cache as holdfast.Cache(ttl=300).")
    ttl: Ttl = cache.ttl
    if CACHE.retention.seconds(ttl) is None:
        raise TtlTooShort("A time to live is required here.")
    check_label("category", cache.category, limits)
    return cache


def check_name(what: str, name: object) -> str:
    """Checks the name of a tool, a pipeline or a version."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidField(f"The {what} must be printable text.")
    if len(name.encode()) > LONGEST_NAME:
        raise InvalidField(f"The {what} may have {LONGEST_NAME} bytes.")
    return name.strip()


def cache_key(tool: str, version: str, inputs: dict[str, Any]) -> str:
    """Equal for inputs that are equal as JSON, in whatever order they were written."""
    try:
        _require_json(inputs)
        words = _canonical([FORM, tool, version, inputs]).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Uncacheable(f"the input is not JSON ({type(error).__name__})") from None
    return sha256(words).hexdigest()


def _require_json(value: Any) -> None:
    """JSON would write the name 1 as "1", so that two inputs became one. What else it cannot write, it refuses."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if type(name) is not str:
                raise TypeError("a name that is no text")
            if type(inner) not in _PLAIN:
                _require_json(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            if type(inner) not in _PLAIN:
                _require_json(inner)


def encode_output(output: Any, scrub: Callable[[str], Scrubbed]) -> StoredOutput:
    """The output so that a hit gives back exactly what the tool gave."""
    if type(output) is bytes:
        _refuse_credentials(output.decode("utf-8", "replace"), scrub)
        return StoredOutput(output, BYTES)
    try:
        texts = list(_texts(output))
        encoded = json.dumps(output, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        encoded.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Uncacheable(f"the output is neither JSON nor bytes ({type(error).__name__})") from None
    # As JSON, where names stand beside their values, and each text as it is, because JSON hides line breaks.
    _refuse_credentials("\n".join((encoded, *texts)), scrub)
    return StoredOutput(output, TEXT) if type(output) is str else StoredOutput(encoded, JSON)


def _refuse_credentials(shown: str, scrub: Callable[[str], Scrubbed]) -> None:
    if scrub(shown).count:
        raise Uncacheable("the output holds what looks like a credential")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value that JSON gives back as it was; a tuple, for one, would come back as a list."""
    match value:
        case None:
            pass
        case str() | bool() | int() | float() if type(value) in (str, bool, int, float):
            if isinstance(value, str):
                yield value
        case list() if type(value) is list:
            for inner in value:
                yield from _texts(inner)
        case dict() if type(value) is dict:
            for name, inner in value.items():
                if type(name) is not str:
                    raise TypeError("a name that is no text")
                yield from _texts(inner)
        case _:
            raise TypeError(type(value).__name__)


def decode_output(stored: StoredOutput) -> Any:
    body, media_type = stored
    return _decode(body)[0] if isinstance(body, str) and media_type == JSON else body


class CachedCalls(Vocabulary):
    """The cache of one caller: nobody else's is reachable from it, and no model sees it."""

    def find(self, key: str) -> StoredOutput | None:
        try:
            content = read.get(self._session, EntryName(key, partitions=PARTITIONS)).content
        except NotFound:
            return None
        return StoredOutput(content.text if content.is_text else content.body, content.media_type)

    def keep(self, key: str, output: StoredOutput, cache: Cache) -> Job[Entry]:
        arguments = NoteInput(output.body, key, category=cache.category, ttl=cache.ttl)
        profile = CACHE_JSON if output.media_type == JSON else CACHE
        return remember.keep(self._session, profile, None, arguments).then(lambda stored: stored.entry)
