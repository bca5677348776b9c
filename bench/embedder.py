"""Embedders for figures, each named as `bench.embedder:FACTORY`: the default one with its vectors kept on disk, and one
that makes vectors out of words for the price of a sum. Only Holdfast's own embedder is behind them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.measure import CACHE
from holdfast.contracts.host import Embedder, EmbedderBroken
from holdfast.recall.embedding.choose import choose_embedder
from holdfast.settings import load

Vector = NDArray[np.float32]

CACHED = "bench.embedder:cached"
CACHED_NOTES = "bench.embedder:cached_notes"
BY_WORDS = "bench.embedder:by_words"

_FILE = CACHE / "vectors.db"
_DIMENSIONS = 384


class CachedEmbedder:
    """Embeds a text once for each model and reads the vector from disk from then on. For any thread."""

    def __init__(self, inner: Embedder, file: Path) -> None:
        self._inner = inner
        self._lock = Lock()
        file.parent.mkdir(exist_ok=True)
        self._db = apsw.Connection(str(file))
        self._db.set_busy_timeout(60_000)
        for pragma in ("journal_mode = WAL", "synchronous = OFF"):
            self._db.execute(f"PRAGMA {pragma}").fetchall()
        self._db.execute("CREATE TABLE IF NOT EXISTS v (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, text: str) -> Vector:
        key = sha256(f"{self.model_id}\0{text}".encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            kept = self._db.execute("SELECT v FROM v WHERE k = ?", (key,)).fetchone()
        if kept is not None:
            return np.frombuffer(kept[0], dtype=np.float32)
        vector = self._inner.embed(text)
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO v VALUES (?, ?)", (key, vector.tobytes()))
        return vector

    embed_query = embed
    """The default models have no prefix for questions."""

    def embed_now(self, text: str) -> Vector:
        """The work itself, for timing it."""
        return self._inner.embed_query(text)


class CachedNotes(CachedEmbedder):
    """Notes come from disk, questions cost what they cost."""

    def embed_query(self, text: str) -> Vector:
        return self.embed_now(text)


class WordVectors:
    """A text is the mean of its words, each a fixed random direction: texts with the same words are near."""

    model_id = "bench-words-1"
    dimensions = _DIMENSIONS

    def embed(self, text: str) -> Vector:
        total = np.sum([_direction(word) for word in text.lower().split() or [""]], axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)

    @lru_cache(maxsize=10_000)  # noqa: B019, the one object of its process: questions are known before they are timed
    def embed_query(self, text: str) -> Vector:
        return self.embed(text)


@lru_cache(maxsize=100_000)
def _direction(word: str) -> Vector:
    random = np.random.default_rng(crc32(word.encode("utf-8", "surrogatepass")))
    return random.standard_normal(_DIMENSIONS, dtype=np.float32)


def cached() -> CachedEmbedder:
    return CachedEmbedder(_default(), _FILE)


def cached_notes() -> CachedNotes:
    return CachedNotes(_default(), _FILE)


@lru_cache(maxsize=1)
def by_words() -> WordVectors:
    return WordVectors()


def _default() -> Embedder:
    choice = choose_embedder(load(embedder="default"))
    if choice.embedder is None:
        raise EmbedderBroken(choice.reason or "there is no default embedder")
    return choice.embedder
