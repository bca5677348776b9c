"""Which words find which notes. A note is found when the terms of the query meet the terms of the note."""

import threading
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.text.analyser import MAX_TERM_LENGTH, MAX_TERMS, analyse, analyse_query, date_words

ANY_TEXT = st.text() | st.text(st.characters(categories=["Cs", "Cc", "Mn", "Lo", "So", "Nd", "Po", "Lu"]))


def finds(query: str, note: str) -> bool:
    return bool(set(analyse_query(query)) & set(analyse(note)))


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("running", "She runs every morning"),
        ("adopting dogs", "They adopted a dog"),
        ("john", "John's bike"),
        ("dont", "I don't eat fish"),
        ("obrien", "a letter from O'Brien"),
        ("brien", "a letter from O’Brien"),
        ("USA", "moved to the U.S.A. in May"),
        ("8 May", "on May 8th"),
        ("1000000", "a budget of 1,000,000 euros"),
        ("1,234.50", "paid 1234.50"),
        ("pdf", "two PDFs"),
    ],
)
def test_english_words_are_found_in_every_form(query: str, note: str) -> None:
    assert finds(query, note)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("uber", "über den Wolken"),
        ("über", "ein uber Fahrer"),
        ("ueber", "über den Wolken"),
        ("strasse", "Bahnhofstraße 5, an der Straße"),
        ("STRASSE", "die Straße"),
        ("grosse", "Größe XL"),
        ("groesse", "Größe XL"),
        ("resume", "her résumé"),
        ("résumé", "her resume"),
        ("cafe", "the cafe\u0301 downstairs"),
        ("naive", "naïve"),
        ("lodz", "Łódź"),
        ("smorrebrod", "smørrebrød"),
        ("istanbul", "İstanbul"),
        ("ecole", "l'école"),
        ("елка", "ёлка"),
        ("password", "pass\u00adword"),
        ("fine", "ﬁne"),
        ("hello", "ｈｅｌｌｏ"),
    ],
)
def test_accented_and_german_words_are_found_by_their_plain_spelling(query: str, note: str) -> None:
    assert finds(query, note)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("東京", "来月東京に行きます"),
        ("寿司", "彼女は寿司が好きです"),
        ("コーヒー", "毎朝コーヒーを飲む"),
        ("ｺｰﾋｰ", "毎朝コーヒーを飲む"),
        ("猫", "うちの猫はミケです"),
        ("猫が好き", "猫を飼っている"),
        ("北京", "我在北京工作"),
        ("茶", "喜欢喝茶"),
        ("서울", "서울에서 일해요"),
        ("김치", "나는 김치를 좋아한다"),
        ("집", "집에서 일해요"),
        ("ภาษาไทย", "เรียน ภาษาไทย ทุกวัน"),
        ("हिन्दी", "मैं हिन्दी सीख रहा हूँ"),
        ("العربية", "أتعلم العَرَبِيَّة"),
        ("שלום", "שָׁלוֹם לכם"),
    ],
)
def test_other_scripts_are_found_by_their_words(query: str, note: str) -> None:
    assert finds(query, note)


def test_a_two_character_word_does_not_match_its_signs_apart() -> None:
    assert not finds("東京", "京都と東北")
    assert not finds("서울", "울산과 서산")


