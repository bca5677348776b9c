"""Embedders for tests, named `tests.behaviours.embedders:FACTORY`. Equal texts give equal vectors, and texts are near
when they share words or what the words mean; what was asked of them is noted, and a test can break or hold them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from threading import Event

import numpy as np
from numpy.typing import NDArray

HERE = "tests.behaviours.embedders"
MEANINGS = {
    "automobile": "car",
    "vehicle": "car",
    "physician": "doctor",
    "feline": "cat",
    "kitten": "cat",
    "purchased": "bought",
}
"""Words that mean the same and look nothing alike."""


class Switchboard:
    """What a test can see and do; everything is as at the start after `reset`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.notes: list[str] = []
        """The texts embedded as notes, in order."""
        self.questions: list[str] = []
        self.opened = 0
        self.broken = False
        self.breaks_after: int | None = None
        """So many notes are embedded, then none."""
        self.poison: str | None = None
        """A text that no model here can take."""
        self.gate = Event()
        """Held models go on once it is set."""


board = Switchboard()


class Stub:
    def __init__(self, model_id: str, vector: Callable[[str], NDArray[np.float64]], dimensions: int) -> None:
        board.opened += 1
        self.model_id = model_id
        self.dimensions = dimensions
        self._vector = vector

    def embed(self, text: str) -> NDArray[np.float64]:
        if board.broken or (board.breaks_after is not None and len(board.notes) >= board.breaks_after):
            raise RuntimeError("no current")
        if board.poison is not None and board.poison in text:
            raise ValueError("not this text")
        board.notes.append(text)
        return self._vector(text)

    def embed_query(self, text: str) -> NDArray[np.float64]:
        if board.broken:
            raise RuntimeError("no current")
        board.questions.append(text)
        return self._vector(text)


class Held(Stub):
    def embed(self, text: str) -> NDArray[np.float64]:
        board.gate.wait(60)
        return super().embed(text)


@lru_cache(10_000)
def _direction(word: str, dimensions: int) -> NDArray[np.float64]:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(dimensions)


def _signed(text: str, dimensions: int) -> NDArray[np.float64]:
    words = [MEANINGS.get(word, word) for word in re.findall(r"\w+", text.lower())] or ["nothing"]
    total: NDArray[np.float64] = np.sum([_direction(word, dimensions) for word in words], axis=0)
    return total / np.linalg.norm(total)


def _by_words(text: str, dimensions: int) -> NDArray[np.float64]:
    """All vectors lean one way, as those of small models do, so that no two of them have a cosine below zero."""
    common = _direction("all texts have this in common", dimensions)
    return _signed(text, dimensions) + common / np.linalg.norm(common)


def held_signed() -> Stub:
    """Texts that have nothing in common have cosines on both sides of zero."""
    return Held("signed-1", lambda text: _signed(text, 64), 64)


def sensible() -> Stub:
    return Stub("sensible-1", lambda text: _by_words(text, 64), 64)


def better() -> Stub:
    """Other numbers and another length, but much the same neighbours."""
    return Stub("better-2", lambda text: _by_words(text, 96), 96)


def twin() -> Stub:
    """The very vectors of `sensible`, under another name."""
    return Stub("twin-1", lambda text: _by_words(text, 64), 64)


def third() -> Stub:
    return Stub("third-3", lambda text: _by_words(text, 80), 80)


def absurd() -> Stub:
    """Every text in a direction of its own: neighbours by chance."""
    return Stub("absurd-9", lambda text: _direction(text, 64), 64)


def held() -> Stub:
    """`sensible`, which waits at a gate."""
    return Held("sensible-1", lambda text: _by_words(text, 64), 64)


def held_better() -> Stub:
    return Held("better-2", lambda text: _by_words(text, 96), 96)


def unopened() -> Stub:
    if board.broken:
        raise OSError("no such model")
    return sensible()
