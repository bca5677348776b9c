"""How an answer is shown as JSON, described, and read back: one line a part, so that what is sent, what is documented
and what a client gets cannot drift."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar
from uuid import UUID

from holdfast.domain.times import to_datetime, to_micros

T = TypeVar("T")
Json = dict[str, Any]
JSON_TYPE = "application/json"

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
ID = {"type": "string", "format": "uuid"}
MAYBE_ID = {"type": ["string", "null"], "format": "uuid"}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
SWITCH = {"type": "boolean"}
MOMENT = {"type": "string", "format": "date-time"}
MAYBE_MOMENT = {"type": ["string", "null"], "format": "date-time"}
TEXTS = {"type": "array", "items": TEXT}
_ZONE = len("+00:00")
_KNOWN_MOMENTS = 4_096
_KNOWN_SPACES = 4_096


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    schema: Mapping[str, Any]
    of: Callable[[Any], Any]
    optional: bool = False
    """Left out when there is nothing to say."""
    shapes: tuple[Shape[Any], ...] = ()
    """Those its schema refers to."""


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    name: str
    parts: tuple[Part, ...]
    made_of: Callable[[Json], T]
    quickly: Callable[[T], Json] | None = None
    """The same as the parts say, where that takes too long."""
    whole: Json | None = None
    """The schema of an answer that is not an object of parts, with an example."""
    media_type: str = JSON_TYPE
    """Of another type than JSON: the value is a text and goes as it is."""

    @property
    def is_text(self) -> bool:
        return self.media_type != JSON_TYPE

    def show(self, value: T) -> Json:
        if self.quickly is not None:
            return self.quickly(value)
        shown = {}
        for part in self.parts:
            said = part.of(value)
            if said is not None or not part.optional:
                shown[part.name] = said
        return shown

    def read(self, shown: Json) -> T:
        """What a newer server says besides is passed over."""
        if self.whole is not None:
            return self.made_of(shown)
        return self.made_of({part.name: shown[part.name] for part in self.parts if part.name in shown})

    def schema(self) -> Json:
        if self.whole is not None:
            return self.whole
        return {
            "type": "object",
            "properties": {part.name: dict(part.schema) for part in self.parts},
            "required": [part.name for part in self.parts if not part.optional],
            "additionalProperties": False,
        }


def ref(shape: Shape[Any]) -> Json:
    return {"$ref": f"#/components/schemas/{shape.name}"}


def many(shape: Shape[Any]) -> Json:
    return {"type": "array", "items": ref(shape)}


@lru_cache(_KNOWN_MOMENTS)
def moment(micros: int | None) -> str | None:
    """RFC 3339, UTC, to the microsecond. The same entries are shown again and again, so their times are remembered."""
    return None if micros is None else to_datetime(micros).isoformat()[:-_ZONE] + "Z"


def space_text(space: UUID) -> str:
    """As it is written; remembered, because every entry that is shown names its space twice."""
    return _written(space.int)


@lru_cache(_KNOWN_SPACES)
def _written(value: int) -> str:
    return str(UUID(int=value))


def micros(text: str | None) -> int | None:
    return None if text is None else to_micros(datetime.fromisoformat(text))


def listed(name: str, rows: str, row: Shape[T]) -> Shape[list[T]]:
    """A list under a name of its own, so that something may come to stand beside it."""
    return Shape(
        name,
        (Part(rows, many(row), lambda values: [row.show(value) for value in values], shapes=(row,)),),
        lambda shown: [row.read(value) for value in shown[rows]],
    )


def text_shape(name: str, media_type: str) -> Shape[Any]:
    """A text that is the whole answer; where an answer must be an object, it stands under `text`."""
    part = Part("text", TEXT, lambda text: text)
    return Shape(name, (part,), lambda shown: shown["text"], media_type=media_type)


def plain(name: str, kind: type[T], schemas: Mapping[str, Any]) -> Shape[T]:
    """A dataclass whose fields JSON can write as they are."""

    def part(field: str) -> Part:
        return Part(field, schemas[field], lambda value: getattr(value, field))

    return Shape(name, tuple(part(field) for field in schemas), lambda shown: kind(**shown))
