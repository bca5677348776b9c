"""A person writes in the very moment in which the mirror does: whatever the order, their text is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mirror.desk import Desk, said


class Once:
    """Does something the first time a step is reached."""

    def __init__(self, step: str, act: Callable[[], object]) -> None:
        self._step = step
        self._act: Callable[[], object] | None = act

    def __call__(self, step: str) -> None:
        if step == self._step and self._act is not None:
            act, self._act = self._act, None
            act()


def by_a_new_file(path: Path, text: str) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(text)
    aside.replace(path)


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


WAYS = [by_a_new_file, in_place]


@pytest.mark.parametrize("write", WAYS)
def test_an_edit_just_before_a_file_is_replaced_is_kept(
    desk: Desk, write: Callable[[Path, str], None]
) -> None:
    desk.upsert("one", "first")
    desk.look()
    desk.restart(Once("written aside", lambda: write(desk.file("one"), said("the person's"))))
    desk.upsert("one", "the engine's")
    desk.look(3)
    assert sorted(desk.bodies().values()) == ["the engine's", "the person's"]
    assert desk.on_disk() == desk.bodies()
    assert "while the mirror wrote" in desk.problems()


def test_an_edit_through_a_file_that_was_open_when_it_was_replaced_is_kept(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.look()
    with desk.file("one").open("r+") as held:

        def write() -> None:
            held.truncate()
            held.write(said("written late"))
            held.flush()

        desk.restart(Once("noted", write))
        desk.upsert("one", "the engine's")
        desk.look(3)
    assert sorted(desk.bodies().values()) == ["the engine's", "written late"]
    assert desk.on_disk() == desk.bodies()


def test_a_file_that_comes_just_before_one_of_its_name_is_written_is_kept(desk: Desk) -> None:
    desk.upsert("other", "x")
    desk.look()
    desk.restart(Once("written aside", lambda: desk.edit("one", "the person's")))
    desk.upsert("one", "the engine's")
    desk.look(3)
    assert sorted(desk.bodies().values()) == ["the engine's", "the person's", "x"]
    assert desk.on_disk() == desk.bodies()


def test_a_file_deleted_just_before_it_is_replaced_is_written_again(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("other", "x")
    desk.look()
    desk.restart(Once("written aside", lambda: desk.file("one").unlink()))
    desk.upsert("one", "the engine's")
    desk.look(3)
    assert desk.on_disk() == desk.bodies() == {"one": "the engine's", "other": "x"}


@pytest.mark.parametrize("write", WAYS)
def test_an_edit_just_before_a_file_leaves_is_kept(desk: Desk, write: Callable[[Path, str], None]) -> None:
    for name in ("aaa", "gone", "purged"):
        desk.upsert(name, "first")
    desk.look()

    def edit() -> None:
        write(desk.file("gone"), said("edited late"))
        write(desk.file("purged"), said("edited late too"))

    desk.restart(Once("written aside", edit))
    desk.upsert("aaa", "again")
    desk.delete("gone")
    desk.alice.purge("purged")
    desk.look(3)
    bodies = sorted(desk.bodies().values())
    assert bodies == ["again", "edited late", "edited late too"]
    assert desk.on_disk() == desk.bodies()


def test_a_memory_written_just_before_an_upload_is_kept(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("two", "first too")
    desk.look()
    desk.restart(Once("uploaded", lambda: desk.upsert("two", "the engine's")))
    desk.edit("one", "edited")
    desk.edit("two", "the person's")
    desk.look(4)
    every = {str(state.text) for name in desk.bodies() for state in desk.alice.history(name)}
    assert {"edited", "the engine's", "the person's"} <= every
    assert desk.on_disk() == desk.bodies()


def test_a_memory_changed_just_before_it_would_follow_its_file_stays(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("two", "x")
    desk.look()
    desk.restart()
    desk.look()
    desk.file("one").unlink()
    desk.look()
    desk.upsert("one", "again")
    desk.look(3)
    assert desk.on_disk() == desk.bodies() == {"one": "again", "two": "x"}
