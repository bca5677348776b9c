"""Many processes on one file: no write is lost, none is refused, and everybody starts well."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from holdfast.storage.sqlite.secure_erase import copies_before_upgrades
from tests.faults.processes import LONG, Worker, at_once, check_whole, open_again
from tests.security.raw import DATABASE, files, run

pytestmark = pytest.mark.faults

PROCESSES = 8
WRITES = 200 if LONG else 25
STARTS = 20 if LONG else 1


def test_eight_processes_on_keys_of_their_own_lose_no_write_and_are_never_refused(tmp_path: Path) -> None:
    with at_once(Worker("on_own_keys", tmp_path, f"p{n}", WRITES) for n in range(PROCESSES)) as workers:
        for worker in workers:
            worker.finish()
        said = [report for worker in workers for report in worker.said]

    written = {report["key"]: report["text"] for report in said if "key" in report}
    assert [report for report in said if "failed" in report] == []
    assert len(written) == PROCESSES * WRITES
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        assert {key: own.get(key).text for key in written} == written
        check_whole(tmp_path, memory)


def test_eight_processes_on_one_key_each_win_their_revisions_and_history_has_every_one(
    tmp_path: Path,
) -> None:
    with at_once(Worker("on_one_key", tmp_path, f"p{n}", WRITES) for n in range(PROCESSES)) as workers:
        for worker in workers:
            worker.finish()
        said = [report for worker in workers for report in worker.said if "revision" in report]

    assert len(said) == PROCESSES * WRITES
    accepted = {report["revision"]: report["text"] for report in said}
    assert sorted(accepted) == list(range(1, PROCESSES * WRITES + 1))
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        history = own.history("shared", limit=1_000)
        assert {step.revision: step.text for step in history} == {
            revision: text
            for revision, text in accepted.items()
            if revision > PROCESSES * WRITES - len(history)
        }
        assert len(history) == min(PROCESSES * WRITES, 1_000)
        check_whole(tmp_path, memory)


@pytest.mark.parametrize("attempt", range(STARTS))
@pytest.mark.parametrize("key", ["", "11" * 32], ids=["a key file", "a key in the settings"])
def test_eight_processes_that_start_at_once_on_an_empty_folder_make_one_key_and_one_schema(
    tmp_path: Path, key: str, attempt: int
) -> None:
    folder = tmp_path / "new"
    with at_once(Worker("nothing", folder, key=key) for _ in range(PROCESSES)) as workers:
        for worker in workers:
            worker.finish()

    # Two that close at the same moment may each leave the log to the other.
    log = {f"{DATABASE}-wal", f"{DATABASE}-shm"}
    assert set(files(folder)) - log <= {DATABASE, "holdfast.key"}
    assert copies_before_upgrades(folder / DATABASE) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert run(folder, "SELECT count(*) FROM data_keys WHERE space = zeroblob(16)") == [(1,)]
    assert run(folder, "PRAGMA integrity_check") == [("ok",)]
    with at_once([Worker("on_own_keys", folder, "later", 1, key=key)]) as [worker]:
        worker.finish()


def test_a_second_process_reads_whole_entries_while_the_first_writes(tmp_path: Path) -> None:
    open_again(tmp_path).close()
    with at_once(
        [
            Worker("on_own_keys", tmp_path, "writer", WRITES * 2),
            Worker("reading", tmp_path, "reader", WRITES * 2),
        ]
    ) as workers:
        for worker in workers:
            worker.finish()

    assert workers[1].said[-2] == {"seen": WRITES * 2}


def test_processes_go_on_writing_and_reading_while_another_rotates_the_data(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        for number in range(20):
            memory.user("ada").remember(f"before {number}", key=f"before/{number}", tags=["old"])
    with at_once(
        [
            Worker("rotating", tmp_path, "ada"),
            *(Worker("on_own_keys", tmp_path, f"p{n}", WRITES) for n in range(3)),
        ]
    ) as [rotation, *workers]:
        for worker in workers:
            worker.finish()
        rotation.kill()

    assert [report for report in rotation.said if "failed" in report] == []
    written = {report["key"]: report["text"] for w in workers for report in w.said if "key" in report}
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        assert len(written) == 3 * WRITES
        assert {key: own.get(key).text for key in written} == written
        assert {entry.text for entry in own.list("before/")} == {f"before {n}" for n in range(20)}
        check_whole(tmp_path, memory)


def test_processes_that_rotate_the_key_file_at_once_leave_a_store_that_opens(tmp_path: Path) -> None:
    with at_once([Worker("on_own_keys", tmp_path, "first", 3, key="")]) as [worker]:
        worker.finish()
    with at_once(Worker("rotating_master", tmp_path, "r", 3, key="") for _ in range(3)) as workers:
        for worker in workers:
            worker.finish()

    with at_once([Worker("reading", tmp_path, "later", 3, key="")]) as [worker]:
        worker.finish()
    assert worker.said[-2] == {"seen": 3}
