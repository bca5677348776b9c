"""One answer from words, meaning and the signals of a chat; and why each note stands where it stands."""

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.recall.arrays import Floats
from holdfast.recall.bm25 import rarities, score_words
from holdfast.recall.fusion import Scale, common_scale, fuse
from holdfast.text.question import read_question
from tests.unit.recall.notes import Note, Notebook, hits_above, ranks_of

FILLER = ("The weather was fine", "We cooked soup", "A train passed by", "They watched a film")


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def test_a_note_near_in_meaning_is_found_without_a_common_word() -> None:
    notebook = Notebook("She plays the cello", *FILLER)
    assert notebook.recall("Which instrument does she practise?").order == ()
    assert notebook.recall("Which instrument does she practise?", [0.9, 0.7, 0.7, 0.7, 0.71]).order[0] == 0


def test_a_note_with_the_words_and_the_meaning_comes_before_one_with_either() -> None:
    notebook = Notebook("my cello is old", "my violin is old", "the cello was sold", *FILLER)
    assert notebook.recall("old cello", [0.9, 0.9, 0.75, 0.7, 0.7, 0.7, 0.7]).order[0] == 0


def test_equal_notes_come_newest_first() -> None:
    assert Notebook("tea", "tea", "tea", "coffee").recall("tea").order == (2, 1, 0)
    assert Notebook("tea", "tea", "tea", "coffee").recall("tea", limit=2).order == (2, 1)


def test_an_entry_that_is_not_allowed_is_no_hit() -> None:
    notebook = Notebook("tea", "tea", "tea")
    question = read_question("tea")
    postings = notebook.postings(question)
    scores = score_words(notebook.arrays, postings)
    allowed = np.array([True, False, True])
    ranking = fuse(notebook.arrays, question, postings, scores, None, allowed=allowed)
    assert ranking.order == (2, 0)
    assert ranks_of(ranking, 1).final is None
    assert ranks_of(ranking, 1).words == 2


def test_the_notes_around_a_good_one_rise_with_it() -> None:
    talk = [
        Note(text, "Mia", "trip")
        for text in ("We flew to Lisbon", "filler", "more filler", "The hotel was fine")
    ]
    notebook = Notebook(*talk, Note("The hotel was fine", "Mia"), *FILLER)
    ranking = notebook.recall("hotel in Lisbon")
    assert ranking.scores[3] > ranking.scores[4]
    assert ranking.explain(3).conversation > 0.0
    alone = ranking.explain(4)
    assert alone.conversation == pytest.approx(0.6 * (alone.words + alone.meaning))


def test_what_an_assistant_said_counts_half_unless_it_is_asked_for() -> None:
    notebook = Notebook(Note("the vim editor", "assistant"), Note("the vim editor", "user"), *FILLER)
    assert notebook.recall("vim editor").explain(0).role == 0.5
    assert notebook.recall("Which editor did you recommend, vim?").explain(0).role == 1.0


def test_a_named_speaker_counts_more_unless_two_are_named() -> None:
    notebook = Notebook(Note("a boat", "Mia"), Note("a boat", "Tom"), *FILLER)
    assert "speaker" in notebook.recall("Did Mia buy a boat?").explain(0).factors
    assert "speaker" not in notebook.recall("Did Mia buy a boat?").explain(1).factors
    assert "speaker" not in notebook.recall("Did Mia or Tom buy a boat?").explain(0).factors


def test_a_named_day_counts_by_how_much_of_it_agrees() -> None:
    notebook = Notebook(Note("we met", at=date(2023, 5, 8)), Note("we met", at=date(2023, 7, 8)), *FILLER)
    ranking = notebook.recall("we met on 8 May 2023")
    assert ranking.explain(0).factors["date"] == pytest.approx(0.3)
    assert ranking.explain(1).factors["date"] == pytest.approx(0.2)


def test_a_pinned_note_and_a_standing_instruction_come_first_among_equals() -> None:
    notebook = Notebook(Note("use tabs", pinned=True), "use tabs", *FILLER)
    assert notebook.recall("tabs").order == (0, 1)
    told = Notebook(Note("Always use tabs", "user"), Note("We will use tabs", "user"), *FILLER).recall("tabs")
    assert told.explain(0).factors == {"standing": pytest.approx(0.2)}


