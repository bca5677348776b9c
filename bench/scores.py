"""Scores a ranking, given the ids that answer the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

DEEPEST = 20


class Measures(NamedTuple):
    recall_1: float
    recall_5: float
    recall_10: float
    recall_20: float
    mrr: float
    ndcg_10: float


def measure(ranking: Sequence[str], gold: frozenset[str]) -> Measures:
    """Looks at the first twenty. An answer that is not found counts as nothing, wherever it may be."""
    hits = [id in gold for id in ranking[:DEEPEST]]
    gain = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(gold))))
    return Measures(
        recall_1=sum(hits[:1]) / len(gold),
        recall_5=sum(hits[:5]) / len(gold),
        recall_10=sum(hits[:10]) / len(gold),
        recall_20=sum(hits) / len(gold),
        mrr=next((1 / rank for rank, hit in enumerate(hits, start=1) if hit), 0.0),
        ndcg_10=gain / ideal,
    )
