"""What is noted of a text when it is written, and how a long one is cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.analyser import analyse
from holdfast.text.traits import (
    CHUNK_CHARACTERS,
    PREVIOUS_CHARACTERS,
    Role,
    Trait,
    chunks,
    embedding_text,
    role_of,
    traits_of,
)

LONG = " ".join(f"Sentence number {number} mentions src/app/main.py and 3.14." for number in range(60))


@pytest.mark.parametrize(
    "text", ["Where is it?", "どこですか？", "أين هو؟", "So, coffee?  ", "Look! Who is it? [photo of a cat]"]
)
def test_a_note_that_ends_with_a_question_asks(text: str) -> None:
    assert Trait.ASKS in traits_of(text)


def test_a_note_with_a_question_inside_holds_one_but_does_not_ask() -> None:
    assert traits_of("Why? Because I like it.") == Trait.HOLDS_QUESTION


@pytest.mark.parametrize(
    "text", ["We met yesterday", "It was in May", "Room 12", "5月8日に会った", "last week"]
)
def test_a_note_with_a_date_or_a_number_tells_time(text: str) -> None:
    assert Trait.TELLS_TIME in traits_of(text)


@pytest.mark.parametrize(
    "text", ["Always answer in German", "From now on use metric units", "Thanks. Please never use tabs"]
)
def test_an_instruction_from_now_on_is_standing(text: str) -> None:
    assert Trait.STANDING in traits_of(text)


def test_an_ordinary_statement_has_no_trait() -> None:
    assert traits_of("The dog is called Rex") == Trait(0)


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        (None, Role.NONE),
        ("  ", Role.NONE),
        ("User", Role.USER),
        ("human", Role.USER),
        ("ASSISTANT", Role.ASSISTANT),
        ("Mia", Role.PERSON),
    ],
)
def test_a_speaker_has_the_role_that_chats_give_the_name(speaker: str | None, role: Role) -> None:
    assert role_of(speaker) is role


def test_a_short_text_is_one_chunk_as_it_is() -> None:
    assert chunks(" as it is ") == [" as it is "]
    assert chunks("") == [""]


def test_a_long_text_is_cut_after_sentences_and_loses_no_word() -> None:
    pieces = chunks(LONG)
    assert all(piece.endswith("3.14.") for piece in pieces)
    assert [term for piece in pieces for term in analyse(piece)] == analyse(LONG)


def test_a_long_text_without_spaces_is_cut_by_size_alone() -> None:
    assert list(map(len, chunks("x" * 1500))) == [600, 600, 300]


def test_japanese_is_cut_after_its_full_stops() -> None:
    assert all(piece.endswith("。") for piece in chunks("私は東京に住んでいます。" * 100))


@settings(deadline=None)
@given(st.text(alphabet="ab .\n。?", max_size=3000))
def test_chunks_are_short_and_hold_the_whole_text(text: str) -> None:
    pieces = chunks(text)
    assert pieces
    assert all(len(piece) <= CHUNK_CHARACTERS for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_short_note_is_embedded_after_the_opening_of_the_one_before() -> None:
    assert embedding_text("Yes, in May!", None, "Did you move?") == "Did you move?\nYes, in May!"
    assert embedding_text("Yes", None, "w" * 400) == "w" * PREVIOUS_CHARACTERS + "\nYes"


def test_a_hint_is_embedded_before_the_text() -> None:
    assert embedding_text("Berlin", "Where Mia lives", None) == "Where Mia lives\nBerlin"


def test_a_long_note_is_embedded_alone() -> None:
    assert embedding_text(LONG, None, "Tell me more") == LONG
    assert embedding_text("Yes", None, LONG) == "Yes"
