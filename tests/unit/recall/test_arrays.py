"""What is worked out once per version of a space: neighbours, days, people, chunks."""

from datetime import date, timedelta

import numpy as np
import pytest

from holdfast.recall.arrays import NOBODY, Occurrences, TermField, neighbours, prepare_arrays
from holdfast.text.analyser import date_words
from tests.unit.recall.notes import Note, Notebook, occurrences

MICROS_OF_DAY = 86_400_000_000


def places(*found: tuple[int, TermField, int]) -> Occurrences:
    return occurrences([(0, *place) for place in found])


def test_neighbours_stay_within_their_conversation() -> None:
    conversation = np.array([0, 1, 0, NOBODY, 1, NOBODY], np.int32)
    previous, following = neighbours(conversation, np.arange(6))
    assert previous.tolist() == [-1, -1, 0, -1, 1, -1]
    assert following.tolist() == [2, 4, -1, -1, -1, -1]


def test_neighbours_follow_the_given_order_not_the_number() -> None:
    previous, _ = neighbours(np.zeros(3, np.int32), np.array([30, 10, 20]))
    assert previous.tolist() == [2, -1, 1]


@pytest.mark.parametrize(
    "day", [date(1, 1, 1), date(1969, 12, 31), date(2000, 2, 29), date(2023, 5, 8), date(9999, 12, 31)]
)
def test_every_day_answers_to_the_words_of_its_date(day: date) -> None:
    calendar = Notebook(Note("dated", at=day), "undated").arrays.calendar
    for term in date_words((day - date(1970, 1, 1)).days * MICROS_OF_DAY):
        assert calendar.entries(term).tolist() == [0]


def test_weekdays_and_months_are_right_over_a_whole_year() -> None:
    days = [date(2024, 1, 1) + timedelta(days=number) for number in range(366)]
    calendar = Notebook(*(Note("x", at=day) for day in days)).arrays.calendar
    assert calendar.weekday.tolist() == [day.isoweekday() for day in days]
    assert calendar.month.tolist() == [day.month for day in days]
    assert calendar.day.tolist() == [day.day for day in days]


@pytest.mark.parametrize("term", ["", "0", "99999", "dog", "٣", "32"])
def test_a_note_without_a_day_answers_to_no_date(term: str) -> None:
    assert Notebook("undated").arrays.calendar.entries(term).size == 0


def test_people_are_found_by_every_part_of_their_name_and_roles_are_not_people() -> None:
    arrays = Notebook(
        Note("hi", speaker="Anna Lopez"), Note("hi", speaker="user"), Note("hi", speaker="Anna Berg")
    ).arrays
    assert arrays.spoken_by(arrays.name_terms["anna"]).tolist() == [0, 2]
    assert arrays.spoken_by(arrays.name_terms["lopez"]).tolist() == [0]
    assert "user" not in arrays.name_terms
    assert arrays.people_named("What did Anna Lopez say?") == ["Anna Lopez", "Anna Berg"]
    assert arrays.people_named("What did the user say?") == []


def test_an_occurrence_belongs_to_the_chunk_that_holds_its_place() -> None:
    long = " ".join(["filler"] * 150)
    arrays = Notebook("short", long, "short").arrays
    assert arrays.space.unit_entry.tolist() == [0, 1, 1, 2]
    second = int(arrays.space.body_start[2])
    found = places(
        (1, TermField.BODY, second - 1),
        (1, TermField.BODY, second),
        (2, TermField.BODY, 0),
        (1, TermField.HINT, second + 1),
    )
    assert arrays.units(found).tolist() == [1, 2, 3, 1]


def test_a_chunk_without_terms_takes_no_occurrence_of_the_next() -> None:
    arrays = Notebook("one two " + "… " * 400 + "three").arrays
    assert arrays.space.unit_length.tolist()[0] == 2
    third = int(arrays.units(places((0, TermField.BODY, 2)))[0])
    assert arrays.space.unit_length[third] == 1


def test_the_corrections_of_a_word_are_counted_as_that_word() -> None:
    found = occurrences([(0, 5, TermField.BODY, 1), (1, 6, TermField.KEY, 0), (2, 7, TermField.BODY, 0)])
    counted = found.counted_as([0, 0, 1])
    assert counted.terms.tolist() == [0, 0, 1]
    assert counted.entries.tolist() == [5, 6, 7]
    assert occurrences([]).counted_as([0]).terms.size == 0


def test_an_empty_space_can_be_prepared_and_searched() -> None:
    notebook = Notebook()
    assert prepare_arrays(notebook.arrays.space).space.size == 0
    assert notebook.recall("anything at all", cosine=[]).order == ()
