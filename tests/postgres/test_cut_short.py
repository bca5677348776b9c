"""On PostgreSQL too a rename, an edit and a save that finds a duplicate are one step: whichever statement fails and
whenever the connection ends, all of it happened or nothing did, and asking again does it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

import holdfast
from holdfast.storage.postgres.connections import OnConnection
from tests.faults.changes import Change, Somebody, duplicate, edit, rename_to_another_space, seen, superseded
from tests.faults.processes import LONG
from tests.faults.test_cut_short import before_and_after, check_done_once
from tests.http.serving import Service, serving
from tests.postgres.databases import url_of
from tests.security.raw import engine_of

pytestmark = pytest.mark.faults

KEY = "5e" * 32
CHANGES = (rename_to_another_space, edit, duplicate, superseded)
Fault = Callable[["psycopg.Connection[Any]"], None]


@pytest.fixture
def service(dsn: str) -> Iterator[Service]:
    with holdfast.open(url_of(dsn), key=KEY, embedder="none", sweep_seconds=0) as memory:
        engine_of(memory).reads._on = False  # reads are written down by a thread, whenever it likes
        with serving(memory=memory, embedder="none") as service:
            yield service


class Cut:
    """The n-th statement from now on meets a fault."""

    def __init__(self, at: int, fault: Fault) -> None:
        self._left = at
        self._fault = fault
        self.reached = False

    def put_into(self, patched: pytest.MonkeyPatch) -> None:
        original = psycopg.Cursor.execute

        def execute(cursor: psycopg.Cursor[Any], *given: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.reached = True
                self._fault(cursor.connection)
            return original(cursor, *given, **more)

        patched.setattr(psycopg.Cursor, "execute", execute)


def the_disk_fails(_: psycopg.Connection[Any]) -> None:
    raise psycopg.errors.IoError("could not write block")


def the_connection_ends(db: psycopg.Connection[Any]) -> None:
    """As when its server process is killed."""
    with psycopg.connect(db.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (db.info.backend_pid,))


@pytest.mark.parametrize("fault", [the_disk_fails, the_connection_ends], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_whichever_statement_fails_all_happened_or_nothing_and_asking_again_does_it_once(
    service: Service, monkeypatch: pytest.MonkeyPatch, change: Change, fault: Fault
) -> None:
    old, new = before_and_after(service, change)
    for at in count(1, 1 if LONG else 3):
        who = Somebody(service, f"caller {at}")
        request = change(who)
        cut = Cut(at, fault)
        with monkeypatch.context() as patched:
            cut.put_into(patched)
            answer = who.ask(request)
        if not cut.reached:
            break
        assert seen(who) == (new if answer.status_code == 200 else old)
        check_done_once(who, request, new)
    assert at > 6
    assert answer.status_code == 200


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_whose_answer_was_lost_is_answered_when_it_is_asked_for_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    original = OnConnection.run_last

    def answer_lost(tx: OnConnection, batches: Any) -> None:
        original(tx, batches)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    _, new = before_and_after(service, change)
    who = Somebody(service, "caller")
    request = change(who)
    with monkeypatch.context() as patched:
        patched.setattr(OnConnection, "run_last", answer_lost)
        assert who.ask(request).status_code == 503
    assert seen(who) == new
    check_done_once(who, request, new)
