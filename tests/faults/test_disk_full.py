"""A disk that is full: `storage_full`, nothing lost, nothing half written, and all is well once there is room."""

from __future__ import annotations

import subprocess
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.domain.errors import StorageFull
from tests.faults.processes import check_whole, open_again
from tests.security.raw import Traces, engine_of, run, traces_of

pytestmark = pytest.mark.faults

BIG = "a passage of some length that fills pages quickly, number "


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """A disk of two megabytes; calling it makes room. Yields None where mounting is not allowed."""
    folder.mkdir()
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
        == 0
    )
    try:
        yield _grow(folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def _grow(folder: Path, mounted: bool) -> Callable[[], None]:
    def grow() -> None:
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)

    grow.mounted = mounted  # type: ignore[attr-defined]
    return grow


def _cap_pages(folder: Path, memory: holdfast.Memory, more: int) -> None:
    """The writer's connection may add this many pages and no more."""
    [(pages,)] = run(folder, "PRAGMA page_count")
    with engine_of(memory).sealed.store._connections.writing() as db:  # type: ignore[attr-defined]
        db.execute(f"PRAGMA max_page_count = {pages + more}").fetchall()


def _fill(memory: holdfast.Memory) -> list[str]:
    """Writes until the disk is full; what was acknowledged."""
    own = memory.user("ada")
    kept: list[str] = []
    for number in range(5_000):
        try:
            own.remember(f"{BIG} {number} " + "x" * 2_000, key=f"full/{number}")
        except StorageFull:
            return kept
        kept.append(f"full/{number}")
    raise AssertionError("the disk never got full")


def _check(folder: Path, memory: holdfast.Memory, kept: list[str]) -> None:
    own = memory.user("ada")
    assert [entry.key for entry in own.list("full/", limit=1_000)] == kept[::-1][:1_000]
    for key in kept[-5:]:
        assert own.get(key).text.startswith(BIG)
    check_whole(folder, memory)


def test_when_no_page_can_be_added_a_write_answers_storage_full_and_nothing_is_lost(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        memory.user("ada").remember("small", key="first")
        _cap_pages(tmp_path, memory, 40)
        kept = _fill(memory)

        assert kept
        for _ in range(3):
            with pytest.raises(StorageFull):
                memory.user("ada").remember("y" * 60_000, key="again")
        _check(tmp_path, memory, kept)

        _cap_pages(tmp_path, memory, 10_000)
        assert memory.user("ada").remember("y" * 60_000, key="again").created
        check_whole(tmp_path, memory)


def test_a_full_disk_answers_storage_full_and_works_again_after_room_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder) as grow, open_again(folder) as memory:
        memory.user("ada").remember("small", key="first")
        if not grow.mounted:  # type: ignore[attr-defined]
            _cap_pages(folder, memory, 200)
        kept = _fill(memory)
        assert kept
        own = memory.user("ada")
        assert own.get("first").text == "small"
        assert own.get(kept[-1]).text.startswith(BIG)
        assert len(own.list("full/", limit=1_000)) == len(kept)

        grow()
        if not grow.mounted:  # type: ignore[attr-defined]
            _cap_pages(folder, memory, 10_000)

        assert own.remember("there is room", key="after").created
        _check(folder, memory, kept)
        assert own.forget("all").deleted == len(kept) + 2
        check_whole(folder, memory)


def test_one_write_too_big_for_the_disk_takes_nothing_from_the_others(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        own.remember("small", key="first")
        _cap_pages(tmp_path, memory, 4)
        with pytest.raises(StorageFull):
            own.remember("z" * 60_000, key="big")

        assert own.remember("still small", key="second").created
        assert {entry.key for entry in own.list()} == {"first", "second"}
        check_whole(tmp_path, memory)


def test_many_rows_on_a_disk_that_gets_full_are_kept_as_far_as_their_outcomes_say(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        own.remember("small", key="first")
        _cap_pages(tmp_path, memory, 300)
        outcomes = own.remember_many({"text": f"{BIG} {n}", "key": f"full/{n}"} for n in range(3_000))

        kept = [outcome.remembered.key for outcome in outcomes if outcome.remembered]
        assert kept == [f"full/{n}" for n in range(len(kept))]
        assert 0 < len(kept) < 3_000
        assert [outcome.error and outcome.error.code for outcome in outcomes[len(kept) :]] == [
            "storage_full"
        ] * (3_000 - len(kept))
        _check(tmp_path, memory, kept)


def test_many_rows_of_which_none_can_be_kept_are_refused_as_a_whole(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        own.remember("small", key="first")
        _cap_pages(tmp_path, memory, 4)
        with pytest.raises(StorageFull):
            own.remember_many({"text": "z" * 2_000, "key": f"full/{n}"} for n in range(3_000))

        assert [entry.key for entry in own.list()] == ["first"]
        check_whole(tmp_path, memory)


def test_many_rows_in_a_memory_that_is_closed_meanwhile_are_kept_as_far_as_their_outcomes_say(
    tmp_path: Path,
) -> None:
    class Closing(UserDict[str, str]):
        """A row that closes the memory when it is read."""

        def keys(self) -> Any:
            memory.close()
            return super().keys()

    rows = [{"text": f"{BIG} {n}", "key": f"full/{n}"} for n in range(400)]
    memory = open_again(tmp_path)
    outcomes = memory.user("ada").remember_many([*rows[:300], Closing(rows[300]), *rows[301:]])

    assert [outcome.error and outcome.error.code for outcome in outcomes] == [None] * 256 + [
        "unavailable"
    ] * 144
    with open_again(tmp_path) as again:
        _check(tmp_path, again, [f"full/{n}" for n in range(256)])


def test_a_forget_on_a_full_disk_is_either_done_or_refused_with_nothing_changed(tmp_path: Path) -> None:
    """`storage_full` says that nothing was written: then the entry must still be there."""
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        own.remember("small", key="first")
        _cap_pages(tmp_path, memory, 60)
        kept = _fill(memory)
        left = set(kept)

        for key in kept[: len(kept) // 2]:
            try:
                assert own.forget(f"key:{key}").deleted == 1
                left.discard(key)
            except StorageFull:
                assert own.get(key).text.startswith(BIG)

        assert {entry.key for entry in own.list("full/", limit=1_000)} == left
        check_whole(tmp_path, memory)


def test_what_was_forgotten_on_a_full_disk_leaves_no_byte_once_there_is_room(tmp_path: Path) -> None:
    with open_again(tmp_path) as memory:
        own = memory.user("ada")
        own.remember("small", key="first")
        _cap_pages(tmp_path, memory, 60)
        kept = _fill(memory)
        traces = traces_of(tmp_path, memory, own.get(kept[0]).id)
        with suppress(StorageFull):
            own.forget(f"key:{kept[0]}")
        _cap_pages(tmp_path, memory, 10_000)

        own.forget(f"key:{kept[0]}")
        own.forget(f"key:{kept[1]}")

        others = {
            trace for entry in own.list(limit=1_000) for trace in traces_of(tmp_path, memory, entry.id).found
        }
        assert Traces(traces.found - others).left_in(tmp_path) == []
