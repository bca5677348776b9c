"""Rotation of a space's data: online, resumable, complete, and nothing of the old key's work is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest

import holdfast
from holdfast.domain.errors import Conflict, Locked
from holdfast.operations import rotate_keys
from holdfast.recall import snapshot_reader
from holdfast.storage import keyring
from holdfast.storage.keyring import Keyring, SpaceKeys
from holdfast.storage.sealed_store import SealedStore
from tests.security.raw import (
    Traces,
    engine_of,
    open_store,
    rowid,
    run,
    stored_bytes,
    traces_of,
    written_terms,
)
from tests.support import FixedClock


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same proportions as in life, in a tenth of the time."""
    monkeypatch.setattr(keyring, "FRESH_SECONDS", 0.1)
    monkeypatch.setattr(rotate_keys, "GRACE_SECONDS", 0.15)


def _fill(memory: holdfast.Memory, entries: int = 30) -> None:
    own = memory.user("ada")
    for number in range(entries):
        for revision in range(1 + number % 3):
            own.remember(
                f"thought {number} in version {revision} about Quillfeather",
                key=f"notes/{number % 4}/{number}",
                hint="a hint",
                category="thoughts",
                tags=["red", f"t{number % 3}"],
                ttl=86_400 if number % 5 == 0 else None,
                always_inject=number % 7 == 0,
            )
    own.trash("notes/1/1")
    own.facts.store("colour", "green")


def _everything(memory: holdfast.Memory) -> dict[str, Any]:
    """All that can be read: entries with times, flags and provenance, their histories, the trash, the lists."""
    own = memory.user("ada")
    entries = own.list(limit=1_000)
    return {
        "entries": list(entries),
        "locked": entries.locked,
        "history": {
            entry.key: own.history(entry.key, limit=100) for entry in entries if entry.key != "colour"
        },
        "trash": list(own.trashed()),
        "tagged": [entry.key for entry in own.list(tag="t1")],
        "under": [entry.key for entry in own.list("notes/2/")],
        "in category": [entry.key for entry in own.list(category="thoughts")],
        "facts": list(own.facts.list()),
    }


def _all_traces(folder: Path, memory: holdfast.Memory) -> Traces:
    own = memory.user("ada")
    traces = Traces(frozenset())
    for entry in [*own.list(limit=1_000), *own.trashed()]:
        traces |= traces_of(folder, memory, entry.id)
    return traces


def _own_space(memory: holdfast.Memory) -> UUID:
    return memory.user("ada").list(limit=1)[0].space


def test_after_rotation_everything_reads_as_before_under_another_key(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory)
        before = _everything(memory)
        [(terms,)] = [(len(written_terms(tmp_path)),)]

        rotated = memory.keys.rotate_data()

        assert _everything(memory) == before
        assert rotated.entries == 31
        assert rotated.revisions == 30 - 1 + 1
        assert run(tmp_path, "SELECT DISTINCT key_id FROM entries") == [(2,)]
        assert run(tmp_path, "SELECT DISTINCT key_id FROM revisions") == [(2,)]
        assert run(tmp_path, "SELECT key_id FROM data_keys WHERE space <> zeroblob(16)") == [(2,)]
        assert run(tmp_path, "SELECT key_id FROM spaces") == [(2,)]
        assert len(written_terms(tmp_path)) == terms
    with open_store(tmp_path, clock=FixedClock()) as memory:
        assert _everything(memory) == before


def test_after_rotation_no_old_ciphertext_nonce_label_or_blind_term_is_in_any_byte(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 12)
        old = _all_traces(tmp_path, memory)

        memory.keys.rotate_data()

        assert old.left_in(tmp_path) == []


def test_after_rotation_no_old_trace_is_left_in_the_file_that_was_closed(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 12)
        old = _all_traces(tmp_path, memory)
        memory.keys.rotate_data()

    assert old.left_in(tmp_path) == []


def test_after_rotation_the_old_wrapped_key_is_in_no_byte(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 6)
        [(wrapped,)] = run(tmp_path, "SELECT wrapped FROM data_keys WHERE space <> zeroblob(16)")

        memory.keys.rotate_data()

        assert wrapped[12:28] not in stored_bytes(tmp_path)


def test_trashed_entries_are_rotated_and_can_be_restored(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory)
        memory.keys.rotate_data()

        assert memory.user("ada").restore("notes/1/1").text.startswith("thought 1 ")
        assert memory.user("ada").get("notes/1/1").text.startswith("thought 1 ")


