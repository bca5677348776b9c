"""Many callers at once: one winner a revision, and no accepted write is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from holdfast.domain.errors import MissingValue, PreconditionFailed
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import handle_of, keys

CALLERS = 32


def test_with_an_expected_revision_each_revision_has_one_winner(interface: Interface, tmp_path: Path) -> None:
    alice = interface.open(tmp_path / "m.db").user("alice")
    alice.remember("start", key="k")
    together = Barrier(CALLERS)

    def compete(caller: int) -> list[int]:
        won = []
        for revision in range(1, 6):
            together.wait()
            try:
                won.append(alice.remember(f"{caller}", key="k", expected_revision=revision).revision)
            except PreconditionFailed:
                continue
        return won

    with ThreadPoolExecutor(CALLERS) as pool:
        wins = list(pool.map(compete, range(CALLERS)))
    assert sorted(revision for won in wins for revision in won) == [2, 3, 4, 5, 6]
    said = {one.revision: one.text for one in alice.history("k")}
    assert {revision: said[revision] for revision in range(2, 7)} == {
        revision: f"{caller}" for caller, won in enumerate(wins) for revision in won
    }


def test_without_one_every_accepted_write_is_in_history(interface: Interface, tmp_path: Path) -> None:
    alice = interface.open(tmp_path / "m.db").user("alice")

    def write(number: int) -> int:
        return alice.remember(f"{number}", key="k").revision

    with ThreadPoolExecutor(CALLERS) as pool:
        revisions = list(pool.map(write, range(CALLERS * 4)))
    assert sorted(revisions) == list(range(1, CALLERS * 4 + 1))
    history = alice.history("k", limit=1_000)
    assert {one.revision: one.text for one in history} == {
        revision: f"{number}" for number, revision in enumerate(revisions)
    }


def test_a_key_created_by_many_at_once_is_one_entry(memory: Memory) -> None:
    alice = memory.user("alice")
    with ThreadPoolExecutor(CALLERS) as pool:
        done = list(pool.map(lambda number: alice.remember(f"{number}", key="k"), range(CALLERS)))
    assert Counter(one.created for one in done) == {True: 1, False: CALLERS - 1}
    assert len({one.id for one in done}) == 1


def test_a_repeated_request_racing_itself_is_written_once(memory: Memory) -> None:
    alice = memory.user("alice")
    with ThreadPoolExecutor(CALLERS) as pool:
        done = list(pool.map(lambda _: alice.remember("x", key="k", idempotency_key="once"), range(CALLERS)))
    assert len(set(done)) == 1
    assert len(alice.history("k")) == 1


def test_edits_of_one_text_by_many_lose_no_word(memory: Memory) -> None:
    alice = memory.user("alice")
    words = [f"<{number}>" for number in range(CALLERS)]
    alice.remember(" ".join(words), key="k")
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(lambda word: alice.replace("k", old=word, new=word.strip("<>")), words))
    assert alice.get("k").text == " ".join(word.strip("<>") for word in words)
    assert alice.get("k").revision == CALLERS + 1


def test_first_writes_into_new_spaces_by_many_lose_nothing(memory: Memory) -> None:
    def write(number: int) -> None:
        memory.user(f"u{number % 4}").remember("x", key=f"k{number}")

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(write, range(CALLERS)))
    assert [len(memory.user(f"u{number}").list()) for number in range(4)] == [CALLERS // 4] * 4


def test_writing_while_everything_is_forgotten_leaves_whole_entries(memory: Memory) -> None:
    alice = memory.user("alice")

    def work(number: int) -> None:
        if number % 8 == 0:
            alice.forget("all")
        else:
            alice.remember("x", key=f"k{number}", tags=["t"])

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(work, range(CALLERS * 4)))
    page = alice.list(limit=1_000)
    assert page.locked == 0
    assert sorted(keys(page)) == sorted(keys(alice.list(tag="t", limit=1_000)))
    assert all(alice.get(key).text == "x" for key in keys(page))
    assert alice.forget("all").deleted == len(page)


def test_a_handle_gives_each_caller_what_it_stored(memory: Memory) -> None:
    """The answer to a store is the stored entry, not whatever another caller stored a moment later."""
    handle = handle_of(memory)
    with ThreadPoolExecutor(CALLERS) as pool:
        done = list(pool.map(lambda number: (number, handle.store("k", f"{number}")), range(CALLERS * 8)))
    assert all(entry.text == f"{number}" for number, entry in done)


def test_two_openings_of_one_file_see_each_others_writes(interface: Interface, tmp_path: Path) -> None:
    one, two = (interface.open(tmp_path / "m.db").user("alice") for _ in range(2))
    one.remember("first", key="k")
    assert two.get("k").text == "first"
    two.edit("k", text="second")
    assert one.get("k").text == "second"
    one.forget("all")
    assert two.list() == []
    two.remember("third", key="k")
    assert one.get("k").text == "third"


def test_two_who_save_the_same_memory_at_once_make_one_of_it(memory: Memory) -> None:
    alice = memory.user("alice")
    with ThreadPoolExecutor(8) as savers:
        done = list(
            savers.map(
                lambda n: alice.assistant.save_memory("user", "where to file infra tickets", f"note {n}"),
                range(16),
            )
        )
    assert len({saved.id for saved in done}) == 1
    assert sorted(saved.updated for saved in done) == [False, *[True] * 15]
    assert len(alice.history(id=done[0].id)) == 16


def test_of_many_at_once_each_hears_of_its_own_note_and_a_bad_one_spoils_none(
    interface: Interface, tmp_path: Path
) -> None:
    memory = interface.open(tmp_path / "m.db")
    together = Barrier(CALLERS)

    def write(caller: int) -> list[str]:
        me, told = memory.user(f"user-{caller}"), []
        for number in range(8):
            together.wait()
            text = " " if (caller + number) % 5 == 0 else f"note {caller} {number}"
            try:
                told.append(me.remember(text, key=f"k/{number}").key)
            except MissingValue as refusal:
                told.append(refusal.code)
        return told

    with ThreadPoolExecutor(CALLERS) as pool:
        told = list(pool.map(write, range(CALLERS)))
    for caller, heard in enumerate(told):
        bad = [(caller + number) % 5 == 0 for number in range(8)]
        expected = ["missing_value" if no else f"k/{number}" for number, no in enumerate(bad)]
        assert heard == expected
        kept = {entry.key: entry.text for entry in memory.user(f"user-{caller}").list()}
        assert kept == {f"k/{number}": f"note {caller} {number}" for number in range(8) if not bad[number]}
