"""Which calls a loop carries out itself."""

import asyncio
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest

import holdfast
from holdfast.domain.errors import NotFound
from holdfast.domain.principal import Principal, PrincipalKind
from holdfast.entrypoints.python.local import reading_aside
from holdfast.operations.pace import LONGEST_SECONDS, SHORT_SECONDS, Paces
from holdfast.vocabularies.core import CoreCalls

ALICE = Principal(PrincipalKind.USER, "alice")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("holdfast.operations.pace.time.thread_time", clock)
    return clock


def take(paces: Paces, clock: Clock, seconds: float, call: str = "recall") -> None:
    def run() -> None:
        clock.now += seconds

    paces.timed(ALICE, call, run)


def test_a_call_that_was_never_made_is_taken_for_long() -> None:
    assert not Paces().is_short(ALICE, "recall")


def test_a_call_is_short_once_it_was_and_one_that_took_longer_is_forgiven(clock: Clock) -> None:
    paces = Paces()
    take(paces, clock, SHORT_SECONDS / 4)
    assert paces.is_short(ALICE, "recall")
    assert not paces.is_short(ALICE, "query")
    take(paces, clock, SHORT_SECONDS * 2)
    assert paces.is_short(ALICE, "recall")


def test_a_call_that_takes_long_again_and_again_is_long_and_after_a_slow_start_it_becomes_short(
    clock: Clock,
) -> None:
    paces = Paces()
    take(paces, clock, LONGEST_SECONDS * 100)
    assert not paces.is_short(ALICE, "recall")
    for _ in range(10):
        take(paces, clock, SHORT_SECONDS / 4)
    assert paces.is_short(ALICE, "recall")
    for _ in range(10):
        take(paces, clock, SHORT_SECONDS * 3)
    assert not paces.is_short(ALICE, "recall")


def test_a_call_that_fails_is_timed_too(clock: Clock) -> None:
    paces = Paces()

    def fail() -> None:
        clock.now += SHORT_SECONDS / 4
        raise NotFound

    with pytest.raises(NotFound):
        paces.timed(ALICE, "recall", fail)
    assert paces.is_short(ALICE, "recall")


@pytest.mark.parametrize("short", [True, False])
def test_a_loop_recalls_itself_only_what_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    where: list[bool] = []
    recall = CoreCalls.recall

    def noting(calls: CoreCalls, *args: Any, **kwargs: Any) -> Any:
        where.append(current_thread() is main_thread())
        return recall(calls, *args, **kwargs)

    async def ask() -> None:
        async with await holdfast.aopen(tmp_path, embedder="none") as memory:
            alice = memory.user("alice")
            monkeypatch.setattr(Paces, "is_short", lambda *_: short)
            monkeypatch.setattr(type(alice), "recall", reading_aside(noting))
            assert await alice.recall("tea") == []

    asyncio.run(ask())
    assert where == [short]
