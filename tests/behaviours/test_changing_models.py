"""Changing the embedder: the old vectors serve until the new ones are all there, and one can go back."""

from pathlib import Path
from threading import Event, Thread

import pytest

from holdfast.contracts.rows import SERVING
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.embedders import HERE, Switchboard
from tests.behaviours.interface import Interface
from tests.behaviours.looking import derived_from, engine_of, keys, refused
from tests.support import until

SENSIBLE, BETTER, THIRD, ABSURD = (f"{HERE}:{name}" for name in ("sensible", "better", "third", "absurd"))
NOTES = 120

pytestmark = pytest.mark.usefixtures("board")


@pytest.fixture
def path(interface: Interface, board: Switchboard, tmp_path: Path) -> Path:
    """A store whose notes all have vectors of the sensible model."""
    path = tmp_path / "m.db"
    memory = interface.open(path, embedder=SENSIBLE)
    fill(memory.user("alice"))
    memory.settle()
    memory.close()
    board.reset()
    return path


def fill(own: Own) -> None:
    rows = [
        {"text": f"note {number} on topic{number % 7} with item{number % 11} and thing{number % 5}"}
        for number in range(NOTES - 1)
    ]
    own.remember_many([*rows, {"text": "Alice bought a red car", "key": "garage"}])


def served(memory: Memory) -> str | None:
    return memory.index().embedder


def test_the_first_model_serves_at_once(interface: Interface, board: Switchboard) -> None:
    memory = interface.open(embedder=f"{HERE}:held")
    alice = memory.user("alice")
    fill(alice)
    alice.recall("anything")
    status = memory.index()
    assert (status.embedder, status.following, status.pending) == ("sensible-1", None, NOTES)


def test_words_decide_until_the_new_model_has_caught_up_and_then_it_serves(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=f"{HERE}:held_better")
    alice = memory.user("alice")
    hits = alice.recall("red car")
    assert (keys(hits), hits.degraded) == (["garage"], True)
    assert "another embedder" in (hits.note or "")
    status = memory.index()
    assert (status.embedder, status.following, status.pending) == ("sensible-1", "better-2", NOTES)
    board.gate.set()
    status = memory.settle()
    assert (status.embedder, status.following, status.pending) == ("better-2", None, 0)
    assert status.overlap is not None
    assert 0.4 < status.overlap <= 1
    hits = alice.recall("automobile")
    assert (keys(hits)[0], hits.degraded) == ("garage", False)
    assert len(board.notes) == NOTES


def test_exactly_one_model_serves_at_every_moment_of_a_change(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=BETTER)
    store, over, seen = engine_of(memory).sealed.store, Event(), set[tuple[str, ...]]()

    def watch() -> None:
        while not over.is_set():
            seen.add(tuple(row.name for row in store.models.all() if row.state == SERVING))

    watcher = Thread(target=watch)
    watcher.start()
    try:
        memory.settle()
    finally:
        over.set()
        watcher.join()
    assert seen == {("sensible-1",), ("better-2",)}


def test_going_back_uses_the_vectors_that_were_kept(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=BETTER)
    memory.settle()
    memory.close()
    board.reset()
    back = interface.open(path, embedder=SENSIBLE)
    back.user("alice").remember("written while the other one served", key="late")
    assert back.settle().embedder == "sensible-1"
    assert board.notes == ["written while the other one served"]
    hits = back.user("alice").recall("automobile")
    assert (keys(hits)[0], hits.degraded) == ("garage", False)


def test_use_model_goes_back_without_waiting_and_words_decide_while_its_embedder_is_not_configured(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=BETTER)
    memory.settle()
    assert memory.use_model("sensible-1").embedder == "sensible-1"
    hits = memory.user("alice").recall("red car")
    assert (keys(hits)[0], hits.degraded) == ("garage", True)
    memory.close()
    again = interface.open(path, embedder=SENSIBLE)
    assert not again.user("alice").recall("automobile").degraded


