"""Lists: newest change first, literal prefixes, filters, and pages that show every entry exactly once."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.entrypoints.facade import Own
from holdfast.entrypoints.python.memory import Memory
from tests.behaviours.interface import Interface
from tests.behaviours.looking import Call, keys, pages, refused
from tests.support import FixedClock


@pytest.fixture
def alice(memory: Memory) -> Own:
    return memory.user("alice")


def fill(own: Own, count: int, prefix: str = "k") -> list[str]:
    names = [f"{prefix}{number}" for number in range(count)]
    for name in names:
        own.remember("x", key=name)
    return names[::-1]


def test_the_newest_change_comes_first_whatever_the_clock_says(alice: Own, clock: FixedClock) -> None:
    fill(alice, 3)
    clock.advance(days=-1)
    alice.edit("k0", text="y")
    clock.advance(days=-1)
    alice.remember("x", key="new")
    assert keys(alice.list()) == ["new", "k0", "k2", "k1"]


def test_an_empty_memory_lists_nothing(alice: Own) -> None:
    page = alice.list()
    assert (list(page), page.cursor, page.locked, page.note) == ([], None, 0, None)


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("", ["b%c", "b_c", "bxc", "a/b/c", "a/b", "a/bc", "a", "A/b"]),
        ("a", ["a/b/c", "a/b", "a/bc", "a"]),
        ("a/", ["a/b/c", "a/b", "a/bc"]),
        ("a/b", ["a/b/c", "a/b", "a/bc"]),
        ("a/b/", ["a/b/c"]),
        ("A", ["A/b"]),
        ("b_", ["b_c"]),
        ("b%", ["b%c"]),
        ("%", []),
        ("_", []),
        ("a/b/c/d", []),
        (" a", []),
    ],
)
def test_a_prefix_is_literal_and_case_sensitive(alice: Own, prefix: str, found: list[str]) -> None:
    for key in ("A/b", "a", "a/bc", "a/b", "a/b/c", "bxc", "b_c", "b%c"):
        alice.remember("x", key=key)
    assert keys(alice.list(prefix)) == found


def test_a_deep_prefix_is_literal_too(alice: Own) -> None:
    deep = "/".join("abcdefghijklmnop")
    alice.remember("x", key=deep)
    alice.remember("x", key=deep + "q")
    for cut in range(1, len(deep) + 1):
        assert keys(alice.list(deep[:cut])) == [deep + "q", deep]


def test_filters_combine(alice: Own) -> None:
    alice.remember("x", key="p/1", category="c", tags=["t", "u"])
    alice.remember("x", key="p/2", category="c", tags=["u"])
    alice.remember("x", key="p/3", category="d", tags=["t"])
    alice.remember("x", key="q/1", category="c", tags=["t"])
    alice.facts.store("p/fact", "x", category="c", tags=["t"])
    assert keys(alice.list(category="c")) == ["p/fact", "q/1", "p/2", "p/1"]
    assert keys(alice.list(tag="t")) == ["p/fact", "q/1", "p/3", "p/1"]
    assert keys(alice.list("p/", category="c")) == ["p/fact", "p/2", "p/1"]
    assert keys(alice.list("p/", category="c", tag="t")) == ["p/fact", "p/1"]
    assert keys(alice.list(category="C")) == keys(alice.list(tag="T")) == []
    assert keys(alice.list(partition="facts")) == ["p/fact"]
    assert keys(alice.list(partition="notes", tag="t")) == ["q/1", "p/3", "p/1"]


def test_a_filter_follows_an_edit(alice: Own) -> None:
    alice.remember("x", key="k", category="c", tags=["t"])
    alice.edit("k", category="d", tags=["u"])
    assert alice.list(category="c") == alice.list(tag="t") == []
    assert keys(alice.list(category="d", tag="u")) == ["k"]


@pytest.mark.parametrize("partition", ["handler", "internal", "runs", "cache", "", "NOTES", 1, []])
def test_only_rooms_a_model_may_see_can_be_listed(alice: Own, partition: Any) -> None:
    alice.remember("x", key="k")
    with refused("invalid_field"):
        alice.list(partition=partition)


def test_what_expires_soon_is_listed_soonest_first(alice: Own, clock: FixedClock) -> None:
    alice.remember("x", key="never")
    for key, ttl in (("late", 300), ("soon", 100), ("edge", 200), ("past", 201)):
        alice.remember("x", key=key, ttl=ttl)
    assert keys(alice.list(expiring_within=200)) == ["soon", "edge"]
    assert keys(alice.list(expiring_within=timedelta(seconds=100))) == ["soon"]
    assert keys(alice.list(expiring_within=0)) == []
    assert keys(alice.list("e", expiring_within=10_000)) == ["edge"]
    clock.advance(seconds=100)
    assert keys(alice.list(expiring_within=100)) == ["edge"]


@pytest.mark.parametrize("within", [-1, True, 1.5, "60", timedelta(days=-1)])
def test_an_impossible_expiry_filter_is_refused(alice: Own, within: int) -> None:
    alice.remember("x", key="k", ttl=10)
    with refused("invalid_field"):
        alice.list(expiring_within=within)


@pytest.mark.parametrize("within", [10**30, timedelta.max])
def test_an_endless_expiry_filter_finds_everything_that_expires(alice: Own, within: int | timedelta) -> None:
    alice.remember("x", key="k", ttl=10)
    alice.remember("x", key="never")
    assert keys(alice.list(expiring_within=within)) == ["k"]


def test_the_limit_of_an_expiry_list_applies_after_its_filter(alice: Own) -> None:
    for number in range(5):
        alice.remember("x", key=f"soon{number}", ttl=10, category="other")
    alice.remember("x", key="wanted", ttl=20, category="c")
    assert keys(alice.list(category="c", expiring_within=60, limit=1)) == ["wanted"]


def test_a_long_expiry_list_goes_on_with_a_cursor(alice: Own) -> None:
    for number in range(5):
        alice.remember("x", key=f"k{number}", ttl=10 + number)
    found, cursor = [], None
    for _ in range(5):
        page = alice.list(expiring_within=60, limit=2, cursor=cursor)
        found += keys(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == ["k0", "k1", "k2", "k3", "k4"]


@pytest.mark.parametrize("limit", [0, -1, True, 1.0, "5", None])
def test_an_impossible_limit_is_refused(alice: Own, limit: int) -> None:
    alice.remember("x", key="k")
    calls: tuple[Call, ...] = (
        lambda: alice.list(limit=limit),
        lambda: alice.trashed(limit=limit),
        lambda: alice.history("k", limit=limit),
        lambda: alice.facts.list(limit=limit),
    )
    for call in calls:
        with refused("invalid_field"):
            call()


def test_a_limit_above_the_cap_is_the_cap(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_MAX_LIST_ROWS", "3")
    alice = interface.open().user("alice")
    fill(alice, 5)
    assert len(alice.list(limit=10**30)) == 3
    assert [len(page) for page in pages(alice, limit=1_000)] == [3, 2]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_show_everything_once_in_one_order(alice: Own, limit: int) -> None:
    names = fill(alice, 7)
    found = list(pages(alice, limit=limit))
    assert [key for page in found for key in keys(page)] == names
    assert all(len(page) == limit for page in found[:-1])
    assert found[-1]


def test_a_page_that_ends_the_list_has_no_cursor(alice: Own) -> None:
    fill(alice, 4)
    assert alice.list(limit=4).cursor is None
    assert alice.list("k", limit=4).cursor is None
    assert alice.list("k1", limit=1).cursor is None


@pytest.mark.parametrize("prefix", ["", "k", "k/"])
def test_pages_show_each_entry_once_however_much_is_written_between(alice: Own, prefix: str) -> None:
    names = fill(alice, 9, "k/")
    seen: list[str] = []
    for turn, page in enumerate(pages(alice, prefix, limit=2)):
        seen += keys(page)
        alice.remember("x", key=f"k/new{turn}")
        alice.edit("k/0", text=f"{turn}")
        alice.edit(f"k/{8 - turn}", text=f"again {turn}")
        alice.remember("y", key="k/4")
        alice.undo("k/4")
    assert sorted(seen) == sorted(names)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("prefix", ["", "k/"])
def test_an_entry_renamed_between_pages_is_shown_once(alice: Own, prefix: str) -> None:
    ids = {alice.remember("x", key=f"k/{number}").id for number in range(6)}
    seen = []
    for turn, page in enumerate(pages(alice, prefix, limit=2)):
        seen += [entry.id for entry in page]
        alice.rename(f"k/{turn}", new_key=f"k/renamed{turn}")
        alice.rename(f"k/{5 - turn}", new_key=f"k/seen{turn}")
        if turn == 1:
            break
    seen += [entry.id for entry in alice.list(prefix, limit=100, cursor=page.cursor)]
    assert len(seen) == len(set(seen)) == 6
    assert set(seen) == ids


def test_an_entry_trashed_between_pages_is_left_out_and_its_neighbours_stay(alice: Own) -> None:
    names = fill(alice, 6)
    seen = []
    for turn, page in enumerate(pages(alice, limit=2)):
        seen += keys(page)
        if turn == 0:
            alice.trash("k5")
            alice.trash("k3")
            alice.purge("k1")
    assert seen == [name for name in names if name not in ("k3", "k1")]


def test_an_entry_trashed_and_restored_between_pages_is_shown_once(alice: Own) -> None:
    names = fill(alice, 6)
    seen = []
    for page in pages(alice, limit=2):
        seen += keys(page)
        for name in ("k5", "k0"):
            alice.trash(name)
            alice.restore(name)
    assert seen == names


def test_an_entry_that_leaves_the_filter_between_pages_is_left_out(alice: Own) -> None:
    for number in range(6):
        alice.remember("x", key=f"k{number}", tags=["t"])
    first = alice.list(tag="t", limit=2)
    alice.edit("k1", tags=[])
    alice.edit("k2", text="y")
    rest = alice.list(tag="t", limit=10, cursor=first.cursor)
    assert keys(first) == ["k5", "k4"]
    assert keys(rest) == ["k3", "k2", "k0"]


def test_pages_go_on_after_everything_was_forgotten(alice: Own) -> None:
    fill(alice, 6)
    first = alice.list(limit=2)
    alice.forget("all")
    fill(alice, 3, "later")
    assert alice.list(limit=2, cursor=first.cursor) == []


def test_a_cursor_belongs_to_its_request_and_its_caller(memory: Memory, alice: Own) -> None:
    fill(alice, 5)
    alice.share("user:bob")
    cursor = alice.list(limit=2).cursor
    assert cursor is not None
    others: tuple[dict[str, Any], ...] = (
        {"prefix": "k"},
        {"tag": "t"},
        {"category": "c"},
        {"partition": "notes"},
    )
    for other in others:
        with refused("invalid_field"):
            alice.list(cursor=cursor, **other)
    with refused("invalid_field"):
        memory.user("bob").list(space="user:alice", cursor=cursor)
    with refused("invalid_field"):
        alice.facts.list(cursor=cursor)
    with refused("invalid_field"):
        alice.trashed(cursor=cursor)
    assert keys(alice.list(limit=3, cursor=cursor)) == ["k2", "k1", "k0"]


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", 5, b"AAAA", "A" * 10_000])
def test_a_cursor_nobody_gave_is_refused(alice: Own, cursor: str) -> None:
    fill(alice, 3)
    with refused("invalid_field"):
        alice.list(limit=1, cursor=cursor)


def test_a_cursor_says_nothing_readable(alice: Own) -> None:
    fill(alice, 3, "MARKER")
    cursor = alice.list("MARKER", limit=1).cursor
    assert cursor is not None
    assert "MARKER" not in cursor
    assert cursor != alice.list("MARKER", limit=1).cursor or len(cursor) > 20


def test_foreign_rows_do_not_starve_a_page(memory: Memory, alice: Own) -> None:
    agent = memory.agent("bot", user="alice")
    alice.remember("x", key="wanted", tags=["t"])
    for number in range(300):
        agent.remember("x", key=f"noise{number}", space="user:alice")
    assert keys(alice.list(tag="t", limit=1)) == ["wanted"]
    assert keys(alice.list("wanted", limit=1)) == ["wanted"]


def test_an_expiry_list_goes_on_among_entries_that_expire_together_and_only_for_its_request(
    alice: Own,
) -> None:
    alice.remember_many({"text": "x", "key": f"k{number}", "ttl": 10} for number in range(5))
    first = alice.list(expiring_within=60, limit=2)
    second = alice.list(expiring_within=60, limit=3, cursor=first.cursor)
    assert keys(first) + keys(second) == [f"k{number}" for number in range(5)]
    assert second.cursor is None
    for other in ({"expiring_within": 61}, {"expiring_within": 60, "prefix": "k"}, {}):
        with refused("invalid_field"):
            alice.list(cursor=first.cursor, **other)
