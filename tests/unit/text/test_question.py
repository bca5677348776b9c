"""What is understood of a question besides its words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.question import MAX_QUESTION_TERMS, in_first_person, read_question


@pytest.mark.parametrize(
    "text", ["When did Mia move?", "how long has she lived there", "In which year was it?"]
)
def test_a_question_for_a_time_is_recognised(text: str) -> None:
    assert read_question(text).asks_when


def test_a_question_about_a_habit_gathers_from_many_conversations() -> None:
    assert read_question("What does Mia do to relax?").gathers
    assert read_question("Which cities have they visited?").gathers
    assert not read_question("What did Mia cook on Sunday?").gathers


def test_a_question_about_the_answers_given_asks_the_assistant() -> None:
    assert read_question("Which library did you recommend?").asks_assistant
    assert not read_question("Which library did I choose?").asks_assistant


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("What happened on 8 May 2023?", {"8", "may", "2023"}),
        ("What happened on May 8th?", {"8", "may"}),
        ("the call on 2023-05-08", {"8", "may", "2023", "monday"}),
        ("Plans for Monday", {"monday"}),
        ("What may I eat?", set()),
        ("2 cats and 31 mice", set()),
        ("on 2023-13-45", {"2023"}),
    ],
)
def test_the_days_a_question_names_are_told_from_other_numbers(text: str, dates: set[str]) -> None:
    assert read_question(text).date_terms == dates


def test_words_said_to_the_assistant_count_less_unless_they_are_all_there_is() -> None:
    asked = read_question("List the bugs we discussed")
    assert asked.weight("list", 0.5) == 0.5
    assert asked.weight("bug", 0.5) == 1.0
    assert read_question("summary of the discussion").weight("discuss", 0.5) == 1.0


def test_capitals_inside_a_sentence_are_names_but_days_and_the_first_word_are_not() -> None:
    assert read_question("Where does Mia work on Mondays in March 2024?").names == {"mia"}


def test_a_pasted_page_is_cut_to_its_first_terms() -> None:
    page = " ".join(f"word{number}" for number in range(5000))
    assert len(read_question(page).terms) == MAX_QUESTION_TERMS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What is Mia's job?", "What is my job?"),
        ("Where did mia go?", "Where did I go?"),
        ("What do Mia and Will like?", "What do we like?"),
        ("What will both Mia and Will paint?", "What will we paint?"),
        ("Does anyone else know?", "Does anyone else know?"),
    ],
)
def test_a_question_is_put_as_the_named_speaker_would(text: str, said: str) -> None:
    assert in_first_person(text, ["Mia", "Will Smith"]) == said


def test_without_speakers_a_question_stays_as_it_is() -> None:
    assert in_first_person("What is Mia's job?", ["", " "]) == "What is Mia's job?"


@settings(deadline=None)
@given(st.text(), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_is_a_question(text: str, speakers: list[str]) -> None:
    question = read_question(text)
    assert question.date_terms <= set(question.terms)
    assert question.names <= set(question.terms)
    in_first_person(text, speakers)
