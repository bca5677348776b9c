"""What is derived from entries (signals, vectors): sealed, bound to its place, and gone with the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from uuid import UUID

import pytest

import holdfast
from holdfast.contracts.rows import SERVING
from holdfast.operations import rotate_keys
from holdfast.recall import index
from holdfast.storage import keyring
from tests.behaviours import embedders
from tests.behaviours.embedders import HERE, Switchboard
from tests.security.raw import (
    Traces,
    engine_of,
    open_store,
    rowid,
    run,
    stored_bytes,
    traces_of,
)
from tests.support import FixedClock, until

SENSIBLE, BETTER, TWIN = f"{HERE}:sensible", f"{HERE}:better", f"{HERE}:twin"
PLAIN = {
    "garage": "Ada bought a red car in spring",
    "sofa": "The cat sleeps all day",
    "clinic": "The doctor called on Monday",
    "harbour": "Ships leave at dawn",
}


@pytest.fixture(autouse=True)
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switchboard]:
    monkeypatch.setattr(index, "RETRY_SECONDS", 0.05)
    embedders.board.reset()
    yield embedders.board
    embedders.board.gate.set()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[holdfast.Memory]:
    with open_store(tmp_path, clock=clock, embedder=SENSIBLE) as memory:
        fill(memory)
        memory.user("bob").remember("Bob keeps a vehicle too", key="bobs")
        memory.settle()
        yield memory


def fill(memory: holdfast.Memory) -> dict[str, UUID]:
    own = memory.user("ada")
    answers = {key: own.remember(text, key=key, speaker="Ada").id for key, text in PLAIN.items()}
    return {key: entry for key, entry in answers.items() if entry is not None}


def of(memory: holdfast.Memory, key: str) -> UUID:
    return memory.user("ada").get(key).id


def derived_traces(folder: Path, memory: holdfast.Memory, entry: UUID) -> Traces:
    """Nonces and ciphertexts of what every model derived from an entry."""
    found = {trace for trace in traces_of(folder, memory, entry).found if trace[0].startswith("derived")}
    assert found
    return Traces(frozenset(found))


def keys(memory: holdfast.Memory, query: str) -> list[str]:
    return [hit.key for hit in memory.user("ada").recall(query)]


def meanings(memory: holdfast.Memory, query: str) -> dict[str, float]:
    hits = memory.user("ada").recall(query, explain=True)
    return {hit.key: hit.why.meaning for hit in hits if hit.why is not None}


# Gone with the entry


def test_what_is_derived_is_in_the_file_before_it_is_forgotten(
    memory: holdfast.Memory, tmp_path: Path
) -> None:
    traces = derived_traces(tmp_path, memory, of(memory, "garage"))
    assert set(traces.left_in(tmp_path)) == {"derived nonce", "derived ciphertext"}


WAYS: dict[str, Callable[[holdfast.Memory, FixedClock], object]] = {
    "purge": lambda memory, _: memory.user("ada").purge("garage"),
    "forget by key": lambda memory, _: memory.user("ada").forget("key:garage"),
    "forget by id": lambda memory, _: memory.user("ada").forget(f"id:{of(memory, 'garage')}"),
    "forget all": lambda memory, _: memory.user("ada").forget("all"),
    "trash and purge": lambda memory, _: (
        memory.user("ada").trash("garage"),
        memory.user("ada").purge("garage"),
    ),
    "trash and sweep": lambda memory, clock: (
        memory.user("ada").trash("garage"),
        clock.advance(days=31),
        memory.sweep(),
    ),
    "expiry and sweep": lambda memory, clock: (
        memory.user("ada").edit("garage", ttl=60),
        memory.settle(),
        clock.advance(seconds=61),
        memory.sweep(),
    ),
    "a move": lambda memory, _: (
        memory.user("ada").create_space("work"),
        memory.user("ada").rename("garage", new_key="garage", to_space="shared:work"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_derived_from_a_removed_entry_is_in_no_byte(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock, way: str
) -> None:
    traces = derived_traces(tmp_path, memory, of(memory, "garage"))

    WAYS[way](memory, clock)

    assert traces.left_in(tmp_path) == []
    assert [hit.key for hit in memory.user("bob").recall("vehicle")] == ["bobs"]


def test_what_was_derived_from_every_state_and_by_every_model_is_in_no_byte_after_a_purge(
    tmp_path: Path, clock: FixedClock
) -> None:
    traces = Traces(frozenset())
    for embedder in (SENSIBLE, BETTER):
        with open_store(tmp_path, clock=clock, embedder=embedder) as memory:
            own = memory.user("ada")
            fill(memory)
            memory.settle()
            traces |= derived_traces(tmp_path, memory, of(memory, "garage"))
            for text in ("a blue vehicle", "an automobile"):
                own.edit("garage", text=text)
                memory.settle()
                traces |= derived_traces(tmp_path, memory, of(memory, "garage"))
            own.trash("garage")
            own.restore("garage")
            memory.settle()
            traces |= derived_traces(tmp_path, memory, of(memory, "garage"))
    with open_store(tmp_path, clock=clock) as memory:
        assert (
            len(
                run(
                    tmp_path,
                    "SELECT 1 FROM derived WHERE entry = ?",
                    (rowid(tmp_path, of(memory, "garage")),),
                )
            )
            == 2
        )

        memory.user("ada").purge("garage")

        assert traces.left_in(tmp_path) == []
    assert traces.left_in(tmp_path) == []


def test_signals_kept_without_any_model_go_with_their_entry(tmp_path: Path, clock: FixedClock) -> None:
    with open_store(tmp_path, clock=clock) as memory:
        own = memory.user("ada")
        own.remember_many([{"text": f"thing {n}", "key": f"k{n}", "speaker": "Ada"} for n in range(300)])
        own.recall("thing")
        until(lambda: run(tmp_path, "SELECT count(*) FROM derived") == [(300,)], "the signals")
        assert run(tmp_path, "SELECT count(*), max(model) FROM derived") == [(300, 0)]
        traces = derived_traces(tmp_path, memory, of(memory, "k7"))

        own.purge("k7")

        assert traces.left_in(tmp_path) == []
        assert run(tmp_path, "SELECT count(*) FROM derived") == [(299,)]
        assert len(own.recall("thing", limit=50)) == 50


def test_a_vector_made_while_its_note_was_purged_is_not_kept(
    tmp_path: Path, clock: FixedClock, board: Switchboard
) -> None:
    with open_store(tmp_path, clock=clock, embedder=f"{HERE}:held") as memory:
        ids = fill(memory)
        with pytest.raises(holdfast.errors.Unavailable):
            memory.settle(timeout=0.3)
        memory.user("ada").purge("garage")
        memory.user("ada").edit("sofa", text="The dog sleeps all day")
        gone = rowid(tmp_path, ids["garage"])
        board.gate.set()
        memory.settle()

        assert run(tmp_path, "SELECT count(*) FROM derived WHERE entry = ?", (gone,)) == [(0,)]
        assert run(
            tmp_path, "SELECT revision FROM derived WHERE entry = ?", (rowid(tmp_path, ids["sofa"]),)
        ) == [(2,)]


def test_with_a_lost_key_everything_derived_can_be_forgotten_too(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    traces = derived_traces(tmp_path, memory, of(memory, "garage"))
    space = memory.user("ada").get("garage").space
    memory.close()
    run(tmp_path, "DELETE FROM data_keys WHERE space = ?", (space.bytes,))
    with open_store(tmp_path, clock=clock, embedder=SENSIBLE) as again:
        assert again.user("ada").recall("automobile") == []

        assert again.user("ada").forget("all").deleted == 4

        assert traces.left_in(tmp_path) == []


# Bound to its place


def sealed_of(folder: Path, entry: UUID) -> bytes:
    [(sealed,)] = run(
        folder, "SELECT sealed FROM derived WHERE entry = ? AND model = 1", (rowid(folder, entry),)
    )
    return bytes(sealed)


def put_sealed(folder: Path, entry: UUID, sealed: bytes) -> None:
    run(folder, "UPDATE derived SET sealed = ? WHERE entry = ? AND model = 1", (sealed, rowid(folder, entry)))


def reopened(memory: holdfast.Memory, folder: Path, clock: FixedClock, **given: str) -> holdfast.Memory:
    memory.close()
    return open_store(folder, clock=clock, **{"embedder": SENSIBLE, **given})


def test_exchanged_ciphertexts_are_not_accepted_and_words_still_find_both(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    garage, harbour = of(memory, "garage"), of(memory, "harbour")
    assert meanings(memory, "automobile")["garage"] > 0
    mine, other = sealed_of(tmp_path, garage), sealed_of(tmp_path, harbour)
    put_sealed(tmp_path, garage, other)
    put_sealed(tmp_path, harbour, mine)

    with reopened(memory, tmp_path, clock) as again:
        assert "garage" not in meanings(again, "automobile")
        assert "harbour" not in meanings(again, "automobile")
        assert "garage" in keys(again, "red car")
        assert "harbour" in keys(again, "dawn")
        assert not again.user("ada").recall("automobile").degraded


def test_a_ciphertext_of_another_person_is_not_accepted(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    put_sealed(tmp_path, of(memory, "harbour"), sealed_of(tmp_path, memory.user("bob").get("bobs").id))

    with reopened(memory, tmp_path, clock) as again:
        assert "harbour" not in meanings(again, "vehicle")
        assert "harbour" in keys(again, "dawn")


def test_a_ciphertext_of_an_earlier_revision_is_not_accepted(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    entry = of(memory, "garage")
    old = sealed_of(tmp_path, entry)
    memory.user("ada").edit("garage", text="Everything about gardens")
    memory.settle()
    put_sealed(tmp_path, entry, old)

    with reopened(memory, tmp_path, clock) as again:
        assert "garage" not in meanings(again, "automobile")
        assert "garage" in keys(again, "gardens")


def test_a_whole_earlier_row_counts_for_nothing(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    entry = of(memory, "garage")
    old = sealed_of(tmp_path, entry)
    memory.user("ada").edit("garage", text="Everything about gardens")
    memory.settle()
    run(
        tmp_path,
        "UPDATE derived SET sealed = ?, revision = 1 WHERE entry = ?",
        (old, rowid(tmp_path, entry)),
    )

    with reopened(memory, tmp_path, clock) as again:
        assert "garage" not in meanings(again, "automobile")


def test_a_ciphertext_of_another_model_is_not_accepted(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    with reopened(memory, tmp_path, clock, embedder=TWIN) as both:
        both.settle()
        entry = of(both, "garage")
        assert keys(both, "automobile")[0] == "garage"
    here = rowid(tmp_path, entry)
    run(
        tmp_path,
        """UPDATE derived SET sealed = (SELECT sealed FROM derived WHERE entry = ?1 AND model = 1)
            WHERE entry = ?1 AND model = 2""",
        (here,),
    )

    with open_store(tmp_path, clock=clock, embedder=TWIN) as again:
        assert "garage" not in meanings(again, "automobile")
        assert "garage" in keys(again, "red car")


CHANGES = {
    "garbage": ("sealed", bytes(60)),
    "nothing": ("sealed", b""),
    "a revision that is none": ("revision", 2**40),
    "a negative revision": ("revision", -1),
    "a key that exists nowhere": ("key_id", 99),
    "a key id that fits no key": ("key_id", 2**40),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_row_leaves_its_entry_to_words_and_nothing_raises(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock, change: str
) -> None:
    column, value = CHANGES[change]
    run(
        tmp_path,
        f"UPDATE derived SET {column} = ? WHERE entry = ?",
        (value, rowid(tmp_path, of(memory, "garage"))),
    )

    with reopened(memory, tmp_path, clock) as again:
        assert "garage" not in meanings(again, "automobile")
        assert "garage" in keys(again, "red car")
        assert keys(again, "kitten")[0] == "sofa"
        assert again.user("ada").why_not("automobile", of(again, "garage")).stage in (
            "word rank",
            "vector rank",
        )


MODEL_CHANGES = {
    "another length": "UPDATE models SET dimensions = 32",
    "a huge length": "UPDATE models SET dimensions = 1 << 50",
    "another name": "UPDATE models SET name = 'other'",
    "no state": "UPDATE models SET state = ''",
    "no model": "DELETE FROM models",
    "no progress": "DELETE FROM progress",
    "progress beyond everything": "UPDATE progress SET seq = 1 << 60",
    "counters of spaces": "UPDATE spaces SET removed = removed + 5, settled = settled + 5",
}


@pytest.mark.parametrize("change", MODEL_CHANGES)
def test_changed_models_and_progress_leave_words_and_nothing_raises(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock, change: str
) -> None:
    memory.close()
    run(tmp_path, MODEL_CHANGES[change])

    with open_store(tmp_path, clock=clock, embedder=SENSIBLE) as again:
        assert "garage" in keys(again, "red car")
        assert "harbour" in keys(again, "dawn")
        again.user("ada").recall("automobile")


def test_a_model_of_a_negative_length_leaves_words_and_nothing_raises(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock
) -> None:
    memory.close()
    run(tmp_path, "UPDATE models SET dimensions = -5")

    with open_store(tmp_path, clock=clock, embedder=SENSIBLE) as again:
        assert "garage" in keys(again, "red car")


# Rotation


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "FRESH_SECONDS", 0.1)
    monkeypatch.setattr(rotate_keys, "GRACE_SECONDS", 0.15)
    monkeypatch.setattr(rotate_keys, "BATCH", 3)


@pytest.mark.usefixtures("short_grace")
def test_rotation_seals_what_is_derived_anew_while_recall_goes_on_finding(
    memory: holdfast.Memory, tmp_path: Path, board: Switchboard
) -> None:
    own = memory.user("ada")
    own.remember_many([{"text": f"filler {n} on nothing much", "key": f"f{n}"} for n in range(40)])
    memory.settle()
    embedded = len(board.notes)
    traces = derived_traces(tmp_path, memory, of(memory, "garage"))
    over, missed = Event(), list[str]()

    def ask() -> None:
        while not over.is_set():
            for query in ("red", "automobile"):
                if keys(memory, query)[:1] != ["garage"]:
                    missed.append(query)

    asking = Thread(target=ask)
    asking.start()
    try:
        memory.keys.rotate_data()
    finally:
        over.set()
        asking.join()

    assert missed == []
    assert run(tmp_path, "SELECT DISTINCT key_id FROM derived") == [(2,)]
    assert run(tmp_path, "SELECT count(*) FROM derived") == [(45,)]
    assert traces.left_in(tmp_path) == []
    memory.settle()
    assert len(board.notes) == embedded


@pytest.mark.usefixtures("short_grace")
def test_after_rotation_a_new_process_finds_by_words_and_meaning(
    memory: holdfast.Memory, tmp_path: Path, clock: FixedClock, board: Switchboard
) -> None:
    memory.keys.rotate_data()
    board.notes.clear()

    with reopened(memory, tmp_path, clock) as again:
        assert keys(again, "automobile")[0] == "garage"
        assert "garage" in keys(again, "red car")
        again.settle()
        assert board.notes == []


@pytest.mark.usefixtures("short_grace")
def test_rotation_drops_what_was_changed_in_the_file_and_it_is_derived_again(
    memory: holdfast.Memory, tmp_path: Path, board: Switchboard
) -> None:
    put_sealed(tmp_path, of(memory, "garage"), bytes(80))
    board.notes.clear()

    memory.keys.rotate_data()
    memory.settle()

    assert board.notes == [PLAIN["garage"]]
    assert keys(memory, "automobile")[0] == "garage"


def test_equal_notes_of_two_people_have_equal_vectors_and_nothing_equal_in_the_file(tmp_path: Path) -> None:
    with open_store(tmp_path, embedder=SENSIBLE) as memory:
        for name in ("ada", "bob"):
            for key in ("one", "two"):
                memory.user(name).remember("the very same text", key=key)
        memory.settle()
        sealed = [bytes(body) for (body,) in run(tmp_path, "SELECT sealed FROM derived")]
        assert [row.state for row in engine_of(memory).sealed.store.models.all()] == [SERVING]

    assert len({len(body) for body in sealed}) == 1
    assert len({body[:12] for body in sealed}) == len({body[12:28] for body in sealed}) == 4
    assert all(body in stored_bytes(tmp_path) for body in sealed)