def test_no_chat_signal_touches_a_plain_fact() -> None:
    notebook = Notebook("Where is the key? It was in the car yesterday.", "Ask Mia!", "Always lock the door?")
    for text in ("When was the key in the car?", "What does Mia lock?", "key door 8 May 2023"):
        ranking = notebook.recall(text, [0.9, 0.8, 0.7])
        for entry in range(3):
            explained = ranking.explain(entry)
            own = explained.words + explained.meaning
            assert (explained.factors, explained.role) == ({}, 1.0)
            assert explained.conversation == pytest.approx(
                own * (0.2 if text.startswith("What does") else 0.6)
            )


def test_talk_does_not_push_a_plain_fact_down() -> None:
    talk = [Note(text, "Mia", "c1") for text in ("Our queue is slow", "The queue again", "Which queue?")]
    notebook = Notebook("Jobs go through the RabbitMQ queue", *talk, *FILLER)
    assert notebook.recall("Which queue do our jobs go through, RabbitMQ?").order[0] == 0


def test_a_name_that_many_plain_notes_hold_makes_meaning_count_less() -> None:
    """The question's vector lies near every greeting; the words know better."""
    greetings = [
        f"Hello Mia, {word}!" for word in ("hey", "wow", "nice", "great", "thanks", "cool", "yes", "no")
    ]
    notebook = Notebook("I signed up for pottery class", *greetings)
    cosine = [0.78, *[0.9] * 8]
    misled, usual = (
        notebook.recall(f"When did {who} sign up for pottery?", cosine) for who in ("Mia", "someone")
    )
    assert misled.order[0] == 0
    assert misled.explain(1).meaning == pytest.approx(0.4 / 1.4)
    assert usual.explain(1).meaning == pytest.approx(1.2 / 2.2)


def test_a_name_that_belongs_to_a_speaker_leaves_meaning_its_weight() -> None:
    """Such a question is embedded in the first person, without the name."""
    notebook = Notebook(
        *(Note(f"Hello Mia, number {number}", "Tom") for number in range(9)), Note("Hi", "Mia")
    )
    explained = notebook.recall("When did Mia sign up?", [0.9] + [0.7] * 9).explain(0)
    assert explained.meaning == pytest.approx(1.2 / 2.2)


def test_a_rare_name_leaves_meaning_its_weight() -> None:
    notebook = Notebook("Mia works at the harbour", *FILLER, *(f"{text} again" for text in FILLER))
    explained = notebook.recall("Where does Mia earn her money?", [0.9] + [0.7] * 8).explain(0)
    assert explained.meaning == pytest.approx(1.2 / 2.2)


def test_every_part_of_a_score_adds_up() -> None:
    notebook = Notebook(
        Note("Which boat did you buy?", "Tom", "c", at=date(2023, 5, 8)),
        Note("A red boat, yesterday", "Mia", "c", at=date(2023, 5, 8), pinned=True),
        Note("Boats are dear", "assistant", "c"),
        *FILLER,
    )
    ranking = notebook.recall("When did Mia buy the boat in May 2023?", [0.8, 0.9, 0.85, 0.7, 0.7, 0.7, 0.7])
    for entry in range(7):
        part = ranking.explain(entry)
        base = part.words + part.meaning + part.conversation
        assert part.score == pytest.approx(base * (1.0 + sum(part.factors.values())) * part.role, rel=1e-5)


def test_a_miss_is_explained_by_its_ranks() -> None:
    ranking = Notebook("tea", "tea tea", "tea tea tea", "coffee").recall("tea", [0.9, 0.8, 0.7, 0.0], limit=1)
    assert [ranks_of(ranking, entry).words for entry in range(4)] == [3, 2, 1, None]
    assert [ranks_of(ranking, entry).meaning for entry in range(4)] == [1, 2, None, None]
    assert sorted(filter(None, (ranks_of(ranking, entry).final for entry in range(4)))) == [1, 2, 3]
    assert ranks_of(ranking, ranking.order[0]).final == 1
    assert ranks_of(ranking, 3).final is None