def test_only_the_named_space_is_rotated(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 4)
        memory.user("bob").remember("of bob", key="k")
        memory.keys.rotate_data(_own_space(memory))

        assert memory.user("bob").get("k").text == "of bob"
        assert sorted(run(tmp_path, "SELECT key_id FROM spaces")) == [(1,), (2,)]


def test_rotation_reports_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotate_keys, "BATCH", 5)
    seen: list[int] = []
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 12)
        memory.keys.rotate_data(progress=seen.append)

    assert 13 in seen
    assert len(seen) > 4


class Crash(BaseException):
    """The process ends here."""


def _crash_when_wrapped() -> Callable[[int], None]:
    def stop(done: int) -> None:
        raise Crash

    return stop


@pytest.mark.parametrize("crash", ["the key was published", "writes use the key", "one batch is done"])
def test_an_interrupted_rotation_serves_on_and_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    monkeypatch.setattr(rotate_keys, "BATCH", 5)
    memory = open_store(tmp_path, clock=FixedClock())
    _fill(memory)
    before = _everything(memory)
    space = _own_space(memory)
    old = _all_traces(tmp_path, memory)
    with monkeypatch.context() as patch:
        if crash == "the key was published":
            patch.setattr(time, "sleep", lambda _: _crash_when_wrapped()(0))
        elif crash == "writes use the key":
            patch.setattr(rotate_keys, "_all_batches", lambda *_: _crash_when_wrapped()(0))
        with pytest.raises(Crash):
            memory.keys.rotate_data(space, progress=_crash_when_wrapped())
    memory.close()

    with open_store(tmp_path, clock=FixedClock()) as memory:
        assert _everything(memory) == before
        memory.user("ada").remember("between", key="notes/0/0")
        memory.user("ada").forget("key:notes/0/0")
        expected = _everything(memory)

        memory.keys.rotate_data(space)

        assert _everything(memory) == expected
        assert expected["locked"] == 0
        assert len(run(tmp_path, "SELECT 1 FROM data_keys WHERE space = ?", (space.bytes,))) == 1
        assert len(run(tmp_path, "SELECT DISTINCT key_id FROM entries")) == 1
        assert old.left_in(tmp_path) == []


def test_a_second_memory_asks_both_blindings_while_rows_lie_under_two_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step of a rotation another reader of the file finds every entry by key, prefix, tag and id."""
    monkeypatch.setattr(rotate_keys, "BATCH", 4)
    with (
        open_store(tmp_path, clock=FixedClock()) as memory,
        open_store(tmp_path, clock=FixedClock()) as second,
    ):
        _fill(memory, 16)
        before = _everything(second)
        mixed: list[int] = []

        def look(done: int) -> None:
            keys = run(tmp_path, "SELECT DISTINCT key_id FROM entries")
            mixed.append(len(keys))
            own = second.user("ada")
            assert _everything(second) == before
            for entry in before["entries"]:
                assert own.get(entry.key).content == entry.content
                assert own.get(id=entry.id).content == entry.content

        memory.keys.rotate_data(_own_space(memory), progress=look)

        assert max(mixed) == 2
        assert _everything(second) == before


def test_reads_and_writes_of_four_threads_never_fail_during_rotation(tmp_path: Path) -> None:
    with open_store(tmp_path) as memory, open_store(tmp_path) as second:
        _fill(memory, 12)
        fixed = {entry.key: entry.content for entry in memory.user("ada").list("notes/", limit=100)}
        space = _own_space(memory)
        enough = Event()

        def work(number: int) -> dict[str, list[str]]:
            own = (memory, second)[number % 2].user("ada")
            written: dict[str, list[str]] = {}
            turn = 0
            while not enough.is_set() or turn < 5:
                turn += 1
                key = f"thread{number}/{turn % 3}"
                text = f"turn {turn} of {number}"
                if turn % 10 == 9:
                    own.forget(f"key:{key}")
                    written.pop(key, None)
                else:
                    own.remember(text, key=key, tags=["moving"])
                    written.setdefault(key, []).append(text)
                    assert own.get(key).text == text
                for name, content in fixed.items():
                    assert own.get(name).content == content
                assert {entry.key for entry in own.list("notes/", limit=100)} == set(fixed)
                assert own.list().locked == 0
            return written

        with ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(work, number) for number in range(4)]
            try:
                for _ in range(2):
                    memory.keys.rotate_data(space)
            finally:
                enough.set()
            written = [worker.result() for worker in workers]

        own = memory.user("ada")
        for done in written:
            for key, texts in done.items():
                history = [step.text for step in own.history(key, limit=1_000)]
                assert history[: len(texts)] == texts[::-1]
        assert {entry.key: entry.content for entry in own.list("notes/", limit=100)} == fixed
        [(keys,)] = run(tmp_path, "SELECT count(*) FROM data_keys WHERE space = ?", (space.bytes,))
        assert keys == 1
        assert run(tmp_path, "SELECT DISTINCT key_id FROM entries") == [(3,)]


def test_a_recall_that_reads_a_space_for_the_first_time_while_it_is_rotated_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a large space are read in many steps: here a whole rotation happens between two of them."""
    monkeypatch.setattr(snapshot_reader, "OPENED_AT_ONCE", 10)
    with open_store(tmp_path) as memory, open_store(tmp_path) as second:
        memory.user("ada").remember_many({"text": f"thing{n}", "key": f"k/{n}"} for n in range(30))
        own, read, steps = second.user("ada"), snapshot_reader.entry_rows, iter(range(99))

        def meanwhile(sealed: SealedStore, space: UUID, rows: Any) -> Any:
            if next(steps) == 1:
                memory.keys.rotate_data(space)
            return read(sealed, space, rows)

        monkeypatch.setattr(snapshot_reader, "entry_rows", meanwhile)
        own.recall("thing0")
        assert next(steps) > 1
        found = [[hit.key for hit in own.recall(f"thing{n}", limit=1)] for n in range(30)]
    assert found == [[f"k/{n}"] for n in range(30)]


