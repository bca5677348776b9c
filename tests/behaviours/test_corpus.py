"""The corpus: facts, notes and run summaries as documents; the phrase itself scores highest, and nobody else's show."""

from typing import Any

import pytest

from holdfast import Cache
from holdfast.domain.profile import CACHE
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from holdfast.vocabularies.corpus import Documents
from tests.behaviours.interface import Interface
from tests.behaviours.looking import quarantine, refused, write_as
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def ids(found: Documents) -> list[str]:
    return [one.docid for one in found]


def test_a_row_names_the_document_where_it_lies_and_how_well_it_fits(alice: Own) -> None:
    stored = alice.facts.store("konflux/deploy", "Deploys go through Konflux", category="conventions")
    [found] = alice.corpus.query("konflux")
    assert (found.docid, found.collection) == ("conventions/konflux/deploy", "holdfast-conventions")
    assert found.file == f"holdfast://entries/{stored.id}"
    assert "# konflux/deploy" in found.snippet
    assert "Deploys go through Konflux" in found.snippet
    assert "conventions" in found.snippet
    assert 0 < found.score <= 1


def test_the_phrase_as_it_stands_scores_above_all_words_of_it_and_those_above_some(alice: Own) -> None:
    alice.facts.store("some", "A release is announced")
    alice.facts.store("all", "The train leaves; a release is announced by the train of releases")
    alice.facts.store("phrase", "We ride the RELEASE   train every week")
    found = alice.corpus.query("release train")
    assert ids(found) == ["user_facts/phrase", "user_facts/all", "user_facts/some"]
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1] > scores[2] > 0
    assert scores[0] >= 0.9 > scores[1]


def test_the_phrase_is_first_however_many_others_hold_its_words(alice: Own) -> None:
    alice.facts.store(
        "the-one", "note: blue whale song, among much else that makes this text rather long " * 3
    )
    for number in range(120):
        alice.facts.store(f"other/{number}", f"whale song blue {number} song blue whale")
    found = alice.corpus.query("blue whale song", limit=50)
    assert len(found) == 50
    assert all(0 <= one.score <= 1 for one in found)
    assert (found[0].docid, found[0].score > found[1].score) == ("user_facts/the-one", True)


def test_an_old_document_with_the_phrase_is_first_among_many_with_its_words(alice: Own) -> None:
    alice.facts.store(
        "the-one", "note: blue whale song, among much else that makes this text rather long " * 3
    )
    alice.remember_many([{"text": f"whale song blue {number} song blue whale"} for number in range(200)])
    alice.remember_many([{"text": f"nothing about it {number}"} for number in range(1_000)])
    assert ids(alice.corpus.query("blue whale song", limit=5))[0] == "user_facts/the-one"


@pytest.mark.parametrize("query", ["a", "?!", "the", "漢字", "x" * 9_000, "\n\t", "100%_", "(", "Ünïcode"])
def test_scores_lie_between_0_and_1_whatever_is_asked(alice: Own, query: str) -> None:
    for number, text in enumerate(("a b c", "漢字 and ünïcode", "100%_ (", "?! what")):
        alice.facts.store(f"k{number}", text)
    assert all(0 < one.score <= 1 for one in alice.corpus.query(query))


def test_facts_and_notes_are_found_and_other_rooms_are_not(memory: Memory, alice: Own) -> None:
    alice.facts.store("fact", "marker of a fact")
    alice.remember("marker of a note", key="note")
    alice.remember("marker of a skill", key="internal", in_context=False)
    alice.remember("bWFya2Vy", key="encrypted", encrypted=True)
    handle = memory.handle("alice")
    assert handle is not None
    handle.store("handler", "marker of a tool")
    write_as(memory, CACHE, "alice", NoteInput("marker", "cached", ttl=60))
    alice.remember("marker in the trash", key="trashed")
    alice.trash("trashed")
    quarantine(memory, alice.remember("marker in quarantine", key="quarantined").id)
    for found in (alice.corpus.query("marker"), alice.corpus.query()):
        assert sorted(ids(found)) == ["uncategorized/note", "user_facts/fact"]


def test_an_expired_fact_is_gone(alice: Own, clock: FixedClock) -> None:
    alice.facts.store("a", "marker", ttl_seconds=3_600)
    clock.advance(seconds=3_600)
    assert alice.corpus.query("marker") == alice.corpus.query() == []


def test_nobody_elses_documents_are_in_it_however_well_they_match(memory: Memory, alice: Own) -> None:
    bob = memory.user("bob")
    bob.facts.store("his", "the unique marker phrase")
    bob.remember("the unique marker phrase, shared", key="note")
    bob.share("user:alice", level="read")
    assert alice.corpus.query("the unique marker phrase") == []
    assert sorted(ids(bob.corpus.query("the unique marker phrase"))) == [
        "uncategorized/note",
        "user_facts/his",
    ]


