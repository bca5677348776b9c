"""The cache of what can be computed again: bounded, and safe between threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from holdfast.bounded_cache import BoundedCache


def test_a_full_cache_is_emptied_before_a_new_key_goes_in() -> None:
    cache: BoundedCache[int, str] = BoundedCache(2)
    cache[1] = "one"
    cache[2] = "two"

    cache[3] = "three"

    assert cache == {3: "three"}


def test_a_known_key_gets_a_new_value_without_emptying_anything() -> None:
    cache: BoundedCache[int, str] = BoundedCache(2)
    cache[1] = "one"
    cache[2] = "two"

    cache[1] = "once more"

    assert cache == {1: "once more", 2: "two"}


def test_threads_that_fill_it_together_keep_it_within_its_limit() -> None:
    cache: BoundedCache[int, int] = BoundedCache(10)

    def fill(start: int) -> bool:
        for number in range(start, start + 2_000):
            cache[number] = number
            assert cache.get(number, number) == number
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fill, range(0, 8_000, 2_000)))
    assert len(cache) <= 13  # each thread may have looked before the others put theirs in
