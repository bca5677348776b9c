"""A row of the table of calls: which function of a vocabulary, what it may be told, what it answers. REST routes, tools
and clients all point at these rows, so none of them can drift from another. Each vocabulary has a file of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from holdfast.vocabularies.session import Session
from holdfast.vocabularies.wire.fields import Field, Schema
from holdfast.vocabularies.wire.shape import Shape

NO_VALUE: Schema = {"type": "null"}


@dataclass(frozen=True, slots=True)
class Call:
    surface: Callable[[Session], Any]
    run: Callable[..., Any]
    fields: tuple[Field, ...]
    answer: Shape[Any]
    writes: bool = False
    aside: bool = False
    """Whether it computes for milliseconds, so that a loop must not wait for it."""
    rules: Schema | None = None
    """What JSON Schema says of several fields together."""
    repeat: Callable[[dict[str, Any], str], None] | None = None
    """Puts an idempotency key among the arguments, where the call takes care of it itself."""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def sentence(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


def with_key(given: dict[str, Any], key: str) -> None:
    given["idempotency_key"] = key


def with_key_each(given: dict[str, Any], key: str) -> None:
    """Each row has a key of its own, made from the one of all."""
    for place, row in enumerate(given["entries"] if isinstance(given["entries"], list) else ()):
        if isinstance(row, dict):
            row.setdefault("idempotency_key", f"{sha256(key.encode()).hexdigest()}/{place}")