def test_words_and_labels_are_asked_for_again_when_a_key_was_published_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader held up between looking at the keys and asking, for longer than a rotation waits."""
    with open_store(tmp_path) as memory, open_store(tmp_path) as second:
        memory.user("ada").remember("Quillfeather", key="k", category="birds")
        own, of = second.user("ada"), Keyring.of
        own.recall("Quillfeather")
        rotated: list[UUID] = []

        def held_up(self: Keyring, space: UUID) -> SpaceKeys:
            keys = of(self, space)
            if self is engine_of(second).sealed.keyring and not rotated:
                rotated.append(space)
                memory.keys.rotate_data(space)
            return keys

        for category in (None, "birds"):
            rotated.clear()
            monkeypatch.setattr(Keyring, "of", held_up)
            assert [hit.key for hit in own.recall("Quillfeather", category=category)] == ["k"]
            assert rotated
            monkeypatch.setattr(Keyring, "of", of)


def test_a_changed_row_stops_the_rotation_and_after_its_purge_it_goes_on(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 6)
        own = memory.user("ada")
        entry = own.get("notes/3/3").id
        run(tmp_path, "UPDATE entries SET updated_us = 5 WHERE entry = ?", (rowid(tmp_path, entry),))
        with pytest.raises(Locked):
            memory.keys.rotate_data()
        assert own.get("notes/0/0").text.startswith("thought 0")

        own.forget(f"id:{entry}")
        memory.keys.rotate_data()

        assert len(run(tmp_path, "SELECT DISTINCT key_id FROM entries")) == 1


def test_a_space_with_a_key_that_is_not_configured_is_not_rotated(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory, 4)
        space = _own_space(memory)
    run(tmp_path, "UPDATE data_keys SET master = randomblob(8) WHERE space = ?", (space.bytes,))
    with open_store(tmp_path, clock=FixedClock()) as memory:
        before = run(tmp_path, "SELECT * FROM entries")
        with pytest.raises(Conflict):
            memory.keys.rotate_data(space)
        assert run(tmp_path, "SELECT * FROM entries") == before


def test_counts_and_the_word_index_fit_after_rotation(tmp_path: Path) -> None:
    with open_store(tmp_path, clock=FixedClock()) as memory:
        _fill(memory)
        before = run(tmp_path, "SELECT entries, indexed, length FROM spaces")
        memory.keys.rotate_data()

        assert run(tmp_path, "SELECT entries, indexed, length FROM spaces") == before
        data_key = engine_of(memory).sealed.keyring.look_again(_own_space(memory)).current
        from holdfast.crypto.blind import blind_terms
        from holdfast.text.analyser import analyse

        assert set(blind_terms(data_key, analyse("Quillfeather"))) <= written_terms(tmp_path)
