"""Callers who wait for the writer: everyone is answered, whoever is interrupted, gives up, or closes the store."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread, main_thread
from time import sleep

import pytest

from holdfast.contracts.rows import RuleRow
from holdfast.contracts.storage import Store, Transaction
from holdfast.domain.errors import Unavailable
from tests.support import interrupt_once_blocked, until_blocked

CALLERS = 64
EACH = 20
SECONDS = 20


def rule(tx: Transaction, name: str) -> str:
    tx.rules.put(RuleRow(name, read=True, manage=True))
    return name


def kept(store: Store) -> set[str]:
    return {row.role for row in store.rules.all()}


def interrupt_main() -> None:
    """A real signal: what `_thread.interrupt_main` does is not noticed by a thread that waits."""
    ident = main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


class Held:
    """Holds the writer inside a job, so that everything written meanwhile waits."""

    def __init__(self, store: Store) -> None:
        self._begun, self._go = Event(), Event()
        self._job = store.submit(self._hold)
        assert self._begun.wait(SECONDS)

    def _hold(self, _tx: Transaction) -> None:
        self._begun.set()
        assert self._go.wait(SECONDS)

    def release(self) -> None:
        self._go.set()
        self._job.result(SECONDS)


@pytest.fixture
def interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_of_64_callers_each_gets_its_own_answer_and_all_is_kept(store: Store) -> None:
    def write_all(caller: int) -> list[str]:
        names = [f"{caller}/{number}" for number in range(EACH)]
        assert [store.write(partial(rule, name=name)) for name in names] == names
        return names

    with ThreadPoolExecutor(CALLERS) as pool:
        written = [name for names in pool.map(write_all, range(CALLERS), timeout=SECONDS) for name in names]
    assert kept(store) == set(written)


def test_others_are_answered_when_one_that_waits_is_interrupted(store: Store, interrupts: None) -> None:
    held = Held(store)
    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(4)]
        interrupt_once_blocked()
        with pytest.raises(KeyboardInterrupt):
            store.write(lambda tx: rule(tx, "interrupted"))
        others += [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(4, 8)]
        held.release()
        assert {other.result(SECONDS) for other in others} == {f"{n}" for n in range(8)}
    assert {f"{n}" for n in range(8)} <= kept(store)


def test_a_lone_caller_interrupted_in_its_job_leaves_nothing_and_the_store_goes_on(
    store: Store, interrupts: None
) -> None:
    inside = Event()

    def endless(tx: Transaction) -> None:
        rule(tx, "interrupted")
        inside.set()
        while True:
            sleep(0.01)

    others: list[str] = []

    def meanwhile() -> None:
        assert inside.wait(SECONDS)
        interrupt_main()
        others.append(store.write(lambda tx: rule(tx, "other")))

    other = Thread(target=meanwhile)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        store.write(endless)
    other.join(SECONDS)
    assert others == ["other"]
    assert store.write(lambda tx: rule(tx, "next")) == "next"
    assert kept(store) == {"other", "next"}


def test_closing_answers_those_who_wait_and_refuses_those_who_come(store: Store) -> None:
    held = Held(store)
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(8)]
        futures = [store.submit(partial(rule, name=f"{n}")) for n in range(8, 16)]
        until_blocked(pool._threads)
        closing = pool.submit(store.close)
        held.release()
        closing.result(SECONDS)
        assert {one.result(0.5) for one in [*waiting, *futures]} == {f"{n}" for n in range(16)}
    with pytest.raises(Unavailable):
        store.write(lambda tx: rule(tx, "late"))
    with pytest.raises(Unavailable):
        store.submit(lambda tx: rule(tx, "late"))
