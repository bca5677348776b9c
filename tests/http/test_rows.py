"""Many rows through a client come to what they come to through the Python door, each by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from holdfast import AsyncClient, Client
from holdfast.operations.results import Outcome
from tests.http.serving import Service

NAN = float("nan")
ID = UUID("0b6f3c1e-6f2d-8a47-9c5d-3e8a1f2e3d4c")
NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
DAY = timedelta(days=1)
DEEP: list[Any] = []
DEEP.append(DEEP)

Send = Callable[[Service, list[Any]], list[Outcome]]


def _now(service: Service, rows: list[Any]) -> list[Outcome]:
    with Client(service.url, service.token("client"), retries=0) as client:
        return client.remember_many(rows)


def _later(service: Service, rows: list[Any]) -> list[Outcome]:
    async def send() -> list[Outcome]:
        async with AsyncClient(service.url, service.token("client"), retries=0) as client:
            return await client.remember_many(rows)

    return asyncio.run(send())


both = pytest.mark.parametrize("send", [_now, _later], ids=["client", "awaited client"])


def _codes(outcomes: list[Outcome]) -> list[str]:
    return ["kept" if one.error is None else one.error.code for one in outcomes]


REFUSED: list[Any] = [
    {"text": "x", "ttl_seconds": 3_600},
    {"data": "eA==", "encrypted": True},
    {"text": "x", "colour": object()},
    {"text": "x", 5: "x"},
    {"text": "x", "expected_revision": 1.5},
    {"text": "x", "expected_revision": 1.0},
    {"text": "x", "expected_revision": NAN},
    {"text": "x", "expected_revision": 10**5_000},
    {"text": "x", "expected_revision": DAY},
    {"text": "x", "ttl": 3_600.0},
    {"text": "x", "ttl": float("inf")},
    {"text": "x", "ttl": Decimal(3_600)},
    {"text": "x", "ttl": timedelta(0)},
    {"text": NAN},
    {"text": {"x"}},
    {"text": b"x"},
    {"text": ID},
    {"text": NOON},
    {"text": "\ud800"},
    {"text": None},
    {"key": "k"},
    {"text": "x", "key": NAN},
    {"text": "x", "key": {"k"}},
    {"text": "x", "key": b"k"},
    {"text": "x", "key": ID},
    {"text": "x", "key": "\ud800"},
    {"text": "x", "hint": NOON},
    {"text": "x", "category": DEEP},
    {"text": "x", "tags": b"ab"},
    {"text": "x", "tags": [b"ab"]},
    {"text": "x", "tags": [NAN]},
    {"text": "x", "tags": [ID]},
    {"text": "x", "tags": DEEP},
    {"text": "x", "tags": object()},
    {"text": "x", "at": b"2026-05-08T12:00:00Z"},
    {"text": "x", "at": NOON.replace(tzinfo=None)},
    {"text": "x", "space": NOON},
    {"text": "x", "space": object()},
    {"text": "x", "supersedes": NAN},
    {"text": "x", "supersedes": ID},
    {"text": "x", "derived_from": b"ab"},
    {"text": "x", "derived_from": object()},
    {"text": "x", "derived_from": [{1}]},
    {"text": "x", "derived_from": [ID]},
    {"text": "x", "in_context": None},
    {"text": "x", "encrypted": None},
    {"text": "x", "always_inject": object()},
    {"text": "x", "idempotency_key": object()},
    {},
    7,
    NAN,
    object(),
    "ab",
]


@both
@pytest.mark.parametrize("row", REFUSED)
def test_a_row_is_refused_alone_and_with_the_code_of_the_python_door(
    service: Service, send: Send, row: Any
) -> None:
    rows = [{"text": "first"}, row, {"text": "last"}]
    assert service.memory is not None
    here = _codes(service.memory.user("local").remember_many(rows))

    assert (here[0], here[2]) == ("kept", "kept")
    assert here[1] != "kept"
    assert _codes(send(service, rows)) == here


@both
def test_what_python_writes_otherwise_than_json_is_kept(service: Service, send: Send) -> None:
    rows: list[Any] = [
        {"text": "x", "ttl": DAY, "at": NOON, "tags": {"a"}},
        {"text": "x", "tags": (tag for tag in "ab")},
        {"text": "x", "tags": {"a": 1}},
        {"text": b"\x00", "encrypted": True},
        [("text", "pairs")],
    ]
    assert _codes(send(service, rows)) == ["kept"] * 5


@both
def test_a_name_of_the_wire_is_refused_in_the_words_of_python(service: Service, send: Send) -> None:
    (outcome,) = send(service, [{"text": "x", "ttl_seconds": 60}])

    assert outcome.error is not None
    assert outcome.error.message == "remember() has no argument `ttl_seconds`."


@both
def test_outcomes_keep_their_order_however_many_rows_stay_behind(service: Service, send: Send) -> None:
    rows = [{"text": "x", "key": f"order/{n}"} if n % 3 else {"text": NAN} for n in range(10)]

    kept = [None if one.remembered is None else one.remembered.key for one in send(service, rows)]

    assert kept == [row.get("key") for row in rows]


@both
@pytest.mark.parametrize("rows", ["ab", 7, None])
def test_what_is_no_list_of_rows_is_refused_whole(service: Service, send: Send, rows: Any) -> None:
    assert service.memory is not None
    for door in (service.memory.user("local").remember_many, lambda rows: send(service, rows)):
        with pytest.raises(Exception, match="list") as caught:
            door(rows)
        assert getattr(caught.value, "code", None) == "invalid_field"
