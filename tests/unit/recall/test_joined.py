"""Spaces that are ranked as one: every entry scores what it scores where its space is ranked by itself."""

from collections.abc import Sequence
from datetime import date
from random import Random

import numpy as np
import pytest

from holdfast.recall import fusion
from holdfast.recall.arrays import Bools, Floats
from holdfast.recall.bm25 import rarities, read_postings, score_words
from holdfast.recall.fusion import Explanation, Ranking, common_scale, fuse
from holdfast.recall.joined import join_arrays
from holdfast.text.question import Question, read_question
from tests.unit.recall.notes import Note, Notebook, Place, occurrences

WORDS = [
    "Mia",
    "Anna",
    "the",
    "cello",
    "was",
    "sold",
    "in",
    "spring",
    "we",
    "cooked",
    "soup",
    "yesterday",
    "film",
    "train",
    "garden",
    "deploy",
    "form",
]
SPEAKERS = (None, None, "Mia", "Anna Lopez", "Anna Berg", "user", "assistant")
DAYS = (None, date(2023, 5, 8), date(2023, 6, 1), date(2021, 5, 30), date(2020, 2, 8))
QUESTIONS = (
    "cello sold",
    "When was the cello sold?",
    "What did Mia cook?",
    "Did Anna and Mia see the film in May 2023?",
    "Which soups has Anna Lopez cooked on 8 May 2023?",
    "What did you recommend for the garden on Monday 2023-05-08?",
    "And what about Mia, the train, the form and the spring, deploy soup film garden yesterday",
    "nothing of this was written",
)


def a_note(random: Random) -> Note:
    text = " ".join(random.choices(WORDS, k=random.choice((1, 4, 12, 12, 160))))
    return Note(
        text + random.choice(("", "", "?", ".")),
        speaker=random.choice(SPEAKERS),
        conversation=random.choice((None, "one", "two")),
        hint=random.choice(("", "", "garden notes")),
        tags=random.choice(((), ("spring",))),
        key=random.choice(("", "cello")),
        at=random.choice(DAYS),
        pinned=random.random() < 0.1,
    )


def some_spaces(random: Random) -> list[Notebook]:
    return [Notebook(*(a_note(random) for _ in range(random.randint(2, 9)))) for _ in range(6)]


def some_cosines(random: Random, book: Notebook) -> Floats:
    """Some entries wait for their vector."""
    known = [random.choice((0.0, random.uniform(0.6, 0.95))) for _ in range(book.arrays.space.size)]
    return np.array(known, np.float32)


def one_by_one(
    books: Sequence[Notebook],
    question: Question,
    cosines: Sequence[Floats | None],
    allowed: Sequence[Bools | None],
) -> list[Ranking]:
    postings = [book.postings(question) for book in books]
    rarity = rarities([(book.arrays, own) for book, own in zip(books, postings, strict=True)])
    words = [score_words(book.arrays, own, rarity) for book, own in zip(books, postings, strict=True)]
    scale = common_scale(words, cosines)
    return [
        fuse(book.arrays, question, own, scores, cosine, scale, 100, wanted)
        for book, own, scores, cosine, wanted in zip(books, postings, words, cosines, allowed, strict=True)
    ]


def together(
    books: Sequence[Notebook],
    question: Question,
    cosines: Sequence[Floats | None],
    allowed: Sequence[Bools | None],
) -> Ranking:
    arrays = join_arrays([book.arrays for book in books])
    assert arrays.parts is not None
    places: list[Place] = [
        (term, int(start) + entry, field, offset)
        for book, start in zip(books, arrays.parts.starts, strict=True)
        for term, entry, field, offset in book.places(question)
    ]
    postings = read_postings(arrays, question, occurrences(places))
    scores = score_words(arrays, postings)
    known = [cosine for cosine in cosines if cosine is not None]
    wanted = [mask for mask in allowed if mask is not None]
    return fuse(
        arrays,
        question,
        postings,
        scores,
        np.concatenate(known) if known else None,
        limit=100,
        allowed=np.concatenate(wanted) if wanted else None,
    )


def explained(rankings: Sequence[Ranking]) -> list[Explanation]:
    return [ranking.explain(entry) for ranking in rankings for entry in range(len(ranking.scores))]


@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
@pytest.mark.parametrize("meant", [False, True], ids=["words", "words and vectors"])
@pytest.mark.parametrize("seed", range(12))
def test_joined_and_by_themselves_spaces_rank_the_same(seed: int, meant: bool, filtered: bool) -> None:
    random = Random(seed)
    books = some_spaces(random)
    cosines = [some_cosines(random, book) if meant else None for book in books]
    allowed = [
        np.array([random.random() < 0.6 for _ in range(book.arrays.space.size)]) if filtered else None
        for book in books
    ]
    for text in QUESTIONS:
        question = read_question(text)
        apart = one_by_one(books, question, cosines, allowed)
        joined = together(books, question, cosines, allowed)
        assert explained([joined]) == explained(apart), text
        assert joined.hits.tolist() == [hit for each in apart for hit in each.hits.tolist()]
        assert len(joined.order) == sum(len(each.order) for each in apart)
        scores = joined.scores[list(joined.order)].tolist()
        assert scores == sorted(scores, reverse=True)


def test_each_of_the_joined_spaces_has_its_own_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "MEANING_POOL", 2)
    books = [Notebook(*["a train passed by"] * size) for size in (1, 4, 3)]
    cosines = [np.linspace(0.7, 0.9 - size / 100, size + 1, dtype=np.float32)[1:] for size in (1, 4, 3)]
    question = read_question("Which instrument does she practise?")
    joined = together(books, question, cosines, [None] * 3)
    apart = one_by_one(books, question, cosines, [None] * 3)
    assert joined.hits.tolist() == [hit for each in apart for hit in each.hits.tolist()]
    assert joined.hits.tolist() == [True, False, False, True, True, False, True, True]


def test_of_equal_entries_in_joined_spaces_none_is_left_out() -> None:
    """Which of them is newer, their places do not say."""
    books = [Notebook("my cello is old")] * 5
    arrays = join_arrays([book.arrays for book in books])
    question = read_question("cello")
    found = occurrences(
        [(0, entry, place, offset) for entry in range(5) for _, place, offset in books[0].index["cello"]]
    )
    postings = read_postings(arrays, question, found)
    ranking = fuse(arrays, question, postings, score_words(arrays, postings), None, limit=2)
    assert sorted(ranking.order) == [0, 1, 2, 3, 4]


def test_a_space_without_entries_joins_too() -> None:
    empty = Notebook()
    books = [empty, Notebook("my cello is old", "soup"), empty, Notebook("soup", "the cello was sold"), empty]
    ranking = together(books, read_question("cello"), [None] * 5, [None] * 5)
    assert sorted(ranking.order) == [0, 3]
