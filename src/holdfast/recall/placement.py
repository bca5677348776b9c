"""Looks up how far an entry got in a ranking, for `why_not`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.recall.arrays import Floats
from holdfast.recall.ranker import Candidate, RankedGroup, SearchedSpace, best_candidates


@dataclass(frozen=True, slots=True)
class Placement:
    """Ranks count from 1 over all searched spaces."""

    score: float
    word_rank: int | None
    """None for an entry without any of the question's words."""
    vector_rank: int | None
    """None for an entry without a vector, or with the farthest one."""
    rank: int | None
    """None for an entry that is no hit."""


def placement(ranked: Sequence[RankedGroup], searched: SearchedSpace, position: int, count: int) -> Placement:
    """Places one entry among the `count` best."""
    ranking, at = next(
        (each.ranking, at)
        for each in ranked
        if (at := each.group.position_of(searched, position)) is not None
    )
    return Placement(
        float(ranking.scores[at]),
        _rank_in([each.ranking.words for each in ranked], ranking.words[at]),
        _rank_in([each.ranking.meaning for each in ranked], ranking.meaning[at]),
        rank_among(best_candidates(ranked, count), searched, position) if ranking.hits[at] else None,
    )


def rank_among(candidates: Sequence[Candidate], searched: SearchedSpace, position: int) -> int:
    """The entry's rank in this order, from 1."""
    return 1 + next(
        at
        for at, candidate in enumerate(candidates)
        if candidate.searched is searched and candidate.position == position
    )


def _rank_in(scores: Sequence[Floats], own: float) -> int | None:
    if own <= 0.0:
        return None
    return 1 + sum(int(np.count_nonzero(each > own)) for each in scores)