def test_an_absurd_model_is_held_back_until_a_person_lets_it_serve(
    interface: Interface, board: Switchboard, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = interface.open(path, embedder=ABSURD)
    alice = memory.user("alice")
    alice.recall("anything")
    held_back(memory)
    assert (served(memory), memory.index().pending) == ("sensible-1", 0)
    [overlap] = [row.overlap for row in engine_of(memory).sealed.store.models.all() if row.name == "absurd-9"]
    assert overlap is not None
    assert overlap < 0.2
    assert "shares only" in caplog.text
    hits = alice.recall("red car")
    assert (keys(hits), hits.degraded) == (["garage"], True)
    status = memory.use_model("absurd-9")
    assert (status.embedder, status.following) == ("absurd-9", None)
    assert not alice.recall("red car").degraded
    assert memory.settle().embedder == "absurd-9"


def test_the_index_names_a_model_that_is_held_back(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=ABSURD)
    memory.user("alice").recall("anything")
    held_back(memory)
    assert "absurd-9" in str(memory.index())


def held_back(memory: Memory) -> None:
    """Waits until a decision was made about the new model."""
    models = engine_of(memory).sealed.store.models
    until(lambda: any(row.state == "held" for row in models.all()), "the model to be held back")


def test_settling_ends_when_a_model_is_held_back(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=ABSURD)
    memory.user("alice").recall("anything")
    held_back(memory)
    assert memory.settle().pending == 0


def test_going_back_from_a_model_that_was_held_settles(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=ABSURD)
    memory.user("alice").recall("anything")
    held_back(memory)
    memory.close()
    back = interface.open(path, embedder=SENSIBLE)
    assert back.settle().embedder == "sensible-1"


def stop_half_way(interface: Interface, board: Switchboard, path: Path) -> None:
    """A change to the better model that ends before all of its vectors are made."""
    board.breaks_after = 40
    memory = interface.open(path, embedder=BETTER)
    with refused("unavailable"):
        memory.settle(timeout=10)
    memory.close()
    board.reset()


def test_a_change_that_stopped_half_way_goes_on_where_it_stopped(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    stop_half_way(interface, board, path)
    memory = interface.open(path, embedder=BETTER)
    left = memory.index().pending
    assert memory.index().embedder == "sensible-1"
    assert memory.settle().embedder == "better-2"
    assert len(board.notes) == left < NOTES


def test_going_back_from_a_change_that_stopped_half_way_settles(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    stop_half_way(interface, board, path)
    back = interface.open(path, embedder=SENSIBLE)
    assert not back.user("alice").recall("automobile").degraded
    status = back.settle()
    assert (status.embedder, status.pending) == ("sensible-1", 0)


def test_a_third_model_after_a_change_that_stopped_half_way_serves_and_settles(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    stop_half_way(interface, board, path)
    memory = interface.open(path, embedder=THIRD)
    assert memory.settle().embedder == "third-3"


def test_the_vectors_of_a_model_that_does_not_serve_can_be_dropped(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=BETTER)
    memory.settle()
    entry = memory.user("alice").get("garage").id
    assert derived_from(memory, entry) == ["sensible-1", "better-2"]
    for name in ("better-2", "unknown"):
        with refused("not_found"):
            memory.drop_model(name)
    assert memory.drop_model("sensible-1") == NOTES
    assert derived_from(memory, entry) == ["better-2"]
    for call in (memory.drop_model, memory.use_model):
        with refused("not_found"):
            call("sensible-1")
    memory.close()
    board.reset()
    back = interface.open(path, embedder=SENSIBLE)
    assert back.settle().embedder == "sensible-1"
    assert len(board.notes) == NOTES


def test_a_purge_removes_the_vectors_of_every_model(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=BETTER)
    memory.settle()
    alice = memory.user("alice")
    entry = alice.get("garage").id
    assert derived_from(memory, entry) == ["sensible-1", "better-2"]
    alice.purge("garage")
    assert derived_from(memory, entry) == []


def test_notes_written_during_a_change_get_the_new_vectors_too(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path, embedder=f"{HERE}:held_better")
    alice = memory.user("alice")
    alice.remember("The kitten is asleep", key="late")
    board.gate.set()
    assert memory.settle().embedder == "better-2"
    assert derived_from(memory, alice.get("late").id) == ["better-2"]
    assert keys(alice.recall("feline"))[0] == "late"


def test_a_small_store_changes_its_model_without_a_sample(
    interface: Interface, board: Switchboard, tmp_path: Path
) -> None:
    first = interface.open(tmp_path / "small.db", embedder=SENSIBLE)
    first.user("alice").remember("a car", key="k")
    first.settle()
    first.close()
    second = interface.open(tmp_path / "small.db", embedder=ABSURD)
    status = second.settle()
    assert (status.embedder, status.overlap) == ("absurd-9", None)


def test_switching_the_embedder_off_leaves_words_that_are_no_failure(
    interface: Interface, board: Switchboard, path: Path
) -> None:
    memory = interface.open(path)
    hits = memory.user("alice").recall("red car")
    assert (keys(hits), hits.degraded) == (["garage"], False)
    assert memory.settle().pending == 0
