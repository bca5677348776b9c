"""Why an entry was not among the hits: the first stage that dropped it, and nothing about what one may not see."""

from uuid import UUID

import pytest

from holdfast.domain.profile import FILES
from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from tests.behaviours.embedders import HERE
from tests.behaviours.interface import Interface
from tests.behaviours.looking import handle_of, keys, quarantine, refused, unchanged, write_as
from tests.support import FixedClock

NOBODYS = "00000000-0000-8000-8000-000000000007"


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def keep(own: Own, text: str, **said: object) -> UUID:
    entry = own.remember(text, **said).id  # type: ignore[arg-type]
    assert entry is not None
    return entry


def test_an_entry_among_the_hits_is_shown_with_its_rank_and_score(alice: Own) -> None:
    first = keep(alice, "walrus walrus", key="a", hint="walrus")
    second = keep(alice, "one walrus in a longer sentence", key="b")
    hits = alice.recall("walrus")
    for rank, entry in enumerate((first, second), 1):
        why = alice.why_not("walrus", entry)
        assert (why.stage, why.rank, why.word_rank, why.vector_rank) == ("shown", rank, rank, None)
        assert why.score == hits[rank - 1].score
        assert why.reason
    assert alice.why_not("walrus", str(first)).stage == "shown"


def test_what_one_may_not_see_and_what_does_not_exist_are_told_alike(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    bob = memory.user("bob")
    gone, trashed = keep(bob, "walrus", key="gone"), keep(bob, "walrus", key="trashed")
    bob.purge("gone")
    bob.trash("trashed")
    expired = keep(bob, "walrus", key="expired", ttl=1)
    clock.advance(seconds=2)
    theirs = [
        keep(bob, "walrus", key="theirs"),
        keep(bob, "walrus", key="encrypted", encrypted=True),
        trashed,
        gone,
        expired,
    ]
    private = write_as(memory, FILES, "bob", NoteInput(text="walrus", key="file")).id
    bob.share("user:alice", level="search")
    own = alice.why_not("walrus", theirs[0])
    assert own.stage == "shown"
    bob.unshare("user:alice")
    told = {
        alice.why_not("walrus", entry)
        for entry in [*theirs, private, NOBODYS, "no id", ""]
        if entry is not None
    }
    assert len(told) == 1
    assert told.pop().stage == "identity"


def test_ones_own_entry_that_is_trashed_internal_or_gone_is_at_identity_and_an_expired_one_at_expiry(
    memory: Memory, alice: Own, clock: FixedClock
) -> None:
    trashed, gone = keep(alice, "walrus", key="trashed"), keep(alice, "walrus", key="gone")
    alice.trash("trashed")
    alice.purge("gone")
    internal = keep(alice, "walrus", key="internal", in_context=False)
    expired = keep(alice, "walrus", key="expired", ttl=1)
    clock.advance(seconds=2)
    handle_of(memory).store("handler", "walrus")
    assert {alice.why_not("walrus", entry).stage for entry in (trashed, gone, internal)} == {"identity"}
    assert alice.why_not("walrus", expired).stage == "expiry"


def test_a_private_row_in_a_space_one_may_enter_is_at_identity(memory: Memory, alice: Own) -> None:
    private = write_as(memory, FILES, "alice", NoteInput(text="walrus", key="file")).id
    note = keep(alice, "walrus", key="note")
    assert private is not None
    agent = memory.agent("bot", user="alice")
    assert [agent.why_not("walrus", entry).stage for entry in (private, note)] == ["identity", "shown"]
    assert alice.why_not("walrus", private).stage == "shown"


def test_an_entry_of_a_space_that_was_not_searched_is_at_grant(alice: Own) -> None:
    alice.create_space("team")
    entry = keep(alice, "walrus", key="k", space="shared:team")
    assert alice.why_not("walrus", entry, spaces=["user:alice"]).stage == "grant"
    assert alice.why_not("walrus", entry).stage == "shown"


@pytest.mark.parametrize(
    "asked",
    [
        {"category": "zoo"},
        {"tags": ["t"]},
        {"tags": ["t", "u"]},
        {"since": "2099-01-01T00:00:00Z"},
        {"until": "2001-01-01T00:00:00Z"},
    ],
    ids=repr,
)
def test_an_entry_that_a_filter_left_out_is_at_filter(alice: Own, asked: dict[str, object]) -> None:
    entry = keep(alice, "walrus", key="k", tags=["u"], category="other")
    assert alice.why_not("walrus", entry, **asked).stage == "filter"  # type: ignore[arg-type]
    assert alice.why_not("walrus", entry, tags=["u"], category="other").stage == "shown"


def test_what_is_encrypted_or_quarantined_is_at_filter_and_says_which(memory: Memory, alice: Own) -> None:
    blob, bad = keep(alice, "walrus", key="blob", encrypted=True), keep(alice, "walrus", key="bad")
    quarantine(memory, bad)
    assert [alice.why_not("walrus", entry).stage for entry in (blob, bad)] == ["filter", "filter"]
    assert "encrypted" in alice.why_not("walrus", blob).reason
    assert "quarantined" in alice.why_not("walrus", bad).reason


def test_an_entry_without_a_word_of_the_question_is_at_word_rank(alice: Own) -> None:
    entry = keep(alice, "a heron", key="k")
    keep(alice, "a walrus", key="l")
    why = alice.why_not("walrus", entry)
    assert (why.stage, why.word_rank, why.rank) == ("word rank", None, None)


def test_an_entry_that_came_too_late_is_at_limit_with_its_place(alice: Own) -> None:
    for number in range(12):
        keep(alice, "walrus walrus walrus", key=f"k{number}", hint="walrus")
    entry = keep(alice, "a walrus among a great many other animals of the sea", key="last")
    why = alice.why_not("walrus", entry)
    assert (why.stage, why.rank, why.word_rank) == ("limit", 13, 13)
    assert "13" in why.reason
    assert "10" in why.reason
    assert alice.why_not("walrus", entry, limit=13).stage == "shown"


def test_ranks_count_over_all_searched_spaces(alice: Own) -> None:
    alice.create_space("team")
    for number in range(5):
        keep(alice, "walrus walrus walrus", key=f"k{number}", hint="walrus", space="shared:team")
    entry = keep(alice, "a walrus among a great many other animals of the sea", key="own")
    assert alice.why_not("walrus", entry, limit=5).rank == 6
    assert alice.why_not("walrus", entry, limit=6).stage == "shown"


def test_an_entry_that_other_spaces_put_below_the_limit_is_at_limit(alice: Own) -> None:
    alice.create_space("team")
    for number in range(5):
        keep(alice, "walrus walrus walrus", key=f"k{number}", hint="walrus", space="shared:team")
    entry = keep(alice, "a walrus among a great many other animals of the sea", key="own")
    assert alice.why_not("walrus", entry, limit=5).stage == "limit"


def test_a_place_is_that_among_what_the_filters_leave(alice: Own) -> None:
    for number in range(12):
        keep(alice, "walrus walrus walrus", key=f"k{number}", hint="walrus")
    entry = keep(alice, "a walrus among a great many other animals of the sea", key="tagged", tags=["t"])
    assert keys(alice.recall("walrus", tags=["t"])) == ["tagged"]
    why = alice.why_not("walrus", entry, tags=["t"])
    assert (why.stage, why.rank) == ("shown", 1)


def test_shown_is_said_of_exactly_the_hits(alice: Own) -> None:
    ids = {
        f"k{number}": keep(alice, f"walrus {number} " + "pad " * number, key=f"k{number}")
        for number in range(20)
    }
    hits = keys(alice.recall("walrus 7", limit=8))
    stages = {key: alice.why_not("walrus 7", entry, limit=8).stage for key, entry in ids.items()}
    assert {key for key, stage in stages.items() if stage == "shown"} == set(hits)
    assert set(stages.values()) == {"shown", "limit"}


def test_an_empty_question_asks_for_the_newest(alice: Own) -> None:
    ids = [keep(alice, f"note {number}", key=f"k{number}") for number in range(4)]
    stages = [alice.why_not("", entry, limit=2).stage for entry in ids]
    assert stages == ["limit", "limit", "shown", "shown"]


@pytest.mark.usefixtures("board")
def test_an_entry_that_others_are_nearer_than_is_at_vector_rank(interface: Interface) -> None:
    """Meaning alone makes a hit of the nearest two hundred."""
    memory = interface.open(embedder=f"{HERE}:sensible")
    alice = memory.user("alice")
    alice.remember_many([{"text": f"car {number}", "key": f"k{number}"} for number in range(230)])
    memory.settle()
    hits = set(keys(alice.recall("automobile", limit=50)))
    whys = [
        alice.why_not("automobile", entry.id) for entry in alice.list(limit=1_000) if entry.key not in hits
    ]
    far = [why for why in whys if why.stage == "vector rank"]
    assert len(far) >= 25
    assert all((why.word_rank, why.rank) == (None, None) for why in far)
    assert min(why.vector_rank or 0 for why in far) > 200
    assert {why.stage for why in whys} <= {"vector rank", "limit", "word rank"}


@pytest.mark.usefixtures("board")
def test_an_entry_that_words_or_meaning_alone_would_have_shown_is_at_fusion(interface: Interface) -> None:
    memory = interface.open(embedder=f"{HERE}:sensible")
    alice = memory.user("alice")
    keep(alice, "my papers, your papers and all of the other papers", key="drawer", hint="papers")
    keep(alice, "automobile papers", key="garage")
    keep(alice, "ships leave at dawn", key="harbour")
    memory.settle()
    whys = [alice.why_not("papers of the vehicle", entry.id, limit=1) for entry in alice.list()]
    second = next(why for why in whys if why.rank == 2)
    assert second.stage == "fusion"
    assert 1 in (second.word_rank, second.vector_rank)
    assert [why.stage for why in whys if why.rank == 1] == ["shown"]


def test_asking_why_not_writes_nothing_and_needs_a_text(memory: Memory, alice: Own) -> None:
    entry = keep(alice, "walrus", key="k")
    with unchanged(memory), refused("invalid_field"):
        alice.why_not(7, entry)  # type: ignore[arg-type]
    with unchanged(memory):
        assert alice.why_not("walrus", entry).stage == "shown"


@pytest.mark.parametrize("query", ["", "walrus"])
def test_who_may_only_search_is_not_told_how_many_others_there_are(memory: Memory, query: str) -> None:
    alice, bob = memory.user("alice"), memory.user("bob")
    alice.create_space("team")
    alice.share("user:bob", space="team", level="search")
    id = alice.remember("a walrus", key="first", space="team").id
    for number in range(5):
        alice.remember("walrus walrus", key=f"k{number}", space="team")
    assert id is not None
    told = bob.why_not(query, id, limit=1)
    assert (told.rank, told.word_rank, told.vector_rank, told.score) == (None, None, None, None)
    assert not any(sign.isdigit() for sign in told.reason)
    assert alice.why_not(query, id, limit=1).rank == 6