def test_collections_are_honoured_before_the_limit(alice: Own) -> None:
    for number in range(60):
        alice.facts.store(f"noise/{number}", "marker marker marker", category="noise")
    alice.facts.store("wanted", "a marker among other words", category="prefs")
    alice.remember("a marker without a category", key="note")
    for name in ("holdfast-prefs", "prefs"):
        assert ids(alice.corpus.query("marker", collections=[name], limit=5)) == ["prefs/wanted"]
    assert ids(alice.corpus.query("marker", collections=["holdfast-uncategorized"])) == ["uncategorized/note"]
    both = alice.corpus.query("marker", collections=["prefs", "uncategorized"])
    assert sorted(ids(both)) == ["prefs/wanted", "uncategorized/note"]
    assert alice.corpus.query("marker", collections=["holdfast-nothing"]) == []
    assert alice.corpus.query("marker", collections=[]) == []
    assert {one.collection for one in alice.corpus.query("marker", limit=50)} >= {"holdfast-noise"}


def test_without_a_question_the_newest_come_first_with_one_score(alice: Own, clock: FixedClock) -> None:
    for key in ("a", "b", "c"):
        alice.facts.store(key, "v")
        clock.advance(seconds=1)
    for found in (alice.corpus.query(), alice.corpus.query(""), alice.corpus.query(searches=[])):
        assert [(one.docid, one.score) for one in found] == [
            ("user_facts/c", 0.5),
            ("user_facts/b", 0.5),
            ("user_facts/a", 0.5),
        ]
    assert len(alice.corpus.query(limit=2)) == 2


def test_ties_go_to_the_newer(alice: Own, clock: FixedClock) -> None:
    for key in ("old", "new"):
        alice.facts.store(key, "the same marker")
        clock.advance(days=1)
    found = alice.corpus.query("the same marker")
    assert found[0].docid == "user_facts/new" or found[0].score > found[1].score


@pytest.mark.parametrize(
    ("searches", "first"),
    [
        ([{"type": "vec", "query": "pears"}, {"type": "lex", "query": "apples"}], "apples"),
        ([{"type": "lex", "query": " "}, {"type": "hyde", "query": "pears"}], "pears"),
        ([{"query": "apples"}], "apples"),
        ([{"type": "vec", "query": "apples"}, {"type": "hyde", "query": "pears"}], "apples"),
    ],
)
def test_the_first_lex_search_counts_else_the_first_that_says_something(
    alice: Own, searches: Any, first: str
) -> None:
    alice.facts.store("apples", "red apples")
    alice.facts.store("pears", "green pears")
    assert ids(alice.corpus.query(searches=searches))[0] == f"user_facts/{first}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": 7},
        {"query": "x", "searches": [{"query": "y"}]},
        {"searches": "x"},
        {"searches": ["x"]},
        {"searches": [{"type": "sql", "query": "x"}]},
        {"searches": [{"query": 7}]},
        {"searches": [{"query": "x", "more": 1}]},
        {"collections": "prefs"},
        {"collections": [7]},
        {"collections": ["x"] * 51},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": -1},
        {"query": "x", "limit": "5"},
    ],
)
def test_what_cannot_be_asked_is_refused(alice: Own, wrong: dict[str, Any]) -> None:
    with refused("invalid_field"):
        alice.corpus.query(**wrong)


def test_a_limit_above_fifty_is_fifty(alice: Own) -> None:
    for number in range(60):
        alice.facts.store(f"k{number}", "marker")
    assert len(alice.corpus.query("marker", limit=1_000)) == 50
    assert len(alice.corpus.query("marker")) == 20


def test_ones_own_runs_are_found_as_summaries_and_not_as_rows(memory: Memory, alice: Own) -> None:
    @memory.tool("github.list_issues", cache=Cache(ttl=60))
    def list_issues(repo: str, language: str) -> list[str]:
        return ["SECRETOUTPUT"]

    @memory.pipeline("weekly-report")
    def report() -> None:
        return None

    for subject in ("alice", "alice", "bob"):
        with memory.calling(subject):
            list_issues("SECRETINPUT", "en")
    with memory.calling("alice"):
        report()
    found = alice.corpus.query("github.list_issues")
    assert ids(found) == ["pack_history/github.list_issues"]
    assert (found[0].collection, found[0].file) == ("holdfast-pack_history", "holdfast://my-defaults")
    assert "2 runs" in found[0].snippet
    assert "language=en" in found[0].snippet
    assert "SECRET" not in repr(alice.corpus.query(limit=50))
    assert ids(alice.corpus.query(collections=["holdfast-pipeline_history"])) == [
        "pipeline_history/weekly-report"
    ]
    assert memory.user("carol").corpus.query("github.list_issues") == []


def test_a_note_cannot_pose_as_recorded_history(alice: Own) -> None:
    alice.remember("poison", key="github.list_issues", category="pack_history")
    assert ids(alice.corpus.query("poison")) == ["uncategorized/github.list_issues"]
    assert alice.corpus.query("poison", collections=["holdfast-pack_history"]) == []


def test_memory_that_is_off_answers_nothing_with_a_note(interface: Interface) -> None:
    off = interface.open(key="off")
    found = off.user("alice").corpus.query("x")
    assert (list(found), found.note) == ([], off.reason)


def test_a_role_that_may_not_read_is_told_so(memory: Memory, alice: Own) -> None:
    memory.administration("root").set_rules("member", {"ai.memory.read": False})
    with refused("access_denied"):
        alice.corpus.query("x")
