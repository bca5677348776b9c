"""An embedder of the host's own is held to the contract."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

from holdfast.contracts.host import EmbedderBroken
from holdfast.recall.embedding.choose import HostEmbedder, open_factory
from tests.unit.recall.embedding.hosts import Fixed

HOSTS = "tests.unit.recall.embedding.hosts"


@pytest.mark.parametrize("name", ["Good", "Shop.good"])
def test_a_factory_gives_an_embedder_of_our_contract(name: str) -> None:
    embedder = open_factory(f"{HOSTS}:{name}")

    assert (embedder.model_id, embedder.dimensions) == ("host-1", 2)
    assert embedder.embed("text").dtype == np.float32
    assert embedder.embed("text").tolist() == pytest.approx([0.6, 0.8])
    assert embedder.embed_query("text").tolist() == pytest.approx([0.6, 0.8])


def test_a_question_is_embedded_in_its_own_way_where_there_is_one() -> None:
    assert open_factory(f"{HOSTS}:Asks").embed_query("text").tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "answer", [[1, 0], (1.0, 0.0), array("d", [2, 0]), np.array([9, 0]), np.array([1, 0], dtype=np.float16)]
)
def test_any_sequence_of_numbers_will_do(answer: Any) -> None:
    vector = HostEmbedder(Fixed(answer), "host").embed("text")

    assert vector.dtype == np.float32
    assert vector.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "vector"),
        ("text", "not a list"),
        ([], "shape"),
        ([1], "1 dimensions, not 2"),
        ([1, 2, 3], "3 dimensions, not 2"),
        ([[1, 2]], "shape"),
        ([0, 0], "zero"),
        ([float("nan"), 1], "finite"),
        ([float("inf"), 1], "finite"),
        (["a", "b"], "not a list"),
        ({1: 2}, "not a list"),
    ],
    ids=repr,
)
def test_what_is_no_vector_of_the_promised_dimensions_is_broken(answer: Any, reason: str) -> None:
    with pytest.raises(EmbedderBroken, match=reason):
        HostEmbedder(Fixed(answer), "host").embed("text")


def test_whatever_the_host_raises_is_broken_and_the_text_stays_out_of_the_message() -> None:
    with pytest.raises(EmbedderBroken, match="RuntimeError") as broken:
        open_factory(f"{HOSTS}:Raising").embed("secret")

    assert "secret" not in str(broken.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no.such.module:make", "importable"),
        (f"{HOSTS}:missing", "missing"),
        (f"{HOSTS}:failing", "no disk"),
        (f"{HOSTS}:Nameless", "model_id"),
        (f"{HOSTS}:Boundless", "dimensions"),
        (f"{HOSTS}:Mute", "embed"),
        (f"{HOSTS}:__doc__", "TypeError"),
    ],
)
def test_a_factory_that_gives_no_embedder_says_why(name: str, reason: str) -> None:
    with pytest.raises(EmbedderBroken, match=reason):
        open_factory(name)
