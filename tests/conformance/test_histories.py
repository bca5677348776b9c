"""Single histories worth keeping, told to the state machine step by step: it compares each with the model, and the
whole at the end. Most of them once went wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.model import Said, Wanted
from tests.conformance.test_state_machine import (
    ALICE,
    BOB,
    BOT,
    HELPER,
    ROOM,
    Histories,
    HistoriesInAFile,
    Place,
)

AS_ALICE, AS_BOB, AS_BOT = (Place(who, ALICE) for who in ("alice", "bob", "bot"))
AS_HELPER = Place(HELPER, ALICE)
ALL = Wanted()


@pytest.fixture(params=[Histories, HistoriesInAFile])
def story(request: pytest.FixtureRequest) -> Iterator[Histories]:
    told: Histories = request.param()
    yield told
    told.every_list_is_as_the_model_has_it()
    told.teardown()


def remember(story: Histories, place: Place, key: str, text: str = "tea", ttl: int | None = None) -> None:
    story.remember(place, Said(text, key=key, ttl=ttl))


def keys_of(story: Histories) -> list[str]:
    return [entry.key for entry in story.doors["alice"].list()]


class TestAKeyWhoseEntryHasExpired:
    """Nobody sees the entry, so it holds its key against nobody."""

    def test_takes_back_what_was_trashed_under_it(self, story: Histories) -> None:
        remember(story, AS_ALICE, "a")
        story.trash(AS_ALICE, "a", None)
        remember(story, AS_ALICE, "a", "coffee", ttl=60)
        story.time_passes(60)
        story.restore(AS_ALICE, "a")
        assert keys_of(story) == ["a"]

    def test_can_be_the_new_name_of_another_entry(self, story: Histories) -> None:
        remember(story, AS_ALICE, "a", ttl=60)
        remember(story, AS_ALICE, "ab")
        story.time_passes(60)
        story.rename(AS_ALICE, "ab", "a", None, None)
        assert keys_of(story) == ["a"]

    def test_can_be_the_place_an_entry_is_moved_to(self, story: Histories) -> None:
        remember(story, AS_ALICE, "a")
        remember(story, Place("alice", None), "ab", ttl=60)
        story.share(Place("bob", None), ALICE, "readwrite", None)
        remember(story, Place("alice", BOB), "a", ttl=60)
        story.time_passes(60)
        story.rename(AS_ALICE, "a", "a", BOB, None)
        assert keys_of(story) == []

    def test_can_be_the_name_that_undoing_brings_back(self, story: Histories) -> None:
        remember(story, AS_ALICE, "a")
        story.rename(AS_ALICE, "a", "ab", None, None)
        remember(story, AS_ALICE, "a", ttl=60)
        story.time_passes(60)
        story.undo(AS_ALICE, "ab", None, None)
        assert keys_of(story) == ["a"]


class TestGrants:
    def test_fall_with_the_grant_they_stood_on(self, story: Histories) -> None:
        story.share(AS_ALICE, BOB, "manage", None)
        story.share(AS_BOB, BOT, "readwrite", None)
        story.unshare(AS_ALICE, BOB)
        assert story.model.grants == {}

    def test_fall_when_their_giver_is_given_less(self, story: Histories) -> None:
        story.share(AS_ALICE, BOB, "manage", None)
        story.share(AS_BOB, BOT, "manage", None)
        story.share(AS_ALICE, BOB, "readwrite", None)
        assert [name[1] for name in story.model.grants] == [BOB]

    def test_end_no_later_than_what_they_stand_on(self, story: Histories) -> None:
        story.share(AS_ALICE, BOB, "readwrite", 60)
        story.share(AS_BOB, BOT, "readwrite", 86_400)
        story.time_passes(60)
        story.begin_list(AS_BOT, ALL, 3)
        story.sweep()
        assert story.model.grants == {}

    def test_cannot_be_made_of_a_part_in_a_chat_or_a_session(self, story: Histories) -> None:
        story.share(Place(HELPER, ROOM), BOB, "read", None)
        story.share(AS_HELPER, BOB, "read", None)
        assert story.model.grants == {}


class TestKeysOfTwoOwners:
    @pytest.fixture(autouse=True)
    def both_write(self, story: Histories) -> None:
        story.share(AS_ALICE, BOB, "readwrite", None)
        remember(story, AS_ALICE, "a", "of alice")
        remember(story, AS_BOB, "a", "of bob")

    def test_mean_ones_own_entry_and_else_the_newest(self, story: Histories) -> None:
        for place in (AS_ALICE, AS_BOB, AS_HELPER):
            story.get(place, "a")
            story.edit(place, "a", "tea", None, None, None, None)

    def test_bring_back_ones_own_entry_from_the_trash_first(self, story: Histories) -> None:
        story.trash(AS_BOB, "a", None)
        story.time_passes(1)
        story.trash(AS_ALICE, "a", None)
        story.restore(AS_BOB, "a")
        assert [str(entry.owner) for entry in story.doors["alice"].list()] == [BOB]

    def test_let_nobody_move_away_what_they_may_not_remove(self, story: Histories) -> None:
        story.trash(AS_BOB, "a", None)
        story.rename(AS_BOB, "a", "a", BOB, None)
        story.rename(AS_ALICE, "a", "ab", ROOM, None)
        assert keys_of(story) == ["a"]

    def test_are_counted_where_they_were_kept(self, story: Histories) -> None:
        story.forget_all("bob")
        story.forget_all("alice")
        story.forget_all("bob")
        assert story.model.rows == []


class TestLists:
    @pytest.fixture(autouse=True)
    def four_notes(self, story: Histories) -> None:
        for key in ("a", "a/b", "ab", "A"):
            remember(story, AS_ALICE, key)

    @pytest.mark.parametrize("wanted", [ALL, Wanted(prefix="a"), Wanted(category="drinks")])
    def test_go_on_in_the_order_of_their_first_page_whatever_is_written(
        self, story: Histories, wanted: Wanted
    ) -> None:
        for key in ("a", "a/b", "ab", "A"):
            story.edit(AS_ALICE, key, None, "drinks", None, None, None)
        story.begin_list(AS_ALICE, wanted, 1)
        for key in ("a", "A", "ab", "a/b", "a"):
            story.edit(AS_ALICE, key, "coffee", None, None, None, None)
        remember(story, AS_HELPER, "a", "new")
        story.go_on_with_a_list(0, 1)
        story.edit(AS_ALICE, "a", "tea", None, None, None, None)
        story.go_on_with_a_list(0, 3)
        assert story.begun == []

    def test_without_a_category_hold_what_has_none(self, story: Histories) -> None:
        story.edit(AS_ALICE, "ab", None, "drinks", None, None, None)
        story.begin_list(AS_ALICE, Wanted(category=""), 3)
        story.begin_list(AS_ALICE, Wanted(prefix="a/", category=""), 3)

    def test_take_a_prefix_as_it_is_written(self, story: Histories) -> None:
        for prefix in ("a", "a/", "A", "%", "_", "a_"):
            story.begin_list(AS_ALICE, Wanted(prefix=prefix), 3)


def test_a_new_space_named_in_two_ways_is_one_space(story: Histories) -> None:
    story.remember_many("alice", [(None, Said("tea", key="a")), (ALICE, Said("coffee", key="ab"))])
    assert keys_of(story) == ["ab", "a"]


def test_a_request_is_answered_once_however_often_it_is_made(story: Histories) -> None:
    for said in (Said("tea", idempotency_key="one"), Said("tea", key="a", idempotency_key="two")):
        for _ in range(2):
            story.remember(AS_ALICE, said)
    story.remember(AS_ALICE, Said("coffee", key="a", idempotency_key="two"))
    story.remember(AS_HELPER, Said("coffee", key="a", idempotency_key="two"))
    story.purge(AS_ALICE, "a")
    story.remember(AS_ALICE, Said("tea", key="a", idempotency_key="two"))
    story.time_passes(86_400)
    story.remember(AS_ALICE, Said("tea", key="a", idempotency_key="two"))
    story.time_passes(1)
    story.remember(AS_ALICE, Said("tea", key="a", idempotency_key="two"))


def test_undoing_goes_further_back_each_time_and_can_be_undone(story: Histories) -> None:
    for text in ("one", "two", "three"):
        remember(story, AS_ALICE, "a", text)
    for to in (None, None, None, 3, 5):
        story.undo(AS_ALICE, "a", to, None)
    story.history(AS_ALICE, "a", 100)


def test_a_moved_entry_takes_its_history_along(story: Histories) -> None:
    remember(story, AS_ALICE, "a", "one")
    remember(story, AS_ALICE, "a", "two")
    story.share(Place("bob", None), ALICE, "readwrite", None)
    story.rename(AS_ALICE, "a", "ab", BOB, None)
    story.undo(Place("alice", BOB), "ab", 1, None)
    story.history(Place("alice", BOB), "a", 100)
    story.history(Place("bob", None), "ab", 100)
