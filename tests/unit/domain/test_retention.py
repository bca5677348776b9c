"""What a time to live means in each vocabulary, at its edges."""

from datetime import timedelta

import pytest

from holdfast.domain.errors import HoldfastError
from holdfast.domain.partition import Partition
from holdfast.domain.profile import (
    ASSISTANT,
    CACHE,
    CORE,
    FACTS,
    FILES,
    HANDLER,
    INTERNAL,
    PROFILES,
    RUNS,
    STORES,
    Delete,
    KeyRule,
    Profile,
)
from holdfast.domain.retention import CENTURY_SECONDS, IDEMPOTENCY_US, TRASH_US, Retention, Ttl, Zero

YEAR = 31_536_000
DEFAULT = 7_776_000
SHORT, LONG, WRONG = "ttl_too_short", "ttl_too_long", "invalid_field"

TABLE: list[tuple[Profile, Ttl, int | str | None]] = [
    (CORE, None, None),
    (CORE, 0, SHORT),
    (CORE, timedelta(0), SHORT),
    (CORE, 1, 1),
    (CORE, timedelta(seconds=1), 1),
    (CORE, timedelta(seconds=1, microseconds=999_999), 1),
    (CORE, timedelta(microseconds=1), SHORT),
    (CORE, CENTURY_SECONDS, CENTURY_SECONDS),
    (CORE, CENTURY_SECONDS + 1, LONG),
    (FACTS, None, DEFAULT),
    (FACTS, 0, DEFAULT),
    (FACTS, timedelta(0), DEFAULT),
    (FACTS, 3_599, SHORT),
    (FACTS, 3_600, 3_600),
    (FACTS, YEAR, YEAR),
    (FACTS, YEAR + 1, LONG),
    (FACTS, timedelta(days=365, microseconds=1), YEAR),
    (FACTS, timedelta(seconds=3_599, microseconds=999_999), SHORT),
    (HANDLER, None, None),
    (HANDLER, 0, None),
    (HANDLER, 1, 1),
    (CACHE, None, SHORT),
    (CACHE, 0, SHORT),
    (CACHE, 1, 1),
    (STORES, 0, None),
    (FILES, None, None),
    (FILES, 0, None),
    (FILES, 1, WRONG),
    (FILES, timedelta(days=1), WRONG),
    (FILES, CENTURY_SECONDS, WRONG),
    (ASSISTANT, None, None),
    (ASSISTANT, 0, None),
    (ASSISTANT, 1, WRONG),
    (INTERNAL, 0, None),
    (RUNS, None, 2_592_000),
    (RUNS, 0, 2_592_000),
]


@pytest.mark.parametrize(("profile", "ttl", "outcome"), TABLE)
def test_a_time_to_live_in_each_vocabulary(profile: Profile, ttl: Ttl, outcome: int | str | None) -> None:
    if isinstance(outcome, str):
        with pytest.raises(HoldfastError) as caught:
            profile.retention.seconds(ttl)
        assert caught.value.code == outcome
    else:
        assert profile.retention.seconds(ttl) == outcome


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    ("ttl", "code"),
    [
        (-1, SHORT),
        (-(10**30), SHORT),
        (timedelta(microseconds=-1), SHORT),
        (timedelta.min, SHORT),
        (10**30, LONG),
        (timedelta.max, LONG),
        (True, WRONG),
        (False, WRONG),
        (1.0, WRONG),
        (float("inf"), WRONG),
        (float("nan"), WRONG),
        ("60", WRONG),
        (b"60", WRONG),
        ([60], WRONG),
    ],
)
def test_what_is_impossible_everywhere_is_refused_everywhere(profile: Profile, ttl: Ttl, code: str) -> None:
    with pytest.raises(HoldfastError) as caught:
        profile.retention.seconds(ttl)
    assert caught.value.code == code


def test_a_refusal_names_the_limit() -> None:
    for ttl, words in ((1, "3600"), (YEAR + 1, "31536000")):
        with pytest.raises(HoldfastError, match=words):
            FACTS.retention.seconds(ttl)


def test_an_expiry_is_counted_from_now_in_microseconds() -> None:
    retention = Retention(Zero.NONE)
    assert retention.expires_us(5, 7) == 5_000_007
    assert retention.expires_us(None, 7) is None
    assert retention.expires_us(0, 7) is None


def test_trash_is_kept_thirty_days_and_receipts_one() -> None:
    assert (TRASH_US, IDEMPOTENCY_US) == (30 * 86_400_000_000, 86_400_000_000)


def test_every_room_has_one_profile() -> None:
    assert set(PROFILES) == set(Partition)
    assert all(PROFILES[partition].partition is partition for partition in Partition)


@pytest.mark.parametrize(
    ("profile", "delete", "key"),
    [
        (CORE, Delete.TRASH, KeyRule.GIVEN_OR_MADE),
        (FACTS, Delete.PURGE, KeyRule.GIVEN),
        (HANDLER, Delete.PURGE, KeyRule.GIVEN),
        (CACHE, Delete.PURGE, KeyRule.GIVEN),
        (STORES, Delete.TRASH, KeyRule.GIVEN),
        (FILES, Delete.TRASH, KeyRule.GIVEN),
        (ASSISTANT, Delete.TRASH, KeyRule.MADE),
    ],
)
def test_how_each_vocabulary_deletes_and_names(profile: Profile, delete: Delete, key: KeyRule) -> None:
    assert (profile.delete, profile.key) == (delete, key)


def test_what_a_model_never_sees_is_neither_scrubbed_nor_indexed() -> None:
    hidden = {Partition.HANDLER, Partition.INTERNAL, Partition.RUNS, Partition.CACHE}
    for partition, profile in PROFILES.items():
        assert profile.scrubbed is profile.indexed is (partition not in hidden)
