"""Finds the entries near some content, by words and by meaning. text/duplicates decides which of them say the same."""

from __future__ import annotations

import numpy as np

from holdfast.domain.entry import Content
from holdfast.recall.arrays import Floats, Ints
from holdfast.recall.bm25 import read_postings, score_words
from holdfast.recall.index import Index
from holdfast.recall.snapshot import SpaceSnapshot
from holdfast.text.duplicates import HINT_COSINE
from holdfast.text.question import read_question

CANDIDATES = 20
"""Entries taken by words, and by meaning."""
LEAST_WORDS = 1e-9
"""Any score of words at all."""


def near_entries(
    index: Index, snapshot: SpaceSnapshot, content: Content, number: int | None
) -> dict[int, float]:
    """The numbers of the entries near this content, each with its cosine (0 without a vector). `number` is the
    content's own entry, which is left out; None when it is not stored."""
    position = None if number is None else snapshot.position(number)
    if position is None and number is not None:
        return {}
    others = np.ones(len(snapshot), dtype=bool)
    cosines = np.zeros(len(snapshot), dtype=np.float32)
    if position is not None:
        others[position] = False
        cosines = index.snapshots.cosines_to(snapshot, position) * others
    question = read_question(f"{content.hint} {content.text}")
    found = index.snapshots.occurrences(snapshot, question.terms)
    words = score_words(snapshot.arrays, read_postings(snapshot.arrays, question, found)).score * others
    near = np.union1d(_highest(words, LEAST_WORDS), _highest(cosines, HINT_COSINE))
    return dict(zip(snapshot.columns.numbers[near].tolist(), cosines[near].tolist(), strict=True))


def _highest(scores: Floats, least: float) -> Ints:
    """Positions of the highest scores, of equal ones the newer; in no stated order."""
    best = np.argsort(scores, kind="stable")[-CANDIDATES:]
    return best[scores[best] >= least].astype(np.int32)
