"""SIGKILL at any moment: what was acknowledged is there, nothing is half written, and work goes on."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast.domain.errors import NotFound
from tests.faults.processes import LONG, Worker, check_whole, open_again
from tests.security.raw import stored_bytes, traces_of

pytestmark = pytest.mark.faults

CYCLES = 100 if LONG else 5
SHORT_CYCLES = 50 if LONG else 3


def _killed(task: str, folder: Path, name: str, reports: int) -> list[dict[str, Any]]:
    """What a worker said before it was killed, after at least so many reports."""
    with Worker(task, folder, name) as worker:
        worker.wait_ready()
        worker.go()
        worker.hear(reports)
        worker.kill()
        return worker.said[1:]


def _check_acknowledged(memory: holdfast.Memory, name: str, said: list[dict[str, Any]]) -> None:
    """Each reported revision is in the history of its key, with its text."""
    own = memory.user(name)
    expected: dict[str, dict[int, str]] = {}
    for report in said:
        if "revision" in report:
            expected.setdefault(report["key"], {})[report["revision"]] = report["text"]
    for key, revisions in expected.items():
        try:
            history = {step.revision: step.text for step in own.history(key, limit=1_000)}
        except NotFound:
            [entry] = [entry for entry in own.trashed() if entry.key == key]
            own.restore(id=entry.id)
            history = {step.revision: step.text for step in own.history(key, limit=1_000)}
        assert {revision: history.get(revision) for revision in revisions} == revisions


def test_after_a_kill_in_the_middle_of_writes_every_acknowledged_one_is_there(tmp_path: Path) -> None:
    chance = Random(7)
    said: dict[str, list[dict[str, Any]]] = {}
    for cycle in range(CYCLES):
        name = f"writer{cycle % 3}"
        said.setdefault(name, []).extend(_killed("endlessly", tmp_path, name, 5 + chance.randrange(40)))
        with open_again(tmp_path) as memory:
            check_whole(tmp_path, memory)
            for writer, reports in said.items():
                _check_acknowledged(memory, writer, reports)
            assert memory.user("other").remember(f"after kill {cycle}", key="after").revision == cycle + 1


def test_after_a_kill_of_one_of_several_writers_the_others_go_on(tmp_path: Path) -> None:
    for cycle in range(SHORT_CYCLES):
        with Worker("endlessly", tmp_path, "dies") as dying, Worker("endlessly", tmp_path, "lives") as living:
            for worker in (dying, living):
                worker.wait_ready()
            for worker in (dying, living):
                worker.go()
            dying.hear(10 + cycle)
            dying.kill()
            living.hear(20)
            living.kill()
        with open_again(tmp_path) as memory:
            check_whole(tmp_path, memory)
            _check_acknowledged(memory, "dies", dying.said)
            _check_acknowledged(memory, "lives", living.said)


def test_after_a_kill_during_purges_what_was_answered_as_gone_is_gone_and_the_rest_is_whole(
    tmp_path: Path,
) -> None:
    chance = Random(11)
    for cycle in range(SHORT_CYCLES):
        name = f"purger{cycle}"
        said = _killed("purging", tmp_path, name, 4 + chance.randrange(12))
        purged = [report["purged"] for report in said if "purged" in report]
        begun = [report["purging"] for report in said if "purging" in report]
        with open_again(tmp_path) as memory:
            check_whole(tmp_path, memory)
            _check_acknowledged(memory, name, said)
            own = memory.user(name)
            assert {entry.key for entry in own.list("purged/")}.isdisjoint(purged)
            assert own.trashed() == []
            for key in set(begun) - set(purged):
                answer = own.forget(f"key:{key}")
                assert answer.deleted in (0, 1)
            assert own.list("purged/") == [] or len(begun) <= len(purged) + 1


def test_a_purge_cut_short_by_a_kill_is_finished_by_the_next_one(tmp_path: Path) -> None:
    """Rows may be gone while their terms wait in the index: the next purge, of whatever, takes them along."""
    with open_again(tmp_path) as memory:
        doomed = memory.user("purger").remember("Quillfeather secret of old", key="doomed").id
        assert doomed is not None
        traces = traces_of(tmp_path, memory, doomed)
    _killed("purging", tmp_path, "purger", 6)
    with open_again(tmp_path) as memory:
        memory.user("purger").forget("key:doomed")
        assert traces.left_in(tmp_path) == []
        assert stored_bytes(tmp_path)


def test_after_a_kill_during_data_rotation_everything_is_readable_and_rotation_can_be_finished(
    tmp_path: Path,
) -> None:
    chance = Random(13)
    with open_again(tmp_path) as memory:
        for number in range(25):
            for revision in range(1 + number % 3):
                memory.user("ada").remember(f"{number} at {revision}", key=f"k/{number}", tags=["t"])
        before = {entry.key: entry for entry in memory.user("ada").list(limit=100)}
    for _ in range(SHORT_CYCLES):
        _killed("rotating", tmp_path, "ada", 1 + chance.randrange(10))
        with open_again(tmp_path) as memory:
            own = memory.user("ada")
            assert {entry.key: entry for entry in own.list(limit=100)} == before
            assert {entry.key for entry in own.list(tag="t", limit=100)} == set(before)
            for number in range(25):
                assert [step.text for step in own.history(f"k/{number}")] == [
                    f"{number} at {revision}" for revision in range(number % 3, -1, -1)
                ]
            check_whole(tmp_path, memory)