@pytest.mark.parametrize(
    ("note", "terms"),
    [
        ("ERR_4012", ["err_4012", "err", "4012"]),
        ("ERR4012", ["err4012", "err", "4012"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("10.0.0.1", ["10.0.0.1"]),
        ("foo-bar", ["foo-bar", "foo", "bar"]),
        ("src/app/main.py", ["src/app/main.py", "src", "app", "main.py", "main", "py"]),
        ("C:\\temp\\a.txt", ["c:\\temp\\a.txt", "c", "temp", "a.txt", "a", "txt"]),
        ("bob@example.com", ["bob@example.com", "bob", "example.com", "exampl", "com"]),
        (
            "https://acme.dev/a?b=1",
            ["https://acme.dev/a?b=1", "https", "acme.dev", "acm", "dev", "a", "b", "1"],
        ),
        ("#1234", ["#1234", "1234"]),
        ("@alice", ["@alice", "alic"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("camelCase", ["camelcas", "camel", "case"]),
        ("HTTPServer2", ["httpserver2", "http", "server"]),
        ("C++ and C#", ["c++", "c", "and", "c#", "c"]),
        ("10:30", ["10:30", "10", "30"]),
        ("2023-05-08", ["2023-05-08", "8", "may", "2023"]),
        ("3f2a9c1d7b8e4f50", ["3f2a9c1d7b8e4f50"]),
    ],
)
def test_identifiers_are_kept_whole_and_by_their_parts(note: str, terms: list[str]) -> None:
    assert analyse(note) == terms


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("4012", "failed with ERR_4012."),
        ("err_4012", "failed with (ERR_4012)"),
        ("1.2.3", "released v1.2.3, at last"),
        ("main.py", "see src/app/main.py:17"),
        ("camelcase", "rename camelCase"),
        ("github", "pushed to GitHub"),
        ("example.com", "mail bob@example.com"),
    ],
)
def test_an_identifier_is_found_by_itself_and_by_a_part(query: str, note: str) -> None:
    assert finds(query, note)


def test_emoji_are_words_whatever_their_skin_tone() -> None:
    assert analyse("great👍🏽") == ["great", "👍"]
    assert finds("👍", "👍🏿")
    assert finds("👩", "👨‍👩‍👧")
    assert analyse("🇩🇪") == ["🇩🇪"]


def test_terms_come_in_order_with_repeats_and_keep_stop_words() -> None:
    assert analyse("the cat and the hat") == ["the", "cat", "and", "the", "hat"]


def test_a_query_has_distinct_terms_without_stop_words() -> None:
    assert analyse_query("When did the cat meet the other cat in May?") == ["cat", "meet", "may"]
    assert analyse_query("Wo ist der Schlüssel?") == ["schlussel", "schluessel"]


def test_a_query_of_stop_words_keeps_them() -> None:
    assert analyse_query("who am I") == ["who", "am", "i"]
    assert analyse_query("To be or not to be") == ["to", "be", "or", "not"]
    assert analyse_query("don't") == ["dont"]


def test_a_day_is_said_in_words() -> None:
    micros = int(datetime(2023, 5, 8, 23, 59, tzinfo=UTC).timestamp()) * 1_000_000
    assert date_words(micros) == ["8", "may", "2023", "monday"]
    assert date_words(0) == analyse("1 January 1970 Thursday")
    assert set(analyse_query("what happened on Monday, May 8th 2023")) >= set(date_words(micros))


@settings(deadline=None)
@given(st.integers())
@example(2**63)
@example(-(2**80))
def test_a_time_outside_the_calendar_has_no_words(micros: int) -> None:
    assert len(date_words(micros)) in (0, 4)


def test_a_long_word_is_cut_and_still_found() -> None:
    word = "x1" * 500
    assert analyse("a" + "'s" * 5000)
    assert all(len(term) <= MAX_TERM_LENGTH for term in analyse(f"{word} src/{word}/{word}.py {word}@{word}"))
    assert finds(word, f"the blob {word} again")


@pytest.mark.parametrize(
    "text",
    [
        "word " * 2_000_000,
        "x" * 10_000_000,
        "日本語の" * 2_500_000,
        "a\u0301\u0316" * 3_000_000,
        ". " * 5_000_000,
        "a." * 5_000_000,
        "👍" * 5_000_000,
        "\ufdfa" * 1_000_000,
    ],
    ids=["words", "one word", "Japanese", "marks", "signs", "joined", "emoji", "ligatures"],
)
def test_ten_megabytes_give_at_most_twenty_thousand_terms(text: str) -> None:
    assert len(analyse(text)) <= MAX_TERMS
    assert len(analyse_query(text)) <= MAX_TERMS


@settings(deadline=None)
@given(ANY_TEXT)
@example("\ud800 a\udfffb")
@example("\x00null\x00byte\x00")
@example("\u202eright to left\u202c")
@example("'' ## @@ ++ -- .. '' #")
@example("¸ \u0301 a\u0301 \u0301-\u0301")
@example("İ ı ß ﬁ Ǆ ½ ㎏ ①")
def test_any_text_gives_terms_that_can_be_stored(text: str) -> None:
    for term in analyse(text):
        assert 0 < len(term) <= MAX_TERM_LENGTH
        assert not any(map(str.isspace, term))
        term.encode()


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_note_is_found_by_each_of_its_own_words(text: str) -> None:
    assert set(analyse_query(text)) <= set(analyse(text))
    assert bool(analyse_query(text)) == bool(analyse(text))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_composed_and_decomposed_spellings_give_the_same_terms(text: str) -> None:
    assert analyse(unicodedata.normalize("NFD", text)) == analyse(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    "block", [range(0x300, 0x370), range(0x900, 0xE00), range(0xE00, 0x1000), range(0x1000, 0x1D00)]
)
def test_a_combining_mark_never_cuts_a_word(block: range) -> None:
    marks = [chr(code) for code in block if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    assert [mark for mark in marks if len(analyse(f"क{mark}क")) != 1 and not mark.isspace()] == []


def test_threads_share_the_analyser_safely() -> None:
    notes = [f"note{n} runners running ran {n} wörter" for n in range(300)]
    expected = [analyse(note) for note in notes]
    results: list[list[list[str]]] = []

    def work() -> None:
        results.append([analyse(note) for note in notes])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8
