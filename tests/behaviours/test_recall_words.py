"""Words and the notes they find: other scripts, plain spellings, identifiers, and slips of the pen."""

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.recall import ranker
from tests.behaviours.looking import keys

OTHERS = (
    "The heron nests by the sea",
    "Lunch is at noon on weekdays",
    "明日は雨です",
    "今天很冷",
    "오늘은 춥다",
    "Der Zug fährt um acht",
)


@pytest.fixture
def alice(memory: Memory) -> Own:
    alice = memory.user("alice")
    for number, text in enumerate(OTHERS):
        alice.remember(text, key=f"other{number}")
    return alice


def finds(own: Own, note: str, query: str) -> bool:
    """The note alone answers the question, among notes that have nothing to do with it."""
    own.remember(note, key="k")
    return keys(own.recall(query)) == ["k"]


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("来月東京に行きます", "東京"),
        ("彼女は寿司が好きです", "寿司"),
        ("毎朝コーヒーを飲む", "コーヒー"),
        ("我在北京工作", "北京"),
        ("她最喜欢的水果是苹果", "苹果"),
        ("서울에서 일해요", "서울"),
        ("나는 김치를 좋아한다", "김치"),
    ],
)
def test_japanese_chinese_and_korean_notes_are_found_by_two_character_words(
    alice: Own, note: str, query: str
) -> None:
    assert finds(alice, note, query)


def test_a_two_character_word_does_not_match_its_signs_apart(alice: Own) -> None:
    assert not finds(alice, "京都と東北", "東京")


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("Wir treffen uns in der Bahnhofstraße", "bahnhofstrasse"),
        ("Die Geschäftsführerin heißt Petra", "geschaeftsfuehrerin"),
        ("Die Geschäftsführerin heißt Petra", "geschaftsfuhrerin"),
        ("Schuhgröße 42", "Schuhgroesse"),
        ("Über den Wolken", "ueber"),
        ("her résumé is on the desk", "resume"),
        ("her resume is on the desk", "résumé"),
        ("Łódź liegt in Polen", "lodz"),
        ("the cafe\u0301 downstairs", "café"),
        ("İstanbul in autumn", "istanbul"),
    ],
)
def test_german_compounds_and_accented_words_are_found_by_their_plain_spelling(
    alice: Own, note: str, query: str
) -> None:
    assert finds(alice, note, query)


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("Die Krankenversicherung kostet 300 Euro", "Versicherung"),
        ("Die Krankenversicherung kostet 300 Euro", "welche Kranken?"),
        ("Die Donaudampfschifffahrtsgesellschaft fährt täglich", "Dampfschifffahrt"),
        ("Die Donaudampfschifffahrtsgesellschaft fährt täglich", "Donaudampfschiffahrtsgesellschaft"),
        ("Rename fetchUserName", "username"),
    ],
)
def test_a_word_that_nobody_wrote_alone_finds_the_compounds_it_is_a_part_of(
    alice: Own, note: str, query: str
) -> None:
    assert finds(alice, note, query)


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("The build failed with ERR_4012.", "ERR_4012"),
        ("The build failed with ERR_4012.", "err_4012"),
        ("The build failed with ERR_4012.", "what does 4012 mean?"),
        ("Released v1.2.3, at last", "v1.2.3"),
        ("Released v1.2.3, at last", "1.2.3"),
        ("See src/app/main.py:17", "src/app/main.py"),
        ("See src/app/main.py:17", "main.py"),
        ("Logs are under C:\\temp\\holdfast", "C:\\temp\\holdfast"),
        ("Rename fetchUserName", "user name"),
        ("Set max_list_rows", "max_list_rows"),
        ("Mail bob@example.com", "bob@example.com"),
        ("Ticket #1234 is open", "#1234"),
        ("Moved to 10.0.0.1", "10.0.0.1"),
    ],
)
def test_identifiers_versions_and_paths_are_found_whole_and_by_their_parts(
    alice: Own, note: str, query: str
) -> None:
    assert finds(alice, note, query)


def test_a_number_does_not_find_another_number(alice: Own) -> None:
    assert not finds(alice, "The build failed with ERR_4012.", "4013")
    assert not finds(alice, "Released v1.2.3", "v1.2.4")


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("Deploys go through Konflux", "Konlfux"),
        ("Deploys go through Konflux", "konfluxx"),
        ("The physiotherapist called", "physioterapist"),
        ("Alice is allergic to peanuts", "penuts"),
        ("Ask for Siobhan", "siobahn"),
    ],
)
def test_a_word_that_nobody_wrote_finds_its_nearest(alice: Own, note: str, query: str) -> None:
    assert finds(alice, note, query)


def test_a_word_that_somebody_wrote_is_not_taken_for_a_slip(alice: Own) -> None:
    alice.remember("the form was sent", key="form")
    alice.remember("the farm was sold", key="farm")
    assert keys(alice.recall("farm")) == ["farm"]


def test_a_word_that_only_a_filter_left_out_is_not_taken_for_a_slip(
    alice: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where it stands in older entries than those whose words are looked through."""
    monkeypatch.setattr(ranker, "VOCABULARY", 1)
    alice.remember("the farm was sold", key="farm")
    alice.remember("the form was sent", key="form", tags=["t"])
    assert keys(alice.recall("farm", tags=["t"])) == []
    assert keys(alice.recall("forn", tags=["t"])) == ["form"]


def test_a_slip_is_mended_among_the_newest_of_many_spaces(alice: Own) -> None:
    for number in range(30):
        alice.create_space(f"space{number}")
        alice.remember(f"Nothing about number {number}", key=f"n{number}", space=f"shared:space{number}")
    alice.remember("Deploys go through Konflux", key="k", space="shared:space7")
    assert keys(alice.recall("Konlfux")) == ["k"]


def test_a_slip_is_mended_by_words_that_the_caller_may_see_alone(memory: Memory, alice: Own) -> None:
    alice.remember("Deploys go through Konflux", key="k")
    bob = memory.user("bob")
    bob.remember("nothing of the kind", key="b")
    assert keys(alice.recall("Konlfux")) == ["k"]
    assert keys(bob.recall("Konlfux")) == []


def test_words_are_found_in_every_english_form_and_stop_words_do_not_count(alice: Own) -> None:
    alice.remember("They adopted a dog", key="dog")
    alice.remember("What is the point of it all", key="stop")
    assert keys(alice.recall("what is the dogs' adoption")) == ["dog"]
    assert keys(alice.recall("who am I to be")) == []


def test_a_note_is_found_by_the_day_on_which_it_was_said(alice: Own) -> None:
    alice.remember("The heron came back", key="may", at="2023-05-08T10:00:00Z")
    alice.remember("The heron left", key="june", at="2023-06-12T10:00:00Z")
    assert keys(alice.recall("what did the heron do on 8 May 2023?"))[0] == "may"
    assert keys(alice.recall("what did the heron do on 2023-06-12?"))[0] == "june"


def test_a_note_is_found_by_its_speaker(alice: Own) -> None:
    for name in ("Ann", "Bob"):
        alice.remember("I sold the boat", key=name, speaker=name, conversation="c")
    assert keys(alice.recall("When did Ann sell the boat?"))[0] == "Ann"
    assert keys(alice.recall("When did Bob sell the boat?"))[0] == "Bob"
