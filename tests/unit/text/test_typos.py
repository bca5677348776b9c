"""Which known words a mistyped one may have meant."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.typos import MOST_TERMS, certainty, corrections

KNOWN = [
    "kubernet",
    "typescript",
    "mongodb",
    "receiv",
    "error",
    "separ",
    "strasse",
    "2024",
    "err_4012",
    "cat",
    "東京駅前",
]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("kubernt", "kubernet"),
        ("kkubernet", "kubernet"),
        ("typsecript", "typescript"),
        ("typescirtp", "typescript"),
        ("reciev", "receiv"),
        ("eror", "error"),
        ("wrror", "error"),
        ("seper", "separ"),
        ("strase", "strasse"),
        ("東京駅後", "東京駅前"),
    ],
)
def test_a_slip_of_the_finger_finds_the_word(typed: str, meant: str) -> None:
    assert corrections([typed], KNOWN) == {typed: [meant]}


@pytest.mark.parametrize(
    "typed", ["error", "cta", "2023", "err_4013", "mnogobd", "banana", "x" * 200, "", "\x00\x00\x00\x00"]
)
def test_a_known_short_numbered_or_distant_word_is_left_alone(typed: str) -> None:
    assert corrections([typed], KNOWN) == {}


def test_the_nearest_come_first_then_alphabetical_and_no_more_than_three() -> None:
    known = ["developer", "developed", "developez", "develoqes", "developes"]
    assert corrections(["developet"], known)["developet"] == ["developed", "developer", "developes"]
    assert corrections(["developeq"], ["develo", "deveolper", "developer"])["developeq"] == [
        "developer",
        "deveolper",
    ]


def test_without_a_near_word_compounds_do_those_that_end_with_it_first_then_those_that_begin_with_it() -> (
    None
):
    known = ["versicherungsamt", "altersversicherungen", "krankenversicherung", "autoversicherung"]
    assert corrections(["versicherung"], known)["versicherung"] == [
        "autoversicherung",
        "krankenversicherung",
        "versicherungsamt",
    ]
    assert corrections(["versicherung"], [*known, "versicherumg"]) == {"versicherung": ["versicherumg"]}


@pytest.mark.parametrize(
    ("typed", "known"), [("bahn", "autobahn"), ("kettle", "kettling"), ("water", "water2024")]
)
def test_a_short_word_an_ending_or_a_number_makes_no_compound(typed: str, known: str) -> None:
    assert corrections([typed], [known]) == {}


def test_several_words_are_corrected_at_once_but_not_a_foreign_page() -> None:
    assert corrections(["eror", "mongdb", "banana"], KNOWN) == {"eror": ["error"], "mongdb": ["mongodb"]}
    assert (
        corrections([*(f"word{'abcdefghijklmnopqrstuvwxyz'[n]}" for n in range(MOST_TERMS)), "eror"], KNOWN)
        == {}
    )


def test_a_short_word_is_less_surely_a_slip_than_a_long_one() -> None:
    assert 0.0 < certainty({"farm": ["form"]}) < certainty({"farm": ["form"], "konlfux": ["konflux"]}) == 1.0
    assert certainty({}) == 1.0


def test_an_empty_vocabulary_corrects_nothing() -> None:
    assert corrections(["eror"], []) == {}
    assert corrections([], KNOWN) == {}


def edits(left: str, right: str) -> int:
    """The textbook table, for comparison."""
    table = [[row + column for column in range(len(right) + 1)] for row in range(len(left) + 1)]
    for row in range(1, len(left) + 1):
        for column in range(1, len(right) + 1):
            other = left[row - 1] != right[column - 1]
            steps = [
                table[row - 1][column] + 1,
                table[row][column - 1] + 1,
                table[row - 1][column - 1] + other,
            ]
            if row > 1 and column > 1 and left[row - 2 : row] == right[column - 2 : column][::-1]:
                steps.append(table[row - 2][column - 2] + 1)
            table[row][column] = min(steps)
    return table[-1][-1]


@settings(deadline=None)
@given(
    st.text("abé@", min_size=4, max_size=10), st.lists(st.text("abé@", min_size=1, max_size=12), max_size=30)
)
def test_distances_are_those_of_the_textbook(typed: str, known: list[str]) -> None:
    allowed = 2 if len(typed) >= 8 else 1
    known = [word for word in known if typed not in word or edits(typed, word) <= allowed]  # no compounds
    near = sorted({(edits(typed, word), word) for word in known if edits(typed, word) <= allowed})
    expected = [] if typed in known else [word for _, word in near][:3]
    assert corrections([typed], known).get(typed, []) == expected


def test_a_large_vocabulary_is_searched_without_a_wait() -> None:
    letters = "etaoinshrdlucm"
    known = {
        letters[n % 14] + letters[n // 14 % 14] + letters[n // 196 % 14] + f"{letters[n // 2744]}ing"
        for n in range(20_000)
    }
    started = time.process_time()
    corrections(["runnign", "kubernetse", "postgersql", "typsecript"], known)
    # Ten milliseconds on an idle core; the bound only has to notice a change of order.
    assert time.process_time() - started < 0.5
