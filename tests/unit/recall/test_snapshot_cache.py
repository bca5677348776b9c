"""What is kept of the spaces searched last: what is counted is what it takes, and the ceiling holds."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import holdfast
from holdfast.domain.profile import FILES
from holdfast.entrypoints.python.memory import Memory
from holdfast.operations.notes import NoteInput
from holdfast.recall.snapshot_cache import JOINED_SHARE, SnapshotCache
from tests.behaviours.looking import engine_of, write_as


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("HOLDFAST_RECALL_CACHE_MB", "1")
    with holdfast.open(":memory:", embedder="none", sweep_seconds=0) as memory:
        yield memory


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def snapshots_of(memory: Memory) -> SnapshotCache:
    return engine_of(memory).index.snapshots


def bytes_in_use() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_many_small_spaces_take_no_more_than_the_ceiling(memory: Memory) -> None:
    users = [memory.user(f"user{number}") for number in range(130)]
    for user in users:
        user.remember_many([{"text": "a walrus", "key": "k"}])
    snapshots = snapshots_of(memory)
    with traced():
        for user in users:
            assert len(user.recall("walrus")) == 1
        before = bytes_in_use()
        snapshots._kept.clear()
        assert 500_000 < before - bytes_in_use() < 1.2 * 2**20
    assert snapshots.nbytes <= 2**20


def test_what_others_may_see_of_a_space_counts_too(memory: Memory) -> None:
    alice, agent = memory.user("alice"), memory.agent("bot", user="alice")
    alice.remember_many([{"text": "a walrus", "key": f"n{number}"} for number in range(1_000)])
    write_as(memory, FILES, "alice", NoteInput(text="a walrus of her own", key="private.md"))
    assert len(alice.recall("walrus")) == 10
    snapshots = snapshots_of(memory)
    with traced():
        counted, before = snapshots.nbytes, bytes_in_use()
        assert len(agent.recall("walrus", spaces=["user:alice"])) == 10
        grown = bytes_in_use() - before
    assert grown > 100_000
    assert snapshots.nbytes - counted > 0.5 * grown  # other threads take memory meanwhile too


def test_what_was_joined_of_many_spaces_is_kept_within_its_share(memory: Memory) -> None:
    joined_cache = snapshots_of(memory)._joined
    kept = []
    for name in ("alice", "bob", "carol"):
        user = memory.user(name)
        for number in range(5):
            user.create_space(f"space{number}")
            user.remember("a walrus", key=f"{number}", space=f"shared:space{number}")
        assert len(user.recall("walrus")) == 5
        kept.append(joined_cache.nbytes)
        assert joined_cache.nbytes == sum(joined.nbytes for joined in joined_cache._kept.values())
    assert 0 < max(kept) <= 2**20 // JOINED_SHARE


def test_what_is_too_much_to_be_kept_is_joined_each_time(memory: Memory) -> None:
    alice = memory.user("alice")
    for number in range(30):
        alice.create_space(f"space{number}")
        alice.remember("a walrus", key=f"{number}", space=f"shared:space{number}")
    for _ in range(2):
        assert len(alice.recall("walrus", limit=50)) == 30
        assert snapshots_of(memory)._joined.nbytes == 0
