"""Vectors made by several processes, some of which are killed: each note gets one, none of another state is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from tests.behaviours.embedders import HERE, board
from tests.faults.processes import LONG, Worker, at_once, check_whole, open_again
from tests.faults.worker import KEY
from tests.security.raw import run

pytestmark = pytest.mark.faults

SENSIBLE = f"{HERE}:sensible"
NOTES = 2_000 if LONG else 200
KILLS = 20 if LONG else 3


@pytest.fixture(autouse=True)
def working_embedders() -> None:
    """Other tests of this process may have left them broken."""
    board.reset()


def fill(folder: Path) -> None:
    with open_again(folder) as memory:
        own = memory.user("ada")
        own.remember_many([{"text": f"turn {n} of ada on {n % 13}", "key": f"k{n}"} for n in range(NOTES)])
        own.remember("Ada bought a red car", key="garage")


def check_vectors(folder: Path) -> None:
    """Every note has the vector of its head, and is found by it; whoever comes last embeds nothing."""
    assert run(
        folder,
        """SELECT count(*) FROM entries LEFT JOIN derived ON derived.entry = entries.entry AND derived.model = 1
            WHERE derived.revision IS NOT entries.revision""",
    ) == [(0,)]
    with holdfast.open(folder, key=KEY, sweep_seconds=0, embedder=SENSIBLE) as memory:
        board.reset()
        assert memory.settle().pending == 0
        assert board.notes == []
        assert memory.user("ada").recall("automobile")[0].key == "garage"
        check_whole(folder, memory)


def test_processes_that_settle_at_once_give_every_note_one_vector(tmp_path: Path) -> None:
    fill(tmp_path)
    with at_once(Worker("settling", tmp_path, embedder=SENSIBLE) for _ in range(4)) as workers:
        for worker in workers:
            worker.finish()

    assert [worker.said[-2] for worker in workers] == [{"settled": True}] * 4
    assert run(tmp_path, "SELECT count(*), count(DISTINCT model) FROM derived") == [(NOTES + 1, 1)]
    assert run(tmp_path, "SELECT name, state FROM models") == [("sensible-1", "serving")]
    check_vectors(tmp_path)


def test_a_process_killed_while_it_settles_loses_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    for _ in range(KILLS):
        with at_once([Worker("settling", tmp_path, embedder=SENSIBLE)]) as [worker]:
            worker.hear(1)
            worker.kill()
    with at_once([Worker("settling", tmp_path, embedder=SENSIBLE)]) as [worker]:
        worker.finish()

    check_vectors(tmp_path)


def test_recall_never_fails_while_others_write_purge_settle_and_rotate(tmp_path: Path) -> None:
    fill(tmp_path)
    with at_once(
        [
            Worker("recalling", tmp_path, "ada", 100, embedder=SENSIBLE),
            Worker("recalling", tmp_path, "ada", 100),
            Worker("on_own_keys", tmp_path, "writer", 40, embedder=SENSIBLE),
            Worker("purging", tmp_path, "ada", embedder=SENSIBLE),
            Worker("rotating", tmp_path, "ada"),
        ]
    ) as [first, second, writer, purger, rotation]:
        for worker in (writer, first, second):
            worker.finish()
        purger.kill()
        rotation.kill()

    said = [report for worker in (first, second, writer, purger, rotation) for report in worker.said]
    assert [report for report in said if "failed" in report] == []
    with holdfast.open(tmp_path, key=KEY, sweep_seconds=0, embedder=SENSIBLE) as memory:
        memory.settle(timeout=60)
        assert {hit.key for hit in memory.user("ada").recall("automobile")} >= {"garage"}
        check_whole(tmp_path, memory)
