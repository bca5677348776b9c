"""What the mirror does not take over: it is left as it is, reported where a person looks, and harms nothing else."""

import logging
import os
from pathlib import Path

import pytest

import holdfast
from holdfast.domain.errors import Unavailable
from holdfast.entrypoints.mirror.mirror import Mirror
from tests.mirror.desk import KEY, Desk, said

BAD = {
    "no frontmatter": "just text\n",
    "never closed": "---\ntype: user\n",
    "not YAML": "---\ntype: [user\n---\n\nx\n",
    "a list": "---\n- user\n---\n\nx\n",
    "nested": "---\ntype: {a: b}\ndescription: x\n---\n\nx\n",
    "deep": "---\ntype: " + "[" * 4_000 + "\n---\n\nx\n",
    "an object": "---\ntype: !!python/object/apply:os.system ['true']\ndescription: x\n---\n\nx\n",
    "aliases": "---\ndescription: &a [x]\ntype: *a\n---\n\nx\n",
    "another key": "---\ntype: user\ndescription: x\ntags: y\n---\n\nx\n",
    "a key twice": "---\ntype: user\ntype: project\ndescription: x\n---\n\nx\n",
    "another type": said("x", type="preference"),
    "no type": "---\ndescription: x\n---\n\nx\n",
    "no description": "---\ntype: user\n---\n\nx\n",
    "two lines": "---\ntype: user\ndescription: |\n  a\n  b\n---\n\nx\n",
    "no body": "---\ntype: user\ndescription: x\n---\n",
    "NUL": said("a\0b"),
    "large": said("x" * 70_000),
    "huge": said("x" * 2_000_000),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_a_file_that_cannot_be_a_memory_is_reported_and_left_until_it_changes(desk: Desk, text: str) -> None:
    desk.edit("good", "fine")
    desk.file("bad").write_text(text)
    desk.look(2)
    assert desk.bodies() == {"good": "fine"}
    assert desk.file("bad").read_text() == text
    assert "`bad.md`" in desk.problems()
    desk.edit("bad", "now well")
    desk.look()
    assert desk.body("bad") == "now well"
    assert desk.problems() == ""


def test_a_file_that_is_not_utf_8_is_reported(desk: Desk) -> None:
    desk.edit("good", "fine")
    desk.file("bad").write_bytes(said("caf").encode() + b"\xe9\n")
    desk.look()
    assert "`bad.md` is not UTF-8" in desk.problems()


def test_a_memory_is_not_overwritten_by_nor_over_a_file_that_cannot_be_read(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.look()
    desk.file("one").write_text("half a sen")
    desk.upsert("one", "second")
    desk.look(2)
    assert desk.text("one") == "half a sen"
    assert desk.body("one") == "second"
    desk.edit("one", "whole again")
    desk.look(2)
    assert sorted(desk.bodies().values()) == ["second", "whole again"]


@pytest.mark.parametrize(
    "name", ["a b.md", "é.md", "a.b.md", "MEMORY.MD", "trash.md", "memory.md", "x" * 65 + ".md", "note.txt"]
)
def test_an_odd_name_is_reported(desk: Desk, name: str) -> None:
    desk.edit("good", "fine")
    (desk.place / name).write_text(said("x"))
    desk.look()
    assert desk.bodies() == {"good": "fine"}
    assert f"`{name}`" in desk.problems()
    assert ".." not in desk.problems()


@pytest.mark.parametrize("name", [".one.md.swp", "one.md~", "#one.tmp", ".#one.md", "4913.bak"])
def test_what_editors_leave_for_a_moment_is_passed_over(desk: Desk, name: str) -> None:
    desk.edit("good", "fine")
    (desk.place / name).write_text("x")
    desk.look()
    assert (desk.problems(), desk.bodies()) == ("", {"good": "fine"})


def test_a_link_is_never_followed(desk: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text(said("the secret"))
    desk.edit("good", "fine")
    desk.file("link").symlink_to(secret)
    (desk.place / "folder.md").symlink_to(tmp_path)
    os.link(secret, desk.file("hard"))
    desk.look(2)
    assert desk.bodies() == {"good": "fine"}
    for name in ("link.md", "folder.md", "hard.md"):
        assert f"`{name}`" in desk.problems()


def test_a_memory_is_not_written_through_a_link(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "target.md"
    target.write_text("not ours")
    desk.upsert("one", "first")
    desk.look()
    for name in ("one", "MEMORY"):
        desk.file(name).unlink()
        desk.file(name).symlink_to(target)
    desk.upsert("one", "second")
    desk.look(3)
    assert target.read_text() == "not ours"
    assert desk.file("one").is_symlink()
    assert not desk.file("MEMORY").is_symlink()
    assert desk.body("one") == "second"


@pytest.mark.parametrize("place", ["memory", "user", "users"])
def test_a_link_in_the_place_of_a_folder_is_left_alone(desk: Desk, tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "one.md").write_text(said("not ours"))
    link = {"memory": desk.place, "user": desk.place.parent, "users": desk.root / "users"}[place]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    desk.upsert("two", "x")
    desk.look(2)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["one.md"]
    assert desk.bodies() == {"two": "x"}


def test_what_the_mirror_keeps_for_itself_is_not_written_through_a_link(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch(0o644)
    desk.upsert("one", "first")
    desk.look()
    state = desk.place.parent / ".holdfast" / "baseline.jsonl"
    state.unlink()
    state.symlink_to(target)
    desk.restart()
    desk.upsert("two", "second")
    desk.look(2)
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("", 0o644)
    state.unlink()
    desk.look(2)
    assert desk.on_disk().keys() >= {"one", "two"}


def test_pipes_and_folders_are_passed_over_without_waiting(desk: Desk) -> None:
    desk.edit("good", "fine")
    os.mkfifo(desk.file("pipe"))
    (desk.place / "sub").mkdir()
    (desk.place / "sub" / "one.md").write_text(said("x"))
    desk.look()
    assert desk.bodies() == {"good": "fine"}
    assert "`pipe.md` is not a plain file" in desk.problems()
    assert "`sub` is a folder" in desk.problems()


def test_names_that_differ_in_case_alone_are_reported_and_the_known_one_stays(desk: Desk) -> None:
    desk.edit("Deploy", "first")
    desk.look()
    desk.edit("deploy", "second")
    desk.look(2)
    assert desk.bodies() == {"Deploy": "first"}
    assert "`deploy.md` differs from `Deploy.md` in case alone" in desk.problems()
    desk.file("Deploy").unlink()
    desk.look(4)
    assert desk.bodies() == {"deploy": "second"}


def test_a_file_beside_a_memory_that_differs_in_case_alone_is_reported(desk: Desk) -> None:
    desk.upsert("Deploy", "the engine's")
    desk.edit("deploy", "the person's")
    desk.look(2)
    assert desk.body("Deploy") == "the engine's"
    assert "`deploy.md`" in desk.problems()
    assert desk.on_disk() == {"Deploy": "the engine's", "deploy": "the person's"}


def test_a_report_stands_in_the_log_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.edit("good", "fine")
    desk.file("bad").write_text("no frontmatter")
    with caplog.at_level(logging.WARNING, "holdfast"):
        desk.look(4)
    assert len([line for line in caplog.messages if "bad.md" in line]) == 1


def test_a_full_space_is_reported_and_tried_again(desk: Desk) -> None:
    object.__setattr__(desk.memory.running.opened.engine.limits, "entries", 1)  # type: ignore[union-attr]
    desk.edit("one", "x")
    desk.edit("two", "y")
    desk.look()
    assert desk.bodies() == {"one": "x"}
    assert "`two.md` was refused" in desk.problems()
    object.__setattr__(desk.memory.running.opened.engine.limits, "entries", 10)  # type: ignore[union-attr]
    desk.look()
    assert desk.bodies() == {"one": "x", "two": "y"}


# Whose folder it is


def test_a_folder_with_things_in_it_is_not_taken(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.md").write_text("mine")
    with pytest.raises(Unavailable, match="not empty"):
        Mirror(desk.memory.running, tmp_path / "full")
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == ["thesis.md"]


def test_the_mirror_of_another_store_is_not_taken(desk: Desk) -> None:
    desk.edit("one", "x")
    desk.look()
    desk.mirror.stop()
    with holdfast.open(":memory:", key=KEY, sweep_seconds=0, embedder="none") as other:
        with pytest.raises(Unavailable, match="another store"):
            Mirror(other.running, desk.root)
        assert list(other.user("alice").list()) == []
    desk.restart()


def test_two_processes_do_not_mirror_into_one_folder(desk: Desk) -> None:
    with pytest.raises(Unavailable, match="Another process"):
        Mirror(desk.memory.running, desk.root)


def test_a_folder_that_is_not_mounted_any_more_is_neither_read_nor_written(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    gone = desk.root.rename(desk.folder / "elsewhere")
    desk.root.mkdir()
    desk.upsert("two", "y")
    desk.look(5)
    assert list(desk.root.iterdir()) == []
    assert sorted(desk.bodies()) == ["one", "two"]
    desk.root.rmdir()
    gone.rename(desk.root)
    desk.look()
    assert sorted(desk.on_disk()) == ["one", "two"]


def test_a_folder_that_is_nobodys_is_said_in_the_log(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("Alice", "a b", "%zz", "%2e%2e"):
        (desk.root / "users" / name / "memory").mkdir(parents=True)
        (desk.root / "users" / name / "memory" / "one.md").write_text(said("x"))
    with caplog.at_level(logging.WARNING, "holdfast"):
        desk.look(2)
    assert len([line for line in caplog.messages if "no user's" in line]) == 3  # `..` is somebody's odd id
    assert desk.bodies() == {}


def test_memory_that_is_off_has_no_mirror(tmp_path: Path) -> None:
    with holdfast.open(":memory:", key="off") as off, pytest.raises(Unavailable):
        Mirror(off.running, tmp_path / "files")
