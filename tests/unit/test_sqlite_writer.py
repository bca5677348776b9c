"""How SQLite's writer shares its commits out: who runs them, and who wakes whom."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Event, Thread, Timer, current_thread, get_ident
from time import sleep

import pytest

from holdfast.contracts.rows import RuleRow, SpaceCounts
from holdfast.contracts.storage import Job, Transaction, Unprepared
from holdfast.domain.ids import new_space_id
from holdfast.storage.sqlite import write_queue
from holdfast.storage.sqlite.connections import MemoryConnection
from holdfast.storage.sqlite.store import SqliteStore, open_memory
from holdfast.storage.sqlite.word_index import TermWrites
from holdfast.storage.sqlite.writer import Writer
from tests.conformance.rows import space_row

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
        self._begun, self._go = Event(), Event()
        self._job = store.submit(self._hold)
        assert self._begun.wait(SECONDS)

    def _hold(self, _tx: Transaction) -> None:
        self._begun.set()
        assert self._go.wait(SECONDS)

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
        sleep(0.1)
        held.release()
        assert {one.result(SECONDS).name for one in running} == {WRITER}


def test_who_commits_for_many_prepares_all_of_them_before_the_first_is_run(store: SqliteStore) -> None:
    done: list[str] = []

    def prepare() -> Job[None]:
        done.append("prepared")
        return lambda _tx: done.append("run")

    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(store.write, Unprepared(prepare)) for _ in range(CALLERS)]
        sleep(0.1)
        held.release()
        assert not wait(running, SECONDS).not_done
    assert done == ["prepared"] * CALLERS + ["run"] * CALLERS


def test_what_cannot_be_prepared_takes_nothing_from_the_others(store: SqliteStore) -> None:
    def refuse() -> Job[None]:
        raise ChangedMindError

    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        refused = pool.submit(store.write, Unprepared(refuse))
        others = [
            pool.submit(store.write, Unprepared(partial(partial, rule, name=f"{n}")))
            for n in range(1, CALLERS)
        ]
        sleep(0.1)
        held.release()
        assert not wait([refused, *others], SECONDS).not_done
    assert isinstance(refused.exception(), ChangedMindError)
    assert {row.role for row in store.rules.all()} == {f"{n}" for n in range(1, CALLERS)}


def test_a_job_without_company_is_prepared_as_it_runs(store: SqliteStore) -> None:
    assert store.write(Unprepared(lambda: who_runs)) is current_thread()


def test_nobody_waits_for_the_main_thread_to_wake_them(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be interrupted before it does."""
    monkeypatch.setattr(write_queue, "HEAL_SECONDS", 2 * SECONDS)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    held = Held(store)
    with ThreadPoolExecutor(CALLERS) as pool:
        Timer(0.1, signal.pthread_kill, (get_ident(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            store.write(partial(rule, name="interrupted"))
        running = [pool.submit(store.write, partial(rule, name=f"{n}")) for n in range(CALLERS)]
        sleep(0.1)
        held.release()
        assert not wait(running, SECONDS).not_done
    signal.signal(signal.SIGINT, before)


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
        sleep(0.1)
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
        sleep(0.1)
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
