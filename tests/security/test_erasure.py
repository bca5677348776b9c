"""After forgetting, none of an entry's recorded bytes is left in any file: rows, history, index, log, copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID

import apsw
import pytest

import holdfast
from holdfast.crypto.keys import DataKey
from holdfast.domain.errors import Locked, NotFound
from holdfast.storage.row_codec import open_entry
from holdfast.storage.sqlite import connections as sqlite_connections
from holdfast.storage.sqlite import writer as sqlite_writer
from tests.behaviours.looking import session_in
from tests.security.raw import (
    DATABASE,
    Traces,
    all_rows,
    engine_of,
    files,
    open_store,
    run,
    stored_bytes,
    traces_of,
)
from tests.support import FixedClock, until

SAID = "The heron Quillfeather nests beside lighthouse number"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[holdfast.Memory]:
    with open_store(tmp_path, clock=clock) as memory:
        for number in range(40):
            memory.user("bob").remember(
                f"Bob keeps unrelated thing {number}", key=f"bob/{number}", tags=["bobs"]
            )
            memory.user("ada").remember(
                f"Something else entirely, volume {number}", key=f"shelf/{number}", tags=["kept"]
            )
        yield memory


def _remember(memory: holdfast.Memory, key: str = "birds/heron", **given: Any) -> UUID:
    answer = memory.user("ada").remember(
        f"{SAID} seven",
        key=key,
        hint="about Quillfeather",
        tags=["wader", "marsh"],
        category="birds",
        **given,
    )
    assert answer.id is not None
    return answer.id


def _history_of_everything(memory: holdfast.Memory, folder: Path) -> tuple[UUID, Traces]:
    """An entry that was written over, edited, renamed, trashed, restored and undone; traces of every state."""
    own = memory.user("ada")
    entry = _remember(memory)
    traces = traces_of(folder, memory, entry)
    steps: list[Callable[[], object]] = [
        lambda: own.remember(f"{SAID} eight, with Brackwater", key="birds/heron", tags=["delta"]),
        lambda: own.edit("birds/heron", text=f"{SAID} nine, with Saltgrass", hint="edited Sandpiper"),
        lambda: own.replace("birds/heron", old="nine", new="Cormorant"),
        lambda: own.rename("birds/heron", new_key="waders/grey/heron"),
        lambda: own.trash("waders/grey/heron"),
        lambda: own.restore("waders/grey/heron"),
        lambda: own.undo("waders/grey/heron"),
    ]
    for step in steps:
        step()
        traces |= traces_of(folder, memory, entry)
    return entry, traces


def test_the_traces_of_an_entry_are_in_the_file_before_it_is_forgotten(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    entry = _remember(memory)
    memory.user("ada").edit("birds/heron", text=f"{SAID} ten")

    assert set(traces_of(tmp_path, memory, entry).left_in(tmp_path)) >= {
        "blind key",
        "end of a term",
        "head ciphertext",
        "head nonce",
        "label",
        "revision ciphertext",
        "revision nonce",
        "term",
    }


WAYS: dict[str, Callable[[holdfast.Memory, UUID], object]] = {
    "purge by key": lambda memory, _: memory.user("ada").purge(_name(memory)),
    "purge by id": lambda memory, entry: memory.user("ada").purge(id=entry),
    "forget key": lambda memory, _: memory.user("ada").forget(f"key:{_name(memory)}"),
    "forget id": lambda memory, entry: memory.user("ada").forget(f"id:{entry}"),
    "forget all": lambda memory, _: memory.user("ada").forget("all"),
}


def _name(memory: holdfast.Memory) -> str:
    keys = {entry.key for entry in memory.user("ada").list(limit=1_000)}
    return next(key for key in ("waders/grey/heron", "birds/heron") if key in keys)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_forgotten_is_in_no_byte_of_the_folder(
    memory: holdfast.Memory, tmp_path: Path, way: str
) -> None:
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)

    WAYS[way](memory, entry)

    assert traces.left_in(tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_every_earlier_state_of_what_was_forgotten_is_in_no_byte_either(
    memory: holdfast.Memory, tmp_path: Path, way: str
) -> None:
    entry, traces = _history_of_everything(memory, tmp_path)

    WAYS[way](memory, entry)

    assert traces.left_in(tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_made_before_an_upgrade_does_not_keep_what_is_forgotten(
    memory: holdfast.Memory, tmp_path: Path, way: str
) -> None:
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)
    run(tmp_path, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(tmp_path / DATABASE, tmp_path / f"{DATABASE}.before-v2")

    WAYS[way](memory, entry)

    assert traces.left_in(tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_forgetting_leaves_no_byte_while_others_read_all_the_time(
    memory: holdfast.Memory, tmp_path: Path, way: str
) -> None:
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)
    enough = Event()

    def read(other: holdfast.Memory) -> None:
        while not enough.is_set():
            other.user("bob").list("bob/", limit=10)

    with open_store(tmp_path) as second:
        readers = [Thread(target=read, args=(where,)) for where in (memory, memory, second)]
        for reader in readers:
            reader.start()
        try:
            WAYS[way](memory, entry)
            left = traces.left_in(tmp_path)
        finally:
            enough.set()
            for reader in readers:
                reader.join()

    assert left == []


def test_an_entry_forgotten_from_the_trash_leaves_no_byte(memory: holdfast.Memory, tmp_path: Path) -> None:
    own = memory.user("ada")
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)
    own.trash("birds/heron")
    traces |= traces_of(tmp_path, memory, entry)

    assert own.forget("key:birds/heron").deleted == 1

    assert own.trashed() == []
    assert traces.left_in(tmp_path) == []


def test_forgetting_a_key_takes_the_live_entry_and_all_in_the_trash_under_it(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    own = memory.user("ada")
    traces = Traces(frozenset())
    for _ in range(3):
        entry = _remember(memory)
        traces |= traces_of(tmp_path, memory, entry)
        own.trash("birds/heron")
    traces |= traces_of(tmp_path, memory, _remember(memory))

    assert own.forget("key:birds/heron").deleted == 4
    assert traces.left_in(tmp_path) == []


def test_the_sweep_of_expired_entries_leaves_no_byte(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    entry = _remember(memory, ttl=60)
    traces = traces_of(tmp_path, memory, entry)
    clock.advance(seconds=61)

    assert memory.sweep().expired == 1

    assert traces.left_in(tmp_path) == []


@pytest.mark.parametrize("trashed", [False, True])
def test_forgetting_what_has_expired_leaves_no_byte(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock, trashed: bool
) -> None:
    entry, traces = _history_of_everything(memory, tmp_path)
    ada = memory.user("ada")
    ada.edit(id=entry, ttl=60)
    traces |= traces_of(tmp_path, memory, entry)
    key = ada.get(id=entry).key
    if trashed:
        ada.trash(id=entry)
        traces |= traces_of(tmp_path, memory, entry)
    clock.advance(seconds=61)

    assert ada.forget(f"key:{key}").deleted == 1

    assert traces.left_in(tmp_path) == []


def test_the_sweep_of_old_trash_leaves_no_byte(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    entry, traces = _history_of_everything(memory, tmp_path)
    memory.user("ada").trash(id=entry)
    traces |= traces_of(tmp_path, memory, entry)
    clock.advance(days=31)

    assert memory.sweep().trash == 1

    assert traces.left_in(tmp_path) == []


def test_an_entry_whose_expired_key_is_taken_again_is_gone_after_the_next_sweep(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    """The write itself removes the expired row; its bytes may wait for the sweep, and no longer."""
    expired = _remember(memory, ttl=60)
    traces = traces_of(tmp_path, memory, expired)
    clock.advance(seconds=61)
    fresh = memory.user("ada").remember("Nothing alike", key="birds/heron").id
    assert fresh is not None
    kept = traces_of(tmp_path, memory, fresh).found

    memory.sweep()

    assert Traces(traces.found - kept).left_in(tmp_path) == []


def test_a_deleted_handler_entry_leaves_no_byte(memory: holdfast.Memory, tmp_path: Path) -> None:
    handle = memory.handle("ada", session="night")
    assert handle is not None
    for value in (b"first value of the tool", b"second value of the tool"):
        handle.store("state/token", value, category="tooling", tags=["t1"])
    engine = engine_of(memory)
    [space] = {row.id for row in engine.sealed.store.spaces.all_after(None, 10) if row.kind == 5}
    [row] = engine.sealed.store.entries.sealed_with(space, 1, 0, 10)
    traces = traces_of(tmp_path, memory, UUID(int=space.int | row.number))

    assert handle.delete("state/token")

    with pytest.raises(NotFound):
        handle.recall("state/token")
    assert traces.left_in(tmp_path) == []


def test_an_entry_moved_to_another_space_leaves_no_byte_in_the_old_one(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    own = memory.user("ada")
    own.create_space("work")
    entry, traces = _history_of_everything(memory, tmp_path)

    moved = own.rename(id=entry, new_key="birds/heron", to_space="shared:work")

    assert own.get(id=moved.id).text.startswith(SAID)
    assert traces.left_in(tmp_path) == []


def test_the_receipt_of_a_forgotten_entry_goes_with_it(memory: holdfast.Memory, tmp_path: Path) -> None:
    _remember(memory, idempotency_key="once")
    [(key, request)] = run(tmp_path, "SELECT key, request FROM receipts")

    memory.user("ada").forget("key:birds/heron")

    assert key not in stored_bytes(tmp_path)
    assert request not in stored_bytes(tmp_path)


def test_revisions_pruned_beyond_the_cap_leave_no_byte_once_the_entry_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_REVISIONS", "2")
    with open_store(tmp_path) as memory:
        own = memory.user("ada")
        traces = Traces(frozenset())
        for number in range(6):
            entry = own.remember(f"{SAID} {number}", key="birds/heron").id
            assert entry is not None
            traces |= traces_of(tmp_path, memory, entry)
        assert len(own.history("birds/heron")) <= 3

        own.purge("birds/heron")

        assert traces.left_in(tmp_path) == []


def test_bytes_kept_in_the_log_by_a_reader_that_would_not_end_go_once_it_has_ended(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The purge may be answered while another process still reads an old state, but the next sweep finishes it."""
    monkeypatch.setattr(sqlite_connections, "BUSY_MS", 20)
    monkeypatch.setattr(sqlite_writer, "PATIENCE_SECONDS", 0.02)
    with open_store(tmp_path, clock=clock) as memory:
        entry = _remember(memory)
        traces = traces_of(tmp_path, memory, entry)
        reader = apsw.Connection(str(tmp_path / DATABASE))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM entries").fetchall()
        memory.user("ada").purge("birds/heron")
        reader.execute("COMMIT").fetchall()
        reader.close()

        memory.sweep()

        assert traces.left_in(tmp_path) == []


