"""Many nodes on one database share the background work: each entry is embedded once, swept once and sealed anew once,
whoever does it, and nobody fails because another was quicker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import numpy as np
import pytest

import holdfast
from holdfast.operations.engine import Engine
from holdfast.operations.rotate_keys import rotate_data
from holdfast.operations.settle import settle_all
from holdfast.operations.sweep import sweep
from holdfast.settings import load
from holdfast.wiring import open_engine
from tests.postgres.databases import empty_database, url_of

NODES, PEOPLE, NOTES = 4, 8, 25
KEY = "6b" * 32
T = TypeVar("T")
embedded: list[tuple[int, str]] = []
"""By whom, and what."""


class Noting:
    model_id, dimensions = "test-noting", 8

    def embed(self, text: str) -> Any:
        embedded.append((id(self), text))
        time.sleep(0.001)
        return np.full(8, 8**-0.5, dtype=np.float32)

    embed_query = embed


class Clock:
    now = 1_900_000_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def nodes(clock: Clock) -> Iterator[list[Engine]]:
    """Without threads of their own: the tests say when they work."""
    embedded.clear()
    with empty_database() as dsn:
        with holdfast.open(url_of(dsn), key=KEY, embedder="none", sweep_seconds=0, clock=clock) as memory:
            for person in range(PEOPLE):
                memory.user(f"u{person}").remember_many(
                    [{"text": f"note {n} of {person}", "key": f"n/{n}", "ttl": 60} for n in range(NOTES)]
                )
        settings = load(memory_key=KEY, database_url=url_of(dsn), embedder=f"{__name__}:Noting")
        opened = [open_engine(settings, clock, None, required=True).engine for _ in range(NODES)]
        engines = [engine for engine in opened if engine is not None]
        try:
            yield engines
        finally:
            for engine in engines:
                engine.sealed.close()


def all_at_once(nodes: list[Engine], work: Callable[[Engine], T]) -> list[T]:
    together = Barrier(len(nodes))

    def run(engine: Engine) -> T:
        together.wait(60)
        return work(engine)

    with ThreadPoolExecutor(len(nodes)) as threads:
        return list(threads.map(run, nodes))


def test_each_entry_is_embedded_by_one_of_them(nodes: list[Engine]) -> None:
    done = all_at_once(nodes, settle_all)
    assert sum(done) == PEOPLE * NOTES
    texts = Counter(text for _, text in embedded if text.startswith("note"))
    assert len(texts) == PEOPLE * NOTES
    assert set(texts.values()) == {1}
    assert len([count for count in done if count]) > 1, "more than one had a part in it"
    model = nodes[0].index.serving()
    assert model is not None
    assert nodes[0].sealed.store.derived.count_behind(model.model) == 0


def test_each_expired_entry_is_swept_by_one_of_them(nodes: list[Engine], clock: Clock) -> None:
    clock.now += 3_600_000_000
    swept = all_at_once(nodes, lambda engine: sweep(engine, batch=20))
    assert sum(one.expired for one in swept) == PEOPLE * NOTES
    assert nodes[0].sealed.store.entries.expired(clock.now, 10) == []


def test_each_entry_is_sealed_anew_once_by_those_who_rotate_one_space_together(nodes: list[Engine]) -> None:
    space = nodes[0].sealed.store.spaces.all_after(None, 1)[0].id
    rotated = all_at_once(nodes, lambda engine: rotate_data(engine, space))
    assert sum(one.entries for one in rotated) == NOTES
    keys, current = nodes[0].sealed.store.keys.with_current(space)
    assert [key.key_id for key in keys] == [current] == [2]
