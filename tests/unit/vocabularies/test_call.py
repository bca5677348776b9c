"""The description of a call at its method: fields from annotations, the table from classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import pytest

from holdfast.entrypoints.http.routes import ROUTES
from holdfast.vocabularies.call import Vocabulary, call, call_of
from holdfast.vocabularies.encoding import single
from holdfast.vocabularies.fields import Field, Kind

COUNT = single("Count", "count", int)
MANY = Field("Several, one of them.", bounds={"enum": ["a", "b"]})


class Toys(Vocabulary):
    @call(COUNT, writes=True)
    def put(
        self,
        name: Annotated[str, Field("The name.")],
        *,
        seconds: Annotated[int | timedelta | None, Field("How long.", name="ttl_seconds")] = None,
        choice: Annotated[str, MANY] = "a",
        idempotency_key: str | None = None,
    ) -> int:
        """Puts a toy
        somewhere."""
        return 1


def test_a_field_is_named_after_its_parameter_and_sent_under_its_own_name() -> None:
    assert [(field.name, field.parameter) for field in call_of(Toys.put).fields] == [
        ("name", "name"),
        ("ttl_seconds", "seconds"),
        ("choice", "choice"),
    ]


@pytest.mark.parametrize(
    ("hint", "kind", "also"),
    [
        (str | None, Kind.TEXT, ()),
        (bool, Kind.SWITCH, ()),
        (int | timedelta | None, Kind.WHOLE, (timedelta,)),
        (datetime | str | None, Kind.MOMENT, ()),
        (str | UUID, Kind.ID, ()),
        (Iterable[str] | None, Kind.TEXTS, ()),
        (Iterable[str | UUID] | None, Kind.TEXTS, (UUID,)),
        (Mapping[str, bool], Kind.TABLE, ()),
        (Iterable[Mapping[str, Any]], Kind.ROWS, ()),
        (Any, Kind.ANY, ()),
    ],
)
def test_an_annotation_gives_the_kind(hint: Any, kind: Kind, also: tuple[type, ...]) -> None:
    field = Field("A value.").at("value", hint)
    assert (field.kind, field.also) == (kind, also)


def test_a_method_keeps_its_plain_types() -> None:
    shown = str(inspect.signature(Toys.put)).replace("'", "")
    assert shown.startswith("(self, name: str, *, seconds: int | timedelta | None = None, choice: str = a,")


def test_a_class_is_the_table_of_its_calls() -> None:
    assert list(Toys.calls()) == ["put"]
    described = Toys.calls()["put"]
    assert (described.vocabulary, described.writes, described.sentence) == (
        Toys,
        True,
        "Puts a toy somewhere.",
    )


def test_every_call_of_every_vocabulary_has_a_route() -> None:
    routed = {described.run for route in ROUTES for described in (route.call, route.purge) if described}
    vocabularies = {route.call.vocabulary for route in ROUTES}
    assert routed == {one.run for vocabulary in vocabularies for one in vocabulary.calls().values()}