def test_ranks_agree_with_the_order_even_in_ties() -> None:
    ranking = Notebook("tea", "tea", "green tea", "tea", "coffee").recall("tea")
    assert [ranks_of(ranking, entry).final for entry in ranking.order] == [1, 2, 3, 4]


def test_spaces_searched_together_are_measured_on_one_scale() -> None:
    """Alone, each space's best note would score as high as the other's."""
    good, poor = Notebook("the red boat of Mia", *FILLER), Notebook("a boat", *FILLER)
    question = read_question("red boat Mia")
    searched = [(book.arrays, book.postings(question)) for book in (good, poor)]
    rarity = rarities(searched)
    scores = [score_words(arrays, postings, rarity) for arrays, postings in searched]
    cosines = [floats(0.9, 0.7, 0.7, 0.7, 0.7), floats(0.8, 0.7, 0.7, 0.7, 0.7)]
    scale = common_scale(scores, cosines)
    rankings = [
        fuse(arrays, question, postings, word_scores, cosine, scale)
        for (arrays, postings), word_scores, cosine in zip(searched, scores, cosines, strict=True)
    ]
    assert rankings[0].explain(0).words > 2 * rankings[1].explain(0).words
    assert rankings[0].explain(0).meaning == pytest.approx(2 * rankings[1].explain(0).meaning, rel=1e-4)
    assert hits_above(rankings[0], rankings[1].explain(0).score) == 1
    assert hits_above(rankings[1], rankings[0].explain(0).score) == 0


def test_one_space_on_its_own_scale_is_the_same_as_without() -> None:
    notebook = Notebook("tea", "green tea", *FILLER)
    cosine = floats(0.9, 0.8, 0.7, 0.7, 0.7, 0.7)
    scale = common_scale([notebook.words("green tea")], [cosine])
    alone, scaled = (notebook.recall("green tea", cosine.tolist(), each) for each in (None, scale))
    assert alone.scores.tolist() == scaled.scores.tolist()


def test_a_space_without_vectors_is_comparable_to_one_with() -> None:
    notebook = Notebook("tea", "coffee")
    scale = Scale(words=1.0, meaning=None, has_meaning=True)
    assert notebook.recall("tea", scale=scale).explain(0).words < notebook.recall("tea").explain(0).words


def test_the_best_of_many_are_those_that_sorting_all_would_find() -> None:
    notebook = Notebook(*(f"tea {'tea ' * (number % 7)}{number % 11}" for number in range(3_000)))
    cosine = np.random.default_rng(3).uniform(0.6, 0.9, 3_000).astype(np.float32)
    for ranking in (notebook.recall("tea 7", limit=20), notebook.recall("tea 7", cosine.tolist(), limit=20)):
        hits = np.flatnonzero(ranking.hits)
        newest_last = np.argsort(ranking.scores[hits], kind="stable")
        assert ranking.order == tuple(hits[newest_last][::-1][:20].tolist())
    nearest = notebook.recall("unknown", cosine.tolist())
    assert set(np.flatnonzero(nearest.hits).tolist()) == set(np.argsort(cosine)[-200:].tolist())


def test_no_limit_below_one_returns_anything() -> None:
    assert Notebook("tea").recall("tea", limit=0).order == ()


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.sampled_from([None, "Mia", "user", "assistant"]), st.booleans()),
        max_size=8,
    ),
    st.text(max_size=40),
    st.floats(-1, 1),
)
def test_any_question_to_any_space_has_finite_scores(
    said: list[tuple[str, str | None, bool]], text: str, cosine: float
) -> None:
    notebook = Notebook(*(Note(body, who, "c" if chat else None) for body, who, chat in said))
    ranking = notebook.recall(text, [cosine] * len(said))
    assert len(ranking.order) == len(set(ranking.order)) <= 10
    assert all(math.isfinite(ranking.explain(entry).score) for entry in range(len(said)))
    assert ranking.order == notebook.recall(text, [cosine] * len(said)).order
