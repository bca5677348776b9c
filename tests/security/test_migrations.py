"""Bringing a file to today's schema: once, with a copy, whole or not at all, and never a file that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import apsw
import pytest

from holdfast.domain.errors import Backend, HoldfastError
from holdfast.storage.migrations import Step
from holdfast.storage.sqlite import migrate as migrating
from holdfast.storage.sqlite.connections import FileConnections, MemoryConnection
from holdfast.storage.sqlite.migrate import APPLICATION_ID, migrate, steps
from holdfast.storage.sqlite.secure_erase import copies_before_upgrades
from tests.security.raw import DATABASE, KEY, digest, files, open_store, run

NEXT = steps()[-1].number + 1
BETTER = Step(NEXT, "better", "CREATE TABLE better (a INTEGER) STRICT; INSERT INTO better VALUES (7)")
BROKEN = Step(NEXT, "broken", "CREATE TABLE half (a INTEGER) STRICT; INSERT INTO nowhere VALUES (7)")


@pytest.fixture
def knows(monkeypatch: pytest.MonkeyPatch) -> Callable[[Step], None]:
    """From now on the program knows one more step."""

    def know(step: Step) -> None:
        todo = [*steps(), step]
        monkeypatch.setattr(migrating, "steps", lambda: todo)

    return know


def _version(folder: Path) -> int:
    return int(run(folder, "PRAGMA user_version")[0][0])


def test_the_steps_are_numbered_from_one_without_a_gap() -> None:
    assert [step.number for step in steps()] == list(range(1, len(steps()) + 1))


def test_a_new_file_says_whose_it_is_and_which_schema_it_has(tmp_path: Path) -> None:
    open_store(tmp_path).close()

    assert _version(tmp_path) == steps()[-1].number
    assert run(tmp_path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert run(tmp_path, "PRAGMA journal_mode") == [("wal",)]
    assert run(tmp_path, "PRAGMA integrity_check") == [("ok",)]
    assert copies_before_upgrades(tmp_path / DATABASE) == []


def test_opening_again_changes_no_byte(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        memory.user("ada").remember("text", key="k")
    before = digest(tmp_path)

    open_store(tmp_path).close()

    assert digest(tmp_path) == before


def test_an_upgrade_makes_a_copy_of_the_file_first(tmp_path: Path, knows: Callable[[Step], None]) -> None:
    with open_store(tmp_path) as memory:
        memory.user("ada").remember("text", key="k")
    knows(BETTER)

    with open_store(tmp_path) as memory:
        assert memory.user("ada").get("k").text == "text"

    assert _version(tmp_path) == NEXT
    assert run(tmp_path, "SELECT a FROM better") == [(7,)]
    [copy] = copies_before_upgrades(tmp_path / DATABASE)
    assert copy.name == f"{DATABASE}.before-v{NEXT}"
    assert copy.stat().st_mode & 0o777 == 0o600
    db = apsw.Connection(str(copy))
    assert db.pragma("user_version") == NEXT - 1
    assert db.execute("SELECT count(*) FROM entries").fetchall() == [(1,)]
    db.close()


def test_the_copy_holds_what_was_only_in_the_log(tmp_path: Path, knows: Callable[[Step], None]) -> None:
    with open_store(tmp_path) as old_process:
        old_process.user("ada").remember("text", key="k")
        knows(BETTER)
        open_store(tmp_path).close()

    [copy] = copies_before_upgrades(tmp_path / DATABASE)
    db = apsw.Connection(str(copy))
    assert db.execute("SELECT count(*) FROM entries").fetchall() == [(1,)]
    db.close()


def test_a_copy_can_be_put_back_and_opened_by_the_program_before(
    tmp_path: Path, knows: Callable[[Step], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "a") as memory:
        memory.user("ada").remember("text", key="k")
    knows(BETTER)
    open_store(tmp_path / "a").close()
    [copy] = copies_before_upgrades(tmp_path / "a" / DATABASE)
    (tmp_path / "b").mkdir()
    copy.rename(tmp_path / "b" / DATABASE)
    monkeypatch.undo()

    with open_store(tmp_path / "b") as memory:
        assert memory.user("ada").get("k").text == "text"


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, knows: Callable[[Step], None]) -> None:
    with open_store(tmp_path) as memory:
        memory.user("ada").remember("text", key="k")
    tables = run(tmp_path, "SELECT name, sql FROM sqlite_schema ORDER BY name")
    knows(BROKEN)

    with pytest.raises(HoldfastError):
        open_store(tmp_path)

    assert _version(tmp_path) == NEXT - 1
    assert run(tmp_path, "SELECT name, sql FROM sqlite_schema ORDER BY name") == tables
    assert run(tmp_path, "SELECT count(*) FROM entries") == [(1,)]
    knows(BETTER)
    with open_store(tmp_path) as memory:
        assert memory.user("ada").get("k").text == "text"


def test_several_steps_are_one_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(tmp_path).close()
    todo = [*steps(), BETTER, Step(NEXT + 1, "broken", BROKEN.sql)]
    monkeypatch.setattr(migrating, "steps", lambda: todo)

    with pytest.raises(HoldfastError):
        open_store(tmp_path)

    assert _version(tmp_path) == NEXT - 1
    assert run(tmp_path, "SELECT 1 FROM sqlite_schema WHERE name = 'better'") == []


def test_those_who_come_second_neither_upgrade_again_nor_touch_the_copy(
    tmp_path: Path, knows: Callable[[Step], None]
) -> None:
    """Eight openers at once: the copy must be the state before the upgrade, whoever came last."""
    with open_store(tmp_path) as memory:
        memory.user("ada").remember("text", key="k")
    knows(BETTER)
    opened = [FileConnections(tmp_path / DATABASE, durable=False) for _ in range(8)]
    barrier = Barrier(8)
    failed: list[BaseException] = []

    def upgrade(connections: FileConnections) -> None:
        barrier.wait()
        try:
            migrate(connections)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=upgrade, args=(connections,)) for connections in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connections in opened:
        connections.close()

    assert failed == []
    assert run(tmp_path, "SELECT a FROM better") == [(7,)]
    [copy] = copies_before_upgrades(tmp_path / DATABASE)
    db = apsw.Connection(str(copy))
    assert db.pragma("user_version") == NEXT - 1
    db.close()


def test_a_new_file_made_by_several_at_once_gets_no_copy_of_an_upgrade(tmp_path: Path) -> None:
    opened = [FileConnections(tmp_path / DATABASE, durable=False) for _ in range(8)]
    barrier = Barrier(8)

    def start(connections: FileConnections) -> None:
        barrier.wait()
        migrate(connections)

    threads = [Thread(target=start, args=(connections,)) for connections in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connections in opened:
        connections.close()

    assert _version(tmp_path) == steps()[-1].number
    assert copies_before_upgrades(tmp_path / DATABASE) == []


def test_a_store_in_memory_gets_the_same_schema() -> None:
    connections = MemoryConnection()
    migrate(connections)

    assert connections.rows("PRAGMA user_version") == [(steps()[-1].number,)]
    connections.close()


# Files that are not ours


def test_a_file_from_the_future_is_refused_and_untouched(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory:
        memory.user("ada").remember("text", key="k")
    run(tmp_path, f"PRAGMA user_version = {NEXT}")
    before = digest(tmp_path)

    with pytest.raises(Backend, match="newer"):
        open_store(tmp_path)

    assert digest(tmp_path) == before
    run(tmp_path, f"PRAGMA user_version = {NEXT - 1}")
    with open_store(tmp_path) as memory:
        assert memory.user("ada").get("k").text == "text"


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("key", [KEY, None], ids=["a key in the settings", "a key file"])
def test_an_sqlite_file_of_somebody_else_is_refused_and_nothing_is_put_beside_it(
    tmp_path: Path, mode: str, key: str | None
) -> None:
    path = tmp_path / "notes.db"
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    db.execute("CREATE TABLE notes (a TEXT)").fetchall()
    db.execute("INSERT INTO notes VALUES ('mine')").fetchall()
    db.close()
    before = files(tmp_path)

    with pytest.raises(Backend, match="not a Holdfast store"):
        open_store(path, key=key)

    assert files(tmp_path) == before


@pytest.mark.parametrize("body", [b"a letter to my bank\n" * 100, b"\0" * 4_096, b"xyz"])
def test_a_file_that_is_no_database_is_refused_and_nothing_is_put_beside_it(
    tmp_path: Path, body: bytes
) -> None:
    path = tmp_path / "letter.db"
    path.write_bytes(body)

    with pytest.raises(HoldfastError):
        open_store(path)

    assert files(tmp_path) == {"letter.db": body}


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()

    with open_store(tmp_path) as memory:
        assert memory.user("ada").remember("text", key="k").created
