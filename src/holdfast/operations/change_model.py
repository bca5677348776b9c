"""Change the model whose vectors answer: another one takes over once it has caught up and agrees; a person lets one
serve that was held back or served before, and drops the vectors of one that does not."""

from __future__ import annotations

import logging

from holdfast.contracts.rows import FORMER, HELD, SERVING, ModelRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import NotFound
from holdfast.operations.engine import Engine
from holdfast.recall.index import IndexStatus

SPACES = 64
"""Spaces that a sample is taken from, at most."""
SAMPLE = 50
NEAREST = 10
LEAST_OVERLAP = 0.2
"""Models differ in what they hold to be near; sharing less than this, one of them is broken."""
DROPPED_AT_ONCE = 1_000

log = logging.getLogger("holdfast")


def take_over(engine: Engine, following: ModelRow) -> None:
    """All vectors of the new model are there: compares a sample, then lets it serve, in one transaction."""
    serving = engine.index.serving()
    overlap = None if serving is None else sampled_overlap(engine, serving, following)
    if overlap is not None and overlap < LEAST_OVERLAP:
        log.warning(
            "the new embedder shares only %.0f %% of the nearest notes with the old one; the old one goes on serving. "
            "Look at a few answers, then run `holdfast model use %s` if it is right",
            100 * overlap,
            following.name,
        )
        engine.run_job(lambda tx: tx.models.set_state(following.model, HELD, overlap))
        return
    engine.run_job(lambda tx: serve_with(tx, following.model, overlap))
    engine.index.forget_ready()


def serve_with(tx: Transaction, model: int, overlap: float | None) -> None:
    for row in tx.models.all():
        if row.state == SERVING and row.model != model:
            tx.models.set_state(row.model, FORMER, row.overlap)
    tx.models.set_state(model, SERVING, overlap)


def use_model(engine: Engine, name: str) -> IndexStatus:
    """Lets a model serve whose vectors are kept: one that is held, or the former one."""
    row = engine.index.named(name)
    if row is None:
        raise NotFound(f"No vectors of a model `{name}` are kept.")
    engine.run_job(lambda tx: serve_with(tx, row.model, row.overlap))
    engine.index.forget_ready()
    engine.index.wake()
    return engine.index.status()


def drop_model(engine: Engine, name: str) -> int:
    """Removes the vectors of a model that does not serve; says how many there were."""
    row = engine.index.named(name)
    if row is None or row.state == SERVING:
        raise NotFound(f"No vectors of a model `{name}` are kept, or it serves.")
    total = 0
    while dropped := engine.run_job(lambda tx: tx.derived.drop_model(row.model, DROPPED_AT_ONCE)):
        total += dropped
    engine.run_job(lambda tx: tx.models.delete(row.model))
    return total


def sampled_overlap(engine: Engine, old: ModelRow, new: ModelRow) -> float | None:
    """The share of the nearest ten that two models have in common, asked by notes themselves; None without notes."""
    import numpy as np

    views = engine.index.views
    shares: list[float] = []
    for space in engine.sealed.store.spaces.all_after(None, SPACES):
        before = views.of(space.id, old.model, old.dimensions)
        if len(before) <= NEAREST:
            continue
        after = views.of(space.id, new.model, new.dimensions)
        step = max(1, len(before) // SAMPLE)
        for number in before.columns.numbers[::step].tolist():
            near, far = views.nearest(before, number, NEAREST), views.nearest(after, number, NEAREST)
            if near and far:
                shares.append(len(near & far) / NEAREST)
        if len(shares) >= SAMPLE:
            break
    return float(np.mean(shares)) if shares else None
