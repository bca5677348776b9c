"""How SQLite's writer shares its commits out: who runs them, and who wakes whom."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Event, Thread, current_thread

import pytest

from holdfast.contracts.rows import RuleRow, SpaceCounts
from holdfast.contracts.storage import Transaction
from holdfast.domain.ids import new_space_id
from holdfast.storage.sqlite import write_queue
from holdfast.storage.sqlite.connections import MemoryConnection
from holdfast.storage.sqlite.store import SqliteStore, open_memory
from holdfast.storage.sqlite.word_index import TermWrites
from holdfast.storage.sqlite.writer import Writer
from tests.conformance.rows import space_row
from tests.support import interrupt_once_blocked, until

WRITER = "holdfast-writer"
CALLERS = 8
SECONDS = 20


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    opened = open_memory()
    yield opened
    opened.close()


class ChangedMindError(Exception):
    """What a job raises that does not want to have written."""


def who_runs(_tx: Transaction) -> Thread:
    return current_thread()


def rule(tx: Transaction, name: str) -> None:
    tx.rules.put(RuleRow(name, read=True, manage=True))


class Held:
    """Holds the writer inside a job, so that everything written meanwhile waits."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._begun, self._go = Event(), Event()
        self._job = store.submit(self._hold)
        assert self._begun.wait(SECONDS)

    def _hold(self, _tx: Transaction) -> None:
        self._begun.set()
        assert self._go.wait(SECONDS)

    def until_waiting(self, callers: int) -> None:
        line = self._store._writer._line
        until(lambda: len(line.tasks) == callers, "all callers to wait")

    def release(self) -> None:
        self._go.set()
        self._job.result(SECONDS)

    def release_unanswered(self) -> None:
        self._go.set()
        assert self._job.exception(SECONDS) is not None


def test_a_lone_caller_commits_in_its_own_thread(store: SqliteStore) -> None:
    assert store.write(who_runs) is current_thread()


def test_callers_who_wait_together_are_committed_by_the_writer(store: SqliteStore) -> None:
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(store.write, who_runs) for _ in range(CALLERS)]
        held.until_waiting(CALLERS)
        held.release()
        assert {one.result(SECONDS).name for one in running} == {WRITER}


def test_nobody_waits_for_the_main_thread_to_wake_them(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be interrupted before it does."""
    monkeypatch.setattr(write_queue, "HEAL_SECONDS", 2 * SECONDS)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        interrupt_once_blocked()
        with pytest.raises(KeyboardInterrupt):
            store.write(partial(rule, name="interrupted"))
        running = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(CALLERS)]
        held.until_waiting(CALLERS + 1)  # what was interrupted is still written
        held.release()
        assert not wait(running, SECONDS).not_done
    signal.signal(signal.SIGINT, before)


def test_a_crowd_waits_for_the_commit_and_not_for_each_other(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "HEAL_SECONDS", 2 * SECONDS)
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(CALLERS)]
        held.until_waiting(CALLERS)
        held.release()
        assert not wait(running, SECONDS).not_done


def test_a_caller_who_dies_as_it_wakes_keeps_nobody_waiting(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each that wakes wakes the next; one that dies before it does must not be the end of it."""
    dead: list[Thread] = []
    wake = write_queue.Answers.wake_next

    def dies_once(answers: write_queue.Answers) -> None:
        if not dead and current_thread().name != WRITER:
            dead.append(current_thread())
            raise SystemExit
        wake(answers)

    monkeypatch.setattr(write_queue, "HEAL_SECONDS", 0.2)
    monkeypatch.setattr(write_queue.Answers, "wake_next", dies_once)
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(CALLERS)]
        held.until_waiting(CALLERS)
        held.release()
        assert not wait(running, SECONDS).not_done
    assert sum(one.exception() is not None for one in running) == 1
    assert {row.role for row in store.rules.all()} == {f"{n}" for n in range(CALLERS)}


def test_a_space_whose_making_was_undone_is_not_remembered(store: SqliteStore) -> None:
    first, second = space_row(new_space_id()), space_row(new_space_id())

    def changes_its_mind(tx: Transaction) -> None:
        tx.spaces.insert(first)
        tx.spaces.advance(first.id, entries=1, indexed=0, length=0)
        raise ChangedMindError

    def makes_another(tx: Transaction) -> SpaceCounts | None:
        tx.spaces.insert(second)
        return tx.spaces.advance(first.id, entries=1, indexed=0, length=0)

    with pytest.raises(ChangedMindError):
        store.write(changes_its_mind)
    assert store.write(makes_another) is None


def test_whatever_goes_wrong_in_a_batch_everyone_in_it_is_answered(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(CALLERS)]
        held.until_waiting(CALLERS)
        with monkeypatch.context() as broken:
            broken.setattr(TermWrites, "flush", _runs_out_of_memory)
            held.release_unanswered()
            assert not wait(running, SECONDS).not_done
    assert {type(one.exception()) for one in running} == {MemoryError}
    store.write(partial(rule, name="after"))
    assert [row.role for row in store.rules.all()] == ["after"]


def _runs_out_of_memory(_terms: TermWrites) -> None:
    raise MemoryError


def test_what_an_interrupted_caller_removed_is_erased_all_the_same(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, erased = Writer._commit, Event()

    def clears(_connection: MemoryConnection, _patience: float) -> bool:
        erased.set()
        return True

    def is_interrupted(writer: Writer, tasks: list[write_queue.Task]) -> None:
        commit(writer, tasks)
        if current_thread().name != WRITER:
            raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "_commit", is_interrupted)
    monkeypatch.setattr(MemoryConnection, "clear", clears)
    with pytest.raises(KeyboardInterrupt):
        store.write(lambda tx: tx.erase())
    assert erased.wait(SECONDS)
