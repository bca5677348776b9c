"""Which notes a question finds by its words, and which of them first."""

from datetime import date

import numpy as np
import pytest

from holdfast.recall import bm25
from holdfast.recall.bm25 import rarities, read_postings, score_words
from holdfast.text.question import read_question
from tests.unit.recall.notes import Note, Notebook, occurrences

FILLER = ("The weather was fine", "We cooked soup", "A train passed by", "They watched a film")


def best(notebook: Notebook, text: str) -> int:
    return int(np.argmax(notebook.words(text).score))


def test_a_note_without_any_of_the_words_scores_exactly_nothing() -> None:
    assert Notebook("a red bicycle", "nothing else").words("bicycle").score[1] == 0.0


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    notebook = Notebook("the dog sleeps", "the dog eats", "the dog runs", "the parrot sings")
    assert best(notebook, "dog parrot") == 3


@pytest.mark.parametrize("named", [{"hint": "bicycle"}, {"tags": ("bicycle",)}, {"key": "bicycle"}])
def test_a_word_in_the_hint_the_tags_or_the_key_weighs_more_than_in_the_body(named: dict[str, str]) -> None:
    notebook = Notebook(Note("we own two things", **named), "a bicycle we own", *FILLER)  # type: ignore[arg-type]
    assert best(notebook, "bicycle") == 0


def test_a_hint_weighs_more_than_a_tag() -> None:
    notebook = Notebook(Note("one", tags=("bicycle",)), Note("one", hint="bicycle"), *FILLER)
    assert best(notebook, "bicycle") == 1


def test_a_repeated_word_counts_more_but_less_each_time() -> None:
    scores = (
        Notebook("tea and then nothing", "tea tea and nothing", "tea tea tea nothing", *FILLER)
        .words("tea")
        .score
    )
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] - scores[1] < scores[1] - scores[0]


def test_a_long_note_scores_as_its_best_chunk() -> None:
    long = (
        "filler words everywhere. " * 60
        + "The parrot sings in the kitchen. "
        + "filler words everywhere. " * 60
    )
    scores = Notebook(long, "The parrot sings in the kitchen. " * 2, *FILLER).words("parrot kitchen").score
    assert scores[0] > 0.6 * scores[1]


def test_words_in_two_chunks_do_not_add_up_to_a_note_that_holds_both_together() -> None:
    apart = "parrot " + "filler words here. " * 60 + "kitchen"
    assert best(Notebook(apart, "the parrot in the kitchen", *FILLER), "parrot kitchen") == 1


def test_a_note_after_a_question_borrows_its_words() -> None:
    notebook = Notebook(
        Note("Where did you spend your holiday?", "Mia", "c"),
        Note("In Lisbon, by the sea", "Tom", "c"),
        Note("In Lisbon, by the sea", "Tom"),
        *FILLER,
    )
    scores = notebook.words("holiday").score
    assert scores[1] > 0.0
    assert scores[2] == 0.0


def test_a_note_borrows_more_from_a_question_than_from_a_statement() -> None:
    asked = Notebook(Note("A new violin?", "Mia", "c"), Note("Yes", "Tom", "c"), *FILLER).words("violin")
    stated = Notebook(Note("A new violin.", "Mia", "c"), Note("Yes", "Tom", "c"), *FILLER).words("violin")
    assert asked.score[1] > stated.score[1] > 0.0


def test_words_are_lent_two_notes_far_and_no_farther_nor_across_conversations() -> None:
    talk = [Note("zebra" if number == 3 else "word", "Mia", "c") for number in range(7)]
    scores = Notebook(*talk, Note("word", "Mia", "d")).words("zebra").score
    assert (scores > 0.0).tolist() == [False, True, True, True, True, True, False, False]


def test_a_long_note_neither_lends_nor_borrows() -> None:
    long = Note("zebra " + "filler words here. " * 60, "Mia", "c")
    scores = Notebook(Note("Hm", "Tom", "c"), long, Note("Right", "Tom", "c")).words("zebra").score
    assert (scores > 0.0).tolist() == [False, True, False]


