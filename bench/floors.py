"""Baselines without Holdfast: plain FTS5 with porter stemming, in memory or in a file, and the same fused with vectors
by ranks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.embedder import CachedEmbedder

LIMIT = 10
POOL = 100
RRF = 60


def match_any(text: str) -> str:
    """The words of a question, ORed; empty when it has none."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text.lower())))


class Words:
    """FTS5 over the texts, each known by its place."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'porter unicode61')")
        with self._db:
            self._db.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(texts))

    def search(self, question: str, limit: int = POOL) -> list[int]:
        if not (query := match_any(question)):
            return []
        rows = self._db.execute(
            """
            SELECT rowid
            FROM t
            WHERE t MATCH ?
            ORDER BY bm25(t), rowid
            LIMIT ?
            """,
            (query, limit),
        )
        return [int(place) for (place,) in rows]


class Vectors:
    """The nearest by cosine, from the same embedder that Holdfast uses."""

    def __init__(self, texts: Sequence[str], embedder: CachedEmbedder) -> None:
        self._embedder = embedder
        self._matrix = np.stack([embedder.embed(text) for text in texts])

    def search(self, question: str, limit: int = POOL) -> list[int]:
        likeness = self._matrix @ self._embedder.embed_query(question)
        return [int(place) for place in np.argsort(-likeness, kind="stable")[:limit]]


class PlainIndex:
    """FTS5 in a file over texts of many spaces, each row with the name of its space."""

    def __init__(self, file: Path, settings: Iterable[str]) -> None:
        self._db = apsw.Connection(str(file))
        for pragma in settings:
            self._db.execute(pragma).fetchall()
        self._db.execute(
            """
            CREATE VIRTUAL TABLE IF NOT EXISTS t
            USING fts5(text, space UNINDEXED, tokenize = 'porter unicode61')
            """
        )

    def fill(self, rows: Iterable[tuple[str, str]]) -> None:
        with self._db:
            self._db.executemany("INSERT INTO t (text, space) VALUES (?, ?)", rows)

    def search(self, question: str) -> list[Any]:
        """The ten best of all, with their texts."""
        return self._db.execute(
            """
            SELECT rowid, text
            FROM t
            WHERE t MATCH ?
            ORDER BY bm25(t)
            LIMIT ?
            """,
            (match_any(question), LIMIT),
        ).fetchall()

    def search_in(self, space: str, question: str) -> list[Any]:
        """The ten best of one space."""
        return self._db.execute(
            """
            SELECT rowid, text
            FROM t
            WHERE t MATCH ?
              AND space = ?
            ORDER BY bm25(t)
            LIMIT ?
            """,
            (match_any(question), space, LIMIT),
        ).fetchall()

    def close(self) -> None:
        self._db.close()


def by_ranks(*rankings: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion with k = 60."""
    total: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, start=1):
            total[place] += 1 / (RRF + rank)
    return sorted(total, key=lambda place: (-total[place], place))
