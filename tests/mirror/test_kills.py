"""Killed at any step the mirror loses nothing: whatever it was doing, the next one brings both sides together."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mirror.desk import Desk, Killed


class Fuse:
    """Kills at the n-th step."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.reached: list[str] = []

    def __call__(self, step: str) -> None:
        self.reached.append(step)
        if self.left == 0:
            raise Killed
        self.left -= 1


def edits(desk: Desk) -> None:
    desk.edit("a-edited", "edited")
    desk.edit("added", "added")


def engine_writes(desk: Desk) -> None:
    desk.upsert("b-written", "written")
    desk.upsert("made", "made")


def deletes_by_engine(desk: Desk) -> None:
    desk.delete("c-deleted")


def deletes_by_person(desk: Desk) -> None:
    desk.file("d-removed").unlink()


def conflicts(desk: Desk) -> None:
    desk.upsert("e-both", "the engine's")
    desk.edit("e-both", "the person's")


def forgets_one(desk: Desk) -> None:
    desk.alice.purge("f-purged")


def everything(desk: Desk) -> None:
    for change in (edits, engine_writes, deletes_by_engine, deletes_by_person, conflicts, forgets_one):
        change(desk)


BEFORE = ("a-edited", "b-written", "c-deleted", "d-removed", "e-both", "f-purged", "kept")
CHANGED: dict[Callable[[Desk], None], dict[str, str | None]] = {
    edits: {"a-edited": "edited", "added": "added"},
    engine_writes: {"b-written": "written", "made": "made"},
    deletes_by_engine: {"c-deleted": None},
    deletes_by_person: {"d-removed": None},
    conflicts: {"e-both": "the engine's"},
    forgets_one: {"f-purged": None},
}
CHANGED[everything] = {name: text for changed in list(CHANGED.values()) for name, text in changed.items()}


def expected(change: Callable[[Desk], None]) -> list[str]:
    texts = {name: f"old {name}" for name in BEFORE} | CHANGED[change]
    both = ["the person's"] if change in (conflicts, everything) else []
    return sorted([text for text in texts.values() if text is not None] + both)


def set_up(desk: Desk) -> None:
    for name in BEFORE:
        desk.upsert(name, f"old {name}")
    desk.look()


def check(desk: Desk, change: Callable[[Desk], None]) -> None:
    assert sorted(desk.bodies().values()) == expected(change)
    assert desk.on_disk() == desk.bodies()
    assert desk.index() == desk.alice.files.index()
    trashed = [entry for entry in desk.alice.trashed() if entry.partition.label == "files"]
    assert (
        len(desk.trash())
        == len(trashed)
        == sum(change in (one, everything) for one in (deletes_by_engine, deletes_by_person))
    )
    assert list((desk.place.parent / ".holdfast" / "out").iterdir()) == []


@pytest.mark.parametrize("change", CHANGED, ids=lambda change: change.__name__)
def test_a_kill_at_any_step_loses_nothing_and_doubles_nothing(
    change: Callable[[Desk], None], tmp_path: Path
) -> None:
    steps, tried = 0, 0
    while tried == steps:
        folder = tmp_path / str(steps)
        folder.mkdir()
        with Desk(folder) as desk:
            set_up(desk)
            fuse = Fuse(steps)
            desk.restart(fuse)
            change(desk)
            try:
                desk.look(3)
            except Killed:
                steps += 1
            desk.restart()
            desk.look(4)
            check(desk, change)
        tried += 1
    assert steps > 0


def test_two_kills_in_a_row_lose_nothing(tmp_path: Path) -> None:
    for first in range(0, 24, 3):
        for second in (0, 2, 5):
            folder = tmp_path / f"{first}-{second}"
            folder.mkdir()
            with Desk(folder) as desk:
                set_up(desk)
                desk.restart(Fuse(first))
                everything(desk)
                for fuse in (Fuse(first), Fuse(second)):
                    desk.restart(fuse)
                    try:
                        desk.look(3)
                    except Killed:
                        continue
                desk.restart()
                desk.look(4)
                check(desk, everything)


@pytest.mark.parametrize("step", range(12))
def test_an_edit_that_comes_after_a_kill_is_kept_beside_what_the_engine_wrote(
    tmp_path: Path, step: int
) -> None:
    with Desk(tmp_path) as desk:
        set_up(desk)
        desk.restart(Fuse(step))
        desk.upsert("b-written", "written")
        try:
            desk.look(2)
        except Killed:
            desk.edit("b-written", "after the kill")
        desk.restart()
        desk.look(4)
        bodies = set(desk.bodies().values())
        history = {revision.text for revision in desk.alice.history("b-written")}
        assert "written" in bodies | history
        assert desk.on_disk() == desk.bodies()
        assert ("after the kill" in bodies) == ("after the kill" in "".join(desk.on_disk().values()))


def test_a_torn_line_of_the_baseline_is_passed_over(desk: Desk) -> None:
    set_up(desk)
    state = desk.place.parent / ".holdfast" / "baseline.jsonl"
    desk.mirror.stop()
    state.write_bytes(state.read_bytes() + b'["file", "kep')
    desk.restart()
    desk.look(2)
    assert sorted(desk.bodies()) == sorted(BEFORE)
    assert all(entry.revision == 1 for entry in desk.alice.list())


def test_without_its_baseline_the_mirror_compares_anew_and_changes_nothing(desk: Desk) -> None:
    set_up(desk)
    desk.mirror.stop()
    (desk.place.parent / ".holdfast" / "baseline.jsonl").unlink()
    desk.restart()
    desk.look(3)
    assert desk.on_disk() == desk.bodies() == {name: f"old {name}" for name in BEFORE}
    assert all(entry.revision == 1 for entry in desk.alice.list())


def test_a_kill_in_the_middle_of_writing_a_file_leaves_no_half_of_it_as_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(file: int) -> None:
        os.ftruncate(file, 3)
        raise Killed

    with Desk(tmp_path) as desk:
        set_up(desk)
        engine_writes(desk)
        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", killed)
            with pytest.raises(Killed):
                desk.look(3)
        desk.restart()
        desk.look(3)
        check(desk, engine_writes)
