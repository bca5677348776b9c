"""Recall with the real model: what it adds to words, and that a damaged file takes nothing away."""

import shutil
from pathlib import Path

import pytest

from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import keys, refused
from tests.fetched_model import fetched_model

NOTES = {
    "one": "We deploy with Tekton pipelines",
    "two": "Alice gets ill from peanuts",
    "three": "My cat only eats fish on Fridays",
    "four": "He plays the violin in an orchestra",
    "five": "The build takes nine minutes",
    "six": "The ferry to Oslo leaves at dawn",
}


def filled(memory: Memory) -> Memory:
    memory.user("alice").remember_many([{"text": text, "key": key} for key, text in NOTES.items()])
    return memory


@pytest.fixture(scope="module")
def model() -> Path:
    return fetched_model()


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("how are releases rolled out?", "one"),
        ("allergic to nuts", "two"),
        ("feeding a kitten", "three"),
        ("a musician and his instrument", "four"),
    ],
)
def test_a_paraphrase_without_a_shared_word_is_found_first(
    interface: Interface, model: Path, query: str, key: str
) -> None:
    words = filled(interface.open()).user("alice").recall(query)
    assert key not in keys(words)
    memory = filled(interface.open(embedder="default"))
    assert memory.settle().embedder is not None
    hits = memory.user("alice").recall(query)
    assert (keys(hits)[0], hits.degraded) == (key, False)


@pytest.mark.parametrize(
    ("query", "key"), [("penuts", "two"), ("orchstra", "four"), ("who likes penuts?", "two")]
)
def test_a_slip_finds_what_was_meant_before_what_its_vector_is_near(
    interface: Interface, model: Path, query: str, key: str
) -> None:
    memory = filled(interface.open(embedder="default"))
    memory.settle()
    assert keys(memory.user("alice").recall(query))[0] == key


@pytest.mark.parametrize("damage", ["truncated", "garbage", "missing"])
def test_a_damaged_model_file_gives_degraded_word_results(
    interface: Interface, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    folder = tmp_path / "models" / model.name
    shutil.copytree(model, folder)
    weights = max(folder.iterdir(), key=lambda file: file.stat().st_size)
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif damage == "garbage":
        weights.write_bytes(b"\x08\x07 this is no model " * 1_000)
    else:
        weights.unlink()
    monkeypatch.setenv("HOLDFAST_MODEL_DIR", str(folder.parent))
    memory = filled(interface.open(embedder="default"))
    hits = memory.user("alice").recall("the violin")
    assert (keys(hits), hits.degraded) == (["four"], True)
    with refused("unavailable"):
        memory.settle()
    hits = memory.user("alice").recall("the violin")
    assert (keys(hits), hits.degraded) == (["four"], True)
    assert hits.note == memory.index().note
    assert "model" in (hits.note or "")


def test_without_a_fetched_model_recall_says_that_words_decide(
    interface: Interface, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MODEL_DIR", str(tmp_path / "none"))
    memory = filled(interface.open(embedder="default"))
    hits = memory.user("alice").recall("the violin")
    assert (keys(hits), hits.degraded) == (["four"], True)
    assert "holdfast model fetch" in (hits.note or "")
