"""Changes the model whose vectors answer. A new one takes over once it has caught up and agrees with the old one. A
person may choose a model that was held back or served before, drop the vectors of one that does not serve, and index
the vectors of one huge space."""

from __future__ import annotations

import logging

from holdfast.contracts.records import VectorReads
from holdfast.contracts.rows import FORMER, HELD, SERVING, ModelRow
from holdfast.contracts.storage import Transaction
from holdfast.domain.errors import InvalidField, NotFound
from holdfast.domain.space import Space
from holdfast.recall.index import Index, IndexStatus

SPACES = 64
"""The most spaces that a sample is taken from."""
SAMPLE = 50
NEAREST = 10
LEAST_OVERLAP = 0.2
"""Models differ in what they find near; where two share less than this, one of them is broken."""
DROPPED_AT_ONCE = 1_000

log = logging.getLogger("holdfast")


def take_over(index: Index, following: ModelRow) -> None:
    """Lets a model serve whose vectors are complete, if it agrees with the serving one on a sample."""
    serving = index.serving()
    overlap = None if serving is None else sampled_overlap(index, serving, following)
    if overlap is not None and overlap < LEAST_OVERLAP:
        log.warning(
            "the new embedder shares only %.0f %% of the nearest notes with the old one; the old one goes on serving. "
            "Look at a few answers, then run `holdfast model use %s` if it is right",
            100 * overlap,
            following.name,
        )
        index.sealed.store.write(lambda tx: tx.models.set_state(following.model, HELD, overlap))
        return
    index.sealed.store.write(lambda tx: serve_with(tx, following.model, overlap))
    index.forget_ready()


def serve_with(tx: Transaction, model: int, overlap: float | None) -> None:
    for row in tx.models.all():
        if row.state == SERVING and row.model != model:
            tx.models.set_state(row.model, FORMER, row.overlap)
    tx.models.set_state(model, SERVING, overlap)


def use_model(index: Index, name: str) -> IndexStatus:
    """Lets a held or former model serve, whose vectors are kept."""
    row = index.named(name)
    if row is None:
        raise NotFound(f"No vectors of a model `{name}` are kept.")
    index.sealed.store.write(lambda tx: serve_with(tx, row.model, row.overlap))
    index.forget_ready()
    index.wake()
    return index.status()


def drop_model(index: Index, name: str) -> int:
    """Removes the vectors of a model that does not serve; returns their number."""
    row = index.named(name)
    if row is None or row.state == SERVING:
        raise NotFound(f"No vectors of a model `{name}` are kept, or it serves.")
    write, total = index.sealed.store.write, 0
    while dropped := write(lambda tx: tx.derived.drop_model(row.model, DROPPED_AT_ONCE)):
        total += dropped
    write(lambda tx: tx.models.delete(row.model))
    return total


def sampled_overlap(index: Index, old: ModelRow, new: ModelRow) -> float | None:
    """The share of their nearest ten notes that two models have in common, over a sample; None without notes."""
    snapshots = index.snapshots
    shares: list[float] = []
    for space in index.sealed.store.spaces.all_after(None, SPACES):
        before = snapshots.of(space.id, old.model, old.dimensions)
        if len(before) <= NEAREST:
            continue
        after = snapshots.of(space.id, new.model, new.dimensions)
        step = max(1, len(before) // SAMPLE)
        for number in before.columns.numbers[::step].tolist():
            near, far = (
                snapshots.nearest(before, number, NEAREST),
                snapshots.nearest(after, number, NEAREST),
            )
            if near and far:
                shares.append(len(near & far) / NEAREST)
        if len(shares) >= SAMPLE:
            break
    return sum(shares) / len(shares) if shares else None


def build_vector_index(index: Index, space: Space) -> str:
    """Builds an index over the serving model's vectors of one space; returns its name. Reads and writes go on
    meanwhile. Only a space whose vectors the database compares gains by it, and some of the nearest may be missed."""
    vectors, serving = _indexable(index, space)
    return vectors.build_index(space.id, serving.model, serving.dimensions)


def drop_vector_index(index: Index, space: Space) -> None:
    """Makes the database compare every vector of the space again. Does nothing without an index."""
    vectors, serving = _indexable(index, space)
    vectors.drop_index(space.id, serving.model)


def _indexable(index: Index, space: Space) -> tuple[VectorReads, ModelRow]:
    vectors, serving = index.sealed.store.vectors, index.serving()
    if vectors is None:
        raise InvalidField(
            "Only a store on PostgreSQL takes an index over vectors; here all are compared exactly."
        )
    if serving is None or not space.stored:
        raise NotFound("There are no vectors in this space.")
    return vectors, serving
