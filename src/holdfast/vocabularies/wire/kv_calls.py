"""The rows of the kv vocabulary."""

from __future__ import annotations

from dataclasses import replace

from holdfast.domain.errors import InvalidKey, MissingKey, MissingValue
from holdfast.vocabularies.kv import KvCalls
from holdfast.vocabularies.wire.call import Call
from holdfast.vocabularies.wire.fields import Kind
from holdfast.vocabularies.wire.shape import SWITCH, TEXT, Part, Shape
from holdfast.vocabularies.wire.words import LINE, NAME, NO_NUL, field

_KEY = field("key", Kind.TEXT, "The name.", "timezone", missing=MissingKey, wrong=InvalidKey)
_NAMESPACE = field("namespace", Kind.TEXT, "A room of keys of its own.", bounds=LINE)
KEPT: Shape[bool] = Shape(
    "KvKept", (Part("persisted", SWITCH, lambda kept: kept),), lambda shown: bool(shown["persisted"])
)
VALUE: Shape[str] = Shape(
    "KvValue", (Part("value", TEXT, lambda value: value),), lambda shown: str(shown["value"])
)
REMOVED: Shape[bool] = Shape(
    "KvRemoved", (Part("removed", SWITCH, lambda removed: removed),), lambda shown: bool(shown["removed"])
)
KV_SET = Call(
    KvCalls,
    KvCalls.kv_set,
    (
        replace(_KEY, bounds=NAME),
        field("value", Kind.TEXT, "The text.", "Europe/Lisbon", missing=MissingValue, bounds=NO_NUL),
        _NAMESPACE,
    ),
    KEPT,
    writes=True,
)
KV_GET = Call(KvCalls, KvCalls.kv_get, (_KEY, _NAMESPACE), VALUE)
KV_DELETE = Call(KvCalls, KvCalls.kv_delete, (_KEY, _NAMESPACE), REMOVED, writes=True)
