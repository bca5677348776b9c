"""The audit log tells of every change made to it behind the engine's back, and several processes share one chain."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.operations import read_log, rotate_keys
from holdfast.operations.administer import audit_lines, stats
from holdfast.storage import keyring
from tests.behaviours.looking import session_of
from tests.support import FixedClock, until

LINES = 30
COLUMNS = ("at_us", "operation", "actor", "space", "object", "revision", "key_id", "link")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed store with lines of writes and of reads."""
    path = tmp_path / "m.db"
    memory = holdfast.open(path, embedder="none", clock=FixedClock())
    alice = memory.user("alice")
    for number in range(LINES // 2):
        alice.remember(f"note {number}", key=f"k/{number}")
        alice.get(f"k/{number}")
        memory._opened.engine.reads.write_down()  # type: ignore[union-attr]
    memory.close()
    return path


def verified(path: Path, anchor: str | None = None) -> Any:
    memory = holdfast.open(path, embedder="none")
    try:
        return memory.audit.verify(anchor)
    finally:
        memory.close()


def tamper(path: Path, change: Callable[[apsw.Connection], object]) -> None:
    db = apsw.Connection(str(path))
    try:
        with db:
            change(db)
    finally:
        db.close()


def run(db: apsw.Connection, sql: str, *values: Any) -> list[Any]:
    return db.execute(sql, values).fetchall()


def lines(db: apsw.Connection) -> list[tuple[Any, ...]]:
    return run(db, f"SELECT position, {', '.join(COLUMNS)} FROM audit ORDER BY position")


def put(db: apsw.Connection, rows: list[tuple[Any, ...]]) -> None:
    run(db, "DELETE FROM audit")
    for position, row in enumerate(rows, start=1):
        run(db, f"INSERT INTO audit VALUES ({', '.join('?' * 9)})", position, *row[1:])


def test_an_untouched_log_is_whole(store: Path) -> None:
    found = verified(store)
    assert (found.problem, found.lines) == (None, LINES)


@given(st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_edit_deletion_reordering_and_truncation_is_found(store: Path, data: st.DataObject) -> None:
    whole = store.read_bytes()

    def change(db: apsw.Connection) -> None:
        rows = lines(db)
        at = data.draw(st.integers(0, len(rows) - 1), label="line")
        what = data.draw(st.sampled_from(["edit", "delete", "swap", "move", "copy", "cut", "cut and mend"]))
        if what == "edit":
            column = data.draw(st.sampled_from(COLUMNS))
            before = rows[at][1 + COLUMNS.index(column)]
            match before:
                case int():
                    after: Any = before + data.draw(st.integers(1, 5))
                case str():
                    after = data.draw(st.sampled_from(["get", "share", "forget all", "x"]))
                case _:
                    after = data.draw(st.binary(max_size=24))
            assume(after != before)
            run(db, f"UPDATE audit SET {column} = ? WHERE position = ?", after, rows[at][0])
            return
        other = data.draw(st.integers(0, len(rows) - 1), label="other line")
        if what == "delete":
            del rows[at]
        elif what == "swap":
            assume(at != other)
            rows[at], rows[other] = rows[other], rows[at]
        elif what == "move":
            assume(at != other)
            rows.insert(other, rows.pop(at))
        elif what == "copy":
            rows.insert(other, rows[at])
        else:
            del rows[at:]
        put(db, rows)
        if what == "cut and mend":
            run(db, "DELETE FROM audit_head")
            if rows:
                code = data.draw(st.binary(max_size=16))
                run(db, "INSERT INTO audit_head VALUES (1, ?, ?, ?)", len(rows), rows[-1][-1], code)

    tamper(store, change)
    try:
        assert not verified(store).intact
    finally:
        for beside in store.parent.glob("m.db-*"):
            beside.unlink()
        store.write_bytes(whole)


def test_what_is_written_after_a_cut_does_not_cover_it(store: Path) -> None:
    def cut(db: apsw.Connection) -> None:
        last = lines(db)[:10][-1]
        run(db, "DELETE FROM audit WHERE position > 10")
        run(db, "UPDATE audit_head SET position = 10, link = ?, code = x'00'", last[-1])

    tamper(store, cut)
    memory = holdfast.open(store, embedder="none")
    memory.user("alice").remember("written later", key="later")
    found = memory.audit.verify()
    memory.close()
    assert found.problem == "The log had no sound end before line 11: it may have been cut there."


def test_an_older_log_put_back_whole_is_found_with_an_anchor_kept_elsewhere(store: Path) -> None:
    older = store.read_bytes()
    memory = holdfast.open(store, embedder="none")
    memory.user("alice").remember("one more", key="more")
    anchor = memory.audit.verify().anchor
    memory.close()
    assert verified(store, anchor).intact
    store.write_bytes(older)
    assert verified(store).intact
    assert verified(store, anchor).problem == f"The log ends before line {LINES + 1}, which the anchor names."


def test_a_log_that_was_emptied_is_found(store: Path) -> None:
    def empty(db: apsw.Connection) -> None:
        run(db, "DELETE FROM audit")
        run(db, "DELETE FROM audit_head")

    tamper(store, empty)
    assert verified(store).problem == "The log is empty although the store is not."


WRITER = """
import sys, holdfast
memory = holdfast.open(sys.argv[1], embedder="none")
own = memory.user(sys.argv[2])
for number in range(40):
    own.remember(f"note {number}", key=f"k/{number}")
    own.get(f"k/{number}")
memory.close()
"""


def test_processes_that_write_and_read_together_make_one_whole_log(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    holdfast.open(path, embedder="none").close()
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name])
        for name in ("alice", "bob", "carol")
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    memory = holdfast.open(path, embedder="none")
    found = memory.audit.verify()
    names = [own.readers("k/7")[0].by for own in map(memory.user, ("alice", "bob", "carol"))]
    memory.close()
    assert found.intact
    assert found.lines >= 3 * 40
    assert names == ["user:alice", "user:bob", "user:carol"]


def test_a_read_is_in_the_log_soon_after_without_anyone_asking(tmp_path: Path) -> None:
    memory = holdfast.open(tmp_path / "m.db", embedder="none")
    alice = memory.user("alice")
    alice.remember("x", key="k")
    alice.get("k")
    log = memory._opened.engine.sealed.store.audit  # type: ignore[union-attr]
    until(lambda: len(log.after(0, 10)) > 1, "the read in the log")
    assert [line.operation for line in log.after(0, 10)] == ["remember", "get"]
    memory.close()
    assert read_log.COLLECT_SECONDS < 1


def test_what_the_store_does_by_itself_is_in_the_log_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "FRESH_SECONDS", 0.1)
    monkeypatch.setattr(rotate_keys, "GRACE_SECONDS", 0.15)
    clock = FixedClock()
    with holdfast.open(tmp_path, embedder="none", clock=clock, sweep_seconds=0) as memory:
        alice = memory.user("alice")
        for number in range(20):
            alice.remember("x", key=f"k{number}", ttl=60)
        clock.advance(seconds=61)
        assert memory.sweep().expired == 20
        memory.keys.rotate()
        memory.keys.rotate_data()
        said = [(line.operation, line.actor) for line in memory.administration("root").audit(limit=100)[20:]]
        assert memory.audit.verify().intact
    assert said == [
        ("sweep", ""),
        ("sweep", ""),
        ("rotate master key", ""),
        ("rotate data key", ""),
    ]


def test_with_reads_off_the_log_holds_writes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_AUDIT_READS", "off")
    memory = holdfast.open(tmp_path / "m.db", embedder="none")
    alice = memory.user("alice")
    alice.remember("x", key="k")
    alice.get("k")
    assert alice.readers("k") == []
    assert memory.audit.verify().lines == 1
    memory.close()


def test_what_an_administrator_looks_at_is_written_down(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", clock=FixedClock()) as memory:
        root = session_of(memory, "root", roles=frozenset({"admin"}))
        stats(root)
        audit_lines(root, 0, 10)
        root.engine.reads.write_down()
        assert [line.operation for line in audit_lines(root, 0, 10)] == ["stats", "audit"]
        assert memory.audit.verify().intact
