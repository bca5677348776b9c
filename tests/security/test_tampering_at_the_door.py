"""A row changed in the file, seen from the Python door: locked, counted, skipped, purgeable, and alone in that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import holdfast
from holdfast.domain.errors import AccessDenied, HoldfastError, Locked, NotFound
from tests.security.raw import engine_of, open_store, rowid, run, traces_of

Store = tuple[Path, holdfast.Memory]

SHOWN_CHANGES: dict[str, tuple[str, Any]] = {
    "an owner": ("owner", bytes(16)),
    "a longer owner": ("owner", None),
    "a partition": ("partition", 2),
    "a revision": ("revision", 7),
    "a revision that no revision can have": ("revision", 2**33),
    "a negative revision": ("revision", -1),
    "a birth": ("born", 1),
    "a negative birth": ("born", -5),
    "a place in the order": ("seq", 1),
    "a time of creation": ("created_us", 1),
    "a time of change": ("updated_us", 1),
    "an expiry": ("expires_us", 2**60),
    "flags": ("flags", 1),
    "negative flags": ("flags", -1),
    "a number of terms": ("length", 1),
    "a negative number of terms": ("length", -1),
    "no terms at all": ("length", 0),
    "a key id that exists nowhere": ("key_id", 99),
    "a key id that fits no key": ("key_id", 2**40),
    "labels": ("labels", b"12345678"),
    "a seal": ("sealed", bytes(60)),
    "an empty seal": ("sealed", b""),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as memory:
        yield tmp_path, memory


def _three(memory: holdfast.Memory) -> list[UUID]:
    own = memory.user("ada")
    answers = [own.remember(f"text {name}", key=f"notes/{name}", tags=["red"]) for name in "abc"]
    return [answer.id for answer in answers if answer.id is not None]


def _tamper(folder: Path, entry: UUID, column: str, value: Any) -> None:
    if value is None:
        [(old,)] = run(folder, f"SELECT {column} FROM entries WHERE entry = ?", (rowid(folder, entry),))
        value = old + b"\0"
    run(folder, f"UPDATE entries SET {column} = ? WHERE entry = ?", (value, rowid(folder, entry)))


@pytest.mark.parametrize("change", SHOWN_CHANGES)
def test_a_changed_row_is_locked_and_its_neighbours_are_not(store: Store, change: str) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    _tamper(folder, changed, *SHOWN_CHANGES[change])
    own = memory.user("ada")

    with pytest.raises(Locked) as refusal:
        own.get(id=changed)
    assert refusal.value.status == 423
    assert [entry.key for entry in own.list()] == ["notes/c", "notes/a"]
    assert own.get("notes/a").text == "text a"
    assert own.remember("more", key="notes/d").created


@pytest.mark.parametrize("change", SHOWN_CHANGES)
def test_a_changed_row_is_counted_as_locked_in_the_list_that_skips_it(store: Store, change: str) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    _tamper(folder, changed, *SHOWN_CHANGES[change])

    assert memory.user("ada").list().locked == 1


@pytest.mark.parametrize("change", SHOWN_CHANGES)
def test_a_changed_row_can_be_purged_by_its_id_without_a_trace(store: Store, change: str) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    traces = traces_of(folder, memory, changed)
    _tamper(folder, changed, *SHOWN_CHANGES[change])
    own = memory.user("ada")

    assert own.forget(f"id:{changed}").deleted == 1
    with pytest.raises(NotFound):
        own.get(id=changed)
    shared = {("label", label) for label in _labels(folder)}
    assert type(traces)(traces.found - shared - _shared_terms(folder, memory)).left_in(folder) == []
    assert own.list().locked == 0


def _labels(folder: Path) -> set[bytes]:
    """Labels that other entries carry as well."""
    return {label for (label,) in run(folder, "SELECT label FROM labels")}


def _shared_terms(folder: Path, memory: holdfast.Memory) -> set[tuple[str, bytes]]:
    """Terms of the entries that stay."""
    return {
        trace
        for entry in memory.user("ada").list()
        for trace in traces_of(folder, memory, entry.id).found
        if "term" in trace[0]
    }


def test_a_changed_row_asked_for_by_key_answers_423_and_not_another_content(store: Store) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    _tamper(folder, changed, "sealed", bytes(60))

    with pytest.raises(Locked):
        memory.user("ada").get("notes/b")
    with pytest.raises(Locked):
        memory.user("ada").history("notes/b")
    with pytest.raises(Locked):
        memory.user("ada").edit("notes/b", text="over it")


def test_exchanged_ciphertexts_of_two_people_show_neither_to_the_other(store: Store) -> None:
    folder, memory = store
    ids = {
        name: memory.user(name).remember(f"a secret of {name}", key="secret").id or UUID(int=0)
        for name in ("ada", "bob")
    }
    sealed = {
        name: run(folder, "SELECT sealed FROM entries WHERE entry = ?", (rowid(folder, ids[name]),))[0][0]
        for name in ids
    }
    _tamper(folder, ids["ada"], "sealed", sealed["bob"])
    _tamper(folder, ids["bob"], "sealed", sealed["ada"])

    for name in ids:
        with pytest.raises(Locked):
            memory.user(name).get("secret")
        assert memory.user(name).list() == []


def test_the_ciphertext_of_a_trashed_entry_opens_in_no_live_row_nor_the_other_way_round(store: Store) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    own, select = memory.user("ada"), "SELECT sealed FROM entries WHERE entry = ?"
    [(live,)] = run(folder, select, (rowid(folder, changed),))
    own.trash("notes/b")
    [(trashed,)] = run(folder, select, (rowid(folder, changed),))
    own.restore("notes/b")

    assert own.get("notes/b").text == "text b"
    _tamper(folder, changed, "sealed", trashed)
    with pytest.raises(Locked):
        own.get("notes/b")
    _tamper(folder, changed, "sealed", live)
    assert own.get("notes/b").text == "text b"
    _tamper(folder, changed, "trashed_us", 5)
    assert own.trashed().locked == 1


def test_an_older_ciphertext_under_the_current_revision_is_locked(store: Store) -> None:
    folder, memory = store
    own = memory.user("ada")
    for text in ("first", "second", "third"):
        answer = own.remember(text, key="plan")
    assert answer.id is not None
    [(older,)] = run(
        folder, "SELECT sealed FROM revisions WHERE entry = ? AND revision = 1", (rowid(folder, answer.id),)
    )
    _tamper(folder, answer.id, "sealed", older)

    with pytest.raises(Locked):
        own.get("plan")


def test_a_changed_revision_is_shown_locked_in_a_history_that_goes_on(store: Store) -> None:
    folder, memory = store
    own = memory.user("ada")
    for text in ("first", "second", "third"):
        answer = own.remember(text, key="plan")
    assert answer.id is not None
    run(
        folder,
        "UPDATE revisions SET updated_us = 5 WHERE entry = ? AND revision = 2",
        (rowid(folder, answer.id),),
    )

    history = own.history("plan")

    assert [(step.text, step.locked) for step in history] == [
        ("third", False),
        (None, True),
        ("first", False),
    ]


@pytest.mark.parametrize(("column", "value"), [("flags", -1), ("seq", -1), ("key_id", -1), ("sealed", b"")])
def test_a_changed_revision_never_breaks_its_history(store: Store, column: str, value: Any) -> None:
    folder, memory = store
    own = memory.user("ada")
    for text in ("first", "second"):
        own.remember(text, key="plan")
    run(folder, f"UPDATE revisions SET {column} = ?", (value,))

    assert [step.locked for step in own.history("plan")] == [False, True]


@pytest.mark.parametrize("column", ["expires_us", "trashed_us"])
def test_an_entry_that_never_expires_and_one_that_expired_at_minus_one_are_not_the_same(
    store: Store, column: str
) -> None:
    """The seal of a row must tell an absent time from every time, else an entry goes with the next sweep."""
    folder, memory = store
    _, changed, _ = _three(memory)
    _tamper(folder, changed, column, -1)
    engine = engine_of(memory)
    space = memory.user("ada").get("notes/a").space
    [row] = [
        row
        for row in engine.sealed.store.entries.sealed_with(space, 1, 0, 10)
        if row.number == changed.int & 0xFFFFFFFF
    ]

    assert engine.sealed.open_row(engine.sealed.keyring.of(space), row).entry is None


def test_a_changed_row_in_the_trash_is_counted_and_cannot_be_restored(store: Store) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    own = memory.user("ada")
    own.trash("notes/b")
    _tamper(folder, changed, "updated_us", 1)

    assert own.trashed() == []
    assert own.trashed().locked == 1
    with pytest.raises(Locked):
        own.restore("notes/b")
    assert own.forget(f"id:{changed}").deleted == 1


def test_taking_an_entry_out_of_the_trash_by_hand_locks_it(store: Store) -> None:
    folder, memory = store
    _, changed, _ = _three(memory)
    memory.user("ada").trash("notes/b")
    run(folder, "UPDATE entries SET trashed_us = NULL WHERE entry = ?", (rowid(folder, changed),))

    with pytest.raises(Locked):
        memory.user("ada").get("notes/b")


def test_a_forged_label_lists_nothing_that_does_not_carry_it(store: Store) -> None:
    folder, memory = store
    _three(memory)
    own = memory.user("ada")
    own.remember("blue thing", key="other", tags=["blue"])
    [(place, label)] = run(
        folder,
        """SELECT DISTINCT space, label FROM labels
            WHERE entry IN (SELECT entry FROM entries WHERE seq = 4)""",
    )
    run(
        folder,
        "INSERT OR IGNORE INTO labels SELECT ?, ?, seq, entry FROM entries",
        (place, label),
    )

    assert [entry.key for entry in own.list(tag="blue")] == ["other"]


def test_a_row_moved_to_another_owners_room_in_a_shared_space_shows_nothing(store: Store) -> None:
    folder, memory = store
    _three(memory)
    memory.user("bob").remember("bobs own", key="b")
    [(place,)] = run(folder, "SELECT space FROM entries ORDER BY space DESC LIMIT 1")
    run(folder, "UPDATE entries SET space = ?", (place,))

    assert [entry.text for entry in memory.user("bob").list()] == ["bobs own"]


def test_a_grant_written_into_the_file_without_the_key_gives_nothing(store: Store) -> None:
    folder, memory = store
    _three(memory)
    memory.user("eve").remember("something of eve", key="e")
    memory.user("ada").share("user:bob", level="read")
    [(space, ada)] = run(folder, "SELECT DISTINCT space, granted_by FROM grants")
    [(eve,)] = run(folder, "SELECT owner FROM spaces WHERE owner <> ?", (ada,))
    [(level, created, mac)] = run(folder, "SELECT level, created_us, mac FROM grants")
    for code in (mac, bytes(16), b""):
        run(
            folder,
            "INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, NULL, ?)",
            (space, eve, ada, level, created, code),
        )

        with pytest.raises(AccessDenied):
            memory.user("eve").list(space=UUID(bytes=space))
        assert [info.id for info in memory.user("eve").spaces()] != []
        assert UUID(bytes=space) not in {info.id for info in memory.user("eve").spaces()}
        assert [str(grant.grantee) for grant in memory.user("ada").grants()] == ["user:bob"]


@pytest.mark.parametrize(
    ("column", "value"), [("level", 4), ("expires_us", 2**60), ("expires_us", None), ("created_us", 1)]
)
def test_a_grant_changed_in_the_file_gives_nothing(store: Store, column: str, value: Any) -> None:
    folder, memory = store
    _three(memory)
    memory.user("ada").share("user:bob", level="read", ttl=3_600)
    space = memory.user("ada").get("notes/a").space
    assert len(memory.user("bob").list(space=space)) == 3
    run(folder, f"UPDATE grants SET {column} = ?", (value,))

    with pytest.raises(AccessDenied):
        memory.user("bob").list(space=space)


def test_a_person_who_swaps_the_names_of_two_spaces_does_not_stand_in_the_other_one(store: Store) -> None:
    folder, memory = store
    memory.user("ada").remember("a secret of ada", key="secret")
    memory.user("eve").remember("nothing of note", key="note")
    memory.close()
    rows = run(folder, "SELECT space, name FROM spaces ORDER BY space")
    for place, _ in rows:
        run(folder, "UPDATE spaces SET name = ? WHERE space = ?", (place.to_bytes(16), place))
    for (place, _), (_, name) in zip(rows, reversed(rows), strict=True):
        run(folder, "UPDATE spaces SET name = ? WHERE space = ?", (name, place))

    with open_store(folder) as again:
        try:
            seen = [entry.text for entry in again.user("eve").list()]
        except HoldfastError:
            seen = []
        assert "a secret of ada" not in seen


def test_a_member_copied_into_the_list_of_another_chat_does_not_take_part(store: Store) -> None:
    folder, memory = store
    boss = memory.administration("root")
    boss.set_participants("quiet", ["user:ada"])
    boss.set_participants("loud", ["user:eve"])
    memory.user("ada").remember("said in confidence", key="word", space="chat:quiet")
    [(eve, quiet, mac)] = run(
        folder,
        """SELECT members.member, quiet.space, members.mac
             FROM members, members AS quiet
            WHERE quiet.space <> members.space
              AND quiet.space IN (SELECT id FROM spaces WHERE entries > 0)""",
    )
    run(folder, "INSERT INTO members VALUES (?, ?, 3, ?)", (quiet, eve, mac))

    with pytest.raises(AccessDenied):
        memory.user("eve").list(space="chat:quiet")


def test_access_to_a_system_raised_in_the_file_gives_no_more(store: Store) -> None:
    folder, memory = store
    memory.administration("root").set_system_access("crm", {"user:eve": "read", "user:ada": "manage"})
    memory.user("ada").remember("a rule", key="rule", space="system:crm")
    run(folder, "UPDATE members SET level = (SELECT max(level) FROM members)")

    with pytest.raises(AccessDenied):
        memory.user("eve").remember("always", key="steer", space="system:crm", always_inject=True)


def test_a_space_whose_sealed_name_was_changed_breaks_no_list_of_spaces(store: Store) -> None:
    folder, memory = store
    own = memory.user("ada")
    own.remember("text", key="a")
    own.create_space("work")
    run(folder, "UPDATE spaces SET sealed = ? WHERE kind = 7", (bytes(60),))

    assert [info.kind for info in own.spaces()] == ["user"]


def test_exchanged_wrapped_keys_of_two_spaces_open_nothing(store: Store) -> None:
    folder, memory = store
    for name in ("ada", "bob"):
        memory.user(name).remember(f"a secret of {name}", key="secret")
    memory.close()
    rows = run(folder, "SELECT space, wrapped FROM data_keys WHERE space <> zeroblob(16) ORDER BY space")
    for (space, _), (_, wrapped) in zip(rows, reversed(rows), strict=True):
        run(folder, "UPDATE data_keys SET wrapped = ? WHERE space = ?", (wrapped, space))

    with open_store(folder) as again:
        for name in ("ada", "bob"):
            assert again.user(name).list() == []
            assert again.user(name).list().locked == 1
            with pytest.raises(Locked):
                again.user(name).get("secret")
