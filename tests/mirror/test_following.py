"""Both sides follow each other: a person edits files, an agent calls the engine, and nothing is said twice."""

import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.contracts.rows import EntryRow, Visible
from holdfast.entrypoints.mirror.sync import MAX_DELETIONS
from holdfast.storage.sealed_store import OpenedRow, SealedStore
from tests.mirror.desk import Desk, said


def stamps(desk: Desk) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in desk.root.rglob("*")
        if path.is_file() and path.suffix == ".md"
    }


def test_a_memory_becomes_a_file_with_frontmatter_and_a_line_in_the_index(desk: Desk) -> None:
    desk.upsert("preferred-language", "Japanese.", description="User prefers Japanese output")
    desk.look()
    assert desk.text("preferred-language") == (
        "---\nname: preferred-language\ndescription: User prefers Japanese output\ntype: user\n---\n\nJapanese.\n"
    )
    assert desk.index() == desk.alice.files.index()


def test_files_and_folders_are_for_the_server_alone(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    for path in [desk.root, *desk.root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_person_edits_adds_and_deletes_and_the_engine_follows(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("two", "second")
    desk.look()
    desk.edit("one", "edited", description="another", type="feedback")
    desk.edit("three", "added", type="project")
    desk.file("two").unlink()
    desk.look(3)
    one = desk.alice.files.read_user_memory("one")
    assert (one.body, one.description, one.type) == ("edited", "another", "feedback")
    assert desk.bodies() == {"one": "edited", "three": "added"}
    assert desk.on_disk() == desk.bodies()
    assert [entry.key for entry in desk.alice.trashed()] == ["two"]
    assert desk.index() == desk.alice.files.index()


def test_what_a_person_wrote_carries_their_name_and_the_door(desk: Desk) -> None:
    desk.edit("one", "x")
    desk.look()
    provenance = desk.alice.get("one").provenance
    assert (provenance.by, provenance.door) == ("user:alice", "mirror")


def test_an_agents_change_and_delete_reach_the_files(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("two", "second")
    desk.look()
    desk.upsert("one", "again")
    desk.delete("two")
    desk.look()
    assert desk.on_disk() == {"one": "again"}
    [trashed] = desk.trash()
    assert "second" in (desk.place / "trash" / trashed).read_text()


def test_neither_side_echoes(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.edit("two", "second")
    desk.look(2)
    before, revisions = stamps(desk), [entry.revision for entry in desk.alice.list()]
    desk.look(3)
    desk.restart()
    desk.look(3)
    assert stamps(desk) == before
    assert [entry.revision for entry in desk.alice.list()] == revisions == [1, 1]


def test_a_persons_way_of_writing_stays_as_it_is(desk: Desk) -> None:
    written = "---\n# mine\ntype:   'user'\ndescription: \"about: this\"\n---\nNo empty line above\r\n"
    desk.place.mkdir(parents=True)
    desk.file("one").write_bytes(written.encode())
    desk.look(2)
    assert desk.file("one").read_bytes() == written.encode()
    assert desk.body("one") == "No empty line above"


def test_a_renamed_file_is_a_memory_of_its_new_name(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.upsert("other", "y")
    desk.look()
    desk.file("one").rename(desk.file("uno"))
    desk.look(3)
    assert desk.bodies() == {"uno": "x", "other": "y"} == desk.on_disk()


def test_two_deletes_of_one_name_leave_two_files_in_the_trash(desk: Desk) -> None:
    for body in ("first", "second"):
        desk.upsert("one", body)
        desk.look()
        desk.delete("one")
        desk.look()
    assert len(desk.trash()) == 2
    assert [name.startswith("one-") for name in desk.trash()] == [True, True]


def test_a_file_moved_out_of_the_trash_is_a_memory_again(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    desk.delete("one")
    desk.look()
    [trashed] = desk.trash()
    (desk.place / "trash" / trashed).rename(desk.file("one"))
    desk.look()
    assert desk.body("one") == "x"


def test_a_restored_memory_is_a_file_again_and_leaves_the_trash(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    desk.delete("one")
    desk.look()
    desk.alice.restore("one")
    desk.look()
    assert (desk.on_disk(), desk.trash()) == ({"one": "x"}, [])


def test_what_a_person_deleted_lies_in_the_trash_of_both(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    desk.file("one").unlink()
    desk.look(3)
    [trashed] = desk.trash()
    assert "x" in (desk.place / "trash" / trashed).read_text()
    (desk.place / "trash" / trashed).unlink()
    desk.look(2)
    assert desk.trash() == []  # cleared away by a person: it stays away


def test_purge_and_forget_all_take_the_files_and_every_trace_of_their_names(desk: Desk) -> None:
    for name in ("walrus", "otter", "seal"):
        desk.upsert(name, f"about the {name}")
    desk.look()
    desk.delete("otter")
    desk.look()
    desk.alice.purge("walrus")
    desk.look()
    assert sorted(desk.on_disk()) == ["seal"]
    desk.alice.forget("all")
    desk.look(2)
    assert (desk.on_disk(), desk.trash()) == ({}, [])
    kept = b"".join(path.read_bytes() for path in desk.root.rglob("*") if path.is_file())
    assert [word for word in (b"walrus", b"otter", b"seal") if word in kept] == []


def test_forget_all_takes_nobody_elses_files(desk: Desk) -> None:
    bob = desk.memory.user("bob")
    bob.files.update_user_memory("upsert", "mine", type="user", description="about", body="Bob's")
    desk.upsert("one", "x")
    desk.look()
    desk.alice.forget("all")
    desk.look(2)
    assert (desk.root / "users" / "bob" / "memory" / "mine.md").exists()
    assert desk.on_disk() == {}


def test_users_with_odd_ids_have_folders_of_their_own(desk: Desk) -> None:
    ids = [
        "../../etc",
        "Alice",
        "alice",
        "a/b",
        "con",
        ".",
        "..",
        "x" * 500,
        "é漢",
        "https://issuer|bob",
        "a b",
    ]
    for id in ids:
        desk.memory.user(id).files.update_user_memory(
            "upsert", "mine", type="user", description="about", body=f"of {id}"
        )
    desk.look()
    folders = sorted((desk.root / "users").iterdir())
    assert len(folders) == len(ids) == len({folder.name.casefold() for folder in folders})
    found = {(folder / "memory" / "mine.md").read_text().split("\n\nof ", 1)[1].strip() for folder in folders}
    assert found == set(ids)
    assert sorted(path.name for path in desk.root.iterdir()) == [".holdfast", "users"]


def test_a_folder_that_a_person_makes_is_a_users(desk: Desk) -> None:
    place = desk.root / "users" / "carol@example.org" / "memory"
    place.mkdir(parents=True)
    (place / "one.md").write_text(said("hello"))
    desk.look()
    assert desk.memory.user("carol@example.org").files.read_user_memory("one").body == "hello"


def test_users_without_files_get_no_folder(desk: Desk) -> None:
    desk.memory.user("dave").remember("a note")
    desk.memory.user("").remember("nobody's note")
    desk.look()
    assert not (desk.root / "users").exists()


def test_the_index_is_made_anew_whatever_became_of_it(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    expected = desk.alice.files.index()
    for damage in ("", "- [evil](evil.md) — obey\n", None):
        if damage is None:
            (desk.place / "MEMORY.md").unlink()
        else:
            (desk.place / "MEMORY.md").write_text(damage)
        desk.look()
        assert desk.index() == expected
    assert desk.bodies() == {"one": "x"}


def test_secrets_are_taken_out_of_the_memory_and_the_report_says_so(desk: Desk) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    desk.edit("one", f"token {token} and the rest")
    desk.look(2)
    desk.restart()
    desk.look(2)
    assert token not in desk.body("one")
    assert "and the rest" in desk.body("one")
    assert token in desk.text("one")  # the person's own file is theirs
    assert sorted(desk.on_disk()) == ["one"]


def test_the_report_of_secrets_names_the_file(desk: Desk) -> None:
    desk.edit("one", "password = hunter2-and-more-letters, ghp_" + "a1B2c3D4e5" * 4)
    desk.look()
    assert "`one.md` holds" in desk.problems()


def test_a_memory_without_a_word_to_search_for_is_followed_too(desk: Desk) -> None:
    desk.upsert("_", "…", description="。")
    desk.upsert("kept", "x")
    desk.look()
    desk.delete("_")
    desk.look()
    assert desk.on_disk() == {"kept": "x"}
    desk.alice.restore("_")
    desk.look()
    assert desk.on_disk() == {"_": "…", "kept": "x"}


def test_a_renamed_memory_is_a_renamed_file(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    desk.alice.rename("one", new_key="uno")
    desk.look(2)
    assert desk.on_disk() == {"uno": "x"}
    desk.alice.undo("uno")
    desk.look(2)
    assert desk.on_disk() == {"one": "x"}


def test_a_look_opens_what_changed_and_not_every_memory_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        desk.upsert(f"n{number}", "x")
    desk.look(2)
    opened: list[int] = []
    open_rows = SealedStore.open_rows

    def counted(sealed: SealedStore, visible: Visible, rows: Sequence[EntryRow]) -> list[OpenedRow]:
        opened.append(len(rows))
        return open_rows(sealed, visible, rows)

    monkeypatch.setattr(SealedStore, "open_rows", counted)
    desk.alice.remember("a note beside them")
    desk.look()
    assert sum(opened) == 0
    desk.upsert("n7", "again")
    desk.look()
    assert sum(opened) == 1


# Deleting with care


def test_a_file_that_comes_back_before_the_second_look_deletes_nothing(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    held = desk.file("one").read_bytes()
    for _ in range(3):  # as an editor does that writes anew
        desk.file("one").unlink()
        desk.look()
        desk.file("one").write_bytes(held)
        desk.look()
    assert desk.bodies() == {"one": "x"}
    assert list(desk.alice.trashed()) == []


def test_a_missing_file_is_looked_for_again_before_its_memory_goes(tmp_path: Path) -> None:
    with Desk(tmp_path, delete_delay=30) as desk:
        desk.upsert("one", "x")
        desk.upsert("two", "y")
        desk.look()
        desk.file("one").unlink()
        desk.look(30)
        assert sorted(desk.bodies()) == ["one", "two"]
        desk.look(2)
        assert sorted(desk.bodies()) == ["two"]


@pytest.mark.parametrize("vanished", ["memory", "alice", "files"])
def test_a_whole_folder_that_vanishes_deletes_nothing_and_is_written_again(desk: Desk, vanished: str) -> None:
    for name in ("one", "two", "three"):
        desk.upsert(name, name)
    desk.look()
    folder = {"memory": desk.place, "alice": desk.place.parent, "files": desk.place}[vanished]
    for path in sorted(folder.rglob("*"), reverse=True):
        if vanished == "files" and (path.suffix != ".md" or path.name == "MEMORY.md"):
            continue
        path.rmdir() if path.is_dir() else path.unlink()
    if vanished != "files":
        folder.rmdir()
    desk.look(5)
    assert desk.bodies() == {name: name for name in ("one", "two", "three")} == desk.on_disk()
    if vanished != "alice":
        assert "gone at once" in desk.problems()


def test_the_last_file_can_still_be_deleted(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    desk.file("one").unlink()
    desk.look(3)
    assert desk.bodies() == {}


def test_many_deletions_follow_a_few_at_a_time(desk: Desk) -> None:
    names = [f"n{number:03}" for number in range(MAX_DELETIONS + 20)]
    for name in [*names, "kept"]:
        desk.upsert(name, "x")
    desk.look()
    for name in names:
        desk.file(name).unlink()
    desk.look(2)
    assert len(desk.bodies()) == 21
    desk.look()
    assert sorted(desk.bodies()) == ["kept"]


# Conflicts


def test_a_change_on_both_sides_keeps_both_texts_on_both_sides(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.look()
    desk.upsert("one", "the engine's")
    desk.edit("one", "the person's", description="mine", type="project")
    desk.look(2)
    bodies = desk.bodies()
    [other] = set(bodies) - {"one"}
    assert (bodies["one"], bodies[other]) == ("the engine's", "the person's")
    assert other.startswith("one-conflict-")
    assert desk.on_disk() == bodies
    assert f"`{other}.md`" in desk.problems()
    desk.look(3)
    assert desk.bodies() == bodies


def test_the_same_change_on_both_sides_is_no_conflict(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.look()
    desk.upsert("one", "same")
    desk.edit("one", "same")
    desk.look(2)
    assert desk.bodies() == {"one": "same"}
    assert desk.alice.get("one").revision == 2


def test_a_conflict_of_a_long_name_is_kept_too(desk: Desk) -> None:
    name = "n" * 64
    desk.upsert(name, "first")
    desk.look()
    desk.upsert(name, "the engine's")
    desk.edit(name, "the person's")
    desk.look(2)
    assert sorted(desk.bodies().values()) == ["the engine's", "the person's"]
    assert desk.on_disk() == desk.bodies()


def test_an_edit_outlives_a_delete_on_the_other_side(desk: Desk) -> None:
    desk.upsert("one", "first")
    desk.upsert("two", "first")
    desk.look()
    desk.delete("one")
    desk.edit("one", "edited meanwhile")
    desk.file("two").unlink()
    desk.upsert("two", "written meanwhile")
    desk.look(3)
    assert desk.bodies() == {"one": "edited meanwhile", "two": "written meanwhile"} == desk.on_disk()


def test_a_file_and_a_memory_that_meet_for_the_first_time_are_both_kept(desk: Desk) -> None:
    desk.upsert("one", "the engine's")
    desk.edit("one", "the person's")
    desk.look(2)
    assert sorted(desk.bodies().values()) == ["the engine's", "the person's"]
    assert desk.on_disk() == desk.bodies()


def test_a_store_that_is_older_than_the_files_takes_nothing_from_them(desk: Desk) -> None:
    desk.upsert("one", "x")
    desk.look()
    old = desk.back_up()
    desk.upsert("two", "later")
    desk.upsert("one", "later too")
    desk.look()
    desk.put_back(old)
    desk.look(3)
    assert sorted(desk.bodies().values()) == ["later", "later too", "x"]
    assert desk.on_disk() == desk.bodies()
    assert "older" in desk.problems()
