"""Completion: keys, categories, spaces and ids, only of what the caller may see and a model may be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from holdfast.vocabularies.core import CoreCalls
from holdfast.vocabularies.facts import FactCalls
from holdfast.vocabularies.session import Session

MOST = 100
LOOKED_AT = 1_000
"""The newest entries; an older one is found by recall."""


class Completed(NamedTuple):
    values: list[str]
    more: bool


def complete(session: Session, argument: str, begun: str) -> Completed:
    """Values that begin with what is written already; none for an argument that is free text."""
    look = _LOOKS.get(argument)
    found = () if look is None else dict.fromkeys(look(session, begun))
    values = list(islice((value for value in found if value.startswith(begun)), MOST + 1))
    return Completed(values[:MOST], len(values) > MOST)


def _keys(session: Session, begun: str) -> Iterable[str]:
    return (entry.key for entry in CoreCalls(session).list(begun, limit=_most(session)))


def _ids(session: Session, _: str) -> Iterable[str]:
    return (str(entry.id) for entry in CoreCalls(session).list(limit=_most(session)))


def _categories(session: Session, _: str) -> Iterable[str]:
    return (category.name for category in FactCalls(session).my_memory().categories)


def _spaces(session: Session, _: str) -> Iterable[str]:
    return (f"{space.kind}:{space.ref}" for space in CoreCalls(session).spaces() if space.level != "search")


def _most(session: Session) -> int:
    return min(LOOKED_AT, session.limits.list_rows)


_LOOKS: Mapping[str, Callable[[Session, str], Iterable[str]]] = {
    "key": _keys,
    "id": _ids,
    "category": _categories,
    "space": _spaces,
}