def test_a_purge_in_one_process_leaves_no_byte_in_a_log_that_another_holds_open(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)
    with open_store(tmp_path) as second:
        second.user("bob").remember("meanwhile", key="bob/other")
        assert second.user("ada").get("birds/heron").text

        memory.user("ada").purge("birds/heron")

        assert traces.left_in(tmp_path) == []
        with pytest.raises(NotFound):
            second.user("ada").get("birds/heron")


@pytest.mark.parametrize("attempt", range(3))
def test_no_copy_of_a_purged_row_is_left_in_the_unused_part_of_a_page(tmp_path: Path, attempt: int) -> None:
    """SQLite moves cells between pages and leaves what was there; secure_delete clears only what is freed. How
    often that shows depends on where rows happen to lie, hence a busy store and several tries."""
    with open_store(tmp_path) as memory:
        own = memory.user("ada")
        answers = [own.remember(f"unique{n} thing" + " pad" * (n % 40), key=f"k/{n}") for n in range(200)]
        entries = [answer.id for answer in answers if answer.id is not None]
        traces = {entry: traces_of(tmp_path, memory, entry) for entry in entries}
        gone = entries[1::2]
        for number, entry in enumerate(gone):
            own.trash(id=entry)
            own.remember("filler" + " pad" * (number % 50), key=f"f{number}")
        for entry in gone:
            own.purge(id=entry)
        left = {
            what
            for entry in gone
            for what in Traces(
                frozenset(trace for trace in traces[entry].found if "term" not in trace[0])
            ).left_in(tmp_path)
            if what != "label"
        }

    assert left == set()


