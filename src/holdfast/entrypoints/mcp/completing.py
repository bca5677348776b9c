"""Completion: keys, categories, spaces and ids, only of what the caller may see and a model may be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from holdfast.surfaces.core import CoreCalls
from holdfast.surfaces.facts import FactCalls
from holdfast.surfaces.seat import Seat

MOST = 100
LOOKED_AT = 1_000
"""The newest entries; an older one is found by recall."""


class Completed(NamedTuple):
    values: list[str]
    more: bool


def complete(seat: Seat, argument: str, begun: str) -> Completed:
    """Values that begin with what is written already; none for an argument that is free text."""
    look = _LOOKS.get(argument)
    found = () if look is None else dict.fromkeys(look(seat, begun))
    values = list(islice((value for value in found if value.startswith(begun)), MOST + 1))
    return Completed(values[:MOST], len(values) > MOST)


def _keys(seat: Seat, begun: str) -> Iterable[str]:
    return (entry.key for entry in CoreCalls(seat).list(begun, limit=_most(seat)))


def _ids(seat: Seat, _: str) -> Iterable[str]:
    return (str(entry.id) for entry in CoreCalls(seat).list(limit=_most(seat)))


def _categories(seat: Seat, _: str) -> Iterable[str]:
    return (category.name for category in FactCalls(seat).my_memory().categories)


def _spaces(seat: Seat, _: str) -> Iterable[str]:
    return (f"{space.kind}:{space.ref}" for space in CoreCalls(seat).spaces() if space.level != "search")


def _most(seat: Seat) -> int:
    return min(LOOKED_AT, seat.limits.list_rows)


_LOOKS: Mapping[str, Callable[[Seat, str], Iterable[str]]] = {
    "key": _keys,
    "id": _ids,
    "category": _categories,
    "space": _spaces,
}
