"""Background work: woken by signals or by time, patient with failures, and ended cleanly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from threading import Event

import pytest

from holdfast import background
from holdfast.background import BackgroundWorker
from holdfast.domain.errors import Unavailable

PATIENCE = 30


@contextmanager
def working(
    work: Callable[[], object], *, interval: float | None = None, signal: Event | None = None
) -> Iterator[BackgroundWorker]:
    worker = BackgroundWorker(
        "holdfast-test", work, failure="the test failed", interval=interval, signal=signal
    )
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def test_each_signal_leads_to_a_run() -> None:
    runs: Queue[int] = Queue()
    with working(lambda: runs.put(1)) as worker:
        for _ in range(3):
            worker.wake()
            assert runs.get(timeout=PATIENCE)
        assert runs.empty()


def test_a_signal_during_a_run_leads_to_another_one() -> None:
    began, may_end, runs = Event(), Event(), Queue[int]()

    def work() -> None:
        runs.put(1)
        began.set()
        may_end.wait(PATIENCE)

    with working(work) as worker:
        worker.wake()
        assert began.wait(PATIENCE)
        worker.wake()
        may_end.set()
        assert runs.get(timeout=PATIENCE)
        assert runs.get(timeout=PATIENCE)


def test_it_runs_without_a_signal_once_its_interval_is_over() -> None:
    runs: Queue[int] = Queue()
    with working(lambda: runs.put(1), interval=0.001):
        assert runs.get(timeout=PATIENCE)
        assert runs.get(timeout=PATIENCE)


def test_a_signal_may_be_shared_with_those_who_bring_the_work() -> None:
    runs: Queue[int] = Queue()
    signal = Event()
    with working(lambda: runs.put(1), signal=signal):
        signal.set()
        assert runs.get(timeout=PATIENCE)


@pytest.mark.parametrize("error", [Unavailable("no disk"), ValueError("a bug")])
def test_a_failure_is_logged_and_the_work_is_tried_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "FIRST_PAUSE_SECONDS", 0.001)
    runs: Queue[int] = Queue()
    outcomes = iter([error, error])

    def work() -> None:
        failed = next(outcomes, None)
        runs.put(1)
        if failed is not None:
            raise failed

    with caplog.at_level(logging.WARNING, "holdfast"), working(work) as worker:
        worker.wake()
        for _ in range(3):
            assert runs.get(timeout=PATIENCE)
    assert len(caplog.records) == 2
    assert all(record.getMessage().startswith("the test failed") for record in caplog.records)


def test_stopping_ends_a_pause_after_a_failure_and_waits_for_the_run_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "FIRST_PAUSE_SECONDS", 1_000.0)
    failed = Event()

    def work() -> None:
        failed.set()
        raise Unavailable("no disk")

    with working(work) as worker:
        worker.wake()
        assert failed.wait(PATIENCE)
    assert worker.stopping


def test_a_worker_that_was_never_started_can_be_stopped() -> None:
    BackgroundWorker("holdfast-test", lambda: None, failure="never").stop()
