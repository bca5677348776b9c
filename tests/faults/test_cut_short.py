"""A rename, an edit and a save that finds a duplicate are one step: whichever statement fails, and whenever the process
is killed, all of it happened or nothing did, and asking again does it once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from tests.faults.changes import (
    CHANGES,
    Change,
    Request,
    Somebody,
    duplicate,
    edit,
    rename_to_another_space,
    seen,
    superseded,
)
from tests.faults.processes import LONG, check_whole, open_again
from tests.http.serving import Service, serving
from tests.security.raw import all_rows, engine_of, open_store

pytestmark = pytest.mark.faults

DYING = Path(__file__).with_name("dying.py")
KILLED = CHANGES if LONG else (rename_to_another_space, edit, duplicate, superseded)
MOMENTS = (*map(str, range(2, 7 if LONG else 2)), "COMMIT", "committed")


class Cut:
    """The writer's connection fails before the n-th statement of the next transaction; once, or from there on."""

    def __init__(self, at: int, *, lasting: bool) -> None:
        self._left = at
        self._lasting = lasting
        self._inside = self._over = False
        self.reached = ""

    def __call__(self, _: Any, sql: str, __: Any) -> bool:
        self._inside |= sql.startswith("BEGIN")
        if not self._inside or self._over:
            return True
        self._left -= 1
        if self._left == 0 or (self._left < 0 and self._lasting):
            self.reached = self.reached or sql
            raise apsw.IOError("the disk failed")
        self._over = sql == "COMMIT"
        return True


@contextmanager
def cut(memory: holdfast.Memory, at: int, *, lasting: bool) -> Iterator[Cut]:
    with engine_of(memory).sealed.store._connections.writing() as db:  # type: ignore[attr-defined]
        pass
    db.exec_trace = fails = Cut(at, lasting=lasting)
    try:
        yield fails
    finally:
        db.exec_trace = None


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with open_store(tmp_path) as memory:
        engine_of(memory).reads._on = False  # reads are written down by a thread, whenever it likes
        with serving(memory=memory, embedder="none") as service:
            yield service


def before_and_after(service: Service, change: Change) -> tuple[list[Any], list[Any]]:
    """What a caller sees whom nothing befalls."""
    model = Somebody(service, "model")
    request = change(model)
    old = seen(model)
    assert model.ask(request).status_code == 200
    new = seen(model)
    assert new != old
    return old, new


def check_done_once(who: Somebody, request: Request, new: list[Any]) -> None:
    """Asked for with the same key, and again."""
    done = who.ask(request)
    assert done.status_code == 200, done.text
    assert seen(who) == new
    assert who.ask(request).json() == done.json()
    assert seen(who) == new


@pytest.mark.parametrize(
    ("change", "lasting"),
    [*((change, False) for change in CHANGES), (rename_to_another_space, True), (superseded, True)],
    ids=lambda given: given.__name__ if callable(given) else "from there on" if given else "once",
)
def test_whichever_statement_fails_nothing_is_changed_and_asking_again_does_it_once(
    service: Service, tmp_path: Path, change: Change, lasting: bool
) -> None:
    memory = service.memory
    assert memory is not None
    old, new = before_and_after(service, change)
    reached: list[str] = []
    for turn in count():
        who = Somebody(service, f"caller {turn}")
        request = change(who)
        before = all_rows(tmp_path)
        with cut(memory, len(reached) + 1, lasting=lasting) as fails:
            answer = who.ask(request)
        if answer.status_code == 200:  # it met what the store does by itself, such as erasing
            assert seen(who) == new
            continue
        reached.append(fails.reached)
        assert answer.status_code == 503, answer.text
        assert all_rows(tmp_path) == before, fails.reached
        assert seen(who) == old
        check_done_once(who, request, new)
        if fails.reached == "COMMIT":
            break
    assert len(reached) > 5
    check_whole(tmp_path, memory)


@pytest.mark.parametrize("change", KILLED, ids=lambda change: change.__name__)
def test_a_process_killed_in_the_middle_leaves_all_or_nothing_and_asking_again_does_it_once(
    tmp_path: Path, change: Change
) -> None:
    requests = {moment: _killed(tmp_path, change, moment) for moment in MOMENTS}
    with open_again(tmp_path) as memory:
        check_whole(tmp_path, memory)
        with serving(memory=memory, embedder="none") as service:
            old, new = before_and_after(service, change)
            for moment, request in requests.items():
                who = Somebody(service, f"killed at {moment}")
                assert seen(who) == (new if moment == "committed" else old)
                check_done_once(who, request, new)
        check_whole(tmp_path, memory)


def _killed(folder: Path, change: Change, moment: str) -> Request:
    """What a process was asking for when it was killed."""
    ended = subprocess.run(
        [sys.executable, str(DYING), str(folder), change.__name__, f"killed at {moment}", moment],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(DYING.parents[2]), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return Request(*json.loads(ended.stdout))