# Forgetting everything


def _sessions(memory: holdfast.Memory) -> None:
    handle = memory.handle("ada", session="one")
    assert handle is not None
    handle.store("k", b"value")
    memory.user("ada").facts.store("colour", "green")
    memory.user("ada").remember("inner", key="i", in_context=False)


def test_forget_all_leaves_the_rows_of_others_byte_for_byte(memory: holdfast.Memory, tmp_path: Path) -> None:
    _sessions(memory)
    memory.agent("ada").remember("the agent of the same name", key="shelf/1")
    memory.user("bob").share("user:ada", level="readwrite")
    bob = memory.user("bob").get("bob/1").space
    memory.user("ada").remember("ada was here", key="guest", space=bob)
    engine = engine_of(memory)
    others = [row.owner for row in engine.sealed.store.spaces.all_after(None, 100)]
    blind = engine.sealed.blind(session_in(memory.user("ada")).caller.principal)
    before = {owner: all_rows(tmp_path, owner=owner) for owner in others if owner not in (None, blind)}

    answer = memory.user("ada").forget("all")

    assert {owner: all_rows(tmp_path, owner=owner) for owner in before} == before
    assert len(before) == 2
    assert answer.kept_elsewhere == 1
    assert answer.deleted == 43
    assert memory.user("bob").get("guest").text == "ada was here"
    assert memory.agent("ada").get("shelf/1").text == "the agent of the same name"


