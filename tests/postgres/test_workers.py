"""Many nodes on one database share the background work: each entry is embedded once, swept once and sealed anew once,
whoever does it, and nobody fails because another was quicker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
import pytest

import holdfast
from holdfast.contracts.storage import Transaction
from holdfast.domain.retention import TRASH_US
from holdfast.operations.engine import Engine
from holdfast.operations.rotate_keys import WORN, rotate_data, rotate_worn
from holdfast.operations.sweep import WORK as SWEEP
from holdfast.operations.sweep import sweep
from holdfast.recall.embed_pending import embed_pending
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
    done = all_at_once(nodes, lambda engine: embed_pending(engine.index))
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
    assert len([one for one in swept if one.expired]) > 1, "more than one had a part in it"
    assert nodes[0].sealed.store.entries.expired(clock.now, 10) == []


def test_what_another_one_sweeps_is_left_to_it(nodes: list[Engine], clock: Clock) -> None:
    clock.now += 3_600_000_000
    spaces = [row.id for row in nodes[0].sealed.store.spaces.all_after(None, PEOPLE)]
    with nodes[0].index.leases.hold(SWEEP, spaces[0]) as renew:
        assert renew is not None
        assert sweep(nodes[1], batch=10).expired == (PEOPLE - 1) * NOTES
        assert {placed.space for placed in nodes[1].sealed.store.entries.expired(clock.now, NOTES)} == {
            spaces[0]
        }
    assert sweep(nodes[1], batch=10).expired == NOTES


@pytest.mark.parametrize("saved", ["renewed", "restored"])
def test_what_is_saved_after_the_sweep_has_found_it_stays(
    nodes: list[Engine], clock: Clock, monkeypatch: pytest.MonkeyPatch, saved: str
) -> None:
    """Between finding what is due and removing it a writer of another node may come."""
    store = nodes[0].sealed.store
    space = store.spaces.all_after(None, 1)[0].id
    row = store.copies.entries(space, 0, 1)[0]
    if saved == "restored":
        trashed = row._replace(trashed_us=clock.now, expires_us=None)
        store.write(lambda tx: tx.entries.restate(space, trashed))
    clock.now += 3_600_000_000 if saved == "renewed" else TRASH_US + 1
    kept = row._replace(expires_us=clock.now + 1)

    def in_between(engine: Engine, job: Callable[[Transaction], T]) -> T:
        store.write(lambda tx: tx.entries.restate(space, kept))
        return run_job(engine, job)

    run_job = Engine.run_job
    monkeypatch.setattr(Engine, "run_job", in_between)
    sweep(nodes[1])
    assert store.entries.by_numbers(space, [row.number]) == [kept]


def test_spaces_are_sealed_anew_by_those_who_rotate_together_each_once(nodes: list[Engine]) -> None:
    spaces = [row.id for row in nodes[0].sealed.store.spaces.all_after(None, NODES)]
    rotated = all_at_once(nodes, lambda engine: rotate_data(engine, spaces))
    assert sum(one.keys for one in rotated) == len(spaces)
    assert sum(one.entries for one in rotated) == len(spaces) * NOTES
    assert len([one for one in rotated if one.keys]) > 1, "more than one had a part in it"
    for space in spaces:
        keys, current = nodes[0].sealed.store.keys.with_current(space)
        assert [key.key_id for key in keys] == [current] == [2]


def test_worn_keys_are_changed_by_one_of_them(nodes: list[Engine]) -> None:
    store = nodes[0].sealed.store
    spaces = [row.id for row in store.spaces.all_after(None, NODES)]
    for space in spaces:
        store.write(partial(wear, space=space))
    assert sum(all_at_once(nodes, rotate_worn)) == len(spaces)
    for space in spaces:
        assert [key.key_id for key in store.keys.of(space)] == [2]


def wear(tx: Transaction, space: UUID) -> None:
    tx.keys.add_uses(space, 1, WORN)