def test_who_spoke_is_found_by_name_though_no_word_says_it() -> None:
    notebook = Notebook(Note("I bought a boat", "Mia Berg"), Note("I bought a boat", "Tom"), *FILLER)
    assert best(notebook, "What did Mia buy?") == 0


def test_a_day_is_found_by_its_words_though_no_word_says_it() -> None:
    notebook = Notebook(
        Note("we met", at=date(2023, 5, 8)), Note("we met", at=date(2022, 6, 9)), Note("we met"), *FILLER
    )
    assert best(notebook, "Whom did we meet on 8 May 2023?") == 0
    assert best(notebook, "Whom did we meet on a Thursday?") == 1


def test_a_number_that_is_no_date_finds_no_day() -> None:
    assert not Notebook(Note("we met", at=date(2023, 5, 8))).words("8 apples").score.any()


def test_the_order_of_occurrences_does_not_matter() -> None:
    notebook = Notebook("tea tea", "tea", "coffee", "tea coffee tea")
    question = read_question("tea coffee")
    places = notebook.places(question)
    one, other = (
        read_postings(notebook.arrays, question, occurrences(each)) for each in (places, places[::-1])
    )
    scores = [score_words(notebook.arrays, each).score.tolist() for each in (one, other)]
    assert scores[0] == scores[1]
    assert [term.holders for term in one.terms] == [term.holders for term in other.terms] == [3, 2]


def test_an_entry_that_holds_a_term_in_several_ways_is_one_holder() -> None:
    said = Note("Mia met Mia in May", "Mia", hint="Mia", at=date(2023, 5, 8))
    notebook = Notebook(said, Note("Hi", "Mia"), "Mia", *FILLER)
    (mia, may) = notebook.postings(read_question("Was Mia there in May")).terms
    assert (mia.holders, may.holders) == (3, 1)


def test_many_terms_are_scored_in_parts_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = [
        Note(text, "Mia", "c", at=date(2023, 5, 8)) for text in ("red boat?", "a green boat", "Mia sails")
    ]
    notebook = Notebook(*talk, "filler words here. " * 60 + "boat", *FILLER)
    text = "Did Mia sail a red or green boat on 8 May 2023"
    at_once = notebook.words(text).score
    monkeypatch.setattr(bm25, "CELLS_AT_ONCE", 1)
    assert notebook.words(text).score == pytest.approx(at_once, rel=1e-6)


def test_a_term_that_the_index_does_not_know_only_raises_the_ideal() -> None:
    scores = Notebook("tea", "coffee").words("unicorn")
    assert not scores.score.any()
    assert scores.ideal > 0.0


def test_the_best_by_words_are_only_those_that_hold_one() -> None:
    scores = Notebook("tea", "coffee", "tea tea", "tea tea tea").words("tea")
    assert sorted(scores.best(2).tolist()) == [2, 3]
    assert sorted(scores.best(9).tolist()) == [0, 2, 3]


def test_spaces_searched_together_share_what_is_rare() -> None:
    """In its small space "dog" is as rare as can be; over both it is the commonest word."""
    small, large = Notebook("dog", "cat"), Notebook(*["dog and parrot"] * 3, *["dog and food"] * 30)
    question = read_question("dog parrot")
    searched = [(book.arrays, book.postings(question)) for book in (small, large)]
    rarity = rarities(searched)
    assert rarity[0] < rarity[1]
    tops = [score_words(arrays, postings, rarity).top for arrays, postings in searched]
    assert tops[0] < tops[1]


def test_one_space_searched_alone_needs_no_shared_rarity() -> None:
    notebook = Notebook("dog", "cat", "dog and cat")
    shared = rarities([(notebook.arrays, notebook.postings(read_question("dog cat")))])
    assert notebook.words("dog cat").score.tolist() == notebook.words("dog cat", shared).score.tolist()