def test_forget_all_removes_every_room_session_revision_label_and_receipt(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    _sessions(memory)
    own = memory.user("ada")
    own.remember("again", key="shelf/1", idempotency_key="once")
    own.trash("shelf/2")
    blind = engine_of(memory).sealed.blind(session_in(own).caller.principal)

    own.forget("all")

    assert run(tmp_path, "SELECT count(*) FROM entries WHERE owner = ?", (blind,)) == [(0,)]
    left = all_rows(tmp_path, owner=blind)
    assert {name: len(rows) for name, rows in left.items()} == {
        "entries": 0,
        "revisions": 0,
        "labels": 0,
        "derived": 0,
        "spaces": 2,
        "keys": 2,
        "grants": 0,
        "receipts": 0,
        "proposals": 0,
    }
    assert own.list() == []
    assert own.trashed() == []
    assert own.facts.list() == []
    handle = memory.handle("ada", session="one")
    assert handle is not None
    assert handle.list() == []


def test_new_memories_can_be_kept_after_forgetting_all(memory: holdfast.Memory) -> None:
    own = memory.user("ada")
    own.forget("all")

    assert own.remember("afresh", key="shelf/1").created
    assert own.get("shelf/1").text == "afresh"
    assert [entry.key for entry in own.list()] == ["shelf/1"]
    assert own.list("shelf/")[0].revision == 1


def test_the_wrapped_key_of_a_forgotten_space_is_in_no_byte_and_old_backups_stay_shut(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    own = memory.user("ada")
    space = own.get("shelf/1").space
    number = own.get("shelf/1").id.int & 0xFFFFFFFF
    [(old_wrapped,)] = run(tmp_path, "SELECT wrapped FROM data_keys WHERE space = ?", (space.bytes,))
    [row] = engine_of(memory).sealed.store.entries.by_numbers(space, [number])

    own.forget("all")

    keyring = engine_of(memory).sealed.keyring
    new = keyring.look_again(space).current
    assert new.key_id != 1
    assert old_wrapped not in stored_bytes(tmp_path)
    assert old_wrapped[12:28] not in stored_bytes(tmp_path)
    assert open_entry(new, row) is None
    [(wrapped,)] = run(tmp_path, "SELECT wrapped FROM data_keys WHERE space = ?", (space.bytes,))
    secret = keyring.master.unwrap(space, new.key_id, wrapped)
    assert secret is not None
    assert open_entry(DataKey(space, 1, secret), row) is None


LOST = {
    "garbled": "UPDATE data_keys SET wrapped = randomblob(60) WHERE space = ?",
    "cut short": "UPDATE data_keys SET wrapped = x'00' WHERE space = ?",
    "of an unknown master": "UPDATE data_keys SET master = randomblob(8) WHERE space = ?",
    "deleted": "DELETE FROM data_keys WHERE space = ?",
}


def _lose(memory: holdfast.Memory, folder: Path, how: str) -> holdfast.Memory:
    space = memory.user("ada").get("shelf/1").space
    memory.close()
    run(folder, LOST[how], (space.bytes,))
    return open_store(folder)


@pytest.mark.parametrize("how", LOST)
def test_with_a_lost_key_rows_are_locked_counted_and_skipped(
    memory: holdfast.Memory, tmp_path: Path, how: str
) -> None:
    with _lose(memory, tmp_path, how) as again:
        own = again.user("ada")
        assert own.list() == []
        assert own.list().locked == 40
        with pytest.raises(Locked):
            own.get("shelf/1")
        assert len(again.user("bob").list(limit=100)) == 40


@pytest.mark.parametrize("how", LOST)
def test_with_a_lost_key_one_key_cannot_be_forgotten_and_the_answer_is_423(
    memory: holdfast.Memory, tmp_path: Path, how: str
) -> None:
    with _lose(memory, tmp_path, how) as again:
        with pytest.raises(Locked) as refusal:
            again.user("ada").forget("key:shelf/1")
        assert refusal.value.status == 423


@pytest.mark.parametrize("how", LOST)
def test_with_a_lost_key_everything_can_be_forgotten_without_a_trace(
    memory: holdfast.Memory, tmp_path: Path, how: str
) -> None:
    entry, traces = _history_of_everything(memory, tmp_path)
    assert traces.left_in(tmp_path) != []
    with _lose(memory, tmp_path, how) as again:
        own = again.user("ada")

        assert own.forget("all").deleted == 41

        assert traces.left_in(tmp_path) == []
        assert own.remember("afresh", key="shelf/1").created
        assert own.get("shelf/1").text == "afresh"
        with pytest.raises(NotFound):
            own.get(id=entry)


@pytest.mark.parametrize("how", sorted(LOST.keys() - {"deleted"}))
def test_with_a_lost_key_a_write_is_refused_as_locked_and_changes_nothing(
    memory: holdfast.Memory, tmp_path: Path, how: str
) -> None:
    with _lose(memory, tmp_path, how) as again:
        before = all_rows(tmp_path)
        with pytest.raises(Locked):
            again.user("ada").remember("over it", key="shelf/1")
        assert all_rows(tmp_path) == before


def test_where_no_key_is_left_who_goes_on_writing_gets_a_new_one_and_the_old_rows_stay_locked(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    with _lose(memory, tmp_path, "deleted") as again:
        own = again.user("ada")
        assert own.remember("afresh", key="shelf/new").created
        assert [entry.text for entry in own.list()] == ["afresh"]
        assert own.list().locked == 40


def test_what_was_said_in_an_ephemeral_store_can_be_forgotten_after_a_restart(tmp_path: Path) -> None:
    with open_store(tmp_path, key="ephemeral") as memory:
        entry = _remember(memory)
        traces = traces_of(tmp_path, memory, entry)
    with open_store(tmp_path, key="ephemeral") as memory:
        own = memory.user("ada")
        with pytest.raises(Locked):
            own.forget("key:birds/heron")

        assert own.forget("all").deleted == 1

        assert traces.left_in(tmp_path) == []
        assert own.list().locked == 0


def test_a_key_that_a_locked_and_expired_entry_may_have_is_not_said_to_be_forgotten(
    tmp_path: Path, clock: FixedClock
) -> None:
    with open_store(tmp_path, key="ephemeral", clock=clock) as memory:
        entry = _remember(memory, ttl=60)
    clock.advance(seconds=61)
    with open_store(tmp_path, key="ephemeral", clock=clock) as memory:
        own = memory.user("ada")
        with pytest.raises(Locked):
            own.forget("key:birds/heron")

        assert own.forget(f"id:{entry}").deleted == 1
        assert own.forget("key:birds/heron").deleted == 0


def test_forgetting_leaves_only_the_store_and_its_log_in_the_folder(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    memory.user("ada").forget("all")
    shutil.copy(tmp_path / DATABASE, tmp_path / f"{DATABASE}.before-v9")
    memory.user("bob").purge("bob/1")

    assert set(files(tmp_path)) <= {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}


def test_a_copy_that_cannot_be_removed_keeps_nobody_waiting_and_goes_once_it_can(
    memory: holdfast.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_writer, "ERASE_SECONDS", 0.02)
    entry = _remember(memory)
    traces = traces_of(tmp_path, memory, entry)
    obstacle, copy = tmp_path / f"{DATABASE}.before-v1", tmp_path / f"{DATABASE}.before-v2"
    obstacle.mkdir()
    shutil.copy(tmp_path / DATABASE, copy)

    memory.user("ada").purge("birds/heron")

    assert traces.left_in(tmp_path) == []
    assert not copy.exists()
    assert memory.user("ada").remember("Goes on", key="on").persisted
    assert engine_of(memory).sealed.store.unclean
    obstacle.rmdir()
    until(lambda: not engine_of(memory).sealed.store.unclean)
    assert caplog.text.count("could not be erased yet") == 1


def test_after_forgetting_the_log_is_empty(memory: holdfast.Memory, tmp_path: Path) -> None:
    memory.user("ada").purge("shelf/1")

    assert (tmp_path / f"{DATABASE}-wal").stat().st_size == 0
