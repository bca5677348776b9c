"""Results as JSON: a schema, an encoder and a decoder for each, made from the annotations of its class."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from holdfast.domain.access import Level, parse_level
from holdfast.domain.principal import Principal, parse_grantee
from holdfast.domain.times import to_datetime, to_micros
from holdfast.safety.advice import Advice

T = TypeVar("T")
Json = dict[str, Any]
Schema = Mapping[str, Any]
JSON_TYPE = "application/json"

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
ID = {"type": "string", "format": "uuid"}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
SWITCH = {"type": "boolean"}
BYTES = {"type": "string", "format": "byte"}
MOMENT = {"type": "string", "format": "date-time"}
MAYBE_MOMENT = {"type": ["string", "null"], "format": "date-time"}
TEXTS = {"type": "array", "items": TEXT}
LEVELS = {"type": "string", "enum": [level.label for level in Level]}
NO_VALUE: Schema = {"type": "null"}
_ZONE = len("+00:00")
_MICROS = "_us"
_KNOWN_MOMENTS = 4_096
_KNOWN_SPACES = 4_096


class Part(NamedTuple):
    """One property of an answer."""

    name: str
    schema: Schema
    optional: bool = False
    """Left out while it holds its default."""
    of: Answer[Any] | None = None
    """The answer its schema refers to."""


class Codec(NamedTuple, Generic[T]):
    parts: tuple[Part, ...]
    encode: Callable[[T], Json]
    decode: Callable[[Json], T]


class Answer(Generic[T]):
    """One kind of result on the wire. Its codec is made at first use, so that declaring one costs nothing."""

    def __init__(
        self,
        name: str,
        codec: Callable[[], Codec[T]],
        *,
        whole: Json | None = None,
        media_type: str = JSON_TYPE,
    ) -> None:
        self.name = name
        self.whole = whole
        """The schema, with an example, of an answer that is not an object of parts."""
        self.media_type = media_type
        """Anything but JSON: the value is a text and is sent as it is."""
        self._codec = codec

    @cached_property
    def codec(self) -> Codec[T]:
        return self._codec()

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.codec.parts

    @property
    def is_text(self) -> bool:
        return self.media_type != JSON_TYPE

    @property
    def ref(self) -> Json:
        return {"$ref": f"#/components/schemas/{self.name}"}

    def encode(self, value: T) -> Json:
        return self.codec.encode(value)

    def decode(self, encoded: Json) -> T:
        """Ignores properties that a newer server sends."""
        return self.codec.decode(encoded)

    def schema(self) -> Json:
        if self.whole is not None:
            return self.whole
        return {
            "type": "object",
            "properties": {part.name: dict(part.schema) for part in self.parts},
            "required": [part.name for part in self.parts if not part.optional],
            "additionalProperties": False,
        }


class Value(NamedTuple):
    """A schema, an encoder and a decoder for values of one type; None where JSON has them as they are."""

    schema: Schema
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None
    of: Answer[Any] | None = None


@lru_cache(_KNOWN_MOMENTS)
def moment(micros: int | None) -> str | None:
    """RFC 3339 in UTC, to the microsecond. Cached, because the same entries are encoded again and again."""
    return None if micros is None else to_datetime(micros).isoformat()[:-_ZONE] + "Z"


def micros(text: str | None) -> int | None:
    return None if text is None else to_micros(datetime.fromisoformat(text))


def space_text(space: UUID) -> str:
    """The id of a space as text; cached, because every encoded entry holds it twice."""
    return _uuid_text(space.int)


@lru_cache(_KNOWN_SPACES)
def _uuid_text(value: int) -> str:
    return str(UUID(int=value))


_SCALARS: Mapping[object, Value] = {
    str: Value(TEXT),
    int: Value(WHOLE),
    float: Value(NUMBER),
    bool: Value(SWITCH),
    Any: Value({}),
    UUID: Value(ID, str, UUID),
    Principal: Value(TEXT, str, parse_grantee),
    Level: Value(LEVELS, lambda level: level.label, parse_level),
}
_MOMENT = Value(MOMENT, moment, micros)
COUNTS: Json = {"type": "object", "additionalProperties": WHOLE}
NOTE = Part("note", TEXT, optional=True)


def encode_advice(advice: Iterable[Advice]) -> list[Json]:
    return [{"code": str(code), "message": message} for code, message in advice]


def decode_advice(advice: Iterable[Json]) -> tuple[Advice, ...]:
    return tuple(Advice(one["code"], one["message"]) for one in advice)


ADVICE = Value(
    {
        "type": "array",
        "description": "What the save coach has to say about the text.",
        "items": {
            "type": "object",
            "properties": {"code": TEXT, "message": TEXT},
            "required": ["code", "message"],
        },
    },
    encode_advice,
    decode_advice,
)


def record(
    kind: type[T],
    name: str = "",
    *,
    order: Sequence[str] = (),
    optional: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    of: Mapping[str, Answer[Any] | Value | Schema] | None = None,
) -> Answer[T]:
    """An object with a property for each field of a dataclass or named tuple.

    `order` names the attributes when they are not simply the fields; properties among them are not read back.
    `optional` ones are left out while they hold their default. `of` describes what an annotation does not say.
    A field `expires_us` is a moment called `expires_at`.
    """
    return Answer(
        name or kind.__name__, lambda: _record_codec(kind, order, optional, renamed or {}, of or {})
    )


def _record_codec(
    kind: type[T],
    order: Sequence[str],
    optional: Collection[str],
    renamed: Mapping[str, str],
    of: Mapping[str, Answer[Any] | Value | Schema],
) -> Codec[T]:
    defaults, hints = _defaults(kind), get_type_hints(kind)
    parts, encoders, decoders = [], [], []
    for attribute in order or defaults:
        hint = hints.get(attribute) or get_type_hints(getattr(kind, attribute).fget)["return"]
        left_out = attribute in optional
        value = _value(hint, of.get(attribute), is_moment=attribute.endswith(_MICROS), strip_none=left_out)
        wire = renamed.get(attribute) or _wire_name(kind, attribute)
        parts.append(Part(wire, value.schema, left_out, value.of))
        encoders.append((attribute, wire, value.encode, defaults[attribute] if left_out else MISSING))
        if attribute in defaults:
            decoders.append((attribute, wire, value.decode))

    def encode(result: T) -> Json:
        encoded = {}
        for attribute, wire, encode_one, default in encoders:
            value = getattr(result, attribute)
            if value != default:
                encoded[wire] = value if encode_one is None else encode_one(value)
        return encoded

    def decode(encoded: Json) -> T:
        return kind(
            **{
                attribute: encoded[wire] if decode_one is None else decode_one(encoded[wire])
                for attribute, wire, decode_one in decoders
                if wire in encoded
            }
        )

    return Codec(tuple(parts), encode, decode)


def _defaults(kind: type[Any]) -> Mapping[str, Any]:
    """The fields in order, each with its default."""
    if issubclass(kind, tuple):
        return {name: kind._field_defaults.get(name, MISSING) for name in kind._fields}  # type: ignore[attr-defined]
    return {field.name: field.default for field in fields(kind)}


def _wire_name(kind: type[Any], attribute: str) -> str:
    """The name of the property that gives a moment as a datetime: `at` for `at_us`, else `expires_at`."""
    stem = attribute.removesuffix(_MICROS)
    return stem if stem in (attribute, "at") or hasattr(kind, stem) else f"{stem}_at"


def _value(
    hint: Any,
    given: Answer[Any] | Value | Schema | None,
    *,
    is_moment: bool = False,
    strip_none: bool = False,
) -> Value:
    """The codec of an annotation. `given` is the codec of the whole, the answer of the items, or a schema."""
    if isinstance(given, Value):
        return given
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        (one,) = (choice for choice in inner if choice is not types.NoneType)
        value = _value(one, given, is_moment=is_moment)
        return value if strip_none else _or_none(value)
    if origin in (tuple, list) and get_origin(inner[0]) is tuple:
        pairs = _table(get_args(inner[0])[1])
        return pairs._replace(decode=lambda table: tuple(sorted(table.items())))
    if origin in (tuple, list):
        return many(_value(inner[0], given), origin)
    if origin is Mapping:
        return _table(inner[1])
    if isinstance(given, Answer):
        return item_of(given)
    value = _MOMENT if is_moment else _SCALARS[hint]
    return value if given is None else value._replace(schema=given)


def item_of(answer: Answer[Any]) -> Value:
    return Value(answer.ref, answer.encode, answer.decode, answer)


def many(item: Value, into: Callable[[list[Any]], Any] = list) -> Value:
    """An array of items."""
    encode, decode = item.encode, item.decode
    return Value(
        {"type": "array", "items": item.schema},
        encode and (lambda values: [encode(value) for value in values]),
        lambda values: into(values if decode is None else [decode(value) for value in values]),
        item.of,
    )


def _table(hint: Any) -> Value:
    known = {} if hint is Any else {"additionalProperties": _SCALARS[hint].schema}
    return Value({"type": "object"} | known, dict, dict)


def _or_none(value: Value) -> Value:
    encode, decode = value.encode, value.decode
    return Value(
        {**value.schema, "type": [value.schema["type"], "null"]},
        encode and (lambda one: None if one is None else encode(one)),
        decode and (lambda one: None if one is None else decode(one)),
        value.of,
    )


def rows(
    name: str,
    part: str,
    item: Answer[Any] | Value,
    *others: Part,
    kind: Callable[[list[Any]], Any] = list,
) -> Answer[Any]:
    """A list under a name, and beside it `others`: attributes of a list of that kind."""

    def codec() -> Codec[Any]:
        value = many(item_of(item) if isinstance(item, Answer) else item, kind)
        empty = kind([])

        def encode(found: Any) -> Json:
            encoded: Json = {part: value.encode(found) if value.encode else list(found)}
            for other in others:
                one = getattr(found, other.name)
                if not other.optional or one != getattr(empty, other.name):
                    encoded[other.name] = one
            return encoded

        def decode(encoded: Json) -> Any:
            assert value.decode is not None
            found = value.decode(encoded[part])
            for other in others:
                if other.name in encoded:
                    setattr(found, other.name, encoded[other.name])
            return found

        return Codec((Part(part, value.schema, of=value.of), *others), encode, decode)

    return Answer(name, codec)


def single(name: str, part: str, kind: type[T]) -> Answer[T]:
    """One plain value under a name."""
    parts = (Part(part, _SCALARS[kind].schema),)
    return Answer(name, lambda: Codec(parts, lambda value: {part: value}, lambda encoded: encoded[part]))


def text_answer(name: str, media_type: str = JSON_TYPE) -> Answer[str]:
    """A text; where an answer must be an object, it is its property `text`."""
    answer = single(name, "text", str)
    answer.media_type = media_type
    return answer


def any_answer(name: str, schema: Json) -> Answer[Any]:
    """A value that is JSON already; `schema` holds an example."""
    return Answer(name, lambda: Codec((), lambda value: value, lambda encoded: encoded), whole=schema)
