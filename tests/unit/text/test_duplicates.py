"""Which texts repeat one another, and which only look as if they did."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.duplicates import HINT_COSINE, SAME_COSINE, Verdict, compare, is_cosine_duplicate

REPEATED = {Verdict.SAME, Verdict.MERGE}

NEVER_MERGED = [
    ("Deploy the billing service to prod", "Deploy the billing service to staging"),
    ("Use tabs for indentation", "Use spaces for indentation"),
    ("Prefers tabs over spaces", "Prefers spaces over tabs"),
    ("Turn the heating on at night", "Turn the heating off at night"),
    ("Dark mode is enabled", "Dark mode is disabled"),
    ("The rate limit is 100 requests per minute", "The rate limit is 1000 requests per minute"),
    ("Dentist appointment on 8 May 2024", "Dentist appointment on 9 May 2024"),
    ("Dentist appointment on 8 May 2024", "Dentist appointment on 8 June 2024"),
    ("Release planned for 2024-05-08", "Release planned for 2024-05-09"),
    ("The user drinks coffee", "The user does not drink coffee"),
    ("The user drinks coffee", "The user doesn't drink coffee"),
    ("The user drinks coffee", "The user never drinks coffee"),
    ("The user drinks coffee", "The user rarely drinks coffee"),
    ("The tests on the old runner fail", "The tests on the old runner seldom fail"),
    ("She can eat gluten", "She can’t eat gluten"),
    ("She lives in Berlin", "She lived in Berlin"),
    ("The key expires in June", "The key expired in June"),
    ("Always squash commits before merging", "Never squash commits before merging"),
    ("Rent is due before the tenth", "Rent is due after the tenth"),
    ("Lunch with Tom at noon", "Lunch without Tom at noon"),
    ("The backup starts at 3 am", "The backup starts at 3 pm"),
    ("Two cats live here", "Three cats live here"),
    ("Version 1.2.3 is live", "Version 1.2.4 is live"),
    ("The database host is db1.internal", "The database host is db2.internal"),
    ("Error code ERR_4012 means timeout", "Error code ERR_4013 means timeout"),
    ("Tom owes Mia money", "Mia owes Tom money"),
    ("Fly from Oslo to Rome", "Fly from Rome to Oslo"),
    ("Anna manages Bob", "Bob manages Anna"),
    ("He is allergic to nuts", "She is allergic to nuts"),
    ("Bob is the team lead", "Bob was the team lead"),
    ("Submit the report by Friday", "Submit the report after Friday"),
    ("Reply in English", "Reply in German"),
    ("Port 8080 is open", "Port 8080 is closed"),
    ("Allow access from the office", "Deny access from the office"),
    ("The door on the left is locked", "The door on the right is locked"),
    ("Her budget is 1,500 euros", "Her budget is 15,000 euros"),
    ("All tests must pass", "Some tests must pass"),
    ("The user likes jazz", "The user dislikes jazz"),
    ("Max retries is 5", "Min retries is 5"),
    ("Send invoices to my work address", "Send invoices to my home address"),
    ("Photos of Anna are in the album", "Photos by Anna are in the album"),
    ("Meetings on Mondays", "No meetings on Mondays"),
    ("Der Server steht in Berlin", "Der Server steht in Hamburg"),
    ("Ich trinke Kaffee", "Ich trinke keinen Kaffee"),
    ("Ich mag Oliven", "Ich mag Oliven nicht"),
    ("Das Licht ist an", "Das Licht ist aus"),
    ("Tee mit Zucker", "Tee ohne Zucker"),
    ("Treffen vor der Arbeit", "Treffen nach der Arbeit"),
    ("Der Zug fährt um 8 Uhr", "Der Zug fährt um 9 Uhr"),
    ("エラーは本番で起きる", "エラーは開発で起きる"),
    ("コーヒーが好きです", "コーヒーが好きではありません"),
    ("私は肉を食べる", "私は肉を食べない"),
    ("会議は月曜日です", "会議は火曜日です"),
    ("会議は3時からです", "会議は4時からです"),
    ("母は父を待つ", "父は母を待つ"),
    ("我喜欢喝茶", "我不喜欢喝茶"),
    ("我住在北京", "我住在上海"),
    ("저는 고기를 먹어요", "저는 고기를 안 먹어요"),
    ("Only admins may deploy", "Admins and guests may deploy"),
    ("My sister lives in Paris", "His sister lives in Paris"),
    ("Vacation from Friday", "Vacation until Friday"),
    ("The cache is above the database", "The cache is below the database"),
    ("Ship to customers in May", "Ship to customers in June"),
    ("Use PostgreSQL for billing", "Use MySQL for billing"),
    ("I love running", "I hate running"),
    ("Settings of the EU region", "Settings of the US region"),
    ("Contact of the HR department", "Contact of the IT department"),
    ("Contact of customer A", "Contact of customer B"),
    ("the power limit of rack a", "the power limit of rack b"),
    ("Copy from US to EU every night", "Copy from EU to US every night"),
    ("プロジェクトAの連絡先", "プロジェクトBの連絡先"),
    ("The freezer is at 20 degrees", "The freezer is at -20 degrees"),
    ("The price of a seat is $5", "The price of a seat is €5"),
    ("The discount for teams is 5", "The discount for teams is 5%"),
    ("Style guide for C code", "Style guide for C++ code"),
    ("Style guide for C code", "Style guide for C# code"),
    ("Her blood group is A+", "Her blood group is A-"),
    ("использовать табы в коде", "не использовать табы в коде"),
    ("Gebruik tabs in deze code", "Gebruik geen tabs in deze code"),
    ("Usar tabs em Python", "Não usar tabs em Python"),
]

MERGED = [
    ("User prefers dark mode in the editor", "The user prefers dark mode in the editor."),
    ("Prefers short answers", "User prefers short answers"),
    ("Deploys on Fridays are forbidden", "Deploy on Fridays is forbidden"),
    ("Dog's name is Rex", "The dog's name is Rex!"),
    ("Uses Fastify for HTTP services", "Uses Fastify for all HTTP services"),
    ("Call ERR_4012 a timeout", "call err_4012 a timeout"),
    ("Lives in São Paulo", "lives in Sao Paulo"),
    ("Works at Müller GmbH", "works at Mueller GmbH"),
    ("The office is in Zurich", "The office is in Zürich"),
    ("Two cats live with Mia", "2 cats live with Mia"),
    ("Budget is 10,000 euros", "Budget is 10000 euros"),
    ("Meeting with Anna on 8 May", "Meeting with Anna on 8th May"),
    ("The API key rotates monthly", "The API keys rotate monthly"),
    ("Never deploy on Fridays", "never deploy on Fridays!"),
    ("The user moved to Oslo", "User moved to Oslo."),
    ("Invited friends cook on Sundays", "The invited friend cooks on Sundays"),
    ("Doesn't eat fish", "Doesn’t eat fish"),
    ("User does not eat fish", "The user does not eat fish."),
    ("Runs every morning before work", "Runs every morning before work with Tom"),
    ("Main database is PostgreSQL 16", "The main database is PostgreSQL 16"),
    ("Writes Python and Rust at work", "Writes Python, Rust at work"),
    ("The build server runs Linux", "The new build server runs Linux"),
    ("Der Hund heißt Rex", "Der Hund heisst Rex"),
    ("Ich trinke keinen Kaffee", "ich trinke keinen Kaffee."),
    ("Die Wohnung ist in Köln", "Wohnung ist in Koeln"),
    ("東京に住んでいます", "東京に住んでいます。"),
    ("コーヒーが好きです", "ｺｰﾋｰが好きです"),
    ("我喜欢喝茶", "我喜欢喝茶！"),
    ("서울에서 일해요", "서울에서 일해요."),
    ("Backup runs at 3 am", "The backup runs at 3 am"),
    ("v1.2.3 is deployed", "V1.2.3 is deployed"),
    ("Settings of the EU region", "The settings of the EU region!"),
    ("A record of the zone is in Route53", "The record of the zone is in Route53"),
    ("PREFERS SHORT ANSWERS IN IT", "prefers short answers in it"),
    ("A seat costs 5 €", "a seat costs €5"),
    ("Plan A for the launch", "The Plan A for the launch"),
]


@pytest.mark.parametrize(("one", "other"), NEVER_MERGED)
def test_two_facts_are_never_merged_into_one(one: str, other: str) -> None:
    assert compare(one, other).verdict not in REPEATED
    assert compare(other, one).verdict not in REPEATED


@pytest.mark.parametrize(("one", "other"), MERGED)
def test_a_repetition_is_merged(one: str, other: str) -> None:
    assert compare(one, other).verdict in REPEATED
    assert compare(other, one).verdict in REPEATED


@pytest.mark.parametrize(
    ("one", "other", "guard"),
    [
        ("The rate limit is 100 requests a minute", "The rate limit is 200 requests a minute", "numbers"),
        ("The user drinks black coffee", "The user never drinks black coffee", "negation"),
        ("Turn the heating on at night", "Turn the heating off at night", "opposites"),
        ("Deploy the new build to prod", "Deploy the new build to staging", "substituted word"),
        ("Tom owes Mia money", "Mia owes Tom money", "order"),
        ("Style guide for C code", "Style guide for C++ code", "signs"),
    ],
)
def test_near_texts_say_which_guard_kept_them_apart(one: str, other: str, guard: str) -> None:
    likeness = compare(one, other)
    assert likeness.verdict is Verdict.SIMILAR
    assert likeness.guard == guard


def test_a_text_with_one_word_more_updates_and_one_in_other_spelling_is_the_same() -> None:
    assert compare("Mia prefers short clear answers", "Mia prefers short answers").verdict is Verdict.MERGE
    assert compare("MIA prefers short answers!", "Mia prefers short answers").verdict is Verdict.SAME


def test_unrelated_texts_differ_whatever_they_share_of_grammar() -> None:
    assert compare("The dog is in the house", "The plan is in the drawer").verdict is Verdict.DIFFERENT


def test_a_near_vector_suggests_but_never_merges() -> None:
    one, other = "She adopted a puppy", "A young dog now lives with her"
    assert compare(one, other).verdict is Verdict.DIFFERENT
    assert compare(one, other, cosine=HINT_COSINE).verdict is Verdict.SIMILAR
    assert compare(one, other, cosine=1.0).verdict is Verdict.SIMILAR


def test_paraphrases_are_duplicates_by_vector_only_where_the_facts_agree() -> None:
    assert is_cosine_duplicate("She adopted a puppy", "She took in a young dog", SAME_COSINE)
    assert not is_cosine_duplicate("She adopted a puppy", "She took in a young dog", SAME_COSINE - 0.01)
    assert not is_cosine_duplicate("She adopted a puppy", "She did not adopt a puppy", 0.99)
    assert not is_cosine_duplicate("The call is at 3 am", "The call is at 3 pm", 0.99)
    assert not is_cosine_duplicate("She has two dogs", "She has three dogs", 0.99)


@pytest.mark.parametrize(
    ("one", "other", "same"), [("", "", True), ("!!", "!!", True), ("!!", "??", False), ("", "tea", False)]
)
def test_texts_without_words_repeat_only_themselves(one: str, other: str, same: bool) -> None:
    assert compare(one, other).verdict is (Verdict.SAME if same else Verdict.DIFFERENT)


@settings(deadline=None)
@given(st.text(), st.text())
def test_the_verdict_is_the_same_either_way_round_and_a_text_repeats_itself(one: str, other: str) -> None:
    assert compare(one, other) == compare(other, one)
    assert compare(one, one).verdict is Verdict.SAME
