"""The figures of recall are only as good as their arithmetic and their data."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from bench.datasets import own_collection, own_pairs
from bench.floors import Words, by_ranks
from bench.scores import measure


def test_a_perfect_ranking_measures_one_everywhere_but_where_it_does_not_fit() -> None:
    found = measure(["a", "b", "x"], frozenset({"a", "b"}))
    assert found.recall_1 == 0.5
    assert (found.recall_5, found.recall_10, found.recall_20, found.mrr) == (1, 1, 1, 1)
    assert found.ndcg_10 == pytest.approx(1)


def test_a_late_hit_counts_only_from_its_depth_on() -> None:
    found = measure([*"zyxwvu", "a"], frozenset({"a"}))
    assert (found.recall_5, found.recall_10) == (0, 1)
    assert found.mrr == pytest.approx(1 / 7)
    assert found.ndcg_10 == pytest.approx(1 / math.log2(8))


def test_fusion_by_ranks_prefers_what_both_rankings_hold() -> None:
    assert by_ranks([1, 2], [3, 2])[0] == 2


def test_the_plain_floor_stems_and_takes_any_word_and_any_sign() -> None:
    words = Words(["The dogs ran", "A cat slept"])
    assert words.search("dog?") == [0]
    assert sorted(words.search("cat NOT dog")) == [0, 1]
    assert words.search("?!") == []


def test_every_question_of_our_own_set_names_memories_that_are_there() -> None:
    own = own_collection()
    ids = [document.id for document in own.documents]
    live = {document.id for document in own.live}
    assert len(set(ids)) == len(ids) >= 150
    assert len(own.questions) >= 110
    for question in own.questions:
        assert question.gold
        assert question.gold <= live
        assert question.must_not <= set(ids) - live


def test_a_memory_is_superseded_at_most_once_and_by_a_later_one() -> None:
    seen: set[str] = set()
    superseded = Counter[str]()
    for document in own_collection().documents:
        if document.supersedes is not None:
            assert document.supersedes in seen
            superseded[document.supersedes] += 1
        seen.add(document.id)
    assert set(superseded.values()) == {1}


def test_our_own_pairs_are_many_and_different() -> None:
    pairs = own_pairs()
    assert sum(not pair.same for pair in pairs) >= 60
    assert sum(pair.same for pair in pairs) >= 30
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs)
    assert all(pair.a != pair.b for pair in pairs if not pair.same)
